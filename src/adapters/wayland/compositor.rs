//! wl_compositor: smithay's, behind a door that keeps out what would hurt it.
//!
//! smithay's handlers trust clients in places: rectangles of negative size trip its assertions, lists of damage,
//! region parts and cached surface commits grow without bound. Every request passes through here first: what is
//! harmless is dropped or merged, what is absurd is a protocol error. The applied state then goes to
//! [`super::commit`]. Next: [`super::subsurface`], the same for wl_subcompositor.

use std::sync::atomic::Ordering;

use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_callback::WlCallback;
use smithay::reexports::wayland_server::protocol::wl_compositor::{self, WlCompositor};
use smithay::reexports::wayland_server::protocol::wl_region::{self, WlRegion};
use smithay::reexports::wayland_server::protocol::wl_surface::{self, WlSurface};
use smithay::reexports::wayland_server::{
    Client, DataInit, Dispatch, DisplayHandle, Resource, delegate_dispatch, delegate_global_dispatch,
};
use smithay::utils::Rectangle;
use smithay::wayland::compositor::{
    CompositorClientState, CompositorHandler, CompositorState, Damage, RegionUserData, SurfaceAttributes,
    SurfaceUserData, with_states,
};

use super::client::{ClientState, refuse};
use super::state::State;
use super::subsurface::Committed;
use crate::domain::geometry::Rect;

/// Damage rectangles of each kind that one surface commit may have before they are merged.
const MAX_DAMAGE: usize = 256;
/// Frame callbacks that may wait for one surface commit.
const MAX_CALLBACKS: usize = 4096;
/// Parts of a region.
const MAX_REGION: usize = 2048;
/// Surfaces of one client. Each takes some kilobytes here and 12 bytes to ask for; no program in use has a tenth of it.
const MAX_SURFACES: u64 = 1 << 15;
/// Surface commits of a synchronised sub-surface that may wait for its parent's.
const MAX_CACHED_COMMITS: u32 = 4096;

/// smithay's lists of surfaces, in shares.
///
/// smithay searches the whole list whenever a surface is destroyed, so that a client with very many would hold up the
/// loop when it leaves. It asks for the list just before it uses it, and gets the surface's own share.
#[derive(Debug)]
pub(super) struct Compositors {
    shares: Vec<CompositorState>,
    current: usize,
}

/// A surface's share, in smithay's data of it.
#[derive(Clone, Copy, Debug)]
struct Share(usize);

impl Compositors {
    const SHARES: usize = 64;

    pub(super) fn new(display: &DisplayHandle) -> Self {
        let shares: Vec<_> = (0..Self::SHARES).map(|_| CompositorState::new_v6::<State>(display)).collect();
        // Each came with globals of its own; clients are to see those of the first alone.
        for share in shares.iter().skip(1) {
            display.remove_global::<State>(share.compositor_global());
            display.remove_global::<State>(share.subcompositor_global());
        }
        Self { shares, current: 0 }
    }

    fn current(&mut self) -> &mut CompositorState {
        &mut self.shares[self.current]
    }
}

impl Dispatch<WlCompositor, ()> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        compositor: &WlCompositor,
        request: wl_compositor::Request,
        data: &(),
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        let own = client.get_data::<ClientState>().map_or(0, |client| client.surfaces.load(Ordering::Relaxed));
        if own >= MAX_SURFACES && matches!(request, wl_compositor::Request::CreateSurface { .. }) {
            return refuse(&client.id(), display, "too many surfaces");
        }
        // A new surface goes into the next share.
        state.core.compositors.current = (state.core.compositors.current + 1) % Compositors::SHARES;
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, compositor, request, data, display, init);
    }
}

impl Dispatch<WlSurface, SurfaceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        surface: &WlSurface,
        request: wl_surface::Request,
        data: &SurfaceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        match request {
            wl_surface::Request::Damage { width, height, .. }
            | wl_surface::Request::DamageBuffer { width, height, .. } => {
                if width <= 0 || height <= 0 {
                    return;
                }
                merge_damage(surface);
            }
            wl_surface::Request::Frame { .. } if pending_callbacks(surface) >= MAX_CALLBACKS => {
                return refuse(&client.id(), display, "too many frame callbacks in one surface commit");
            }
            wl_surface::Request::Commit => {
                if Committed::note(surface) > MAX_CACHED_COMMITS {
                    return refuse(&client.id(), display, "too many surface commits wait for the parent's");
                }
                state.look_at_fences(client, surface, display);
                return state.commit_through(client, surface, data, display, init);
            }
            _ => {}
        }
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, surface, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, surface: &WlSurface, data: &SurfaceUserData) {
        if let Some(Share(share)) = with_states(surface, |states| states.data_map.get::<Share>().copied()) {
            state.core.compositors.current = share;
        }
        <CompositorState as Dispatch<_, _, Self>>::destroyed(state, client, surface, data);
    }
}

fn pending_callbacks(surface: &WlSurface) -> usize {
    with_states(surface, |states| states.cached_state.get::<SurfaceAttributes>().pending().frame_callbacks.len())
}

/// Makes room for one more rectangle: past the bound, the hull of each kind takes the place of the list.
fn merge_damage(surface: &WlSurface) {
    with_states(surface, |states| {
        let mut guard = states.cached_state.get::<SurfaceAttributes>();
        let damage = &mut guard.pending().damage;
        if damage.len() < MAX_DAMAGE {
            return;
        }
        let (mut on_surface, mut in_buffer) = (Rect::default(), Rect::default());
        for part in damage.drain(..) {
            match part {
                Damage::Surface(r) => on_surface = on_surface.hull(Rect::new(r.loc.x, r.loc.y, r.size.w, r.size.h)),
                Damage::Buffer(r) => in_buffer = in_buffer.hull(Rect::new(r.loc.x, r.loc.y, r.size.w, r.size.h)),
            }
        }
        let whole = |rect: Rect| (!rect.is_empty()).then_some(((rect.x, rect.y), (rect.w, rect.h)));
        damage.extend(whole(on_surface).map(|(at, size)| Damage::Surface(Rectangle::new(at.into(), size.into()))));
        damage.extend(whole(in_buffer).map(|(at, size)| Damage::Buffer(Rectangle::new(at.into(), size.into()))));
    });
}

impl Dispatch<WlRegion, RegionUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        region: &WlRegion,
        request: wl_region::Request,
        data: &RegionUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let wl_region::Request::Add { width, height, .. } | wl_region::Request::Subtract { width, height, .. } =
            request
        {
            if width <= 0 || height <= 0 {
                return;
            }
            if !state.core.regions.count(region, MAX_REGION) {
                return refuse(&client.id(), display, "too many rectangles in a region");
            }
        }
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, region, request, data, display, init);
    }

    fn destroyed(state: &mut Self, _client: ClientId, region: &WlRegion, _data: &RegionUserData) {
        state.core.regions.remove(region);
    }
}

impl CompositorHandler for State {
    fn compositor_state(&mut self) -> &mut CompositorState {
        self.core.compositors.current()
    }

    fn client_compositor_state<'a>(&self, client: &'a Client) -> &'a CompositorClientState {
        // Every client of this display was made by `Server::insert_client`.
        &client.get_data::<ClientState>().expect("client of this display without its state").compositor
    }

    fn new_surface(&mut self, surface: &WlSurface) {
        let key = self.core.surfaces.insert(surface.clone());
        let share = Share(self.core.compositors.current);
        with_states(surface, |states| {
            states.data_map.insert_if_missing_threadsafe(|| key);
            states.data_map.insert_if_missing_threadsafe(|| share);
        });
        self.core.prefer(surface);
        if let Some(client) = surface.client()
            && let Some(client) = client.get_data::<ClientState>()
        {
            client.surfaces.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn commit(&mut self, surface: &WlSurface) {
        with_states(surface, Committed::applied);
        self.surface_committed(surface);
    }

    fn destroyed(&mut self, surface: &WlSurface) {
        self.surface_destroyed(surface);
        // One that left with all its surfaces is not counted any more.
        if let Some(client) = surface.client()
            && let Some(client) = client.get_data::<ClientState>()
        {
            client.surfaces.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

delegate_global_dispatch!(State: [WlCompositor: ()] => CompositorState);
delegate_dispatch!(State: [WlCallback: ()] => CompositorState);

/// How many rectangles each region has.
#[derive(Debug, Default)]
pub(super) struct Regions(std::collections::HashMap<smithay::reexports::wayland_server::backend::ObjectId, usize>);

impl Regions {
    /// Counts one more; false past `max`.
    fn count(&mut self, region: &WlRegion, max: usize) -> bool {
        let count = self.0.entry(region.id()).or_default();
        *count += 1;
        *count <= max
    }

    fn remove(&mut self, region: &WlRegion) {
        self.0.remove(&region.id());
    }
}
