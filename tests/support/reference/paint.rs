//! What one pixel of a scene is.
//!
//! The point of the framebuffer that a pixel stands for is its centre. Seen from an element, that point lies somewhere
//! in `dst`; undoing the transform it lies somewhere in the source rectangle, where the filter reads the texture. The
//! colour, premultiplied and times the element's alpha, covers what is there already: `new = colour + old · (1 - a)`,
//! on the encoded values, kept in the target's 8 bits after each element as a GPU does.

use transom::domain::buffer::TextureId;
use transom::domain::geometry::{Point, Rect, RectF, Size};
use transom::domain::scene::{Color, Element, Filter, Paint, Scene};
use transom::domain::transform::Transform;
use transom::ports::renderer::Pixels;

use crate::support::texel::Rgba;

/// A texture's texels as colours.
#[derive(Clone, Debug)]
pub(crate) struct Texture {
    size: Size,
    texels: Vec<Rgba>,
}

impl Texture {
    /// All transparent.
    pub(crate) fn new(size: Size) -> Self {
        Self { size, texels: vec![[0.0; 4]; size.area() as usize] }
    }

    /// Texels.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// One texel, which must be inside.
    pub(crate) fn texel_mut(&mut self, x: i32, y: i32) -> &mut Rgba {
        &mut self.texels[y as usize * self.size.w as usize + x as usize]
    }

    /// The texel, or the one of `bounds` nearest to it.
    fn texel_in(&self, bounds: Rect, x: f64, y: f64) -> Rgba {
        let x = (x.floor() as i32).clamp(bounds.x, bounds.right() - 1);
        let y = (y.floor() as i32).clamp(bounds.y, bounds.bottom() - 1);
        self.texels[y as usize * self.size.w as usize + x as usize]
    }

    /// The colour at a point, reading only texels that `source` touches.
    fn sample(&self, source: RectF, filter: Filter, (x, y): (f64, f64)) -> Rgba {
        let Some(bounds) = source.round_out().intersection(Rect::from_size(self.size)) else { return [0.0; 4] };
        match filter {
            Filter::Nearest => self.texel_in(bounds, x, y),
            Filter::Linear => {
                let (x, y) = (x - 0.5, y - 0.5);
                let (right, below) = ((x - x.floor()) as f32, (y - y.floor()) as f32);
                let above = mix(self.texel_in(bounds, x, y), self.texel_in(bounds, x + 1.0, y), right);
                let under = mix(self.texel_in(bounds, x, y + 1.0), self.texel_in(bounds, x + 1.0, y + 1.0), right);
                mix(above, under, below)
            }
        }
    }
}

fn mix(a: Rgba, b: Rgba, t: f32) -> Rgba {
    std::array::from_fn(|i| a[i] * (1.0 - t) + b[i] * t)
}

/// The point of the texture that the centre of the pixel at `p` shows.
fn source_point(dst: Rect, source: RectF, transform: Transform, p: Point) -> (f64, f64) {
    // In the source's picture, turned as it is on screen.
    let turned = if transform.swaps_axes() { (source.h, source.w) } else { (source.w, source.h) };
    let x = (f64::from(p.x - dst.x) + 0.5) / f64::from(dst.w) * turned.0;
    let y = (f64::from(p.y - dst.y) + 0.5) / f64::from(dst.h) * turned.1;
    let (x, y) = transform.inverse().apply_point(x, y, turned.0, turned.1);
    (source.x + x, source.y + y)
}

/// What the element adds to the pixel at `p`; `None` where it has no part in it.
fn color<'a>(element: &Element, texture: &impl Fn(TextureId) -> Option<&'a Texture>, p: Point) -> Option<Rgba> {
    if !element.dst.contains(p) {
        return None;
    }
    let color = match element.paint {
        Paint::Solid(Color { r, g, b, a }) => [r, g, b, a],
        Paint::Texture { texture: id, source, transform, filter } => {
            texture(id)?.sample(source, filter, source_point(element.dst, source, transform, p))
        }
    };
    Some(color.map(|channel| (channel * element.alpha).clamp(0.0, 1.0)))
}

/// The pixel at `p`: bytes B, G, R, X.
pub(crate) fn pixel<'a>(scene: &Scene, texture: &impl Fn(TextureId) -> Option<&'a Texture>, p: Point) -> [u8; 4] {
    let ground = scene.background();
    let mut bgr = [ground.b, ground.g, ground.r].map(to_byte);
    for element in scene.elements() {
        if let Some([r, g, b, a]) = color(element, texture, p) {
            for (old, new) in bgr.iter_mut().zip([b, g, r]) {
                *old = to_byte(new + f32::from(*old) / 255.0 * (1.0 - a));
            }
        }
    }
    [bgr[0], bgr[1], bgr[2], 255]
}

fn to_byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Whether some element shows at `p`, by [`Filter::Nearest`], a point within `margin` texels of the line between two
/// texels: which of them it is may differ between renderers of finite precision.
pub(crate) fn is_between_texels(scene: &Scene, p: Point, margin: f64) -> bool {
    scene.elements().iter().filter(|element| element.dst.contains(p)).any(|element| match element.paint {
        Paint::Texture { source, transform, filter: Filter::Nearest, .. } => {
            let (x, y) = source_point(element.dst, source, transform, p);
            [x, y].into_iter().any(|v| (v - v.round()).abs() < margin)
        }
        _ => false,
    })
}

/// A target's pixels.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    pixels: Pixels,
}

impl Canvas {
    /// All of one colour.
    pub(crate) fn new(size: Size, pixel: [u8; 4]) -> Self {
        Self { pixels: Pixels { size, bytes: pixel.repeat(size.area() as usize) } }
    }

    /// Pixels.
    pub(crate) fn size(&self) -> Size {
        self.pixels.size
    }

    /// Replaces the pixel at `p`, which must be inside.
    pub(crate) fn set(&mut self, p: Point, pixel: [u8; 4]) {
        let at = (p.y as usize * self.pixels.size.w as usize + p.x as usize) * 4;
        self.pixels.bytes[at..at + 4].copy_from_slice(&pixel);
    }

    /// A copy of what of `part` is inside; `None` where nothing is.
    pub(crate) fn part(&self, part: Rect) -> Option<Pixels> {
        let part = part.intersection(Rect::from_size(self.size()))?;
        let row = |y: i32| {
            let at = (y as usize * self.pixels.size.w as usize + part.x as usize) * 4;
            &self.pixels.bytes[at..at + part.w as usize * 4]
        };
        let bytes = (part.y..part.bottom()).flat_map(row).copied().collect();
        Some(Pixels { size: part.size(), bytes })
    }
}
