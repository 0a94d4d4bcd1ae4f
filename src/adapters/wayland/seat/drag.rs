//! Windows moved and resized by hand: by a client's request or with the drag modifiers held.
//!
//! While it lasts the pointer is on nothing, so that its client is told that it left; a finger's client is told that the
//! touch was cancelled. It ends when the last button or the finger goes up, or the window goes.

use smithay::backend::input::TouchSlot;
use smithay::reexports::wayland_server::Resource;
use smithay::utils::{SERIAL_COUNTER, Serial};

use crate::adapters::wayland::state::State;
use crate::domain::geometry::Point;
use crate::domain::window::{Edges, WindowId};

/// BTN_LEFT of linux/input-event-codes.h.
const BTN_LEFT: u32 = 0x110;
/// BTN_RIGHT of linux/input-event-codes.h.
const BTN_RIGHT: u32 = 0x111;

/// What holds a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hold {
    /// The pointer.
    Pointer,
    /// A finger.
    Finger(TouchSlot),
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// From the pointer to the window's corner.
    Move { offset: Point },
    /// Which edges.
    Resize { edges: Edges },
}

/// A drag under way.
#[derive(Debug)]
pub(super) struct Drag {
    window: WindowId,
    hold: Hold,
    kind: Kind,
    start: (f64, f64),
    last: (f64, f64),
}

impl Drag {
    /// The edges that are being dragged; `None` while the window is moved.
    pub(super) fn edges(&self) -> Option<Edges> {
        match self.kind {
            Kind::Move { .. } => None,
            Kind::Resize { edges } => Some(edges),
        }
    }
}

fn whole(at: (f64, f64)) -> Point {
    Point::new(at.0.round() as i32, at.1.round() as i32)
}

impl State {
    /// A client asks for its window to be moved, or resized by `edges`; `serial` must be of the press that holds it.
    pub(in crate::adapters::wayland) fn begin_client_drag(
        &mut self,
        id: WindowId,
        serial: Serial,
        edges: Option<Edges>,
    ) {
        let Some(surface) = self.shell.surface_of(id).cloned() else { return };
        let same_client = |other: &smithay::reexports::wayland_server::protocol::wl_surface::WlSurface| {
            other.id().same_client_as(&surface.id())
        };
        let pointer = self.seat.pointer.clone();
        if pointer.has_grab(serial)
            && let Some(start) = pointer.grab_start_data()
            && start.focus.as_ref().is_some_and(|(focus, _)| same_client(focus))
        {
            self.begin_drag(id, Hold::Pointer, (start.location.x, start.location.y), edges);
            return;
        }
        let touch = self.seat.touch.clone();
        if touch.has_grab(serial)
            && let Some(start) = touch.grab_start_data()
            && start.focus.as_ref().is_some_and(|(focus, _)| same_client(focus))
        {
            self.begin_drag(id, Hold::Finger(start.slot), (start.location.x, start.location.y), edges);
        }
    }

    /// The first button went down on a window with the drag modifiers held. Returns whether that began a drag.
    pub(super) fn begin_button_drag(&mut self, id: WindowId, code: u32) -> bool {
        let at = self.pointer_place();
        let window = self.shell.desktop.window(id).map(|window| window.geometry());
        match (code, window) {
            (BTN_LEFT, Some(_)) => self.begin_drag(id, Hold::Pointer, at, None),
            (BTN_RIGHT, Some(rect)) => {
                self.begin_drag(id, Hold::Pointer, at, Some(Edges::nearest(rect, whole(at))));
            }
            _ => return false,
        }
        self.seat.drag.is_some()
    }

    fn begin_drag(&mut self, id: WindowId, hold: Hold, start: (f64, f64), edges: Option<Edges>) {
        if self.seat.drag.is_some() {
            return;
        }
        let kind = match edges {
            None => self.shell.desktop.begin_move(id, whole(start)).map(|offset| Kind::Move { offset }),
            Some(edges) => self.shell.desktop.begin_resize(id, edges).then_some(Kind::Resize { edges }),
        };
        let Some(kind) = kind else { return };
        self.seat.drag = Some(Drag { window: id, hold, kind, start, last: start });
        match hold {
            Hold::Pointer => {
                let pointer = self.seat.pointer.clone();
                let (x, y) = self.pointer_place();
                let time = self.time_ms();
                self.point_at(None, x, y);
                pointer.unset_grab(self, SERIAL_COUNTER.next_serial(), time);
                self.point_at(None, x, y);
                self.drag_to(x, y); // it went on while its client made up its mind
            }
            Hold::Finger(_) => {
                let touch = self.seat.touch.clone();
                touch.cancel(self);
            }
        }
        self.shell.dirty = true;
    }

    pub(super) fn drag_hold(&self) -> Option<Hold> {
        self.seat.drag.as_ref().map(|drag| drag.hold)
    }

    /// The pointer moved.
    pub(super) fn drag_pointer(&mut self, x: f64, y: f64) {
        if self.drag_hold() == Some(Hold::Pointer) {
            self.drag_to(x, y);
        }
    }

    /// What holds the window is at a logical point.
    pub(super) fn drag_to(&mut self, x: f64, y: f64) {
        let Some(drag) = &mut self.seat.drag else { return };
        drag.last = (x, y);
        let desktop = &mut self.shell.desktop;
        match drag.kind {
            Kind::Move { offset } => {
                let at = whole(drag.last);
                desktop.move_to(drag.window, Point::new(at.x.saturating_add(offset.x), at.y.saturating_add(offset.y)));
            }
            Kind::Resize { .. } => {
                let (from, to) = (whole(drag.start), whole(drag.last));
                desktop.drag_edges(drag.window, to.x.saturating_sub(from.x), to.y.saturating_sub(from.y));
            }
        }
    }

    /// Every button is up.
    pub(super) fn end_pointer_drag(&mut self) {
        if self.drag_hold() == Some(Hold::Pointer) {
            self.end_drag();
        }
    }

    pub(super) fn end_drag(&mut self) {
        let Some(drag) = self.seat.drag.take() else { return };
        match drag.kind {
            Kind::Move { .. } => self.shell.desktop.end_move(drag.window, whole(drag.last)),
            Kind::Resize { .. } => self.shell.desktop.end_resize(drag.window),
        }
        self.shell.dirty = true;
    }

    /// A window is gone.
    pub(in crate::adapters::wayland) fn cancel_drag_of(&mut self, id: WindowId) {
        if self.seat.drag.take_if(|drag| drag.window == id).is_some() {
            self.shell.dirty = true;
        }
    }
}
