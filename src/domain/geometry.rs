//! Integer and real rectangles, sizes and points.
//!
//! The types carry no coordinate space of their own; fields and functions that hold them name it (`_px` physical
//! pixels, `buffer`, `surface`, `logical`). Arithmetic saturates: whatever a client sends, nothing here overflows.
//! Next: [`super::transform`], [`super::region`].

/// A position, y growing downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Point {
    /// Distance from the left edge.
    pub x: i32,
    /// Distance from the top edge.
    pub y: i32,
}

impl Point {
    /// The position (`x`, `y`).
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }
}

/// A width and a height; never negative where a function promises it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Size {
    /// Width.
    pub w: i32,
    /// Height.
    pub h: i32,
}

impl Size {
    /// The size `w` × `h`.
    pub const fn new(w: i32, h: i32) -> Self {
        Self { w, h }
    }

    /// Whether it holds no pixel.
    pub const fn is_empty(self) -> bool {
        self.w <= 0 || self.h <= 0
    }

    /// Number of pixels, zero when empty.
    pub const fn area(self) -> u64 {
        if self.is_empty() { 0 } else { self.w as u64 * self.h as u64 }
    }

    /// Width and height exchanged.
    pub const fn swapped(self) -> Self {
        Self::new(self.h, self.w)
    }
}

/// A half-open rectangle: it holds `x..x+w` and `y..y+h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Top edge.
    pub y: i32,
    /// Width; the rectangle is empty when it is zero or negative.
    pub w: i32,
    /// Height; the rectangle is empty when it is zero or negative.
    pub h: i32,
}

impl Rect {
    /// The rectangle with its top left corner at (`x`, `y`).
    pub const fn new(x: i32, y: i32, w: i32, h: i32) -> Self {
        Self { x, y, w, h }
    }

    /// The rectangle of `size` at the origin.
    pub const fn from_size(size: Size) -> Self {
        Self::new(0, 0, size.w, size.h)
    }

    /// The rectangle of `size` at `at`.
    pub const fn at(at: Point, size: Size) -> Self {
        Self::new(at.x, at.y, size.w, size.h)
    }

    /// The rectangle between two corners, empty when they are out of order.
    pub const fn from_edges(left: i32, top: i32, right: i32, bottom: i32) -> Self {
        Self::new(left, top, right.saturating_sub(left), bottom.saturating_sub(top))
    }

    /// Whether it holds no pixel.
    pub const fn is_empty(self) -> bool {
        self.w <= 0 || self.h <= 0
    }

    /// First column right of it (saturating).
    pub const fn right(self) -> i32 {
        self.x.saturating_add(self.w)
    }

    /// First row below it (saturating).
    pub const fn bottom(self) -> i32 {
        self.y.saturating_add(self.h)
    }

    /// Its size.
    pub const fn size(self) -> Size {
        Size::new(self.w, self.h)
    }

    /// Its top left corner.
    pub const fn origin(self) -> Point {
        Point::new(self.x, self.y)
    }

    /// Moved by `by` (saturating).
    #[must_use]
    pub const fn translated(self, by: Point) -> Self {
        Self::new(self.x.saturating_add(by.x), self.y.saturating_add(by.y), self.w, self.h)
    }

    /// The pixels in both, or `None` where there are none.
    pub fn intersection(self, other: Self) -> Option<Self> {
        if self.is_empty() || other.is_empty() {
            return None;
        }
        let both = Self::from_edges(
            self.x.max(other.x),
            self.y.max(other.y),
            self.right().min(other.right()),
            self.bottom().min(other.bottom()),
        );
        (!both.is_empty()).then_some(both)
    }

    /// Whether some pixel is in both.
    pub fn overlaps(self, other: Self) -> bool {
        self.intersection(other).is_some()
    }

    /// The smallest rectangle that holds both; an empty one counts for nothing.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Self::from_edges(
            self.x.min(other.x),
            self.y.min(other.y),
            self.right().max(other.right()),
            self.bottom().max(other.bottom()),
        )
    }

    /// Whether `other` lies wholly inside; an empty one always does.
    pub fn contains_rect(self, other: Self) -> bool {
        other.is_empty()
            || (self.x <= other.x
                && self.y <= other.y
                && self.right() >= other.right()
                && self.bottom() >= other.bottom())
    }

    /// Whether the pixel at `p` is inside.
    pub fn contains(self, p: Point) -> bool {
        p.x >= self.x && p.y >= self.y && p.x < self.right() && p.y < self.bottom()
    }

    /// As real numbers.
    pub fn to_f64(self) -> RectF {
        RectF::new(f64::from(self.x), f64::from(self.y), f64::from(self.w), f64::from(self.h))
    }
}

/// A rectangle in real numbers: source rectangles (buffer texels) and scaled logical ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RectF {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl RectF {
    /// The rectangle with its top left corner at (`x`, `y`).
    pub const fn new(x: f64, y: f64, w: f64, h: f64) -> Self {
        Self { x, y, w, h }
    }

    /// Scaled about the origin.
    #[must_use]
    pub fn scaled(self, sx: f64, sy: f64) -> Self {
        Self::new(self.x * sx, self.y * sy, self.w * sx, self.h * sy)
    }

    /// Each edge rounded to the nearest integer, so that neighbours stay neighbours.
    pub fn round_edges(self) -> Rect {
        Rect::from_edges(round(self.x), round(self.y), round(self.x + self.w), round(self.y + self.h))
    }

    /// The smallest integer rectangle that covers it.
    pub fn round_out(self) -> Rect {
        Rect::from_edges(
            self.x.floor() as i32,
            self.y.floor() as i32,
            (self.x + self.w).ceil() as i32,
            (self.y + self.h).ceil() as i32,
        )
    }

    /// The largest integer rectangle inside it; empty where there is none.
    pub fn round_in(self) -> Rect {
        Rect::from_edges(
            self.x.ceil() as i32,
            self.y.ceil() as i32,
            (self.x + self.w).floor() as i32,
            (self.y + self.h).floor() as i32,
        )
    }

    /// The same rectangle in integers, where every edge is one exactly.
    pub fn as_integer(self) -> Option<Rect> {
        let rect = self.round_edges();
        (rect.to_f64() == self).then_some(rect)
    }
}

/// To the nearest integer, halves upwards, saturating.
fn round(v: f64) -> i32 {
    (v + 0.5).floor() as i32
}

/// An output's scale in 120ths, the unit of wp_fractional_scale_v1: 120 is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scale(u32);

impl Scale {
    /// No scaling.
    pub const ONE: Self = Self(120);

    /// From 120ths, at least one 120th.
    pub const fn from_120ths(n: u32) -> Self {
        Self(if n == 0 { 1 } else { n })
    }

    /// The nearest scale to `v`, which is clamped to 1/120 ..= 100.
    pub fn from_f64(v: f64) -> Self {
        Self((v.clamp(1.0 / 120.0, 100.0) * 120.0).round() as u32)
    }

    /// In 120ths.
    pub const fn in_120ths(self) -> u32 {
        self.0
    }

    /// As a factor from logical to physical.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 120.0
    }

    /// The next integer scale upwards, what clients without fractional scale are told.
    pub const fn ceil(self) -> i32 {
        self.0.div_ceil(120) as i32
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self::ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intersection_of_touching_rectangles_is_none() {
        assert_eq!(Rect::new(0, 0, 4, 4).intersection(Rect::new(4, 0, 4, 4)), None);
        assert_eq!(Rect::new(0, 0, 4, 4).intersection(Rect::new(3, 2, 4, 4)), Some(Rect::new(3, 2, 1, 2)));
    }

    #[test]
    fn edges_at_the_integer_limits_do_not_overflow() {
        let huge = Rect::new(i32::MAX - 1, i32::MIN, i32::MAX, i32::MAX);
        assert_eq!(huge.right(), i32::MAX);
        assert_eq!(huge.intersection(Rect::new(0, 0, 10, 10)), None);
        assert!(!huge.translated(Point::new(i32::MAX, i32::MIN)).is_empty());
    }

    #[test]
    fn round_edges_of_neighbours_keeps_them_touching() {
        let left = RectF::new(0.0, 0.0, 10.4, 3.0).scaled(1.25, 1.25).round_edges();
        let right = RectF::new(10.4, 0.0, 5.0, 3.0).scaled(1.25, 1.25).round_edges();
        assert_eq!(left.right(), right.x);
    }

    #[test]
    fn scale_of_five_quarters_is_150_120ths() {
        assert_eq!(Scale::from_f64(1.25).in_120ths(), 150);
        assert_eq!(Scale::from_f64(1.25).ceil(), 2);
        assert_eq!(Scale::from_f64(f64::NAN.max(0.0)).in_120ths(), 1);
    }
}
