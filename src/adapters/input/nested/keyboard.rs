//! Keys as the port wants them: each press once, each release of a told press once.
//!
//! A key that was down before the window got the keyboard was meant for somebody else: it is not told, nor is its
//! release. Modifiers are the exception, since Ctrl held while the window is clicked should count. A Wayland host says,
//! in its turn among the keys, which modifiers are in force: the left key of each is pressed until the host says that
//! it is gone.
//!
//! For an X host, winit asks which keys are down when it reads that the focus came (its synthetic presses), and is
//! answered with those of that moment, which is later than the focus: a key typed at once is in the answer and among
//! the events still unread. All that was sent before the answer is read in the same batch, though. So nothing is
//! believed before the batch ends ([`Keyboard::finish`]): a key whose next event in it is a press was pressed after the
//! focus came, one with a release or none before. winit asks for the modifiers as late, and the keys say as much: on X
//! they are not listened to.

use arrayvec::ArrayVec;
use winit::keyboard::ModifiersState;

use super::HostKind;
use crate::ports::input::{Event, Press};

/// Each modifier with its left and its right key (linux/input-event-codes.h).
const MODIFIERS: [(ModifiersState, u32, u32); 4] = [
    (ModifiersState::SHIFT, 42, 54),
    (ModifiersState::CONTROL, 29, 97),
    (ModifiersState::ALT, 56, 100),
    (ModifiersState::SUPER, 125, 126),
];

fn is_modifier(code: u32) -> bool {
    MODIFIERS.iter().any(|(_, left, right)| [*left, *right].contains(&code))
}

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

    fn iter(&self) -> impl Iterator<Item = u32> {
        let Self(words) = *self;
        (0..Self::END).filter(move |code| words[*code as usize / 64] & (1 << (code % 64)) != 0)
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
#[derive(Debug)]
pub(super) struct Keyboard {
    host: HostKind,
    focused: bool,
    /// No key was told since the focus came: modifiers in force are from before.
    fresh: bool,
    /// Told as down, or to be told so by [`Keyboard::finish`].
    pressed: Codes,
    /// Down since before the focus came, and not told.
    stale: Codes,
    /// In the answer to what is down, and in no event since. Empty between batches.
    named: Codes,
    /// Modifier keys that were down when the focus came, to be told by [`Keyboard::finish`].
    held: ArrayVec<u32, { 2 * MODIFIERS.len() }>,
    /// Modifiers whose left key is told as down on the host's word that the modifier is in force.
    assumed: ModifiersState,
}

impl Keyboard {
    pub(super) fn new(host: HostKind) -> Self {
        let codes = Codes::default();
        Self {
            host,
            focused: false,
            fresh: false,
            pressed: codes,
            stale: codes,
            named: codes,
            held: ArrayVec::new(),
            assumed: ModifiersState::empty(),
        }
    }

    /// The window got the keyboard, or lost it.
    pub(super) fn focus(&mut self, focused: bool, tell: &mut dyn FnMut(Event)) {
        let lost = self.focused && !focused;
        *self = Self { focused, fresh: focused, ..Self::new(self.host) };
        if lost {
            tell(Event::KeyboardLost);
        }
    }

    /// The host names a key as down, or as up, because the focus came or went.
    pub(super) fn name(&mut self, code: u32, press: Press) {
        // That all keys go up with the focus, its loss says.
        if press == Press::Pressed {
            self.named.insert(code);
        }
    }

    /// A key changed.
    pub(super) fn key(&mut self, code: u32, press: Press, tell: &mut dyn FnMut(Event)) {
        self.fresh = false;
        let named = self.named.remove(code);
        match press {
            Press::Pressed if self.stale.contains(code) => {} // the host repeats it
            Press::Pressed => {
                if self.pressed.insert(code) {
                    tell(Event::Key { code, press });
                }
            }
            Press::Released => {
                self.stale.remove(code);
                if named && is_modifier(code) {
                    self.hold(code);
                }
                self.release(code, tell);
            }
        }
    }

    /// Ends a batch. `held` is told the modifiers that were down when the focus came, and must put them before all that
    /// was told since.
    pub(super) fn finish(&mut self, held: &mut dyn FnMut(Event)) {
        for code in std::mem::take(&mut self.named).iter() {
            if is_modifier(code) {
                self.hold(code);
            } else {
                self.stale.insert(code);
            }
        }
        self.held.drain(..).for_each(|code| held(Event::Key { code, press: Press::Pressed }));
    }

    fn hold(&mut self, code: u32) {
        if self.pressed.insert(code) {
            let _ = self.held.try_push(code); // there is room for every modifier
        }
    }

    /// The modifiers in force, latched and locked ones included.
    pub(super) fn modifiers(&mut self, state: ModifiersState, tell: &mut dyn FnMut(Event)) {
        if self.host == HostKind::X11 {
            return;
        }
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

    /// What a keyboard that just got the focus tells while `play` is done to it; batches end by [`end`].
    fn told(host: HostKind, play: impl FnOnce(&mut Keyboard, &mut Vec<Event>)) -> Vec<Event> {
        let mut keyboard = Keyboard::new(host);
        let mut told = Vec::new();
        keyboard.focus(true, &mut |event| told.push(event));
        play(&mut keyboard, &mut told);
        told
    }

    fn press(keyboard: &mut Keyboard, told: &mut Vec<Event>, code: u32) {
        keyboard.key(code, Press::Pressed, &mut |event| told.push(event));
    }

    fn release(keyboard: &mut Keyboard, told: &mut Vec<Event>, code: u32) {
        keyboard.key(code, Press::Released, &mut |event| told.push(event));
    }

    /// Ends the batch in which the focus came.
    fn end(keyboard: &mut Keyboard, told: &mut Vec<Event>) {
        let mut at = 0;
        keyboard.finish(&mut |event| {
            told.insert(at, event);
            at += 1;
        });
    }

    #[test]
    fn key_pressed_twice_is_told_once() {
        let told = told(HostKind::X11, |keyboard, told| {
            press(keyboard, told, A);
            press(keyboard, told, A);
            release(keyboard, told, A);
            release(keyboard, told, A);
        });
        assert_eq!(told, [down(A), up(A)]);
    }

    #[test]
    fn key_held_since_before_the_focus_is_told_from_its_next_press_on() {
        let told = told(HostKind::X11, |keyboard, told| {
            keyboard.name(A, Press::Pressed);
            end(keyboard, told);
            press(keyboard, told, A);
            release(keyboard, told, A);
            press(keyboard, told, A);
        });
        assert_eq!(told, [down(A)]);
    }

    #[test]
    fn key_typed_right_after_the_focus_came_is_told_though_it_was_named_as_down() {
        let told = told(HostKind::X11, |keyboard, told| {
            keyboard.name(A, Press::Pressed);
            press(keyboard, told, A);
            release(keyboard, told, A);
            end(keyboard, told);
        });
        assert_eq!(told, [down(A), up(A)]);
    }

    #[test]
    fn modifier_typed_right_after_the_focus_came_is_told_in_its_turn() {
        let told = told(HostKind::X11, |keyboard, told| {
            keyboard.name(LEFT_SHIFT, Press::Pressed);
            keyboard.modifiers(ModifiersState::SHIFT, &mut |event| told.push(event));
            press(keyboard, told, A);
            release(keyboard, told, A);
            press(keyboard, told, LEFT_SHIFT);
            end(keyboard, told);
        });
        assert_eq!(told, [down(A), up(A), down(LEFT_SHIFT)]);
    }

    #[test]
    fn modifier_held_while_the_focus_came_and_let_go_at_once_is_told_first() {
        let told = told(HostKind::X11, |keyboard, told| {
            keyboard.name(LEFT_SHIFT, Press::Pressed);
            press(keyboard, told, A);
            release(keyboard, told, LEFT_SHIFT);
            release(keyboard, told, A);
            end(keyboard, told);
        });
        assert_eq!(told, [down(LEFT_SHIFT), down(A), up(LEFT_SHIFT), up(A)]);
    }

    #[test]
    fn release_of_a_key_the_host_never_named_is_not_told() {
        assert_eq!(told(HostKind::X11, |keyboard, told| release(keyboard, told, A)), []);
    }

    #[test]
    fn focus_lost_with_keys_down_tells_the_loss_and_no_releases() {
        let told = told(HostKind::X11, |keyboard, told| {
            press(keyboard, told, A);
            keyboard.name(A, Press::Released);
            keyboard.focus(false, &mut |event| told.push(event));
            keyboard.focus(false, &mut |event| told.push(event));
            release(keyboard, told, A);
            end(keyboard, told);
        });
        assert_eq!(told, [down(A), Event::KeyboardLost]);
    }

    #[test]
    fn modifier_held_since_before_the_focus_counts_until_a_wayland_host_takes_it_back() {
        let told = told(HostKind::Wayland, |keyboard, told| {
            let modifiers = |keyboard: &mut Keyboard, state, told: &mut Vec<Event>| {
                keyboard.modifiers(state, &mut |event| told.push(event));
            };
            modifiers(keyboard, ModifiersState::SHIFT, told);
            modifiers(keyboard, ModifiersState::SHIFT, told);
            press(keyboard, told, A);
            release(keyboard, told, RIGHT_SHIFT); // it was the right one
            modifiers(keyboard, ModifiersState::empty(), told);
        });
        assert_eq!(told, [down(LEFT_SHIFT), down(A), up(LEFT_SHIFT)]);
    }

    #[test]
    fn modifier_named_by_its_key_on_x_is_that_key_until_it_is_released() {
        let told = told(HostKind::X11, |keyboard, told| {
            keyboard.name(RIGHT_SHIFT, Press::Pressed);
            end(keyboard, told);
            release(keyboard, told, RIGHT_SHIFT);
        });
        assert_eq!(told, [down(RIGHT_SHIFT), up(RIGHT_SHIFT)]);
    }

    #[test]
    fn modifier_locked_by_a_key_told_is_not_assumed() {
        let told = told(HostKind::Wayland, |keyboard, told| {
            press(keyboard, told, LEFT_SHIFT);
            release(keyboard, told, LEFT_SHIFT);
            keyboard.modifiers(ModifiersState::SHIFT, &mut |event| told.push(event));
        });
        assert_eq!(told, [down(LEFT_SHIFT), up(LEFT_SHIFT)]);
    }

    #[test]
    fn code_beyond_the_greatest_is_not_told() {
        assert_eq!(told(HostKind::X11, |keyboard, told| press(keyboard, told, 0x300)), []);
    }
}
