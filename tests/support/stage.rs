//! What the renderer tests have in common: buffers from functions of colour, elements, frames and captures.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use transom::domain::buffer::{BufferId, TextureId};
use transom::domain::format::Fourcc;
use transom::domain::geometry::{Point, Rect, RectF, Size};
use transom::domain::region::Region;
use transom::domain::scene::{Color, ContentSerial, Element, ElementId, Filter, Paint, Role, Scene};
use transom::domain::transform::Transform;
use transom::ports::pool::ShmBuffer;
use transom::ports::renderer::{BufferUse, FrameTicket, Pixels, RenderError, Renderer, TargetId};

use super::pool::Memfd;
use super::texel::{Rgba, encode};

/// Longest wait for a frame, far past what the slowest driver takes.
const PATIENCE_NS: u64 = 60_000_000_000;

/// A name that no buffer had before.
pub(crate) fn new_buffer_id() -> BufferId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    BufferId(NEXT.fetch_add(1, Relaxed))
}

/// A buffer whose every texel is `color(x, y)`, alone and unpadded in its pool.
pub(crate) fn buffer(format: Fourcc, size: Size, color: impl Fn(i32, i32) -> Rgba) -> (Arc<Memfd>, ShmBuffer) {
    buffer_at(format, size, (0, 0), color)
}

/// As [`buffer`], `offset` bytes into its pool and with `padding` bytes after each row, all of them ones.
pub(crate) fn buffer_at(
    format: Fourcc,
    size: Size,
    (offset, padding): (i32, i32),
    color: impl Fn(i32, i32) -> Rgba,
) -> (Arc<Memfd>, ShmBuffer) {
    let info = format.info().expect("a format of the table");
    let stride = size.w * info.texel_bytes as i32 + padding;
    let mut bytes = vec![0xff; offset as usize];
    for y in 0..size.h {
        (0..size.w).for_each(|x| encode(info, color(x, y), &mut bytes));
        bytes.resize(offset as usize + (stride * (y + 1)) as usize, 0xff);
    }
    let pool = Memfd::new(&bytes);
    let buffer = pool.buffer(offset, size, stride, format);
    (pool, buffer)
}

/// An opaque colour from 255ths.
pub(crate) fn rgba([r, g, b]: [u8; 3]) -> Rgba {
    [r, g, b, 255].map(|c| f32::from(c) / 255.0)
}

/// As a scene's colour.
pub(crate) fn color([r, g, b, a]: Rgba) -> Color {
    Color { r, g, b, a }
}

/// An element that shows a whole texture unscaled at `at`.
pub(crate) fn shown(texture: TextureId, size: Size, at: Point) -> Element {
    let source = Rect::from_size(size).to_f64();
    let paint = Paint::Texture { texture, source, transform: Transform::Normal, filter: Filter::Linear };
    element(paint, Rect::at(at, size))
}

/// An element of alpha 1, with no opaque part.
pub(crate) fn element(paint: Paint, dst: Rect) -> Element {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Element {
        id: ElementId(NEXT.fetch_add(1, Relaxed)),
        role: Role::Content,
        content: ContentSerial::default(),
        paint,
        dst,
        alpha: 1.0,
        opaque: Default::default(),
        damage: Default::default(),
        buffer: None,
        buffer_size: Size::default(),
    }
}

/// The element with another part of its texture, turned otherwise.
pub(crate) fn reshaped(element: Element, source: RectF, transform: Transform, filter: Filter) -> Element {
    let Paint::Texture { texture, .. } = element.paint else { panic!("a colour has no shape") };
    Element { paint: Paint::Texture { texture, source, transform, filter }, ..element }
}

/// A scene of elements back to front, each with the part of the output in which it is opaque.
pub(crate) fn scene(size: Size, background: [u8; 3], elements: &[(Element, Option<Rect>)]) -> Scene {
    let mut scene = Scene::new();
    scene.reset(size, color(rgba(background)));
    for &(element, opaque) in elements {
        let opaque = scene.span(element.dst, opaque);
        scene.push(Element { opaque, ..element });
    }
    scene
}

/// The region of one rectangle.
pub(crate) fn region(rect: Rect) -> Region {
    let mut region = Region::new();
    region.set(rect);
    region
}

/// Renders `scene` inside `damage`, after a wait where too many frames are in flight.
pub(crate) fn render(renderer: &mut dyn Renderer, target: TargetId, scene: &Scene, damage: &Region) -> FrameTicket {
    renderer.acquire(target).expect("a target that is there");
    match renderer.render(target, scene, damage) {
        Err(RenderError::NotReady) => {
            settle(renderer);
            renderer.render(target, scene, damage).expect("a frame when none is in flight")
        }
        result => result.expect("a frame"),
    }
}

/// Renders the whole of `scene`.
pub(crate) fn render_whole(renderer: &mut dyn Renderer, target: TargetId, scene: &Scene) -> FrameTicket {
    render(renderer, target, scene, &region(Rect::from_size(scene.size())))
}

/// What a part of the target shows once all that was submitted is complete.
pub(crate) fn capture(renderer: &mut dyn Renderer, target: TargetId, part: Rect) -> Pixels {
    let capture = renderer.capture(target, part).expect("a capture");
    renderer.wait_idle(PATIENCE_NS).expect("frames complete in time");
    let pixels = renderer.take_capture(capture).expect("a capture that is there");
    pixels.expect("a capture is there once all is complete")
}

/// What `scene` looks like, rendered onto a target of its own.
pub(crate) fn picture_of(renderer: &mut dyn Renderer, scene: &Scene) -> Pixels {
    let target = renderer.create_offscreen(scene.size()).expect("a target");
    render_whole(renderer, target, scene);
    let pixels = capture(renderer, target, Rect::from_size(scene.size()));
    renderer.destroy_target(target);
    pixels
}

/// Waits until all that was submitted is complete.
pub(crate) fn settle(renderer: &mut dyn Renderer) {
    renderer.wait_idle(PATIENCE_NS).expect("frames complete in time");
}

/// Keeps count of the client buffers that a renderer holds.
#[derive(Debug, Default)]
pub(crate) struct Holds(BTreeSet<BufferId>);

impl Holds {
    /// Imports, naming the buffer anew.
    pub(crate) fn import(&mut self, renderer: &mut dyn Renderer, buffer: &ShmBuffer) -> TextureId {
        let id = new_buffer_id();
        let (texture, usage) = renderer.import_shm(buffer, id).expect("an import");
        self.note(id, usage);
        texture
    }

    /// Updates, naming the buffer anew.
    pub(crate) fn update(
        &mut self,
        renderer: &mut dyn Renderer,
        texture: TextureId,
        buffer: &ShmBuffer,
        damage: &[Rect],
    ) {
        let id = new_buffer_id();
        let usage = renderer.update_shm(texture, buffer, id, damage).expect("an update");
        self.note(id, usage);
    }

    /// Drains; every buffer given back must be held.
    pub(crate) fn drain(&mut self, renderer: &mut dyn Renderer) {
        let released = |id| assert!(self.0.remove(&id), "{id:?} is given back but was not held");
        renderer.drain(&mut { released }).expect("a drain");
    }

    /// Drains when all is complete; nothing may be held afterwards.
    pub(crate) fn settle(&mut self, renderer: &mut dyn Renderer) {
        settle(renderer);
        self.drain(renderer);
        assert!(self.0.is_empty(), "held though nothing is in flight: {:?}", self.0);
    }

    fn note(&mut self, id: BufferId, usage: BufferUse) {
        if usage == BufferUse::Held {
            self.0.insert(id);
        }
    }
}
