//! Every surface and what it shows: the applied state, as the last surface commit left it.
//!
//! smithay keeps pending and cached state and decides when a surface commit takes effect; [`super::commit`] then copies
//! what matters into a [`Surface`] here. The tree of sub-surfaces is copied too, at the parent's surface commit, which
//! is when the protocol lets a place in the stack and a position take effect. So latching and hit testing walk plain
//! vectors: no lock, no recursion, no allocation. Next of the walk: [`super::latch`].

use smithay::reexports::wayland_server::Resource;
use smithay::reexports::wayland_server::protocol::wl_buffer::WlBuffer;
use smithay::reexports::wayland_server::protocol::wl_callback::WlCallback;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::wayland::compositor::{SurfaceData, with_states};
use smithay::wayland::presentation::PresentationFeedbackCallback;

use crate::domain::buffer::{BufferId, TextureId};
use crate::domain::damage::History;
use crate::domain::geometry::{Point, Rect, Size};
use crate::domain::output::OutputId;
use crate::domain::region::Region;
use crate::domain::scene::{Color, ContentSerial, ElementId};
use crate::domain::surface::{Shape, View};
use crate::ports::pool::ShmBuffer;

/// How deep sub-surfaces nest at most: smithay's own walks recurse.
pub(super) const MAX_DEPTH: usize = 32;

/// A surface's place in [`Surfaces`], never that of another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceKey {
    index: u32,
    generation: u32,
}

impl SurfaceKey {
    /// The surface's element on every output. The topmost bit is clear: elements that are no surface's set it.
    pub const fn element(self) -> ElementId {
        ElementId((self.generation as u64) << 32 | self.index as u64)
    }
}

/// What a surface is filled with.
#[derive(Debug)]
pub enum Content {
    /// A client's wl_shm buffer.
    Shm {
        /// Its name.
        id: BufferId,
        /// Its protocol object, alive or not.
        buffer: WlBuffer,
        /// Its memory, readable whatever became of the protocol object.
        shm: ShmBuffer,
        /// The surface still holds it; else it was uploaded and released.
        held: bool,
    },
    /// A client's image in dma-bufs.
    Dmabuf {
        /// Its name.
        id: BufferId,
        /// Pixels.
        size: Size,
        /// Texels can be translucent.
        has_alpha: bool,
    },
    /// One colour.
    Solid(Color),
}

/// What a renderer has of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texture {
    /// The renderer's name for it.
    pub id: TextureId,
    /// Which content it holds.
    pub uploaded: ContentSerial,
}

/// A surface of a tree, relative to the surface whose stack it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The surface: a child, or the stack's own.
    pub key: SurfaceKey,
    /// Its offset, logical pixels; zero for the stack's own.
    pub at: Point,
}

/// A surface on an output that it overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The output.
    pub output: OutputId,
    /// The latch that met it last.
    pub(super) latch: u64,
    /// Some pixel of it is not hidden there.
    pub visible: bool,
}

/// See the module's docs.
#[derive(Debug)]
pub struct Surface {
    /// The protocol object.
    pub wl: WlSurface,
    /// What it is filled with; `None`: it shows nothing.
    pub content: Option<Content>,
    /// How the content becomes the surface; there exactly when `content` is.
    pub view: Option<View>,
    /// The surface's parent, where it is a sub-surface whose place took effect.
    pub parent: Option<SurfaceKey>,
    /// Back to front: its sub-surfaces and itself. Empty stands for itself alone.
    pub stack: Vec<Layer>,
    /// Alpha of wp_alpha_modifier, 0..=1.
    pub alpha: f32,
    /// The opaque part, surface coordinates; of no meaning where the format has no alpha.
    pub opaque: Region,
    /// Where input goes, `true` adds and `false` takes away, in order; `None` is everywhere.
    pub input: Option<Vec<(bool, Rect)>>,
    /// Sum of the offsets that surface commits asked for since [`Surface::take_offset`].
    offset: Point,
    /// The client said what kind of content it is (wp_content_type): 0 none, 1 photo, 2 video, 3 game.
    pub content_type: u32,
    /// Its inhibitors of idleness (zwp_idle_inhibitor).
    pub(super) inhibitors: u32,
    /// The outputs it overlaps.
    pub on: Vec<Presence>,
    pub(super) shape: Shape,
    pub(super) history: History,
    pub(super) texture: Option<Texture>,
    /// Its last upload failed and was logged.
    pub(super) upload_failed: bool,
    /// Frame callbacks, the first `latched` of which wait for their frame's presentation.
    pub(super) callbacks: Vec<WlCallback>,
    pub(super) latched: usize,
    /// Feedback for content not latched yet.
    pub(super) feedback: Vec<PresentationFeedbackCallback>,
}

impl Surface {
    fn new(wl: WlSurface) -> Self {
        Self {
            wl,
            content: None,
            view: None,
            parent: None,
            stack: Vec::new(),
            alpha: 1.0,
            opaque: Region::new(),
            input: None,
            offset: Point::default(),
            content_type: 0,
            inhibitors: 0,
            on: Vec::new(),
            shape: Shape::default(),
            history: History::new(),
            texture: None,
            upload_failed: false,
            callbacks: Vec::new(),
            latched: 0,
            feedback: Vec::new(),
        }
    }

    /// Its size, logical pixels; zero while it shows nothing.
    pub fn size(&self) -> Size {
        self.view.map_or(Size::default(), |view| view.size())
    }

    /// Whether it shows something by itself.
    pub const fn is_mapped(&self) -> bool {
        self.view.is_some()
    }

    /// Whether some pixel of it is seen on some output.
    pub fn is_visible(&self) -> bool {
        self.on.iter().any(|presence| presence.visible)
    }

    /// Whether input at a point of the surface (logical) is for it.
    pub fn takes_input(&self, x: f64, y: f64) -> bool {
        let at = Point::new(x.floor() as i32, y.floor() as i32);
        if !Rect::from_size(self.size()).contains(at) {
            return false;
        }
        match &self.input {
            None => true,
            Some(parts) => {
                parts.iter().fold(false, |inside, (add, rect)| if rect.contains(at) { *add } else { inside })
            }
        }
    }

    /// Takes how far its content asked to move since this was last called (wl_surface.offset), logical pixels.
    pub fn take_offset(&mut self) -> Point {
        std::mem::take(&mut self.offset)
    }

    pub(super) fn add_offset(&mut self, by: Point) {
        self.offset = Point::new(self.offset.x.saturating_add(by.x), self.offset.y.saturating_add(by.y));
    }
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    surface: Option<Surface>,
}

/// All surfaces of all clients.
#[derive(Debug, Default)]
pub struct Surfaces {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Surfaces {
    pub(super) fn insert(&mut self, wl: WlSurface) -> SurfaceKey {
        let surface = Some(Surface::new(wl));
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.surface = surface;
            return SurfaceKey { index, generation: slot.generation };
        }
        let index = self.slots.len() as u32;
        self.slots.push(Slot { generation: 1, surface });
        SurfaceKey { index, generation: 1 }
    }

    pub(super) fn remove(&mut self, key: SurfaceKey) -> Option<Surface> {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        let surface = slot.surface.take()?;
        slot.generation = (slot.generation + 1) & (u32::MAX >> 1);
        self.free.push(key.index);
        Some(surface)
    }

    /// The surface, unless it is gone.
    pub fn get(&self, key: SurfaceKey) -> Option<&Surface> {
        self.slots.get(key.index as usize).filter(|slot| slot.generation == key.generation)?.surface.as_ref()
    }

    /// The surface, unless it is gone.
    pub fn get_mut(&mut self, key: SurfaceKey) -> Option<&mut Surface> {
        self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)?.surface.as_mut()
    }

    /// The place of a protocol object's surface, unless it is gone.
    pub fn key(&self, wl: &WlSurface) -> Option<SurfaceKey> {
        if !wl.is_alive() {
            return None;
        }
        with_states(wl, key_of)
    }

    /// The surface of a protocol object, unless it is gone.
    pub fn of(&self, wl: &WlSurface) -> Option<&Surface> {
        self.get(self.key(wl)?)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (SurfaceKey, &Surface)> {
        (0..).zip(&self.slots).filter_map(|(index, slot)| {
            Some((SurfaceKey { index, generation: slot.generation }, slot.surface.as_ref()?))
        })
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SurfaceKey, &mut Surface)> {
        (0..).zip(&mut self.slots).filter_map(|(index, slot)| {
            Some((SurfaceKey { index, generation: slot.generation }, slot.surface.as_mut()?))
        })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// The tree's root: the surface itself, or the last of its parents.
    pub fn root(&self, key: SurfaceKey) -> SurfaceKey {
        let mut root = key;
        for _ in 0..=MAX_DEPTH {
            match self.get(root).and_then(|surface| surface.parent) {
                Some(parent) => root = parent,
                None => break,
            }
        }
        root
    }

    /// The smallest rectangle around a tree, relative to its root's corner, logical pixels.
    pub fn bounds(&self, root: SurfaceKey) -> Rect {
        let mut walk = Walk::default();
        let mut bounds = Rect::default();
        walk.start(root, 0.0, 0.0);
        while let Some(Step { key, x, y }) = walk.next(self) {
            let size = self.get(key).map_or(Size::default(), Surface::size);
            bounds = bounds.hull(Rect::at(Point::new(x as i32, y as i32), size));
        }
        bounds
    }

    /// The frontmost surface of a tree that takes input at a point relative to its root's corner, and the place of that
    /// surface's own corner there; logical pixels.
    pub fn under(&self, root: SurfaceKey, x: f64, y: f64) -> Option<(SurfaceKey, f64, f64)> {
        let mut walk = Walk::default();
        walk.start(root, 0.0, 0.0);
        while let Some(step) = walk.next(self) {
            if self.get(step.key)?.takes_input(x - step.x, y - step.y) {
                return Some((step.key, step.x, step.y));
            }
        }
        None
    }
}

/// The place in [`Surfaces`] that was noted in smithay's data of a surface.
pub(super) fn key_of(states: &SurfaceData) -> Option<SurfaceKey> {
    states.data_map.get::<SurfaceKey>().copied()
}

/// A mapped surface met on a walk, and where its corner is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) key: SurfaceKey,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A walk over the mapped surfaces of a tree, front to back. A child that is not its parent's any more is passed over,
/// and so is all beneath an unmapped surface. Storage is reused.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Surface, its corner, how many layers of its stack are still to be visited.
    path: Vec<(Step, usize)>,
}

impl Walk {
    pub(super) fn start(&mut self, root: SurfaceKey, x: f64, y: f64) {
        self.path.clear();
        self.path.push((Step { key: root, x, y }, usize::MAX));
    }

    pub(super) fn next(&mut self, surfaces: &Surfaces) -> Option<Step> {
        while let Some((step, left)) = self.path.last_mut() {
            let step = *step;
            let Some(surface) = surfaces.get(step.key).filter(|surface| surface.is_mapped()) else {
                self.path.pop();
                continue;
            };
            if surface.stack.is_empty() {
                self.path.pop();
                return Some(step);
            }
            *left = (*left).min(surface.stack.len());
            if *left == 0 {
                self.path.pop();
                continue;
            }
            *left -= 1;
            let layer = surface.stack[*left];
            if layer.key == step.key {
                return Some(step);
            }
            let is_child = surfaces.get(layer.key).is_some_and(|child| child.parent == Some(step.key));
            if is_child && self.path.len() <= MAX_DEPTH {
                let (x, y) = (step.x + f64::from(layer.at.x), step.y + f64::from(layer.at.y));
                self.path.push((Step { key: layer.key, x, y }, usize::MAX));
            }
        }
        None
    }
}
