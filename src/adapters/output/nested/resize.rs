//! The window's size and scale, told on when they have come to rest.
//!
//! Every change costs a swapchain, and a round of configures to all that is maximised inside. A host that sends a
//! size for every step of the pointer is therefore listened to when it pauses ([`REST_NS`]), and while it does not,
//! every [`LIMIT_NS`]. Pure; `now` comes from the caller.

use crate::domain::frame::Time;
use crate::domain::geometry::{Scale, Size};

/// Without a change for this long, it has come to rest.
pub(super) const REST_NS: u64 = 30_000_000;
/// The longest that a change waits.
pub(super) const LIMIT_NS: u64 = 120_000_000;

/// What is told on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Host pixels, each side at least one.
    pub(super) size_px: Size,
    /// Host pixels for one of the host's logical pixels.
    pub(super) scale: Scale,
}

/// The shape told and the one to come.
#[derive(Debug)]
pub(super) struct Resize {
    told: Shape,
    latest: Shape,
    /// Since when the two differ, and when `latest` last changed.
    changing: Option<(Time, Time)>,
    /// The next difference is told at once.
    hurried: bool,
}

impl Resize {
    /// `shape` counts as told.
    pub(super) fn new(shape: Shape) -> Self {
        Self { told: shape, latest: shape, changing: None, hurried: false }
    }

    /// The window has this shape now.
    pub(super) fn set(&mut self, shape: Shape, now: Time) {
        if shape == self.latest {
            return;
        }
        self.latest = shape;
        self.changing = (shape != self.told).then_some((self.changing.map_or(now, |(since, _)| since), now));
    }

    /// When [`Resize::take`] has something to say.
    pub(super) fn due(&self) -> Option<Time> {
        let (since, last) = self.changing?;
        Some(if self.hurried { since } else { last.plus_ns(REST_NS).min(since.plus_ns(LIMIT_NS)) })
    }

    /// The shape to tell, if it is time.
    pub(super) fn take(&mut self, now: Time) -> Option<Shape> {
        self.due().filter(|due| *due <= now)?;
        self.changing = None;
        self.hurried = false;
        self.told = self.latest;
        Some(self.told)
    }

    /// The shape told serves no longer: the next is to be told at once, also where it is not known yet.
    pub(super) fn hurry(&mut self) {
        self.hurried = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_ns(1_000_000_000 + ms * MS)
    }

    fn shape(w: i32) -> Shape {
        Shape { size_px: Size::new(w, 100), scale: Scale::ONE }
    }

    #[test]
    fn size_is_told_once_when_it_comes_to_rest() {
        let mut resize = Resize::new(shape(1));
        for step in 0..3u8 {
            resize.set(shape(10 + i32::from(step)), at(u64::from(step) * 10));
            assert_eq!(resize.take(at(u64::from(step) * 10)), None);
        }
        assert_eq!(resize.due(), Some(at(20).plus_ns(REST_NS)));
        assert_eq!(resize.take(at(20).plus_ns(REST_NS)), Some(shape(12)));
        assert_eq!(resize.take(at(1000)), None);
    }

    #[test]
    fn size_that_never_rests_is_told_at_the_limit() {
        let mut resize = Resize::new(shape(0));
        let mut told = Vec::new();
        for ms in 1..=300u16 {
            resize.set(shape(i32::from(ms)), at(u64::from(ms)));
            told.extend(resize.take(at(u64::from(ms))).map(|shape| shape.size_px.w));
        }
        assert_eq!(told, [121, 242]);
    }

    #[test]
    fn size_that_goes_and_comes_back_is_not_told() {
        let mut resize = Resize::new(shape(1));
        resize.set(shape(2), at(0));
        resize.set(shape(1), at(5));
        assert_eq!(resize.due(), None);
        assert_eq!(resize.take(at(500)), None);
    }

    #[test]
    fn size_hurried_is_told_at_once_and_the_next_rests_again() {
        let mut resize = Resize::new(shape(1));
        resize.hurry();
        assert_eq!(resize.take(at(9)), None, "nothing differs");
        resize.set(shape(2), at(10));
        assert_eq!(resize.take(at(10)), Some(shape(2)));
        resize.set(shape(3), at(20));
        assert_eq!(resize.take(at(20)), None);
        resize.hurry();
        assert_eq!(resize.take(at(20)), Some(shape(3)));
    }

    #[test]
    fn scale_alone_is_told_as_well() {
        let mut resize = Resize::new(shape(1));
        let scaled = Shape { scale: Scale::from_120ths(150), ..shape(1) };
        resize.set(scaled, at(0));
        assert_eq!(resize.take(at(0).plus_ns(REST_NS)), Some(scaled));
    }
}
