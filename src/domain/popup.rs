//! Where a popup goes: the rules of xdg_positioner, as a value.
//!
//! Rectangles are *surface* coordinates of the parent's window geometry. The constraint is what must not be left (the
//! output, usually), in the same coordinates.

use super::geometry::{Point, Rect, Size};
use super::window::Edges;

bitflags::bitflags! {
    /// What may be done about a popup that would be cut off, as xdg_positioner.constraint_adjustment numbers it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Adjustment: u32 {
        /// Move it along x.
        const SLIDE_X = 1;
        /// Move it along y.
        const SLIDE_Y = 2;
        /// Mirror anchor and gravity along x.
        const FLIP_X = 4;
        /// Mirror anchor and gravity along y.
        const FLIP_Y = 8;
        /// Cut it to what fits along x.
        const RESIZE_X = 16;
        /// Cut it to what fits along y.
        const RESIZE_Y = 32;
    }
}

/// What a client asks for. Source: xdg_positioner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Positioner {
    /// Wanted size.
    pub size: Size,
    /// The part of the parent that it belongs to.
    pub anchor_rect: Rect,
    /// The point of that part: an edge's middle, a corner, or the middle.
    pub anchor: Edges,
    /// Which way it opens from there.
    pub gravity: Edges,
    /// What may be done when it does not fit.
    pub adjustment: Adjustment,
    /// Added to the position.
    pub offset: Point,
}

/// A span of one axis: start and extent.
type Span = (i32, i32);

/// One axis of a positioner: -1 towards the start, 0 the middle, 1 towards the end.
#[derive(Clone, Copy)]
struct Axis {
    size: i32,
    anchor: Span,
    anchor_side: i32,
    gravity_side: i32,
    offset: i32,
    flip: bool,
    slide: bool,
    resize: bool,
}

impl Positioner {
    /// Where the popup goes if nothing constrains it.
    pub fn unconstrained(&self) -> Rect {
        let (x, w) = self.axis_x().natural();
        let (y, h) = self.axis_y().natural();
        Rect::new(x, y, w, h)
    }

    /// Where it goes inside `bounds`: flipped if that makes it fit, else slid, else cut, as far as each is allowed.
    pub fn place(&self, bounds: Rect) -> Rect {
        let (x, w) = self.axis_x().constrained((bounds.x, bounds.w));
        let (y, h) = self.axis_y().constrained((bounds.y, bounds.h));
        Rect::new(x, y, w, h)
    }

    fn axis_x(&self) -> Axis {
        let side = |edges| side(edges, Edges::LEFT, Edges::RIGHT);
        Axis {
            size: self.size.w,
            anchor: (self.anchor_rect.x, self.anchor_rect.w),
            anchor_side: side(self.anchor),
            gravity_side: side(self.gravity),
            offset: self.offset.x,
            flip: self.adjustment.contains(Adjustment::FLIP_X),
            slide: self.adjustment.contains(Adjustment::SLIDE_X),
            resize: self.adjustment.contains(Adjustment::RESIZE_X),
        }
    }

    fn axis_y(&self) -> Axis {
        let side = |edges| side(edges, Edges::TOP, Edges::BOTTOM);
        Axis {
            size: self.size.h,
            anchor: (self.anchor_rect.y, self.anchor_rect.h),
            anchor_side: side(self.anchor),
            gravity_side: side(self.gravity),
            offset: self.offset.y,
            flip: self.adjustment.contains(Adjustment::FLIP_Y),
            slide: self.adjustment.contains(Adjustment::SLIDE_Y),
            resize: self.adjustment.contains(Adjustment::RESIZE_Y),
        }
    }
}

fn side(edges: Edges, low: Edges, high: Edges) -> i32 {
    i32::from(edges.contains(high)) - i32::from(edges.contains(low))
}

impl Axis {
    fn natural(self) -> Span {
        let (start, extent) = self.anchor;
        let anchor = match self.anchor_side {
            -1 => start,
            1 => start.saturating_add(extent),
            _ => start.saturating_add(extent / 2),
        };
        let from_anchor = match self.gravity_side {
            -1 => self.size.saturating_neg(),
            1 => 0,
            _ => -(self.size / 2),
        };
        (anchor.saturating_add(from_anchor).saturating_add(self.offset), self.size)
    }

    /// With the anchor and the gravity mirrored; the offset is mirrored with them.
    fn flipped(self) -> Self {
        Self {
            anchor_side: -self.anchor_side,
            gravity_side: -self.gravity_side,
            offset: self.offset.saturating_neg(),
            ..self
        }
    }

    fn constrained(self, bounds: Span) -> Span {
        let natural = self.natural();
        if fits(natural, bounds) {
            return natural;
        }
        if self.flip {
            let flipped = self.flipped().natural();
            if fits(flipped, bounds) {
                return flipped;
            }
        }
        let mut span = natural;
        if self.slide {
            span = self.slid(span, bounds);
        }
        if self.resize && !fits(span, bounds) {
            span = cut(span, bounds);
        }
        span
    }

    /// Moved so that it fits; where it cannot, the edge it opens from (the start edge without gravity) is kept inside.
    fn slid(self, (start, extent): Span, bounds: Span) -> Span {
        let first = bounds.0;
        let last = end(bounds).saturating_sub(extent);
        if last >= first {
            (start.clamp(first, last), extent)
        } else if self.gravity_side < 0 {
            (last, extent)
        } else {
            (first, extent)
        }
    }
}

fn end((start, extent): Span) -> i32 {
    start.saturating_add(extent)
}

fn fits(span: Span, bounds: Span) -> bool {
    span.0 >= bounds.0 && end(span) <= end(bounds)
}

/// What of it is inside; left as it is where nothing would remain.
fn cut(span: Span, bounds: Span) -> Span {
    let start = span.0.max(bounds.0);
    let extent = end(span).min(end(bounds)).saturating_sub(start);
    if extent > 0 { (start, extent) } else { span }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCREEN: Rect = Rect::new(0, 0, 100, 100);

    fn menu(anchor_rect: Rect, adjustment: Adjustment) -> Positioner {
        Positioner {
            size: Size::new(30, 40),
            anchor_rect,
            anchor: Edges::BOTTOM | Edges::LEFT,
            gravity: Edges::BOTTOM | Edges::RIGHT,
            adjustment,
            offset: Point::default(),
        }
    }

    #[test]
    fn place_of_every_anchor_and_gravity_without_constraint_follows_the_protocol() {
        let anchor_rect = Rect::new(10, 20, 8, 6);
        let at = |anchor, gravity| {
            Positioner { size: Size::new(4, 2), anchor_rect, anchor, gravity, ..Positioner::default() }
                .unconstrained()
                .origin()
        };
        let none = Edges::empty();
        for (anchor, gravity, x, y) in [
            (none, none, 12, 22),
            (Edges::TOP, Edges::TOP, 12, 18),
            (Edges::BOTTOM, Edges::BOTTOM, 12, 26),
            (Edges::LEFT, Edges::LEFT, 6, 22),
            (Edges::RIGHT, Edges::RIGHT, 18, 22),
            (Edges::TOP | Edges::LEFT, Edges::BOTTOM | Edges::RIGHT, 10, 20),
            (Edges::BOTTOM | Edges::RIGHT, Edges::TOP | Edges::LEFT, 14, 24),
            (Edges::TOP | Edges::RIGHT, none, 16, 19),
        ] {
            assert_eq!(at(anchor, gravity), Point::new(x, y), "{anchor:?} {gravity:?}");
        }
    }

    #[test]
    fn place_of_a_menu_that_does_not_fit_uses_what_is_allowed() {
        let low = Rect::new(10, 80, 20, 10);
        let right = Rect::new(85, 10, 10, 10);
        let none = Adjustment::empty();
        for (anchor_rect, adjustment, expected) in [
            (low, none, Rect::new(10, 90, 30, 40)),
            (low, Adjustment::FLIP_Y, Rect::new(10, 40, 30, 40)),
            (low, Adjustment::SLIDE_Y, Rect::new(10, 60, 30, 40)),
            (low, Adjustment::RESIZE_Y, Rect::new(10, 90, 30, 10)),
            (low, Adjustment::all(), Rect::new(10, 40, 30, 40)),
            (right, Adjustment::FLIP_Y, Rect::new(85, 20, 30, 40)),
            (right, Adjustment::SLIDE_X, Rect::new(70, 20, 30, 40)),
            // Flipped about its anchor point it would reach 65..95.
            (right, Adjustment::FLIP_X, Rect::new(65, 20, 30, 40)),
        ] {
            assert_eq!(menu(anchor_rect, adjustment).place(SCREEN), expected, "{anchor_rect:?} {adjustment:?}");
        }
    }

    #[test]
    fn place_where_flipping_does_not_help_keeps_the_original_side() {
        let tall = Positioner { size: Size::new(10, 90), ..menu(Rect::new(0, 45, 10, 10), Adjustment::FLIP_Y) };
        assert_eq!(tall.place(SCREEN), Rect::new(0, 55, 10, 90));
        let cut = Positioner { adjustment: Adjustment::FLIP_Y | Adjustment::RESIZE_Y, ..tall };
        assert_eq!(cut.place(SCREEN), Rect::new(0, 55, 10, 45));
    }

    #[test]
    fn place_of_a_popup_greater_than_the_screen_keeps_the_edge_it_opens_from() {
        let huge = Positioner { size: Size::new(300, 300), ..menu(Rect::new(40, 40, 10, 10), Adjustment::all()) };
        assert_eq!(huge.place(SCREEN), Rect::new(0, 0, 100, 100));
        let kept = Positioner { adjustment: Adjustment::SLIDE_X | Adjustment::SLIDE_Y, ..huge };
        assert_eq!(kept.place(SCREEN), Rect::new(0, 0, 300, 300));
        let leftwards = Positioner { gravity: Edges::LEFT | Edges::TOP, ..kept };
        assert_eq!(leftwards.place(SCREEN), Rect::new(-200, -200, 300, 300));
    }

    proptest! {
        #[test]
        fn place_of_anything_that_may_slide_and_be_cut_is_inside(
            (x, y, w, h) in (-500..500, -500..500, 1..200, 1..200),
            (pw, ph) in (1..400, 1..400),
            (anchor, gravity) in (0u32..16, 0u32..16),
        ) {
            let positioner = Positioner {
                size: Size::new(pw, ph),
                anchor_rect: Rect::new(x, y, w, h),
                anchor: Edges::from_bits_truncate(anchor),
                gravity: Edges::from_bits_truncate(gravity),
                adjustment: Adjustment::all(),
                offset: Point::new(3, -3),
            };
            prop_assert!(SCREEN.contains_rect(positioner.place(SCREEN)));
        }

        #[test]
        fn place_of_any_arguments_does_not_overflow(
            v in prop::array::uniform8(prop::num::i32::ANY), edges in (0u32..16, 0u32..16), adjustment in 0u32..64,
        ) {
            let positioner = Positioner {
                size: Size::new(v[0], v[1]),
                anchor_rect: Rect::new(v[2], v[3], v[4], v[5]),
                anchor: Edges::from_bits_truncate(edges.0),
                gravity: Edges::from_bits_truncate(edges.1),
                adjustment: Adjustment::from_bits_truncate(adjustment),
                offset: Point::new(v[6], v[7]),
            };
            positioner.place(Rect::new(v[6], v[5], v[4], v[3]));
        }
    }
}
