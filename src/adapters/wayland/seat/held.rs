//! What is held down, by which device.
//!
//! Two devices may hold the same key: the seat sees one press, the first, and one release, the last. When a device goes
//! away, or its host takes it away, all that only it held goes up. So nothing sticks.

/// A device that can hold keys and buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Device {
    /// The backend's, all of them together.
    Physical,
    /// A client's virtual one, by its number.
    Virtual(u32),
}

/// Keys, or buttons. Codes at most; a device holds each once.
#[derive(Debug, Default)]
pub(super) struct Held {
    down: Vec<(Device, u32)>,
}

impl Held {
    /// A device pressed a code: whether that is news to the seat.
    pub(super) fn press(&mut self, device: Device, code: u32) -> bool {
        let news = !self.is_down(code);
        if !self.down.contains(&(device, code)) {
            self.down.push((device, code));
        }
        news
    }

    /// A device released a code: whether that is news to the seat.
    pub(super) fn release(&mut self, device: Device, code: u32) -> bool {
        let count = self.down.len();
        self.down.retain(|held| *held != (device, code));
        self.down.len() < count && !self.is_down(code)
    }

    /// Some code that a device holds.
    pub(super) fn any_of(&self, device: Device) -> Option<u32> {
        self.down.iter().find(|(by, _)| *by == device).map(|(_, code)| *code)
    }

    /// Whether anything is down.
    pub(super) fn is_empty(&self) -> bool {
        self.down.is_empty()
    }

    fn is_down(&self, code: u32) -> bool {
        self.down.iter().any(|(_, held)| *held == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_held_by_two_devices_goes_up_with_the_last() {
        let mut held = Held::default();
        assert!(held.press(Device::Physical, 30));
        assert!(!held.press(Device::Physical, 30), "a repeat is no news");
        assert!(!held.press(Device::Virtual(1), 30));
        assert!(!held.release(Device::Physical, 30));
        assert!(!held.release(Device::Physical, 30), "it had let go already");
        assert_eq!(held.any_of(Device::Virtual(1)), Some(30));
        assert!(held.release(Device::Virtual(1), 30));
        assert!(held.is_empty());
    }

    #[test]
    fn code_released_without_a_press_is_no_news() {
        assert!(!Held::default().release(Device::Physical, 30));
    }
}
