//! wl_compositor and wl_subcompositor: smithay's, behind a door that keeps out what would hurt it.
//!
//! smithay's handlers trust clients in places: rectangles of negative size trip its assertions, lists of damage,
//! region parts and cached surface commits grow without bound, its walks over sub-surfaces recurse. Every request
//! passes through here first: what is harmless is dropped or merged, what is absurd is a protocol error. The applied
//! state then goes to [`super::commit`].

use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_callback::WlCallback;
use smithay::reexports::wayland_server::protocol::wl_compositor::WlCompositor;
use smithay::reexports::wayland_server::protocol::wl_region::{self, WlRegion};
use smithay::reexports::wayland_server::protocol::wl_subcompositor::{self, WlSubcompositor};
use smithay::reexports::wayland_server::protocol::wl_subsurface::{self, WlSubsurface};
use smithay::reexports::wayland_server::protocol::wl_surface::{self, WlSurface};
use smithay::reexports::wayland_server::{
    Client, DataInit, Dispatch, DisplayHandle, Resource, delegate_dispatch, delegate_global_dispatch,
};
use smithay::utils::Rectangle;
use smithay::wayland::compositor::{
    CompositorClientState, CompositorHandler, CompositorState, Damage, RegionUserData, SubsurfaceUserData,
    SurfaceAttributes, SurfaceUserData, get_children, get_parent, is_sync_subsurface, with_states,
};

use super::client::ClientState;
use super::state::State;
use super::surface::{MAX_DEPTH, key_of};
use crate::domain::geometry::Rect;

/// Damage rectangles of each kind that one surface commit may have before they are merged.
const MAX_DAMAGE: usize = 256;
/// Frame callbacks that may wait for one surface commit.
const MAX_CALLBACKS: usize = 4096;
/// Parts of a region.
const MAX_REGION: usize = 2048;
/// Surface commits of a synchronised sub-surface that may wait for its parent's.
const MAX_CACHED_COMMITS: u32 = 4096;
/// wl_display.error.no_memory, for want of an error of the interface's own.
const NO_MEMORY: u32 = 2;

/// How many surface commits wait for the parent's; in smithay's data of a surface.
#[derive(Debug, Default)]
pub(super) struct CachedCommits(std::sync::atomic::AtomicU32);

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
                return surface.post_error(NO_MEMORY, "too many frame callbacks in one surface commit");
            }
            wl_surface::Request::Commit
                if is_sync_subsurface(surface) && count_cached(surface) > MAX_CACHED_COMMITS =>
            {
                return surface.post_error(NO_MEMORY, "too many surface commits wait for the parent's");
            }
            _ => {}
        }
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, surface, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, surface: &WlSurface, data: &SurfaceUserData) {
        <CompositorState as Dispatch<_, _, Self>>::destroyed(state, client, surface, data);
    }
}

fn pending_callbacks(surface: &WlSurface) -> usize {
    with_states(surface, |states| states.cached_state.get::<SurfaceAttributes>().pending().frame_callbacks.len())
}

fn count_cached(surface: &WlSurface) -> u32 {
    with_states(surface, |states| {
        let cached = states.data_map.get_or_insert_threadsafe(CachedCommits::default);
        cached.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    })
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
                return region.post_error(NO_MEMORY, "too many rectangles in a region");
            }
        }
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, region, request, data, display, init);
    }

    fn destroyed(state: &mut Self, _client: ClientId, region: &WlRegion, _data: &RegionUserData) {
        state.core.regions.remove(region);
    }
}

impl Dispatch<WlSubcompositor, ()> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        subcompositor: &WlSubcompositor,
        request: wl_subcompositor::Request,
        data: &(),
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let wl_subcompositor::Request::GetSubsurface { surface, parent, .. } = &request {
            if depth(parent) + 1 + height(surface) > MAX_DEPTH {
                let message = format!("sub-surfaces nest deeper than {MAX_DEPTH}");
                return subcompositor.post_error(wl_subcompositor::Error::BadSurface, message);
            }
        }
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, subcompositor, request, data, display, init);
    }
}

/// Parents above a surface.
fn depth(surface: &WlSurface) -> usize {
    std::iter::successors(get_parent(surface), get_parent).take(MAX_DEPTH + 1).count()
}

/// Levels of sub-surfaces beneath a surface.
fn height(surface: &WlSurface) -> usize {
    let mut level = get_children(surface);
    let mut height = 0;
    while !level.is_empty() && height <= MAX_DEPTH {
        height += 1;
        level = level.iter().flat_map(get_children).collect();
    }
    height
}

impl Dispatch<WlSubsurface, SubsurfaceUserData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        subsurface: &WlSubsurface,
        request: wl_subsurface::Request,
        data: &SubsurfaceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        if let wl_subsurface::Request::PlaceAbove { sibling } | wl_subsurface::Request::PlaceBelow { sibling } =
            &request
        {
            // smithay would take a surface for its own sibling and look it up after taking it out.
            if get_parent(data.surface()).is_none() {
                return; // Its parent is gone: nothing to be placed in.
            }
            if sibling == data.surface() {
                let message = "not a sibling or the parent";
                return subsurface.post_error(wl_subsurface::Error::BadSurface, message);
            }
        }
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, subsurface, request, data, display, init);
    }

    fn destroyed(state: &mut Self, client: ClientId, subsurface: &WlSubsurface, data: &SubsurfaceUserData) {
        if let Some(key) = with_states(data.surface(), key_of) {
            // It is unmapped at once.
            state.redraw_surface(key);
            if let Some(surface) = state.core.surfaces.get_mut(key) {
                surface.parent = None;
            }
        }
        <CompositorState as Dispatch<_, _, Self>>::destroyed(state, client, subsurface, data);
    }
}

impl CompositorHandler for State {
    fn compositor_state(&mut self) -> &mut CompositorState {
        &mut self.core.compositor
    }

    fn client_compositor_state<'a>(&self, client: &'a Client) -> &'a CompositorClientState {
        // Every client of this display was made by `Server::insert_client`.
        &client.get_data::<ClientState>().expect("client of this display without its state").compositor
    }

    fn new_surface(&mut self, surface: &WlSurface) {
        let key = self.core.surfaces.insert(surface.clone());
        with_states(surface, |states| states.data_map.insert_if_missing_threadsafe(|| key));
        self.core.prefer(surface);
    }

    fn commit(&mut self, surface: &WlSurface) {
        with_states(surface, |states| {
            if let Some(cached) = states.data_map.get::<CachedCommits>() {
                cached.0.store(0, std::sync::atomic::Ordering::Relaxed);
            }
        });
        self.surface_committed(surface);
    }

    fn destroyed(&mut self, surface: &WlSurface) {
        self.surface_destroyed(surface);
    }
}

delegate_global_dispatch!(State: [WlCompositor: ()] => CompositorState);
delegate_global_dispatch!(State: [WlSubcompositor: ()] => CompositorState);
delegate_dispatch!(State: [WlCompositor: ()] => CompositorState);
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
