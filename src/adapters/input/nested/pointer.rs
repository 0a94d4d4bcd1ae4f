//! The pointer's way in and out of the window, and its buttons.
//!
//! While a button is down the pointer belongs to the window wherever it goes. An X host tells that it left all the
//! same, and goes on telling motion and the release: there the leaving is told after the last release. A Wayland host
//! lets go only where something else takes the pointer, and then tells no release: there the buttons come up with the
//! leaving.

use arrayvec::ArrayVec;
use winit::event::MouseButton;

use super::HostKind;
use crate::ports::input::{Event, Press};

const BTN_LEFT: u32 = 0x110;
const BTN_RIGHT: u32 = 0x111;
const BTN_MIDDLE: u32 = 0x112;
const BTN_SIDE: u32 = 0x113;
const BTN_EXTRA: u32 = 0x114;
const BTN_FORWARD: u32 = 0x115;

/// The evdev code of a button, where it has one.
///
/// winit gives one name to BTN_SIDE and BTN_BACK, and one to BTN_EXTRA and BTN_FORWARD; mice send the first of each.
/// Other buttons keep their evdev code on Wayland, and on X their number, which counts on from 10 for BTN_FORWARD.
pub(super) fn code(button: MouseButton, host: HostKind) -> Option<u32> {
    match (button, host) {
        (MouseButton::Left, _) => Some(BTN_LEFT),
        (MouseButton::Right, _) => Some(BTN_RIGHT),
        (MouseButton::Middle, _) => Some(BTN_MIDDLE),
        (MouseButton::Back, _) => Some(BTN_SIDE),
        (MouseButton::Forward, _) => Some(BTN_EXTRA),
        (MouseButton::Other(code), HostKind::Wayland) => Some(u32::from(code)),
        (MouseButton::Other(number), HostKind::X11) => {
            u32::from(number).checked_sub(10).map(|n| BTN_FORWARD + n).filter(|code| *code < 0x120)
        }
    }
}

/// The host's pointer.
#[derive(Debug)]
pub(super) struct Pointer {
    host: HostKind,
    inside: bool,
    /// Buttons told as down, by code.
    held: ArrayVec<u32, 16>,
}

impl Pointer {
    pub(super) fn new(host: HostKind) -> Self {
        Self { host, inside: false, held: ArrayVec::new() }
    }

    /// It came in.
    pub(super) fn enter(&mut self, tell: &mut dyn FnMut(Event)) {
        self.inside = true;
        if self.host == HostKind::Wayland {
            self.release_all(tell);
        }
    }

    /// It went out.
    pub(super) fn leave(&mut self, tell: &mut dyn FnMut(Event)) {
        if !std::mem::take(&mut self.inside) {
            return;
        }
        if self.host == HostKind::Wayland {
            self.release_all(tell);
        }
        if self.held.is_empty() {
            tell(Event::PointerLeft);
        }
    }

    /// Whether its motion concerns this window. An X host gives a position with the keyboard's focus, too, wherever
    /// the pointer is.
    pub(super) fn moves(&self) -> bool {
        self.inside || !self.held.is_empty()
    }

    /// A button changed.
    pub(super) fn button(&mut self, code: u32, press: Press, tell: &mut dyn FnMut(Event)) {
        let at = self.held.iter().position(|held| *held == code);
        match (press, at) {
            (Press::Pressed, None) if self.held.try_push(code).is_ok() => tell(Event::PointerButton { code, press }),
            (Press::Released, Some(at)) => {
                self.held.swap_remove(at);
                tell(Event::PointerButton { code, press });
                if self.held.is_empty() && !self.inside {
                    tell(Event::PointerLeft);
                }
            }
            _ => {} // more buttons than any mouse has, or a press from before
        }
    }

    fn release_all(&mut self, tell: &mut dyn FnMut(Event)) {
        for code in self.held.drain(..) {
            tell(Event::PointerButton { code, press: Press::Released });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOWN: Event = Event::PointerButton { code: BTN_LEFT, press: Press::Pressed };
    const UP: Event = Event::PointerButton { code: BTN_LEFT, press: Press::Released };

    fn told(host: HostKind, play: impl FnOnce(&mut Pointer, &mut dyn FnMut(Event))) -> Vec<Event> {
        let mut pointer = Pointer::new(host);
        let mut told = Vec::new();
        play(&mut pointer, &mut |event| told.push(event));
        told
    }

    #[test]
    fn drag_out_of_a_window_on_x_leaves_after_the_release() {
        let told = told(HostKind::X11, |pointer, tell| {
            pointer.enter(tell);
            pointer.button(BTN_LEFT, Press::Pressed, tell);
            pointer.leave(tell);
            assert!(pointer.moves());
            pointer.button(BTN_LEFT, Press::Released, tell);
            assert!(!pointer.moves());
        });
        assert_eq!(told, [DOWN, UP, Event::PointerLeft]);
    }

    #[test]
    fn drag_out_and_back_in_on_x_stays() {
        let told = told(HostKind::X11, |pointer, tell| {
            pointer.enter(tell);
            pointer.button(BTN_LEFT, Press::Pressed, tell);
            pointer.leave(tell);
            pointer.enter(tell);
            pointer.button(BTN_LEFT, Press::Released, tell);
        });
        assert_eq!(told, [DOWN, UP]);
    }

    #[test]
    fn pointer_taken_by_a_wayland_host_leaves_no_button_down() {
        let told = told(HostKind::Wayland, |pointer, tell| {
            pointer.enter(tell);
            pointer.button(BTN_LEFT, Press::Pressed, tell);
            pointer.leave(tell);
            pointer.button(BTN_LEFT, Press::Released, tell);
            pointer.leave(tell);
        });
        assert_eq!(told, [DOWN, UP, Event::PointerLeft]);
    }

    #[test]
    fn motion_before_entering_does_not_concern_the_window() {
        assert!(!Pointer::new(HostKind::X11).moves());
    }

    #[test]
    fn code_of_side_buttons_is_what_mice_send() {
        assert_eq!(code(MouseButton::Back, HostKind::X11), Some(0x113));
        assert_eq!(code(MouseButton::Forward, HostKind::Wayland), Some(0x114));
        assert_eq!(code(MouseButton::Other(0x117), HostKind::Wayland), Some(0x117));
        assert_eq!(code(MouseButton::Other(10), HostKind::X11), Some(0x115));
        assert_eq!(code(MouseButton::Other(12), HostKind::X11), Some(0x117));
        assert_eq!(code(MouseButton::Other(200), HostKind::X11), None);
    }
}
