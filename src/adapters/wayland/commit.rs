//! Surface commits that take effect: smithay's applied state copied into our own, checked.
//!
//! Called once for each surface of a transaction, so all of a synchronised tree is up to date before anything is
//! latched. Order: content, shape, the errors that only both together can tell, damage, regions, children, callbacks.
//! Next of the walk: [`super::latch`].

use smithay::reexports::wayland_server::Resource;
use smithay::reexports::wayland_server::protocol::wl_buffer::WlBuffer;
use smithay::reexports::wayland_server::protocol::wl_callback::WlCallback;
use smithay::reexports::wayland_server::protocol::wl_surface::{self, WlSurface};
use smithay::utils::{Buffer as BufferSpace, Logical, Rectangle};
use smithay::wayland::alpha_modifier::AlphaModifierSurfaceCachedState;
use smithay::wayland::compositor::{
    BufferAssignment, Damage, RectangleKind, RegionAttributes, SubsurfaceCachedState, SurfaceAttributes, SurfaceData,
    TraversalAction, get_parent, with_states, with_surface_tree_upward,
};
use smithay::wayland::content_type::ContentTypeSurfaceCachedState;
use smithay::wayland::presentation::{PresentationFeedbackCachedState, PresentationFeedbackCallback};
use smithay::wayland::single_pixel_buffer::get_single_pixel_buffer;
use smithay::wayland::viewporter::{ViewportCachedState, ensure_viewport_valid};

use super::buffer::Holder;
use super::dmabuf;
use super::shm::BufferData;
use super::state::{Core, State};
use super::surface::{Content, Layer, Surface, SurfaceKey, key_of};
use crate::domain::geometry::{Point, Rect, RectF, Size};
use crate::domain::region::Region;
use crate::domain::scene::{Color, ContentSerial};
use crate::domain::surface::{Shape, ShapeError, View};
use crate::domain::transform::Transform;

/// Rectangles of an opaque region, past which it counts as empty: too little is only slow.
const MAX_OPAQUE: usize = 64;

/// Roles whose buffers need not be a multiple of their scale, since clients in use get that wrong.
const LENIENT_ROLES: [&str; 2] = ["cursor_image", "dnd_icon"];

/// What one surface commit brought, out of smithay's locks.
struct Update {
    buffer: Option<BufferAssignment>,
    damage: Vec<Damage>,
    callbacks: Vec<WlCallback>,
    feedback: Vec<PresentationFeedbackCallback>,
    offset: Point,
    shape: Shape,
    alpha: f32,
    content_type: u32,
    lenient: bool,
}

impl Update {
    fn take(states: &SurfaceData) -> Self {
        let viewport = *states.cached_state.get::<ViewportCachedState>().current();
        let alpha = states.cached_state.get::<AlphaModifierSurfaceCachedState>().current().multiplier_f32();
        let content_type = *states.cached_state.get::<ContentTypeSurfaceCachedState>().current().content_type();
        let feedback = &mut states.cached_state.get::<PresentationFeedbackCachedState>();
        let mut guard = states.cached_state.get::<SurfaceAttributes>();
        let attributes = guard.current();
        let offset = attributes.buffer_delta.take().map_or(Point::default(), |d| Point::new(d.x, d.y));
        Self {
            buffer: attributes.buffer.take(),
            damage: std::mem::take(&mut attributes.damage),
            callbacks: std::mem::take(&mut attributes.frame_callbacks),
            feedback: std::mem::take(&mut feedback.current().callbacks),
            offset,
            shape: Shape {
                scale: attributes.buffer_scale,
                transform: Transform::from_wire(attributes.buffer_transform as u32).unwrap_or_default(),
                source: viewport.src.map(|r| RectF::new(r.loc.x, r.loc.y, r.size.w, r.size.h)),
                destination: viewport.dst.map(|size| Size::new(size.w, size.h)),
            },
            alpha: alpha.unwrap_or(1.0),
            content_type: content_type as u32,
            lenient: states.role.is_some_and(|role| LENIENT_ROLES.contains(&role)),
        }
    }
}

impl State {
    /// A surface commit took effect.
    pub(super) fn surface_committed(&mut self, wl: &WlSurface) {
        let Some(key) = self.core.surfaces.key(wl) else { return };
        let update = with_states(wl, Update::take);
        if let Err(error) = self.core.apply(key, update) {
            return post(wl, error);
        }
        self.core.copy_regions(key, wl);
        self.core.copy_stack(key, wl);
        self.shell_surface_committed(wl);
        self.redraw_surface(key);
    }

    /// A surface's protocol object is being destroyed.
    pub(super) fn surface_destroyed(&mut self, wl: &WlSurface) {
        self.forget_fences_of(wl);
        self.shell_surface_destroyed(wl);
        let Some(key) = with_states(wl, key_of) else { return };
        self.redraw_surface(key);
        self.core.leave_outputs(key);
        if let Some(mut surface) = self.core.surfaces.remove(key) {
            self.core.drop_content(&mut surface);
            // Feedback that nobody will show is discarded when dropped by its owner; callbacks die with the client.
            surface.feedback.drain(..).for_each(PresentationFeedbackCallback::discarded);
        }
    }
}

/// Tells a client what it did wrong.
fn post(wl: &WlSurface, error: ShapeError) {
    match error {
        ShapeError::NotMultiple { .. } => wl.post_error(wl_surface::Error::InvalidSize, error.to_string()),
        ShapeError::OutOfBuffer { content } => {
            // smithay knows the wp_viewport to blame.
            with_states(wl, |states| ensure_viewport_valid(states, (content.w, content.h).into()));
        }
        // smithay posted wp_viewport.bad_size before the surface commit.
        ShapeError::BadSize => {}
    }
}

impl Core {
    fn apply(&mut self, key: SurfaceKey, update: Update) -> Result<(), ShapeError> {
        let Update { buffer, damage, callbacks, feedback, offset, shape, alpha, content_type, lenient } = update;
        let replaced = buffer.is_some();
        if let Some(assignment) = buffer {
            self.assign(key, assignment);
        }
        let Some(surface) = self.surfaces.get_mut(key) else { return Ok(()) };
        surface.callbacks.extend(callbacks);
        self.hidden_waits |= !surface.callbacks.is_empty() && !surface.is_visible();
        if replaced || !feedback.is_empty() {
            // What was never latched was superseded by this surface commit.
            surface.feedback.drain(..).for_each(PresentationFeedbackCallback::discarded);
        }
        surface.feedback.extend(feedback);
        surface.add_offset(offset);
        surface.alpha = alpha;
        surface.content_type = content_type;
        surface.shape = shape;
        let before = surface.view;
        let Some(size) = surface.content.as_ref().map(content_size) else {
            surface.view = None;
            return Ok(());
        };
        let view = View::new(size, &shape, lenient)?;
        surface.view = Some(view);
        surface.record(&view, before, replaced, &damage);
        Ok(())
    }

    /// Makes a newly attached buffer, or none, the surface's content.
    fn assign(&mut self, key: SurfaceKey, assignment: BufferAssignment) {
        let content = match assignment {
            BufferAssignment::Removed => None,
            BufferAssignment::NewBuffer(buffer) => self.content_of(buffer),
        };
        let Some(surface) = self.surfaces.get_mut(key) else { return };
        // The new hold began before the old one ends, so that a buffer attached again is not released between.
        let old = std::mem::replace(&mut surface.content, content);
        if !matches!(surface.content, Some(Content::Shm { .. })) {
            self.garbage.extend(surface.texture.take().map(|texture| texture.id));
        }
        self.end_hold(old);
    }

    fn content_of(&mut self, buffer: WlBuffer) -> Option<Content> {
        if let Some(data) = buffer.data::<BufferData>() {
            self.buffers.hold(data.id, &buffer, Holder::Surface);
            let (id, shm) = (data.id, data.shm.clone());
            return Some(Content::Shm { id, buffer, shm, held: true });
        }
        if let Some(data) = buffer.data::<dmabuf::BufferData>() {
            self.buffers.hold(data.id, &buffer, Holder::Surface);
            self.dmabufs.images.show(data.id);
            return Some(Content::Dmabuf { id: data.id, size: data.size, has_alpha: data.has_alpha });
        }
        let [r, g, b, a] = get_single_pixel_buffer(&buffer).ok()?.rgba32f();
        buffer.release();
        Some(Content::Solid(Color { r: r.min(a), g: g.min(a), b: b.min(a), a }))
    }

    fn end_hold(&mut self, content: Option<Content>) {
        match content {
            Some(Content::Shm { id, held: true, .. }) => self.buffers.end(id, Holder::Surface),
            Some(Content::Dmabuf { id, .. }) => {
                self.garbage.extend(self.dmabufs.images.hide(id));
                self.buffers.end(id, Holder::Surface);
            }
            _ => {}
        }
    }

    /// Lets go of what a surface that is going away holds.
    fn drop_content(&mut self, surface: &mut Surface) {
        self.garbage.extend(surface.texture.take().map(|texture| texture.id));
        self.end_hold(surface.content.take());
    }

    fn copy_regions(&mut self, key: SurfaceKey, wl: &WlSurface) {
        let Some(surface) = self.surfaces.get_mut(key) else { return };
        let size = surface.size();
        with_states(wl, |states| {
            let mut guard = states.cached_state.get::<SurfaceAttributes>();
            let attributes = guard.current();
            copy_opaque(attributes.opaque_region.as_ref(), size, &mut surface.opaque);
            match &attributes.input_region {
                None => surface.input = None,
                Some(region) => {
                    let input = surface.input.get_or_insert_default();
                    input.clear();
                    input.extend(
                        region.rects.iter().map(|(kind, r)| (matches!(kind, RectangleKind::Add), from_logical(r))),
                    );
                }
            }
        });
    }

    /// Copies the stack of sub-surfaces, whose order and positions take effect with their parent's surface commit.
    fn copy_stack(&mut self, key: SurfaceKey, wl: &WlSurface) {
        let Some(surface) = self.surfaces.get_mut(key) else { return };
        let mut stack = std::mem::take(&mut surface.stack);
        stack.clear();
        with_surface_tree_upward(
            wl,
            (),
            |met, _, ()| if met == wl { TraversalAction::DoChildren(()) } else { TraversalAction::SkipChildren },
            |met, states, ()| {
                let Some(layer) = key_of(states) else { return };
                let own = met == wl;
                let at = if own {
                    Point::default()
                } else {
                    let location = states.cached_state.get::<SubsurfaceCachedState>().pending().location;
                    Point::new(location.x, location.y)
                };
                stack.push(Layer { key: layer, at });
            },
            |_, _, ()| true,
        );
        for layer in stack.iter().filter(|layer| layer.key != key) {
            if let Some(child) = self.surfaces.get_mut(layer.key) {
                child.parent = Some(key);
            }
        }
        if stack.len() == 1 {
            stack.clear();
        }
        if let Some(surface) = self.surfaces.get_mut(key) {
            surface.stack = stack;
        }
        // A root that became a sub-surface is not one before its parent's surface commit: see `get_parent`.
        debug_assert!(self.surfaces.get(key).is_none_or(|s| s.parent.is_none() || get_parent(wl).is_some()));
    }
}

impl Surface {
    /// Notes what a surface commit changed, in buffer texels.
    fn record(&mut self, view: &View, before: Option<View>, replaced: bool, damage: &[Damage]) {
        let serial = ContentSerial(self.history.newest().0 + 1);
        // Damage tells what differs of the surface. Where another part of the buffer, turned another way, is the same
        // surface, every texel may differ though the damage is small.
        let same_view = before == Some(*view);
        let readable = !matches!(self.content, None | Some(Content::Shm { held: false, .. }));
        // And it tells nothing of the buffer's part outside of what is shown, which a later surface commit may show.
        let of_surface = damage.iter().any(|damage| matches!(damage, Damage::Surface(_)));
        if replaced && (!same_view || of_surface && view.is_cropped()) {
            return self.history.replace(serial);
        }
        // Damage without a buffer counts only while the buffer shown has not been given back.
        if damage.is_empty() && !replaced || !readable {
            return;
        }
        let whole = Rect::from_size(view.buffer_size());
        let texels = damage.iter().filter_map(|damage| match damage {
            Damage::Surface(rect) => view.damage_to_buffer(from_logical(rect)),
            Damage::Buffer(rect) => from_buffer(rect).intersection(whole),
        });
        self.history.push(serial, texels);
    }
}

fn content_size(content: &Content) -> Size {
    match content {
        Content::Shm { shm, .. } => shm.layout.size(),
        Content::Dmabuf { size, .. } => *size,
        Content::Solid(_) => Size::new(1, 1),
    }
}

fn copy_opaque(attributes: Option<&RegionAttributes>, size: Size, opaque: &mut Region) {
    opaque.clear();
    let Some(attributes) = attributes.filter(|attributes| attributes.rects.len() <= MAX_OPAQUE) else { return };
    for (kind, rect) in &attributes.rects {
        match kind {
            RectangleKind::Add => opaque.add(from_logical(rect)),
            RectangleKind::Subtract => opaque.subtract(from_logical(rect)),
        }
    }
    opaque.intersect(Rect::from_size(size));
    opaque.coalesce();
    if opaque.rects().len() > MAX_OPAQUE {
        opaque.clear();
    }
}

fn from_logical(rect: &Rectangle<i32, Logical>) -> Rect {
    Rect::new(rect.loc.x, rect.loc.y, rect.size.w, rect.size.h)
}

fn from_buffer(rect: &Rectangle<i32, BufferSpace>) -> Rect {
    Rect::new(rect.loc.x, rect.loc.y, rect.size.w, rect.size.h)
}
