//! Clipboard, primary selection, drag and drop.
//!
//! The transfers go from client to client; the compositor only makes introductions. What is dragged is shown beneath
//! the pointer or the finger.

use smithay::input::Seat as SmithaySeat;
use smithay::reexports::wayland_server::protocol::wl_data_source::WlDataSource;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::wayland::selection::SelectionHandler;
use smithay::wayland::selection::data_device::{
    ClientDndGrabHandler, DataDeviceHandler, DataDeviceState, ServerDndGrabHandler,
};
use smithay::wayland::selection::primary_selection::{PrimarySelectionHandler, PrimarySelectionState};

use crate::adapters::wayland::state::State;
use crate::domain::geometry::Point;

/// The picture of what is dragged.
#[derive(Debug)]
pub(super) struct Icon {
    pub(super) surface: WlSurface,
    /// From the pointer to its corner, logical: the sum of its surface commits' offsets.
    pub(super) offset: Point,
    /// Where the finger is that drags it; `None`: the pointer does.
    pub(super) finger: Option<(f64, f64)>,
}

impl State {
    pub(super) fn icon_committed(&mut self, surface: &WlSurface) {
        let Some(icon) = self.seat.icon.as_mut().filter(|icon| icon.surface == *surface) else { return };
        let key = self.core.surfaces.key(surface);
        if let Some(content) = key.and_then(|key| self.core.surfaces.get_mut(key)) {
            let by = content.take_offset();
            icon.offset = Point::new(icon.offset.x.saturating_add(by.x), icon.offset.y.saturating_add(by.y));
        }
        self.shell.dirty = true;
    }

    /// A finger moved: what it drags goes with it.
    pub(super) fn move_icon(&mut self, x: f64, y: f64) {
        if let Some(at) = self.seat.icon.as_mut().and_then(|icon| icon.finger.as_mut()) {
            *at = (x, y);
            self.shell.dirty = true;
        }
    }
}

impl SelectionHandler for State {
    type SelectionUserData = ();
}

impl DataDeviceHandler for State {
    fn data_device_state(&self) -> &DataDeviceState {
        &self.seat.data_device
    }
}

impl PrimarySelectionHandler for State {
    fn primary_selection_state(&self) -> &PrimarySelectionState {
        &self.seat.primary
    }
}

impl ClientDndGrabHandler for State {
    fn started(&mut self, _source: Option<WlDataSource>, icon: Option<WlSurface>, _seat: SmithaySeat<Self>) {
        let finger = self.seat.touch.grab_start_data().map(|start| (start.location.x, start.location.y));
        let finger = finger.filter(|_| !self.seat.pointer.is_grabbed());
        self.seat.icon = icon.map(|surface| Icon { surface, offset: Point::default(), finger });
        self.shell.dirty = true;
    }

    // Called with the pointer or the touch locked.
    fn dropped(&mut self, _target: Option<WlSurface>, _validated: bool, _seat: SmithaySeat<Self>) {
        self.seat.icon = None;
        self.shell.dirty = true;
    }
}

impl ServerDndGrabHandler for State {}

smithay::delegate_data_device!(State);
smithay::delegate_primary_selection!(State);
