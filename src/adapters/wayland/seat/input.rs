//! Where input enters, whatever backend it comes from.

use super::held::Device;
use crate::adapters::wayland::state::State;
use crate::domain::frame::Time;
use crate::ports::input::Event;

impl State {
    /// Handles one event of a backend, which happened at `now`.
    pub fn input(&mut self, now: Time, event: Event) {
        self.core.now = now;
        match event {
            Event::Key { code, press } => self.key(Device::Physical, code, press),
            Event::KeyboardLost => self.release_keys(Device::Physical),
            Event::PointerMotion { dx, dy, raw_dx, raw_dy } => self.pointer_motion((dx, dy), (raw_dx, raw_dy)),
            Event::PointerPosition { output, x, y } => {
                if let Some((x, y)) = self.on_output(&output, x, y) {
                    self.pointer_to(x, y);
                }
            }
            Event::PointerLeft => self.pointer_left(),
            Event::PointerButton { code, press } => self.button(Device::Physical, code, press),
            Event::Scroll { source, horizontal, vertical } => self.scroll(source, horizontal, vertical),
            Event::TouchDown { slot, output, x, y } => {
                if let Some((x, y)) = self.on_output(&output, x, y) {
                    self.touch_down(slot, x, y);
                }
            }
            Event::TouchMotion { slot, output, x, y } => {
                if let Some((x, y)) = self.on_output(&output, x, y) {
                    self.touch_motion(slot, x, y);
                }
            }
            Event::TouchUp { slot } => self.touch_up(slot),
            Event::TouchFrame => self.touch_frame(),
            Event::TouchCancel => self.touch_cancel(),
        }
        self.settle();
    }

    /// A place of an output, in fractions, as a logical point; `None` where there is no such output.
    fn on_output(&self, name: &str, x: f64, y: f64) -> Option<(f64, f64)> {
        let rect = self.core.outputs.by_name(name)?.placement.logical_rect().to_f64();
        let part = |v: f64| if v.is_finite() { v.clamp(0.0, 1.0) } else { 0.0 };
        Some((rect.x + part(x) * rect.w, rect.y + part(y) * rect.h))
    }

    /// `now` as clients see it.
    pub(super) fn time_ms(&self) -> u32 {
        self.core.now.as_ms_wrapping()
    }
}
