//! Keys as the port wants them: each press once, each release of a told press once.
//!
//! A key that was down before the window got the keyboard was meant for somebody else: it is not told, nor is its
//! release. Modifiers are the exception, since Ctrl held while the window is clicked should count: an X host names
//! the keys that are down (winit's synthetic presses), a Wayland host only the modifiers in force, for which the left
//! key is pressed until the host says that the modifier is gone.

use winit::keyboard::ModifiersState;

use crate::ports::input::{Event, Press};

/// Each modifier with its left and its right key (linux/input-event-codes.h).
const MODIFIERS: [(ModifiersState, u32, u32); 4] = [
    (ModifiersState::SHIFT, 42, 54),
    (ModifiersState::CONTROL, 29, 97),
    (ModifiersState::ALT, 56, 100),
    (ModifiersState::SUPER, 125, 126),
];

/// The evdev codes 0..=KEY_MAX.
#[derive(Clone, Copy, Debug, Default)]
struct Codes([u64; 12]);

impl Codes {
    const END: u32 = 12 * 64;

    fn contains(&self, code: u32) -> bool {
        code < Self::END && self.0[code as usize / 64] & (1 << (code % 64)) != 0
    }

    /// Whether it was not there before.
    fn insert(&mut self, code: u32) -> bool {
        let new = code < Self::END && !self.contains(code);
        if new {
            self.0[code as usize / 64] |= 1 << (code % 64);
        }
        new
    }

    /// Whether it was there.
    fn remove(&mut self, code: u32) -> bool {
        let there = self.contains(code);
        if there {
            self.0[code as usize / 64] &= !(1 << (code % 64));
        }
        there
    }
}

/// The host's keyboard.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    focused: bool,
    /// No key was told since the focus came: modifiers in force are from before.
    fresh: bool,
    /// Told as down.
    pressed: Codes,
    /// Down since before the focus came, and not told.
    stale: Codes,
    /// Modifiers whose left key is told as down on the host's word that the modifier is in force.
    assumed: ModifiersState,
}

impl Keyboard {
    /// The window got the keyboard, or lost it.
    pub(super) fn focus(&mut self, focused: bool, tell: &mut dyn FnMut(Event)) {
        let lost = self.focused && !focused;
        *self = Self { focused, fresh: focused, ..Self::default() };
        if lost {
            tell(Event::KeyboardLost);
        }
    }

    /// A key changed; `synthetic`: it only turned out to be so when the focus came or went.
    pub(super) fn key(&mut self, code: u32, press: Press, synthetic: bool, tell: &mut dyn FnMut(Event)) {
        let modifier = MODIFIERS.iter().any(|(_, left, right)| [*left, *right].contains(&code));
        if synthetic && press == Press::Released {
            return; // the focus goes, which says it all
        }
        if synthetic && !modifier {
            self.stale.insert(code);
            return;
        }
        self.fresh &= synthetic;
        match press {
            Press::Pressed if self.stale.contains(code) => {} // the host repeats it
            Press::Pressed => {
                if self.pressed.insert(code) {
                    tell(Event::Key { code, press });
                }
            }
            Press::Released => {
                self.stale.remove(code);
                self.release(code, tell);
            }
        }
    }

    /// The modifiers in force, latched and locked ones included.
    pub(super) fn modifiers(&mut self, state: ModifiersState, tell: &mut dyn FnMut(Event)) {
        for (modifier, left, right) in MODIFIERS {
            if state.contains(modifier) {
                let down = self.pressed.contains(left) || self.pressed.contains(right);
                if self.focused && self.fresh && !down && self.pressed.insert(left) {
                    self.assumed |= modifier;
                    tell(Event::Key { code: left, press: Press::Pressed });
                }
            } else if self.assumed.contains(modifier) {
                self.assumed -= modifier;
                self.release(left, tell);
            }
        }
    }

    fn release(&mut self, code: u32, tell: &mut dyn FnMut(Event)) {
        if self.pressed.remove(code) {
            tell(Event::Key { code, press: Press::Released });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u32 = 30;
    const LEFT_SHIFT: u32 = 42;
    const RIGHT_SHIFT: u32 = 54;

    fn down(code: u32) -> Event {
        Event::Key { code, press: Press::Pressed }
    }

    fn up(code: u32) -> Event {
        Event::Key { code, press: Press::Released }
    }

    /// What a keyboard that just got the focus tells while `play` is done to it.
    fn told(play: impl FnOnce(&mut Keyboard, &mut dyn FnMut(Event))) -> Vec<Event> {
        let mut keyboard = Keyboard::default();
        let mut told = Vec::new();
        keyboard.focus(true, &mut |event| told.push(event));
        play(&mut keyboard, &mut |event| told.push(event));
        told
    }

    #[test]
    fn key_pressed_twice_is_told_once() {
        let told = told(|keyboard, tell| {
            keyboard.key(A, Press::Pressed, false, tell);
            keyboard.key(A, Press::Pressed, false, tell);
            keyboard.key(A, Press::Released, false, tell);
            keyboard.key(A, Press::Released, false, tell);
        });
        assert_eq!(told, [down(A), up(A)]);
    }

    #[test]
    fn key_held_since_before_the_focus_is_told_from_its_next_press_on() {
        let told = told(|keyboard, tell| {
            keyboard.key(A, Press::Pressed, true, tell);
            keyboard.key(A, Press::Pressed, false, tell);
            keyboard.key(A, Press::Released, false, tell);
            keyboard.key(A, Press::Pressed, false, tell);
        });
        assert_eq!(told, [down(A)]);
    }

    #[test]
    fn release_of_a_key_the_host_never_named_is_not_told() {
        assert_eq!(told(|keyboard, tell| keyboard.key(A, Press::Released, false, tell)), []);
    }

    #[test]
    fn focus_lost_with_keys_down_tells_the_loss_and_no_releases() {
        let told = told(|keyboard, tell| {
            keyboard.key(A, Press::Pressed, false, tell);
            keyboard.key(A, Press::Released, true, tell);
            keyboard.focus(false, tell);
            keyboard.focus(false, tell);
            keyboard.key(A, Press::Released, false, tell);
        });
        assert_eq!(told, [down(A), Event::KeyboardLost]);
    }

    #[test]
    fn modifier_held_since_before_the_focus_counts_until_the_host_takes_it_back() {
        let told = told(|keyboard, tell| {
            keyboard.modifiers(ModifiersState::SHIFT, tell);
            keyboard.modifiers(ModifiersState::SHIFT, tell);
            keyboard.key(A, Press::Pressed, false, tell);
            keyboard.key(RIGHT_SHIFT, Press::Released, false, tell); // it was the right one
            keyboard.modifiers(ModifiersState::empty(), tell);
        });
        assert_eq!(told, [down(LEFT_SHIFT), down(A), up(LEFT_SHIFT)]);
    }

    #[test]
    fn modifier_named_by_its_key_is_not_assumed_as_well() {
        let told = told(|keyboard, tell| {
            keyboard.key(RIGHT_SHIFT, Press::Pressed, true, tell);
            keyboard.modifiers(ModifiersState::SHIFT, tell);
            keyboard.key(RIGHT_SHIFT, Press::Released, false, tell);
            keyboard.modifiers(ModifiersState::empty(), tell);
        });
        assert_eq!(told, [down(RIGHT_SHIFT), up(RIGHT_SHIFT)]);
    }

    #[test]
    fn modifier_locked_by_a_key_told_is_not_assumed() {
        let told = told(|keyboard, tell| {
            keyboard.key(LEFT_SHIFT, Press::Pressed, false, tell);
            keyboard.key(LEFT_SHIFT, Press::Released, false, tell);
            keyboard.modifiers(ModifiersState::SHIFT, tell);
        });
        assert_eq!(told, [down(LEFT_SHIFT), up(LEFT_SHIFT)]);
    }

    #[test]
    fn code_beyond_the_greatest_is_not_told() {
        assert_eq!(told(|keyboard, tell| keyboard.key(0x300, Press::Pressed, false, tell)), []);
    }
}
