//! The pointer: where it is, what it is on, its buttons and scrolling.
//!
//! Its position is logical and always on some output. What it is on follows from that and the stack alone; while a
//! button is held it stays on what it was pressed on (smithay's implicit grab), while a window is dragged it is on
//! nothing, and while popups have a grab it is on their client's surfaces or on nothing.

use smithay::backend::input::{Axis, AxisRelativeDirection, AxisSource, ButtonState};
use smithay::input::pointer::{AxisFrame, ButtonEvent, MotionEvent, RelativeMotionEvent};
use smithay::reexports::wayland_server::Resource;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::utils::{Logical, Point as SmithayPoint, SERIAL_COUNTER};

use super::held::Device;
use crate::adapters::wayland::shell::stack::Hit;
use crate::adapters::wayland::state::State;
use crate::domain::binding::Modifiers;
use crate::domain::config::Focus;
use crate::domain::geometry::Point;
use crate::ports::input::{Press, ScrollAxis, ScrollSource};

/// The greatest evdev code of a button that is passed on (KEY_MAX).
const MAX_CODE: u32 = 0x2ff;

/// Keeps a position on an output from being on its far edge, which is the next output's.
const INSIDE: f64 = 1.0 / 256.0;

impl State {
    /// Where the pointer is, logical.
    pub fn pointer_place(&self) -> (f64, f64) {
        let at = self.seat.pointer.current_location();
        (at.x, at.y)
    }

    /// The nearest place on an output; the same one where there is no output.
    pub(super) fn clamp_to_outputs(&self, x: f64, y: f64) -> (f64, f64) {
        let Some(screen) = self.shell.desktop.screen_at(Point::new(x.floor() as i32, y.floor() as i32)) else {
            return (x, y);
        };
        let rect = screen.rect.to_f64();
        let axis = |v: f64, low: f64, extent: f64| v.clamp(low, low + (extent - INSIDE).max(0.0));
        (axis(x, rect.x, rect.w), axis(y, rect.y, rect.h))
    }

    /// Outputs changed: the pointer may be on none.
    pub(in crate::adapters::wayland) fn keep_pointer_inside(&mut self) {
        let (x, y) = self.pointer_place();
        let inside = self.clamp_to_outputs(x, y);
        if inside != (x, y) {
            self.seat.pointer.set_location(inside.into());
            self.seat.pointer_on = None;
        }
        self.shell.dirty = true;
    }

    /// What the pointer at a point would be on, and that surface's corner.
    pub(super) fn pointer_target(&mut self, x: f64, y: f64) -> Option<Hit> {
        if self.seat.pointer_gone || self.seat.drag.is_some() {
            return None;
        }
        let hit = self.hit(x, y)?;
        match self.shell.popups.grabbed() {
            Some((_, client)) if hit.surface.client().is_none_or(|c| c.id() != *client) => None,
            _ => Some(hit),
        }
    }

    pub(super) fn hit(&mut self, x: f64, y: f64) -> Option<Hit> {
        let mut scratch = std::mem::take(&mut self.seat.scratch);
        let hit = self.surface_at(x, y, &mut scratch);
        self.seat.scratch = scratch;
        hit
    }

    /// The pointer moved by logical pixels; `raw` is what the device said.
    pub(super) fn pointer_motion(&mut self, by: (f64, f64), raw: (f64, f64)) {
        if ![by.0, by.1, raw.0, raw.1].iter().all(|v| v.is_finite()) {
            return;
        }
        let pointer = self.seat.pointer.clone();
        let event =
            RelativeMotionEvent { delta: by.into(), delta_unaccel: raw.into(), utime: self.core.now.as_ns() / 1000 };
        let (x, y) = self.pointer_place();
        if self.seat.drag.is_none() {
            pointer.relative_motion(self, None, &event);
        }
        self.move_pointer(x + by.0, y + by.1);
    }

    /// The pointer is at a logical point.
    pub(super) fn pointer_to(&mut self, x: f64, y: f64) {
        let (from_x, from_y) = self.pointer_place();
        let by = (x - from_x, y - from_y);
        if !self.seat.pointer_gone && by != (0.0, 0.0) {
            let pointer = self.seat.pointer.clone();
            let utime = self.core.now.as_ns() / 1000;
            pointer.relative_motion(
                self,
                None,
                &RelativeMotionEvent { delta: by.into(), delta_unaccel: by.into(), utime },
            );
        }
        self.move_pointer(x, y);
    }

    fn move_pointer(&mut self, x: f64, y: f64) {
        if std::mem::take(&mut self.seat.pointer_gone) {
            self.shell.dirty = true;
        }
        let pointer = self.seat.pointer.clone();
        let Some((x, y)) = self.constrained(x, y) else {
            pointer.frame(self); // locked: the relative motion was all
            return;
        };
        let (x, y) = self.clamp_to_outputs(x, y);
        self.drag_pointer(x, y);
        let hit = self.pointer_target(x, y);
        if self.seat.focus_by == Focus::Pointer && !pointer.is_grabbed() {
            self.focus_by_hover(hit.as_ref());
        }
        self.point_at(hit, x, y);
        self.cursor_moved();
    }

    fn focus_by_hover(&mut self, hit: Option<&Hit>) {
        let entered = hit.filter(|hit| self.seat.pointer_on.as_ref().is_none_or(|(on, ..)| *on != hit.surface));
        let window = entered.and_then(|hit| self.shell.window_of(&hit.root));
        if let Some(id) = window {
            self.seat.panel_focus = None;
            self.shell.desktop.focus_only(id);
        }
    }

    /// Tells clients where the pointer is.
    pub(super) fn point_at(&mut self, hit: Option<Hit>, x: f64, y: f64) {
        let pointer = self.seat.pointer.clone();
        let event = MotionEvent { location: (x, y).into(), serial: SERIAL_COUNTER.next_serial(), time: self.time_ms() };
        self.seat.pointer_on = hit.as_ref().map(|hit| (hit.surface.clone(), hit.x, hit.y));
        let focus = hit.map(|hit| (hit.surface, SmithayPoint::<f64, Logical>::from((hit.x, hit.y))));
        pointer.motion(self, focus, &event);
        pointer.frame(self);
        self.activate_constraint();
    }

    /// After something under the pointer changed: tells clients, if it is on something else now.
    pub(in crate::adapters::wayland) fn refresh_pointer(&mut self) {
        let (x, y) = self.pointer_place();
        let hit = self.pointer_target(x, y);
        let on = hit.as_ref().map(|hit| (&hit.surface, hit.x, hit.y));
        let moved = on != self.seat.pointer_on.as_ref().map(|(surface, x, y)| (surface, *x, *y));
        // A grab that ended leaves the pointer on what it was pressed on.
        let pointer = &self.seat.pointer;
        let stale = !pointer.is_grabbed() && pointer.current_focus().as_ref() != on.map(|(surface, ..)| surface);
        if moved || stale {
            self.point_at(hit, x, y);
        } else {
            self.activate_constraint();
        }
    }

    /// The pointer left every output of its backend.
    pub(super) fn pointer_left(&mut self) {
        self.seat.pointer_gone = true;
        while let Some(code) = self.seat.buttons.any_of(Device::Physical) {
            self.button(Device::Physical, code, Press::Released);
        }
        let (x, y) = self.pointer_place();
        self.point_at(None, x, y);
        self.shell.dirty = true;
    }

    /// A device's button, by its evdev code.
    pub(super) fn button(&mut self, device: Device, code: u32, press: Press) {
        if code > MAX_CODE {
            return;
        }
        let first = self.seat.buttons.is_empty();
        let news = match press {
            Press::Pressed => self.seat.buttons.press(device, code),
            Press::Released => self.seat.buttons.release(device, code),
        };
        if !news {
            return;
        }
        let pointer = self.seat.pointer.clone();
        let serial = SERIAL_COUNTER.next_serial();
        if press == Press::Pressed && first && self.pressed_first(code) {
            return;
        }
        let state = match press {
            Press::Pressed => ButtonState::Pressed,
            Press::Released => ButtonState::Released,
        };
        if press == Press::Pressed
            && let Some(client) = pointer.current_focus().and_then(|focus| focus.client())
        {
            self.seat.serials.give(serial, client.id());
        }
        let time = self.time_ms();
        pointer.button(self, &ButtonEvent { serial, time, button: code, state });
        pointer.frame(self);
        if self.seat.buttons.is_empty() {
            self.end_pointer_drag();
            self.shell.dirty = true; // the pointer may be on something else by now
        }
    }

    /// The first button goes down: focus, popups, window drags. Returns whether clients must not know.
    fn pressed_first(&mut self, code: u32) -> bool {
        let (x, y) = self.pointer_place();
        self.refresh_pointer();
        let hit = self.hit(x, y);
        if let Some((_, client)) = self.shell.popups.grabbed() {
            if hit.as_ref().and_then(|hit| hit.surface.client()).is_none_or(|c| c.id() != *client) {
                self.dismiss_grab(); // the pointer is on nothing: nobody gets this press
            }
            return false;
        }
        self.focus_by_click(hit.as_ref().map(|hit| &hit.root), x, y);
        self.refocus();
        let drags = self.seat.drag_modifiers != Modifiers::default() && self.modifiers() == self.seat.drag_modifiers;
        let window = hit.and_then(|hit| self.window_at(&hit.root)).filter(|_| drags);
        window.is_some_and(|id| self.begin_button_drag(id, code))
    }

    /// The window that a surface belongs to, itself or as its popup.
    fn window_at(&self, root: &WlSurface) -> Option<crate::domain::window::WindowId> {
        self.shell.window_of(self.shell.popups.root_of(root).unwrap_or(root))
    }

    /// A scroll.
    pub(super) fn scroll(&mut self, source: ScrollSource, horizontal: ScrollAxis, vertical: ScrollAxis) {
        let config = &self.seat.scroll;
        let (factor, direction) = if config.natural_scroll {
            (-config.scroll_factor, AxisRelativeDirection::Inverted)
        } else {
            (config.scroll_factor, AxisRelativeDirection::Identical)
        };
        let mut frame = AxisFrame::new(self.time_ms()).source(match source {
            ScrollSource::Wheel => AxisSource::Wheel,
            ScrollSource::Finger => AxisSource::Finger,
            ScrollSource::Continuous => AxisSource::Continuous,
        });
        for (axis, scroll) in [(Axis::Horizontal, horizontal), (Axis::Vertical, vertical)] {
            let distance = scroll.distance * factor;
            if distance.is_finite() && distance != 0.0 {
                frame = frame.relative_direction(axis, direction).value(axis, distance);
                let steps = f64::from(scroll.v120) * factor;
                if steps != 0.0 {
                    frame = frame.v120(axis, steps.clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32);
                }
            }
            if scroll.stop {
                frame = frame.stop(axis);
            }
        }
        self.refresh_pointer();
        let pointer = self.seat.pointer.clone();
        pointer.axis(self, frame);
        pointer.frame(self);
    }
}
