//! Input devices' events, already free of the device library that read them.

use std::os::fd::BorrowedFd;

use crate::domain::frame::Time;

/// Pressed or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Press {
    /// Went down.
    Pressed,
    /// Came up.
    Released,
}

/// What made a scroll. Source: wl_pointer.axis_source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScrollSource {
    /// A wheel with detents.
    Wheel,
    /// Fingers on a touchpad.
    Finger,
    /// A continuous device.
    Continuous,
}

/// One axis of a scroll.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScrollAxis {
    /// Distance in logical pixels, positive down or right.
    pub distance: f64,
    /// 120ths of a detent, zero where there are none.
    pub v120: i32,
    /// The fingers left: no more of this scroll (wl_pointer.axis_stop).
    pub stop: bool,
}

/// What happened. Positions on an output are fractions of its size, 0..1 from the top left, of the output named.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A key by its evdev code (linux/input-event-codes.h, without the XKB offset of 8).
    Key {
        /// The code.
        code: u32,
        /// Down or up.
        press: Press,
    },
    /// The host took the keyboard away: every key is up, modifiers included.
    KeyboardLost,
    /// The pointer moved by logical pixels.
    PointerMotion {
        /// Accelerated distance right.
        dx: f64,
        /// Accelerated distance down.
        dy: f64,
        /// Raw distance right.
        raw_dx: f64,
        /// Raw distance down.
        raw_dy: f64,
    },
    /// The pointer is at a place of an output.
    PointerPosition {
        /// The output's name.
        output: String,
        /// From the left edge, 0..1.
        x: f64,
        /// From the top edge, 0..1.
        y: f64,
    },
    /// The pointer left every output of this backend.
    PointerLeft,
    /// A button by its evdev code (BTN_LEFT is 0x110).
    PointerButton {
        /// The code.
        code: u32,
        /// Down or up.
        press: Press,
    },
    /// A scroll.
    Scroll {
        /// What made it.
        source: ScrollSource,
        /// Along x.
        horizontal: ScrollAxis,
        /// Along y.
        vertical: ScrollAxis,
    },
    /// A finger came down.
    TouchDown {
        /// The finger.
        slot: u32,
        /// The output's name.
        output: String,
        /// From the left edge, 0..1.
        x: f64,
        /// From the top edge, 0..1.
        y: f64,
    },
    /// A finger moved.
    TouchMotion {
        /// The finger.
        slot: u32,
        /// The output's name.
        output: String,
        /// From the left edge, 0..1.
        x: f64,
        /// From the top edge, 0..1.
        y: f64,
    },
    /// A finger left.
    TouchUp {
        /// The finger.
        slot: u32,
    },
    /// All events of one hardware report are told.
    TouchFrame,
    /// The touches were taken by something else.
    TouchCancel,
}

/// A source of input.
pub trait Input {
    /// A descriptor whose readability calls for [`Input::dispatch`].
    fn wake_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Reads what is there, each event with the time it happened.
    fn dispatch(&mut self, now: Time, tell: &mut dyn FnMut(Time, Event));
}
