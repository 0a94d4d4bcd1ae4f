//! A picture's description, and its building on any renderer.

use transom::domain::format::{ARGB8888, Fourcc, XRGB8888};
use transom::domain::geometry::{Point, Rect, RectF, Size};
use transom::domain::scene::{Element, Filter, Paint, Role};
use transom::domain::transform::Transform;
use transom::ports::renderer::{Pixels, Renderer};

use super::art::Art;
use crate::support::stage::{Holds, buffer, color, element, picture_of, scene};
use crate::support::texel::Rgba;

/// What fills a layer.
#[derive(Clone, Copy)]
pub(crate) enum Fill {
    /// A painting in a buffer of this size, which is what is before a client's buffer transform is done to it.
    Art(Art, Size, Fourcc),
    /// One colour, premultiplied.
    Solid(Rgba),
}

/// One element, in the logical space of its output at scale 1: see [`Shot::scaled`] and [`Shot::turned`].
#[derive(Clone, Copy)]
pub(crate) struct Layer {
    fill: Fill,
    /// Part of the buffer; `None` for all of it.
    source: Option<RectF>,
    dst: Rect,
    transform: Transform,
    filter: Filter,
    alpha: f32,
    /// In the same space as `dst`.
    opaque: Option<Rect>,
    role: Role,
}

impl Layer {
    /// An opaque painting, a texel for each pixel.
    pub(crate) fn opaque(art: Art, dst: Rect) -> Self {
        Self { opaque: Some(dst), ..Self::of(Fill::Art(art, dst.size(), XRGB8888), dst) }
    }

    /// A painting that lets what is beneath through, a texel for each pixel.
    pub(crate) fn translucent(art: Art, dst: Rect) -> Self {
        Self::of(Fill::Art(art, dst.size(), ARGB8888), dst)
    }

    /// One colour, premultiplied; opaque where its alpha is 1.
    pub(crate) fn solid(color: Rgba, dst: Rect) -> Self {
        Self { opaque: (color[3] >= 1.0).then_some(dst), ..Self::of(Fill::Solid(color), dst) }
    }

    fn of(fill: Fill, dst: Rect) -> Self {
        Self {
            fill,
            source: None,
            dst,
            transform: Transform::Normal,
            filter: Filter::Linear,
            alpha: 1.0,
            opaque: None,
            role: Role::Content,
        }
    }

    /// With a buffer of `w` × `h` texels.
    pub(crate) fn texels(mut self, w: i32, h: i32) -> Self {
        let Fill::Art(art, _, code) = self.fill else { panic!("a colour has no texels") };
        self.fill = Fill::Art(art, Size::new(w, h), code);
        self
    }

    /// In another format.
    pub(crate) fn format(mut self, code: &[u8; 4]) -> Self {
        let Fill::Art(art, size, _) = self.fill else { panic!("a colour has no format") };
        self.fill = Fill::Art(art, size, Fourcc::new(code));
        self
    }

    /// Showing a part of its buffer, in texels.
    pub(crate) fn source(self, x: f64, y: f64, w: f64, h: f64) -> Self {
        Self { source: Some(RectF::new(x, y, w, h)), ..self }
    }

    /// Turned on its way to the screen.
    pub(crate) fn transform(self, transform: Transform) -> Self {
        Self { transform, ..self }
    }

    /// Sampled by the nearest texel.
    pub(crate) fn nearest(self) -> Self {
        Self { filter: Filter::Nearest, ..self }
    }

    /// Faded; an opaque part means nothing then, and stays, to be ignored.
    pub(crate) fn alpha(self, alpha: f32) -> Self {
        Self { alpha, ..self }
    }

    /// Opaque in this part.
    pub(crate) fn opaque_in(self, x: i32, y: i32, w: i32, h: i32) -> Self {
        Self { opaque: Some(Rect::new(x, y, w, h)), ..self }
    }

    /// As the pointer.
    pub(crate) fn cursor(self) -> Self {
        Self { role: Role::Cursor, ..self }
    }
}

/// A picture.
#[derive(Clone)]
pub(crate) struct Shot {
    pub(crate) name: String,
    /// Logical.
    size: Size,
    background: [u8; 3],
    layers: Vec<Layer>,
    scale: f64,
    transform: Transform,
}

impl Shot {
    /// A picture at scale 1, layers back to front.
    pub(crate) fn new(name: impl Into<String>, (w, h): (i32, i32), background: [u8; 3], layers: Vec<Layer>) -> Self {
        let transform = Transform::Normal;
        Self { name: name.into(), size: Size::new(w, h), background, layers, scale: 1.0, transform }
    }

    /// On an output of another scale.
    pub(crate) fn scaled(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// On an output that is turned.
    pub(crate) fn turned(self, transform: Transform) -> Self {
        Self { transform, ..self }
    }

    /// Formats that it needs.
    pub(crate) fn formats(&self) -> impl Iterator<Item = Fourcc> {
        self.layers.iter().filter_map(|layer| match layer.fill {
            Fill::Art(_, _, code) => Some(code),
            Fill::Solid(_) => None,
        })
    }

    /// The picture, physical pixels.
    pub(crate) fn taken_by(&self, renderer: &mut dyn Renderer) -> Pixels {
        let mut holds = Holds::default();
        let mut textures = Vec::new();
        let logical = Rect::from_size(self.size).to_f64().scaled(self.scale, self.scale).round_edges().size();
        let physical = |rect: Rect| {
            let scaled = rect.to_f64().scaled(self.scale, self.scale).round_edges();
            self.transform.apply_rect(scaled, logical)
        };
        let layers: Vec<(Element, Option<Rect>)> = self
            .layers
            .iter()
            .map(|layer| {
                let paint = match layer.fill {
                    Fill::Solid(rgba) => Paint::Solid(color(rgba)),
                    Fill::Art(art, size, code) => {
                        let unit = |v: i32, side: i32| (f64::from(v) + 0.5) / f64::from(side);
                        let (_, buffer) = buffer(code, size, |x, y| art(unit(x, size.w), unit(y, size.h)));
                        let texture = holds.import(renderer, &buffer);
                        textures.push(texture);
                        let source = layer.source.unwrap_or(Rect::from_size(size).to_f64());
                        let transform = self.transform.after(layer.transform);
                        Paint::Texture { texture, source, transform, filter: layer.filter }
                    }
                };
                let made = Element { alpha: layer.alpha, role: layer.role, ..element(paint, physical(layer.dst)) };
                (made, layer.opaque.map(physical))
            })
            .collect();
        let pixels = picture_of(renderer, &scene(self.transform.apply_size(logical), self.background, &layers));
        textures.into_iter().for_each(|texture| renderer.forget(texture));
        holds.settle(renderer);
        pixels
    }
}

/// The rectangle, in fewer letters.
pub(crate) fn at(x: i32, y: i32, w: i32, h: i32) -> Rect {
    Rect::at(Point::new(x, y), Size::new(w, h))
}
