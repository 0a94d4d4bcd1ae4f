//! Clipboard, primary selection, drag and drop.
//!
//! The transfers go from client to client; the compositor only makes introductions. What is dragged is shown beneath
//! the pointer or the finger. Requests come through here before smithay has them: it bounds no source's list of types,
//! and leaves a selection in force whose source is gone.

use std::collections::HashMap;

use smithay::input::Seat as SmithaySeat;
use smithay::reexports::wayland_protocols::wp::primary_selection::zv1::server::{
    zwp_primary_selection_device_manager_v1::ZwpPrimarySelectionDeviceManagerV1 as PrimaryManager,
    zwp_primary_selection_device_v1::{self, ZwpPrimarySelectionDeviceV1 as PrimaryDevice},
    zwp_primary_selection_source_v1::{self, ZwpPrimarySelectionSourceV1 as PrimarySource},
};
use smithay::reexports::wayland_server::backend::{ClientId, ObjectId};
use smithay::reexports::wayland_server::protocol::wl_data_device::{self, WlDataDevice};
use smithay::reexports::wayland_server::protocol::wl_data_device_manager::WlDataDeviceManager;
use smithay::reexports::wayland_server::protocol::wl_data_source::{self, WlDataSource};
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::reexports::wayland_server::{
    Client, DataInit, Dispatch, DisplayHandle, Resource, delegate_dispatch, delegate_global_dispatch,
};
use smithay::wayland::selection::data_device::{
    ClientDndGrabHandler, DataDeviceHandler, DataDeviceState, DataDeviceUserData, DataSourceUserData,
    ServerDndGrabHandler, clear_data_device_selection,
};
use smithay::wayland::selection::primary_selection::{
    PrimaryDeviceManagerGlobalData, PrimaryDeviceUserData, PrimarySelectionHandler, PrimarySelectionState,
    PrimarySourceUserData, clear_primary_selection,
};
use smithay::wayland::selection::{SelectionHandler, SelectionSource, SelectionTarget};

use crate::adapters::wayland::state::State;
use crate::domain::geometry::Point;

/// Types that one source may offer.
const MAX_TYPES: usize = 1024;
/// wl_display.error.no_memory, for want of an error of the interface's own.
const NO_MEMORY: u32 = 2;

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

/// The sources of the selections in force, and how many types each source offers.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// The source of the request that is being handled.
    asking: Option<ObjectId>,
    clipboard: Option<ObjectId>,
    primary: Option<ObjectId>,
    types: HashMap<ObjectId, usize>,
}

impl Sources {
    /// Counts one more type of a source; false past the bound.
    fn count_type(&mut self, source: ObjectId) -> bool {
        let count = self.types.entry(source).or_default();
        *count += 1;
        *count <= MAX_TYPES
    }
}

impl State {
    /// A source is gone: what was selected from it is no more to be had.
    fn source_destroyed(&mut self, source: &ObjectId) {
        let sources = &mut self.seat.sources;
        sources.types.remove(source);
        let (display, seat) = (&self.core.display, &self.seat.seat);
        if sources.clipboard.take_if(|selected| selected == source).is_some() {
            clear_data_device_selection(display, seat);
        }
        if sources.primary.take_if(|selected| selected == source).is_some() {
            clear_primary_selection(display, seat);
        }
    }
}

impl SelectionHandler for State {
    type SelectionUserData = ();

    fn new_selection(&mut self, target: SelectionTarget, _: Option<SelectionSource>, _: SmithaySeat<Self>) {
        let source = self.seat.sources.asking.take();
        match target {
            SelectionTarget::Clipboard => self.seat.sources.clipboard = source,
            SelectionTarget::Primary => self.seat.sources.primary = source,
        }
    }
}

impl Dispatch<WlDataDevice, DataDeviceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        device: &WlDataDevice,
        request: wl_data_device::Request,
        data: &DataDeviceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let wl_data_device::Request::SetSelection { source, .. } = &request {
            state.seat.sources.asking = source.as_ref().map(Resource::id);
        }
        <DataDeviceState as Dispatch<_, _, Self>>::request(state, client, device, request, data, display, init);
    }
}

impl Dispatch<WlDataSource, DataSourceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        source: &WlDataSource,
        request: wl_data_source::Request,
        data: &DataSourceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if matches!(request, wl_data_source::Request::Offer { .. }) && !state.seat.sources.count_type(source.id()) {
            return source.post_error(NO_MEMORY, "too many types of one source");
        }
        <DataDeviceState as Dispatch<_, _, Self>>::request(state, client, source, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, source: &WlDataSource, data: &DataSourceUserData) {
        <DataDeviceState as Dispatch<_, _, Self>>::destroyed(state, client, source, data);
        state.source_destroyed(&source.id());
    }
}

impl Dispatch<PrimaryDevice, PrimaryDeviceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        device: &PrimaryDevice,
        request: zwp_primary_selection_device_v1::Request,
        data: &PrimaryDeviceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let zwp_primary_selection_device_v1::Request::SetSelection { source, .. } = &request {
            state.seat.sources.asking = source.as_ref().map(Resource::id);
        }
        <PrimarySelectionState as Dispatch<_, _, Self>>::request(state, client, device, request, data, display, init);
    }
}

impl Dispatch<PrimarySource, PrimarySourceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        source: &PrimarySource,
        request: zwp_primary_selection_source_v1::Request,
        data: &PrimarySourceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        let offers = matches!(request, zwp_primary_selection_source_v1::Request::Offer { .. });
        if offers && !state.seat.sources.count_type(source.id()) {
            return source.post_error(NO_MEMORY, "too many types of one source");
        }
        <PrimarySelectionState as Dispatch<_, _, Self>>::request(state, client, source, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, source: &PrimarySource, data: &PrimarySourceUserData) {
        <PrimarySelectionState as Dispatch<_, _, Self>>::destroyed(state, client, source, data);
        state.source_destroyed(&source.id());
    }
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

delegate_global_dispatch!(State: [WlDataDeviceManager: ()] => DataDeviceState);
delegate_dispatch!(State: [WlDataDeviceManager: ()] => DataDeviceState);
delegate_global_dispatch!(State: [PrimaryManager: PrimaryDeviceManagerGlobalData] => PrimarySelectionState);
delegate_dispatch!(State: [PrimaryManager: ()] => PrimarySelectionState);
