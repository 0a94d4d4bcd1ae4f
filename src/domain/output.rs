//! An output as the desktop sees it: where it lies and what leads from logical to physical pixels.
//!
//! *Logical* coordinates are the desktop's, one plane for all outputs. *Physical* ones are the output's framebuffer's,
//! after the output's transform. Edges are scaled and rounded one by one, so that what touches in the logical plane
//! touches on screen, at every scale. Next: [`super::scene`].

use super::geometry::{Point, Rect, RectF, Scale, Size};
use super::transform::Transform;

/// An output's identity for as long as it is plugged in. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputId(pub u32);

/// Where an output lies and how it shows the desktop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Its top left corner, logical.
    pub position: Point,
    /// Its mode's size, physical pixels before the transform: the framebuffer's size.
    pub mode_size: Size,
    /// Physical pixels for one logical pixel.
    pub scale: Scale,
    /// What is done to the logical picture to get the framebuffer's.
    pub transform: Transform,
}

impl Placement {
    /// The framebuffer's size before the transform was done to it: upright, physical pixels.
    pub const fn upright_size(&self) -> Size {
        self.transform.apply_size(self.mode_size) // both swap or neither does
    }

    /// Its size in logical pixels, at least 1×1 for a mode that holds a pixel.
    pub fn logical_size(&self) -> Size {
        let upright = self.upright_size();
        let whole = |v: i32| ((f64::from(v) / self.scale.as_f64()).round() as i32).max(i32::from(v > 0));
        Size::new(whole(upright.w), whole(upright.h))
    }

    /// The part of the desktop that it shows, logical.
    pub fn logical_rect(&self) -> Rect {
        Rect::at(self.position, self.logical_size())
    }

    /// A rectangle of the desktop in physical pixels of the framebuffer, each edge rounded to the nearest.
    pub fn to_physical(&self, logical: RectF) -> Rect {
        self.transform.apply_rect(self.to_upright(logical).round_edges(), self.upright_size())
    }

    /// As [`Placement::to_physical`], rounded outwards: for damage.
    pub fn to_physical_out(&self, logical: RectF) -> Rect {
        self.transform.apply_rect(self.to_upright(logical).round_out(), self.upright_size())
    }

    /// As [`Placement::to_physical`], rounded inwards: for opaque parts; empty where nothing is left.
    pub fn to_physical_in(&self, logical: RectF) -> Rect {
        self.transform.apply_rect(self.to_upright(logical).round_in(), self.upright_size())
    }

    /// Relative to the output's corner and scaled, before its transform.
    fn to_upright(self, logical: RectF) -> RectF {
        let scale = self.scale.as_f64();
        RectF { x: logical.x - f64::from(self.position.x), y: logical.y - f64::from(self.position.y), ..logical }
            .scaled(scale, scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEMENT: Placement = Placement {
        position: Point::new(100, 50),
        mode_size: Size::new(1200, 800),
        scale: Scale::from_120ths(180),
        transform: Transform::Normal,
    };

    #[test]
    fn logical_size_of_a_turned_output_is_swapped_and_scaled() {
        assert_eq!(PLACEMENT.logical_size(), Size::new(800, 533));
        let turned = Placement { transform: Transform::Rot90, ..PLACEMENT };
        assert_eq!(turned.logical_rect(), Rect::new(100, 50, 533, 800));
    }

    #[test]
    fn to_physical_of_neighbours_touches_under_every_transform() {
        for transform in Transform::ALL {
            let placement = Placement { transform, ..PLACEMENT };
            let a = placement.to_physical(RectF::new(100.0, 50.0, 7.0, 5.0));
            let b = placement.to_physical(RectF::new(107.0, 50.0, 3.0, 5.0));
            assert_eq!(a.hull(b).size().area(), a.size().area() + b.size().area(), "{transform:?}");
            assert!(!a.overlaps(b), "{transform:?}");
        }
    }

    #[test]
    fn to_physical_of_the_whole_output_is_the_framebuffer() {
        for transform in Transform::ALL {
            let placement = Placement { transform, scale: Scale::from_120ths(240), ..PLACEMENT };
            let whole = placement.to_physical(placement.logical_rect().to_f64());
            assert_eq!(whole, Rect::from_size(placement.mode_size), "{transform:?}");
        }
    }
}
