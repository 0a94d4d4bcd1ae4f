//! wl_subcompositor: smithay's, held to the protocol where it is not yet.
//!
//! What is put right here: sub-surfaces nest to a bounded depth (smithay's walks recurse); a surface is not its own
//! sibling (smithay would index past its list); a parent's surface commit takes along what its synchronised
//! sub-surfaces *committed*, not what they have merely pending; and set_desync lets what waited take effect at once.
//! Order and positions are read by [`super::commit`] at the parent's surface commit.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_callback::WlCallback;
use smithay::reexports::wayland_server::protocol::wl_output;
use smithay::reexports::wayland_server::protocol::wl_subcompositor::{self, WlSubcompositor};
use smithay::reexports::wayland_server::protocol::wl_subsurface::{self, WlSubsurface};
use smithay::reexports::wayland_server::protocol::wl_surface::{self, WlSurface};
use smithay::reexports::wayland_server::{
    Client, DataInit, Dispatch, DisplayHandle, Resource, delegate_global_dispatch,
};
use smithay::utils::{Logical, Point};
use smithay::wayland::alpha_modifier::AlphaModifierSurfaceCachedState;
use smithay::wayland::compositor::{
    BufferAssignment, CompositorState, Damage, RegionAttributes, SUBSURFACE_ROLE, SubsurfaceUserData,
    SurfaceAttributes, SurfaceData, SurfaceUserData, get_children, get_parent, is_sync_subsurface, with_states,
};
use smithay::wayland::content_type::ContentTypeSurfaceCachedState;
use smithay::wayland::presentation::{PresentationFeedbackCachedState, PresentationFeedbackCallback};
use smithay::wayland::viewporter::ViewportCachedState;

use super::state::State;
use super::surface::{MAX_DEPTH, key_of};

/// Sub-surfaces of one parent: smithay searches their list for each that goes.
const MAX_CHILDREN: usize = 1024;

/// What a surface's next surface commit keeps from the one before, unless told otherwise.
#[derive(Clone, Debug)]
struct Lasting {
    scale: i32,
    transform: wl_output::Transform,
    opaque: Option<RegionAttributes>,
    input: Option<RegionAttributes>,
    viewport: ViewportCachedState,
    alpha: AlphaModifierSurfaceCachedState,
    content_type: ContentTypeSurfaceCachedState,
}

impl Lasting {
    /// Of the pending state, or else of the state in effect.
    fn of(states: &SurfaceData, pending: bool) -> Self {
        let mut attributes = states.cached_state.get::<SurfaceAttributes>();
        let attributes = if pending { attributes.pending() } else { attributes.current() };
        let mut viewport = states.cached_state.get::<ViewportCachedState>();
        let mut alpha = states.cached_state.get::<AlphaModifierSurfaceCachedState>();
        let mut content_type = states.cached_state.get::<ContentTypeSurfaceCachedState>();
        Self {
            scale: attributes.buffer_scale,
            transform: attributes.buffer_transform,
            opaque: attributes.opaque_region.clone(),
            input: attributes.input_region.clone(),
            viewport: if pending { *viewport.pending() } else { *viewport.current() },
            alpha: if pending { *alpha.pending() } else { *alpha.current() },
            content_type: if pending { *content_type.pending() } else { *content_type.current() },
        }
    }

    fn make_pending(self, states: &SurfaceData) {
        let mut attributes = states.cached_state.get::<SurfaceAttributes>();
        let attributes = attributes.pending();
        attributes.buffer_scale = self.scale;
        attributes.buffer_transform = self.transform;
        attributes.opaque_region = self.opaque;
        attributes.input_region = self.input;
        *states.cached_state.get::<ViewportCachedState>().pending() = self.viewport;
        *states.cached_state.get::<AlphaModifierSurfaceCachedState>().pending() = self.alpha;
        *states.cached_state.get::<ContentTypeSurfaceCachedState>().pending() = self.content_type;
    }
}

/// What is noted of a sub-surface's surface commits; in smithay's data of the surface.
#[derive(Debug, Default)]
pub(super) struct Committed {
    /// How many wait for the parent's.
    waiting: AtomicU32,
    /// What the last one left.
    lasting: Mutex<Option<Lasting>>,
}

impl Committed {
    /// Before a surface commit: notes it, and tells how many wait already.
    pub(super) fn note(surface: &WlSurface) -> u32 {
        let waits = is_sync_subsurface(surface);
        with_states(surface, |states| {
            if states.role != Some(SUBSURFACE_ROLE) {
                return 0;
            }
            let committed = states.data_map.get_or_insert_threadsafe(Self::default);
            let lasting = Lasting::of(states, true);
            if let Ok(mut last) = committed.lasting.lock() {
                *last = Some(lasting);
            }
            if waits { committed.waiting.fetch_add(1, Ordering::Relaxed) } else { 0 }
        })
    }

    /// What waited took effect.
    pub(super) fn applied(states: &SurfaceData) {
        if let Some(committed) = states.data_map.get::<Self>() {
            committed.waiting.store(0, Ordering::Relaxed);
        }
    }
}

/// A surface's pending state, out of smithay's sight.
struct Hidden {
    surface: WlSurface,
    lasting: Lasting,
    buffer: Option<BufferAssignment>,
    offset: Option<Point<i32, Logical>>,
    damage: Vec<Damage>,
    callbacks: Vec<WlCallback>,
    feedback: Vec<PresentationFeedbackCallback>,
}

impl Hidden {
    /// Takes it, and leaves what a surface commit without requests before it would have.
    fn take(surface: WlSurface) -> Self {
        let (lasting, buffer, offset, damage, callbacks, feedback) = with_states(&surface, |states| {
            let pending = Lasting::of(states, true);
            let committed = states.data_map.get::<Committed>();
            let last = committed.and_then(|committed| committed.lasting.lock().ok()?.clone());
            last.unwrap_or_else(|| Lasting::of(states, false)).make_pending(states);
            let mut feedback = states.cached_state.get::<PresentationFeedbackCachedState>();
            let mut attributes = states.cached_state.get::<SurfaceAttributes>();
            let attributes = attributes.pending();
            (
                pending,
                attributes.buffer.take(),
                attributes.buffer_delta.take(),
                std::mem::take(&mut attributes.damage),
                std::mem::take(&mut attributes.frame_callbacks),
                std::mem::take(&mut feedback.pending().callbacks),
            )
        });
        Self { surface, lasting, buffer, offset, damage, callbacks, feedback }
    }

    /// Puts it back.
    fn restore(self) {
        if !self.surface.is_alive() {
            return;
        }
        with_states(&self.surface, |states| {
            self.lasting.make_pending(states);
            states.cached_state.get::<PresentationFeedbackCachedState>().pending().callbacks = self.feedback;
            let mut attributes = states.cached_state.get::<SurfaceAttributes>();
            let attributes = attributes.pending();
            attributes.buffer = self.buffer;
            attributes.buffer_delta = self.offset;
            attributes.damage = self.damage;
            attributes.frame_callbacks = self.callbacks;
        });
    }
}

/// Sub-surfaces of a surface, and theirs, as deep as `enter` lets.
fn descendants(surface: &WlSurface, enter: impl Fn(&WlSurface) -> bool) -> Vec<WlSurface> {
    let mut all = Vec::new();
    let mut open = get_children(surface);
    while let Some(child) = open.pop() {
        if enter(&child) {
            open.extend(get_children(&child));
            all.push(child);
        }
    }
    all
}

impl State {
    /// A surface commit, through smithay, of a surface whose sub-surfaces' pending state it must not see.
    pub(super) fn commit_through(
        &mut self,
        client: &Client,
        surface: &WlSurface,
        data: &SurfaceUserData,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        // A synchronised surface only caches its own state: smithay looks at no other's then.
        let taken_along = if is_sync_subsurface(surface) { Vec::new() } else { descendants(surface, |_| true) };
        let hidden: Vec<Hidden> = taken_along.into_iter().map(Hidden::take).collect();
        let request = wl_surface::Request::Commit;
        <CompositorState as Dispatch<_, _, Self>>::request(self, client, surface, request, data, display, init);
        hidden.into_iter().for_each(Hidden::restore);
    }

    /// `surface` stopped being synchronised: what it, and the sub-surfaces that waited with it, committed takes effect.
    fn apply_waiting(
        &mut self,
        client: &Client,
        surface: &WlSurface,
        display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        let mut freed = vec![surface.clone()];
        freed.extend(descendants(surface, |child| !is_sync_subsurface(child)));
        for surface in freed {
            let waits = |states: &SurfaceData| {
                states.data_map.get::<Committed>().is_some_and(|c| c.waiting.load(Ordering::Relaxed) > 0)
            };
            if let Some(data) = surface.data::<SurfaceUserData>().filter(|_| with_states(&surface, waits)) {
                let hidden = Hidden::take(surface.clone());
                self.commit_through(client, &surface, data, display, init);
                hidden.restore();
            }
        }
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
            if get_children(parent).len() >= MAX_CHILDREN {
                let message = format!("more than {MAX_CHILDREN} sub-surfaces of one parent");
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
        let surface = data.surface();
        if let wl_subsurface::Request::PlaceAbove { sibling } | wl_subsurface::Request::PlaceBelow { sibling } =
            &request
        {
            if get_parent(surface).is_none() {
                return; // Its parent is gone: nothing to be placed in.
            }
            if sibling == surface {
                return subsurface.post_error(wl_subsurface::Error::BadSurface, "a surface is not its own sibling");
            }
        }
        let desync = matches!(request, wl_subsurface::Request::SetDesync) && surface.is_alive();
        <CompositorState as Dispatch<_, _, Self>>::request(state, client, subsurface, request, data, display, init);
        if desync && !is_sync_subsurface(surface) {
            state.apply_waiting(client, surface, display, init);
        }
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

delegate_global_dispatch!(State: [WlSubcompositor: ()] => CompositorState);
