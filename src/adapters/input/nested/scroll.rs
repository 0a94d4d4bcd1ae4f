//! Scrolling in the port's units: logical pixels and 120ths of a detent.
//!
//! winit counts against the direction of wl_pointer.axis, in lines for wheels and in host pixels for the rest, and
//! does not say which device it was. Lines are a wheel, as every X device is; pixels are fingers, for only their end
//! is told. A detent is 15 logical pixels, as libinput has it for a wheel of 15 degrees a click. From an X device that
//! has wheel buttons only, no axes (some VNC servers'), winit 0.30 makes a line of the press and one of the release,
//! which cannot be told from two clicks: such wheels turn twice as far.

use winit::event::{MouseScrollDelta, TouchPhase};

use crate::ports::input::{Event, ScrollAxis, ScrollSource};

/// Logical pixels for one detent.
const DETENT: f64 = 15.0;

/// What is left of one axis between events.
#[derive(Clone, Copy, Debug, Default)]
struct Axis {
    /// The part of a 120th not yet told, so that a high-resolution wheel loses nothing to rounding.
    rest: f64,
    /// Fingers moved along it and did not leave yet.
    moving: bool,
}

/// The host's wheels and touchpads.
#[derive(Debug, Default)]
pub(super) struct Scroll {
    horizontal: Axis,
    vertical: Axis,
}

impl Scroll {
    /// One step of a scroll; `scale`: host pixels for one logical pixel.
    pub(super) fn scroll(
        &mut self,
        delta: MouseScrollDelta,
        phase: TouchPhase,
        scale: f64,
        tell: &mut dyn FnMut(Event),
    ) {
        let (source, horizontal, vertical) = match delta {
            MouseScrollDelta::LineDelta(x, y) => {
                (ScrollSource::Wheel, self.horizontal.turn(f64::from(-x)), self.vertical.turn(f64::from(-y)))
            }
            MouseScrollDelta::PixelDelta(by) => {
                let end = matches!(phase, TouchPhase::Ended | TouchPhase::Cancelled);
                let scale = if scale > 0.0 { scale } else { 1.0 };
                let (x, y) = (-by.x / scale, -by.y / scale);
                (ScrollSource::Finger, self.horizontal.slide(x, end), self.vertical.slide(y, end))
            }
        };
        if [horizontal, vertical].iter().any(|axis| *axis != ScrollAxis::default()) {
            tell(Event::Scroll { source, horizontal, vertical });
        }
    }
}

impl Axis {
    /// A wheel turned by `detents`.
    fn turn(&mut self, detents: f64) -> ScrollAxis {
        self.rest += detents * 120.0;
        let v120 = self.rest.round();
        self.rest -= v120;
        ScrollAxis { distance: no_sign_of_zero(detents * DETENT), v120: v120 as i32, stop: false }
    }

    /// Fingers moved by `distance`, and left if `end`.
    fn slide(&mut self, distance: f64, end: bool) -> ScrollAxis {
        let moving = self.moving || distance != 0.0;
        self.moving = moving && !end;
        ScrollAxis { distance: no_sign_of_zero(distance), v120: 0, stop: moving && end }
    }
}

/// Minus zero is a distance of nothing.
fn no_sign_of_zero(distance: f64) -> f64 {
    distance + 0.0
}

#[cfg(test)]
mod tests {
    use winit::dpi::PhysicalPosition;

    use super::*;

    fn told(play: &[(MouseScrollDelta, TouchPhase)]) -> Vec<Event> {
        let mut scroll = Scroll::default();
        let mut told = Vec::new();
        for (delta, phase) in play {
            scroll.scroll(*delta, *phase, 2.0, &mut |event| told.push(event));
        }
        told
    }

    fn pixels(x: f64, y: f64) -> MouseScrollDelta {
        MouseScrollDelta::PixelDelta(PhysicalPosition::new(x, y))
    }

    #[test]
    fn wheel_in_thirds_of_a_detent_adds_up_to_120() {
        let third = MouseScrollDelta::LineDelta(0.0, 1.0 / 3.0);
        let steps = told(&[(third, TouchPhase::Moved); 3]);
        let sum: i32 = steps
            .iter()
            .map(|event| match event {
                Event::Scroll { source: ScrollSource::Wheel, vertical, .. } => vertical.v120,
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(sum, -120);
    }

    #[test]
    fn fingers_along_one_axis_stop_that_axis_alone() {
        let steps = told(&[(pixels(0.0, -8.0), TouchPhase::Started), (pixels(0.0, 0.0), TouchPhase::Ended)]);
        let nothing = ScrollAxis::default();
        let source = ScrollSource::Finger;
        let moved = ScrollAxis { distance: 4.0, ..nothing };
        let stopped = ScrollAxis { stop: true, ..nothing };
        assert_eq!(
            steps,
            [
                Event::Scroll { source, horizontal: nothing, vertical: moved },
                Event::Scroll { source, horizontal: nothing, vertical: stopped }
            ]
        );
    }

    #[test]
    fn scroll_by_nothing_is_not_told() {
        assert_eq!(told(&[(pixels(0.0, 0.0), TouchPhase::Moved), (pixels(0.0, 0.0), TouchPhase::Ended)]), []);
        assert_eq!(told(&[(MouseScrollDelta::LineDelta(0.0, 0.0), TouchPhase::Moved)]), []);
    }
}
