//! What an output shows in one frame: a flat list of elements, back to front.
//!
//! Built by the application at latch, read by damage tracking, plane choice and the renderer. All positions are in
//! *physical* pixels of the output's framebuffer (after the output's own transform), except source rectangles (buffer
//! texels). Storage is reused from frame to frame. Next of the walk: `domain::damage`, then `ports::renderer`.

use super::buffer::{BufferId, TextureId};
use super::geometry::{Rect, RectF, Size};
use super::transform::Transform;

/// An element's identity across frames: the same surface on the same output keeps it, whatever its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementId(pub u64);

/// The place of an element's content in its own history: greater is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentSerial(pub u64);

/// What part an element plays on its output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// What the output is for: windows, layers, popups, backgrounds, drag icons.
    #[default]
    Content,
    /// The pointer's image, which an output with a cursor plane shows by itself.
    Cursor,
}

/// A colour in the encoded (sRGB) space, channels in 0..=1, **premultiplied** by alpha.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Color {
    /// Red, premultiplied.
    pub r: f32,
    /// Green, premultiplied.
    pub g: f32,
    /// Blue, premultiplied.
    pub b: f32,
    /// Alpha.
    pub a: f32,
}

impl Color {
    /// Opaque black.
    pub const BLACK: Self = Self::opaque(0.0, 0.0, 0.0);

    /// An opaque colour.
    pub const fn opaque(r: f32, g: f32, b: f32) -> Self {
        Self { r, g, b, a: 1.0 }
    }
}

/// How texels are read between their centres. Only texels that the source rectangle touches are ever read (those of
/// [`RectF::round_out`]): at its edges they stand for their neighbours outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The texel whose area holds the point.
    Nearest,
    /// Weighted between the four texels around the point.
    #[default]
    Linear,
}

/// What fills an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paint {
    /// Part of a texture.
    Texture {
        /// The renderer's texture; alpha is premultiplied.
        texture: TextureId,
        /// The part shown, in buffer texels, inside the texture.
        source: RectF,
        /// What leads from buffer to framebuffer: `t_output ∘ t_buffer⁻¹`.
        transform: Transform,
        /// How it is sampled.
        filter: Filter,
    },
    /// One colour.
    Solid(Color),
}

impl Paint {
    /// The texture that it shows part of.
    pub const fn texture(&self) -> Option<TextureId> {
        match self {
            Self::Texture { texture, .. } => Some(*texture),
            Self::Solid(_) => None,
        }
    }
}

/// A run of rectangles in a scene's arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    len: u32,
}

/// One thing to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// Identity across frames.
    pub id: ElementId,
    /// What part it plays.
    pub role: Role,
    /// Which content it shows; what an element without a history shows never changes but by its other fields.
    pub content: ContentSerial,
    /// What fills it.
    pub paint: Paint,
    /// Where, in physical pixels; may reach past the output.
    pub dst: Rect,
    /// Multiplied into the paint, 0..=1.
    pub alpha: f32,
    /// The part whose pixels hide what is beneath, physical pixels; meaningful only where `alpha` is 1.
    /// Read with [`Scene::opaque`], which also holds the answer for formats without alpha.
    pub opaque: Span,
    /// What changed in it since the scene's output last showed it, physical pixels. Read with [`Scene::damage`].
    pub damage: Span,
    /// The client buffer behind the paint, for scan-out; `None` where there is none to scan out.
    pub buffer: Option<BufferId>,
    /// Texels of that buffer, zero where there is none.
    pub buffer_size: Size,
}

/// One output's frame.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    size: Size,
    background: Color,
    elements: Vec<Element>,
    rects: Vec<Rect>,
}

impl Scene {
    /// An empty scene, no storage yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts over for an output of `size` physical pixels; storage is kept.
    pub fn reset(&mut self, size: Size, background: Color) {
        self.size = size;
        self.background = Color { a: 1.0, ..background };
        self.elements.clear();
        self.rects.clear();
    }

    /// Becomes a copy of `other`; storage is kept.
    pub fn copy_from(&mut self, other: &Self) {
        self.size = other.size;
        self.background = other.background;
        self.elements.clone_from(&other.elements);
        self.rects.clone_from(&other.rects);
    }

    /// The output's size in physical pixels.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The opaque colour beneath every element.
    pub fn background(&self) -> Color {
        self.background
    }

    /// Back to front.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Adds rectangles to the arena, each clipped to `clip`, for an element pushed afterwards.
    pub fn span(&mut self, clip: Rect, rects: impl IntoIterator<Item = Rect>) -> Span {
        let start = self.rects.len();
        self.rects.extend(rects.into_iter().filter_map(|r| r.intersection(clip)));
        Span { start: start as u32, len: (self.rects.len() - start) as u32 }
    }

    /// Puts an element in front of all others.
    pub fn push(&mut self, element: Element) {
        self.elements.push(element);
    }

    /// Puts another texture into the element at `index`, where it has one; for builders that upload last.
    pub fn set_texture(&mut self, index: usize, uploaded: TextureId) {
        if let Some(Element { paint: Paint::Texture { texture, .. }, .. }) = self.elements.get_mut(index) {
            *texture = uploaded;
        }
    }

    /// Says of the element at `index` that it shows other content than it was built for; for builders that upload last.
    pub fn set_content(&mut self, index: usize, shown: ContentSerial) {
        if let Some(element) = self.elements.get_mut(index) {
            element.content = shown;
        }
    }

    /// Turns the list of the elements from `from` on around, for builders that meet the front first.
    pub fn reverse_from(&mut self, from: usize) {
        self.elements[from..].reverse();
    }

    /// The element's opaque part, physical pixels, inside `dst`; empty where its alpha is below 1.
    pub fn opaque(&self, element: &Element) -> &[Rect] {
        if element.alpha < 1.0 { &[] } else { self.rects_of(element.opaque) }
    }

    /// The element's own damage, physical pixels, inside `dst`.
    pub fn damage(&self, element: &Element) -> &[Rect] {
        self.rects_of(element.damage)
    }

    fn rects_of(&self, span: Span) -> &[Rect] {
        &self.rects[span.start as usize..][..span.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_of_a_translucent_element_is_empty() {
        let mut scene = Scene::new();
        scene.reset(Size::new(8, 8), Color::BLACK);
        let dst = Rect::new(0, 0, 8, 8);
        let opaque = scene.span(dst, [Rect::new(-4, 0, 8, 8)]);
        let element = Element {
            id: ElementId(1),
            role: Role::Content,
            content: ContentSerial::default(),
            paint: Paint::Solid(Color::BLACK),
            dst,
            alpha: 1.0,
            opaque,
            damage: Span::default(),
            buffer: None,
            buffer_size: Size::default(),
        };
        assert_eq!(scene.opaque(&element), &[Rect::new(0, 0, 4, 8)]);
        assert!(scene.opaque(&Element { alpha: 0.5, ..element }).is_empty());
        assert!(scene.damage(&element).is_empty());
    }
}
