//! Fingers.

use smithay::backend::input::TouchSlot;
use smithay::input::touch::{DownEvent, MotionEvent, UpEvent};
use smithay::reexports::wayland_server::Resource;
use smithay::utils::SERIAL_COUNTER;

use super::drag::Hold;
use crate::adapters::wayland::state::State;

/// Fingers known at a time, by slot number; more are not heeded.
const MAX_SLOTS: u32 = 64;

impl State {
    pub(super) fn touch_down(&mut self, slot: u32, x: f64, y: f64) {
        if slot >= MAX_SLOTS {
            return;
        }
        let hit = self.hit(x, y);
        if let Some((_, client)) = self.shell.popups.grabbed()
            && hit.as_ref().and_then(|hit| hit.surface.client()).is_none_or(|c| c.id() != *client)
        {
            self.dismiss_grab();
            return;
        }
        self.focus_by_click(hit.as_ref().map(|hit| &hit.root), x, y);
        let serial = SERIAL_COUNTER.next_serial();
        if let Some(client) = hit.as_ref().and_then(|hit| hit.surface.client()) {
            self.seat.serials.give(serial, client.id());
        }
        let focus = hit.map(|hit| (hit.surface, (hit.x, hit.y).into()));
        let event = DownEvent { slot: touch_slot(slot), location: (x, y).into(), serial, time: self.time_ms() };
        let touch = self.seat.touch.clone();
        touch.down(self, focus, &event);
    }

    pub(super) fn touch_motion(&mut self, slot: u32, x: f64, y: f64) {
        if self.drag_hold() == Some(Hold::Finger(touch_slot(slot))) {
            self.drag_to(x, y);
            return;
        }
        let focus = self.hit(x, y).map(|hit| (hit.surface, (hit.x, hit.y).into()));
        let event = MotionEvent { slot: touch_slot(slot), location: (x, y).into(), time: self.time_ms() };
        let touch = self.seat.touch.clone();
        touch.motion(self, focus, &event);
        self.move_icon(x, y);
    }

    pub(super) fn touch_up(&mut self, slot: u32) {
        if self.drag_hold() == Some(Hold::Finger(touch_slot(slot))) {
            self.end_drag();
        }
        let event = UpEvent { slot: touch_slot(slot), serial: SERIAL_COUNTER.next_serial(), time: self.time_ms() };
        let touch = self.seat.touch.clone();
        touch.up(self, &event);
    }

    pub(super) fn touch_frame(&mut self) {
        let touch = self.seat.touch.clone();
        touch.frame(self);
    }

    pub(super) fn touch_cancel(&mut self) {
        if matches!(self.drag_hold(), Some(Hold::Finger(_))) {
            self.end_drag();
        }
        let touch = self.seat.touch.clone();
        touch.cancel(self);
    }
}

fn touch_slot(slot: u32) -> TouchSlot {
    Some(slot).into()
}
