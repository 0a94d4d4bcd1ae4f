//! Fingers: the host's numbers for them as small slots that are used again.

use winit::event::TouchPhase;

use crate::ports::input::Event;

/// The fingers down, by slot.
#[derive(Debug, Default)]
pub(super) struct Touch {
    slots: [Option<u64>; 16],
    /// Something was told since the last frame.
    open: bool,
}

impl Touch {
    /// The finger with the host's number `id` did something `at` fractions of the output.
    pub(super) fn touch(
        &mut self,
        id: u64,
        phase: TouchPhase,
        at: (f64, f64),
        output: &str,
        tell: &mut dyn FnMut(Event),
    ) {
        let slot = self.slots.iter().position(|held| *held == Some(id));
        let (x, y) = at;
        match (phase, slot) {
            (TouchPhase::Started, None) => {
                let Some(free) = self.slots.iter().position(Option::is_none) else { return };
                self.slots[free] = Some(id);
                tell(Event::TouchDown { slot: free as u32, output: output.to_owned(), x, y });
            }
            (TouchPhase::Moved, Some(slot)) => {
                tell(Event::TouchMotion { slot: slot as u32, output: output.to_owned(), x, y });
            }
            (TouchPhase::Ended, Some(slot)) => {
                self.slots[slot] = None;
                tell(Event::TouchUp { slot: slot as u32 });
            }
            (TouchPhase::Cancelled, Some(_)) => {
                // wl_touch.cancel is for all fingers; the host says so once for each.
                self.slots = [None; 16];
                self.open = false;
                tell(Event::TouchCancel);
                return;
            }
            _ => return,
        }
        self.open = true;
    }

    /// All of one report was given.
    pub(super) fn finish(&mut self, tell: &mut dyn FnMut(Event)) {
        if std::mem::take(&mut self.open) {
            tell(Event::TouchFrame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(play: &[(u64, TouchPhase)]) -> Vec<Event> {
        let mut touch = Touch::default();
        let mut told = Vec::new();
        for (id, phase) in play {
            touch.touch(*id, *phase, (0.5, 0.25), "O", &mut |event| told.push(event));
        }
        touch.finish(&mut |event| told.push(event));
        touch.finish(&mut |event| told.push(event));
        told
    }

    fn down(slot: u32) -> Event {
        Event::TouchDown { slot, output: "O".into(), x: 0.5, y: 0.25 }
    }

    #[test]
    fn slot_of_a_finger_gone_is_used_again() {
        use TouchPhase::{Ended, Started};
        let told = told(&[(700, Started), (701, Started), (700, Ended), (702, Started)]);
        assert_eq!(told, [down(0), down(1), Event::TouchUp { slot: 0 }, down(0), Event::TouchFrame]);
    }

    #[test]
    fn cancel_of_two_fingers_is_told_once() {
        use TouchPhase::{Cancelled, Started};
        let told = told(&[(1, Started), (2, Started), (1, Cancelled), (2, Cancelled)]);
        assert_eq!(told, [down(0), down(1), Event::TouchCancel]);
    }

    #[test]
    fn motion_of_an_unknown_finger_is_not_told() {
        assert_eq!(told(&[(9, TouchPhase::Moved), (9, TouchPhase::Ended)]), []);
    }
}
