//! The eight transforms of wl_output.transform, as a group.
//!
//! A transform here is *what is done to a picture*: [`Transform::Rot90`] turns it a quarter counter-clockwise, the
//! flipped ones mirror it left-right first and turn it afterwards. A client's `set_buffer_transform(t)` says that its
//! buffer is the surface's picture with `t` done to it; an output's `t` that the framebuffer is the logical picture
//! with `t` done to it. So what leads from buffer to framebuffer is `t_output ∘ t_buffer⁻¹`
//! ([`Transform::after`], [`Transform::inverse`]), and is [`Transform::Normal`] where the client drew for the output.

use super::geometry::{Point, Rect, RectF, Size};

/// One of the eight ways to turn and mirror a picture. Source: wl_output.transform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Transform {
    /// As it is.
    #[default]
    Normal = 0,
    /// A quarter turn counter-clockwise.
    Rot90 = 1,
    /// A half turn.
    Rot180 = 2,
    /// A quarter turn clockwise.
    Rot270 = 3,
    /// Mirrored left-right.
    Flipped = 4,
    /// Mirrored left-right, then a quarter turn counter-clockwise: a transposition.
    Flipped90 = 5,
    /// Mirrored left-right, then a half turn: mirrored top-bottom.
    Flipped180 = 6,
    /// Mirrored left-right, then a quarter turn clockwise.
    Flipped270 = 7,
}

impl Transform {
    /// All eight, in protocol order.
    pub const ALL: [Self; 8] = [
        Self::Normal,
        Self::Rot90,
        Self::Rot180,
        Self::Rot270,
        Self::Flipped,
        Self::Flipped90,
        Self::Flipped180,
        Self::Flipped270,
    ];

    /// From the protocol's number.
    pub const fn from_wire(n: u32) -> Option<Self> {
        if n < 8 { Some(Self::ALL[n as usize]) } else { None }
    }

    /// The protocol's number.
    pub const fn to_wire(self) -> u32 {
        self as u32
    }

    const fn quarter_turns(self) -> u32 {
        self as u32 & 3
    }

    const fn is_flipped(self) -> bool {
        self as u32 & 4 != 0
    }

    const fn from_parts(flipped: bool, turns: u32) -> Self {
        Self::ALL[(flipped as usize) << 2 | (turns & 3) as usize]
    }

    /// Whether width and height change places.
    pub const fn swaps_axes(self) -> bool {
        self as u32 & 1 != 0
    }

    /// The transform that undoes this one.
    #[must_use]
    pub const fn inverse(self) -> Self {
        if self.is_flipped() {
            self // a mirror image is its own inverse, turned or not
        } else {
            Self::from_parts(false, 4 - self.quarter_turns())
        }
    }

    /// `first`, and this one done to the result.
    #[must_use]
    pub const fn after(self, first: Self) -> Self {
        // Mirroring reverses the sense of the turns done before it.
        let turns = if self.is_flipped() {
            self.quarter_turns() + 4 - first.quarter_turns()
        } else {
            self.quarter_turns() + first.quarter_turns()
        };
        Self::from_parts(self.is_flipped() != first.is_flipped(), turns)
    }

    /// The size of a picture of `size` after the transform.
    #[must_use]
    pub const fn apply_size(self, size: Size) -> Size {
        if self.swaps_axes() { size.swapped() } else { size }
    }

    /// Where a point of a picture of size `w` × `h` goes.
    pub fn apply_point(self, x: f64, y: f64, w: f64, h: f64) -> (f64, f64) {
        match self {
            Self::Normal => (x, y),
            Self::Rot90 => (y, w - x),
            Self::Rot180 => (w - x, h - y),
            Self::Rot270 => (h - y, x),
            Self::Flipped => (w - x, y),
            Self::Flipped90 => (y, x),
            Self::Flipped180 => (x, h - y),
            Self::Flipped270 => (h - y, w - x),
        }
    }

    /// Where a rectangle of a picture of `size` goes.
    #[must_use]
    pub fn apply_rect(self, rect: Rect, size: Size) -> Rect {
        let x_from_right = size.w.saturating_sub(rect.right());
        let y_from_bottom = size.h.saturating_sub(rect.bottom());
        let at = match self {
            Self::Normal => Point::new(rect.x, rect.y),
            Self::Rot90 => Point::new(rect.y, x_from_right),
            Self::Rot180 => Point::new(x_from_right, y_from_bottom),
            Self::Rot270 => Point::new(y_from_bottom, rect.x),
            Self::Flipped => Point::new(x_from_right, rect.y),
            Self::Flipped90 => Point::new(rect.y, rect.x),
            Self::Flipped180 => Point::new(rect.x, y_from_bottom),
            Self::Flipped270 => Point::new(y_from_bottom, x_from_right),
        };
        Rect::at(at, self.apply_size(rect.size()))
    }

    /// Where a real rectangle of a picture of size `w` × `h` goes.
    #[must_use]
    pub fn apply_rect_f64(self, rect: RectF, w: f64, h: f64) -> RectF {
        let (x0, y0) = self.apply_point(rect.x, rect.y, w, h);
        let (x1, y1) = self.apply_point(rect.x + rect.w, rect.y + rect.h, w, h);
        RectF::new(x0.min(x1), y0.min(y1), (x1 - x0).abs(), (y1 - y0).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size::new(7, 5);

    #[test]
    fn inverse_after_every_transform_is_normal() {
        for t in Transform::ALL {
            assert_eq!(t.inverse().after(t), Transform::Normal, "{t:?}");
            let there = t.apply_rect(Rect::new(1, 2, 3, 1), SIZE);
            assert_eq!(t.inverse().apply_rect(there, t.apply_size(SIZE)), Rect::new(1, 2, 3, 1), "{t:?}");
        }
    }

    #[test]
    fn after_of_every_pair_equals_doing_both() {
        let rect = Rect::new(1, 0, 2, 3);
        for a in Transform::ALL {
            for b in Transform::ALL {
                let both = b.apply_rect(a.apply_rect(rect, SIZE), a.apply_size(SIZE));
                assert_eq!(b.after(a).apply_rect(rect, SIZE), both, "{b:?} after {a:?}");
            }
        }
    }

    #[test]
    fn rot90_of_the_top_right_corner_is_the_top_left() {
        assert_eq!(Transform::Rot90.apply_rect(Rect::new(6, 0, 1, 1), SIZE), Rect::new(0, 0, 1, 1));
    }

    #[test]
    fn real_and_integer_rectangles_of_every_transform_agree() {
        let rect = Rect::new(1, 2, 3, 2);
        for t in Transform::ALL {
            let real = t.apply_rect_f64(rect.to_f64(), 7.0, 5.0);
            assert_eq!(real.as_integer(), Some(t.apply_rect(rect, SIZE)), "{t:?}");
        }
    }
}
