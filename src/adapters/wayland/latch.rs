//! Latching: what every surface shows in one frame of one output is fixed here.
//!
//! ```text
//! shell: items, front to back ──▶ walk each tree, front to back ──▶ hidden by what is opaque in front? passed over
//!   surface ──▶ element: source, destination, opaque part, what changed since the output showed it last
//! ```
//!
//! Nothing is uploaded yet: the application first decides whether the frame is composited at all, and only then calls
//! [`super::upload`]. So a client that is scanned out costs no copy. A surface that is wholly hidden makes no element,
//! is not uploaded and gets no frame callback. A warm latch allocates nothing.

use super::callbacks::Waiting;
use super::image::{ImageId, Images};
use super::state::{Core, State};
use super::surface::{Content, Step, Surface, SurfaceKey, Surfaces, Walk};
use crate::domain::buffer::TextureId;
use crate::domain::damage::Tracker;
use crate::domain::geometry::{Rect, RectF, Size};
use crate::domain::output::{OutputId, Placement};
use crate::domain::region::Region;
use crate::domain::scene::{Color, ContentSerial, Element, ElementId, Filter, Paint, Role, Scene, Span};
use crate::domain::surface::Placed;

/// Stands where a texture will be until it is uploaded; no renderer has it.
pub(super) const NO_TEXTURE: TextureId = TextureId(u64::MAX);

/// Rectangles of what is covered, past which opaque elements hide nothing more.
const MAX_COVER: usize = 64;

/// Something to show, in logical pixels of the desktop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item {
    /// A tree of surfaces, its root's corner at (`x`, `y`).
    Tree {
        /// The root.
        root: SurfaceKey,
        /// From the desktop's left edge.
        x: f64,
        /// From the desktop's top edge.
        y: f64,
        /// Multiplied into the tree's own, 0..=1.
        alpha: f32,
        /// What part it plays.
        role: Role,
    },
    /// A picture of our own.
    Image {
        /// Its element; the topmost bit is set.
        id: ElementId,
        /// The picture.
        image: ImageId,
        /// Where.
        rect: RectF,
        /// What part it plays.
        role: Role,
    },
    /// A rectangle of one colour.
    Solid {
        /// Its element; the topmost bit is set.
        id: ElementId,
        /// Where.
        rect: RectF,
        /// Which colour.
        color: Color,
    },
}

/// What an element's texture is made from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Surface(SurfaceKey),
    Image(ImageId),
}

/// What one output's latches remember.
#[derive(Debug, Default)]
pub(super) struct OutputLatch {
    /// Counts them.
    serial: u64,
    /// Surfaces met by the last one.
    pub(super) shown: Vec<SurfaceKey>,
    /// Surfaces met by the one before.
    before: Vec<SurfaceKey>,
    entered: Vec<SurfaceKey>,
    /// What the elements with textures are made from, by their place in the scene once that is turned around.
    pub(super) sources: Vec<(usize, Source)>,
    pub(super) waiting: Waiting,
    /// Some surface that it met is seen nowhere and waits for a frame callback.
    hidden_waits: bool,
    cover: Region,
    walk: Walk,
}

impl State {
    /// Fixes what `output` shows next and builds its scene, front and back in order; `tracker` knows what it showed
    /// last. Textures are placeholders until [`State::upload`]. An unknown output gets an empty scene.
    pub fn latch(&mut self, output: OutputId, tracker: &Tracker, background: Color, scene: &mut Scene) {
        self.prepare_cursor(output);
        let mut items = std::mem::take(&mut self.core.items);
        items.clear();
        self.shell_items(output, &mut items);
        self.core.latch(output, &items, tracker, background, scene);
        self.core.items = items;
    }
}

impl Core {
    /// As [`State::latch`], of `items`, front to back.
    pub fn latch(&mut self, output: OutputId, items: &[Item], tracker: &Tracker, background: Color, scene: &mut Scene) {
        let Some(entry) = self.outputs.get_mut(output) else {
            return scene.reset(Size::default(), background);
        };
        let placement = entry.placement;
        scene.reset(placement.mode_size, background);
        let mut latch = std::mem::take(&mut entry.latch);
        latch.begin(&self.surfaces);
        let screen = Rect::from_size(placement.mode_size);
        let surfaces = &mut self.surfaces;
        let mut pass = Pass { output, placement, screen, tracker, surfaces, images: &self.images, latch, scene };
        for item in items {
            pass.item(item);
        }
        let mut latch = pass.finish();
        self.settle_presence(output, latch.serial, &latch.entered, &latch.before);
        latch.entered.clear();
        self.hidden_waits |= std::mem::take(&mut latch.hidden_waits);
        if let Some(entry) = self.outputs.get_mut(output) {
            entry.latch = latch;
        }
    }
}

impl OutputLatch {
    fn begin(&mut self, surfaces: &Surfaces) {
        self.serial += 1;
        std::mem::swap(&mut self.shown, &mut self.before);
        self.shown.clear();
        self.sources.clear();
        self.cover.clear();
        self.waiting.discard_superseded(|key| surfaces.get(key).is_none_or(|surface| !surface.feedback.is_empty()));
    }
}

/// One latch under way.
struct Pass<'a> {
    output: OutputId,
    placement: Placement,
    screen: Rect,
    tracker: &'a Tracker,
    surfaces: &'a mut Surfaces,
    images: &'a Images,
    latch: OutputLatch,
    scene: &'a mut Scene,
}

impl Pass<'_> {
    fn item(&mut self, item: &Item) {
        match *item {
            Item::Tree { root, x, y, alpha, role } => {
                self.latch.walk.start(root, x, y);
                while let Some(step) = self.latch.walk.next(self.surfaces) {
                    self.surface(step, alpha, role);
                }
            }
            Item::Image { id, image, rect, role } => self.image(id, image, rect, role),
            Item::Solid { id, rect, color } => self.solid(id, rect, color),
        }
    }

    fn surface(&mut self, step: Step, alpha: f32, role: Role) {
        let Some(surface) = self.surfaces.get_mut(step.key) else { return };
        let Some(view) = surface.view else { return };
        let placed = Placed::new(&view, &self.placement, step.x, step.y);
        let dst = placed.dst();
        let Some(shown) = dst.intersection(self.screen) else { return };
        let alpha = (alpha * surface.alpha).clamp(0.0, 1.0);
        let visible = !self.latch.cover.contains_rect(shown);
        if surface.meet(self.output, self.latch.serial, visible) {
            self.latch.entered.push(step.key);
        }
        self.latch.shown.push(step.key);
        if !visible {
            self.latch.hidden_waits |= !surface.is_visible() && !surface.callbacks.is_empty();
            return;
        }
        if surface.pacing_output() == Some(self.output) {
            surface.latch_callbacks(step.key, &mut self.latch.waiting);
        }
        if alpha == 0.0 {
            return;
        }
        let id = step.key.element();
        let opaque = opaque_span(self.scene, surface, &placed);
        let changes = surface.history.since(self.tracker.last_content(id));
        let whole = Rect::from_size(view.buffer_size());
        let damage = self.scene.span(dst, changes.rects(whole).filter_map(|rect| placed.damage(&view, rect)));
        let (paint, buffer) = match &surface.content {
            Some(Content::Solid(color)) => (Paint::Solid(*color), None),
            Some(content @ (Content::Shm { id, .. } | Content::Dmabuf { id, .. })) => {
                self.latch.sources.push((self.scene.elements().len(), Source::Surface(step.key)));
                let held = !matches!(content, Content::Shm { held: false, .. });
                let paint = Paint::Texture {
                    texture: surface.texture.map_or(NO_TEXTURE, |texture| texture.id),
                    source: view.source(),
                    transform: self.placement.transform.after(view.transform().inverse()),
                    filter: if placed.is_resampled() { Filter::Linear } else { Filter::Nearest },
                };
                (paint, held.then_some(*id))
            }
            None => return,
        };
        let content = surface.history.newest();
        let buffer_size = if buffer.is_some() { view.buffer_size() } else { Size::default() };
        self.push(Element { id, role, content, paint, dst, alpha, opaque, damage, buffer, buffer_size });
    }

    fn image(&mut self, id: ElementId, name: ImageId, rect: RectF, role: Role) {
        let Some(image) = self.images.get(name) else { return };
        let dst = self.placement.to_physical(rect);
        if dst.intersection(self.screen).is_none_or(|shown| self.latch.cover.contains_rect(shown)) {
            return;
        }
        let size = image.shm.layout.size();
        // A picture never changes, so that this one comes to be seen is all the damage it can have.
        let damage = self.scene.span(dst, image.texture.is_none().then_some(dst));
        let one_to_one = self.placement.transform.apply_size(size) == dst.size();
        self.latch.sources.push((self.scene.elements().len(), Source::Image(name)));
        self.push(Element {
            id,
            role,
            content: ContentSerial(image.buffer.0),
            paint: Paint::Texture {
                texture: image.texture.unwrap_or(NO_TEXTURE),
                source: Rect::from_size(size).to_f64(),
                transform: self.placement.transform,
                filter: if one_to_one { Filter::Nearest } else { Filter::Linear },
            },
            dst,
            alpha: 1.0,
            opaque: Span::default(),
            damage,
            buffer: None,
            buffer_size: Size::default(),
        });
    }

    fn solid(&mut self, id: ElementId, rect: RectF, color: Color) {
        let dst = self.placement.to_physical(rect);
        if dst.intersection(self.screen).is_none_or(|shown| self.latch.cover.contains_rect(shown)) {
            return;
        }
        let opaque = self.scene.span(dst, (color.a >= 1.0).then_some(dst));
        self.push(Element {
            id,
            role: Role::Content,
            content: ContentSerial::default(),
            paint: Paint::Solid(color),
            dst,
            alpha: 1.0,
            opaque,
            damage: Span::default(),
            buffer: None,
            buffer_size: Size::default(),
        });
    }

    /// Puts an element behind all others so far, which it can no longer hide but those to come.
    fn push(&mut self, element: Element) {
        self.scene.push(element);
        // A cursor on a plane of its own hides nothing of the frame beneath.
        if element.role == Role::Cursor {
            return;
        }
        for rect in self.scene.opaque(&element).iter().filter_map(|rect| rect.intersection(self.screen)) {
            if self.latch.cover.rects().len() < MAX_COVER {
                self.latch.cover.add(rect);
            }
        }
    }

    fn finish(self) -> OutputLatch {
        let Self { mut latch, scene, .. } = self;
        scene.reverse_from(0);
        let last = scene.elements().len().saturating_sub(1);
        for (index, _) in &mut latch.sources {
            *index = last - *index;
        }
        latch
    }
}

fn opaque_span(scene: &mut Scene, surface: &Surface, placed: &Placed) -> Span {
    let solid = match &surface.content {
        Some(Content::Shm { shm, .. }) => shm.layout.format().info().is_some_and(|info| !info.has_alpha()),
        Some(Content::Dmabuf { has_alpha, .. }) => !has_alpha,
        Some(Content::Solid(color)) => color.a >= 1.0,
        None => false,
    };
    let dst = placed.dst();
    let parts = if solid { &[] } else { surface.opaque.rects() };
    let parts = parts.iter().filter_map(|rect| placed.opaque(*rect));
    scene.span(dst, solid.then_some(dst).into_iter().chain(parts))
}
