//! One surface's geometry: what leads from its buffer to the size it has and back.
//!
//! ```text
//! buffer ──t⁻¹──▶ upright ──÷scale──▶ content ──crop (viewport source)──▶ ──stretch (viewport destination)──▶ surface
//! texels          texels              surface units                                                logical pixels
//! ```
//!
//! Invariant of a [`View`]: its source lies inside the buffer and its size is positive. Conversions of damage round
//! outwards, of opaque parts inwards. Sources: wl_surface.set_buffer_scale, .set_buffer_transform, .damage_buffer;
//! wp_viewport. Next: [`super::output`], which places it, then [`super::scene`].

use super::geometry::{Rect, RectF, Size};
use super::output::Placement;
use super::transform::Transform;

/// What a client has said about how its buffer becomes the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Buffer texels for one surface unit; at least 1.
    pub scale: i32,
    /// What was done to the surface's picture to get the buffer's.
    pub transform: Transform,
    /// wp_viewport source, in content units; `None` is all of it.
    pub source: Option<RectF>,
    /// wp_viewport destination, logical pixels; `None` is the source's size.
    pub destination: Option<Size>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { scale: 1, transform: Transform::Normal, source: None, destination: None }
    }
}

/// Why a buffer cannot be shown in a shape: each a protocol error.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// wl_surface.error.invalid_size.
    #[error("buffer of {w}x{h} is not a multiple of its scale {scale}")]
    NotMultiple {
        /// Buffer width.
        w: i32,
        /// Buffer height.
        h: i32,
        /// The scale.
        scale: i32,
    },
    /// wp_viewport.error.out_of_buffer.
    #[error("the viewport's source reaches outside the content of {content:?}")]
    OutOfBuffer {
        /// Size of the content.
        content: Size,
    },
    /// wp_viewport.error.bad_size.
    #[error("the viewport's source has no whole size and there is no destination")]
    BadSize,
}

/// How one buffer is shown by one surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    buffer: Size,
    scale: i32,
    transform: Transform,
    /// The part of the content shown, content units.
    crop: RectF,
    size: Size,
}

impl View {
    /// Of a buffer of `buffer` texels. With `lenient`, a buffer that is not a multiple of its scale loses the rest
    /// (cursors and icons of old clients are allowed that).
    ///
    /// # Errors
    /// [`ShapeError`].
    pub fn new(buffer: Size, shape: &Shape, lenient: bool) -> Result<Self, ShapeError> {
        let fits = buffer.w.min(buffer.h) >= shape.scale;
        let scale = if lenient && !fits { 1 } else { shape.scale.max(1) };
        if !lenient && (buffer.w % scale != 0 || buffer.h % scale != 0) {
            return Err(ShapeError::NotMultiple { w: buffer.w, h: buffer.h, scale });
        }
        let upright = shape.transform.apply_size(buffer);
        let content = Size::new((upright.w / scale).max(1), (upright.h / scale).max(1));
        let whole = RectF::new(0.0, 0.0, f64::from(content.w), f64::from(content.h));
        let crop = shape.source.unwrap_or(whole);
        let inside = crop.x >= 0.0 && crop.y >= 0.0 && crop.x + crop.w <= whole.w && crop.y + crop.h <= whole.h;
        if !inside {
            return Err(ShapeError::OutOfBuffer { content });
        }
        let size = match shape.destination {
            Some(size) => size,
            None if crop.w.fract() == 0.0 && crop.h.fract() == 0.0 => Size::new(crop.w as i32, crop.h as i32),
            None => return Err(ShapeError::BadSize),
        };
        if size.is_empty() {
            return Err(ShapeError::BadSize);
        }
        Ok(Self { buffer, scale, transform: shape.transform, crop, size })
    }

    /// The surface's size, logical pixels.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The buffer's size, texels.
    pub const fn buffer_size(&self) -> Size {
        self.buffer
    }

    /// What was done to the surface's picture to get the buffer's.
    pub const fn transform(&self) -> Transform {
        self.transform
    }

    /// The part of the buffer shown, texels.
    pub fn source(&self) -> RectF {
        self.content_to_buffer(self.crop)
    }

    /// Whether a part of the buffer is not shown.
    pub fn is_cropped(&self) -> bool {
        self.source() != Rect::from_size(self.buffer).to_f64()
    }

    /// A damaged rectangle of the surface in texels: rounded outwards, clipped to the buffer, `None` outside.
    pub fn damage_to_buffer(&self, surface: Rect) -> Option<Rect> {
        let surface = surface.intersection(Rect::from_size(self.size))?.to_f64();
        let (sx, sy) = self.stretch();
        let content =
            RectF::new(self.crop.x + surface.x / sx, self.crop.y + surface.y / sy, surface.w / sx, surface.h / sy);
        self.content_to_buffer(content).round_out().intersection(Rect::from_size(self.buffer))
    }

    /// A damaged rectangle of the buffer in real logical pixels of the surface; may lie outside it.
    pub fn damage_to_surface(&self, buffer: Rect) -> RectF {
        let upright = self.transform.inverse().apply_rect(buffer, self.buffer).to_f64();
        let scale = f64::from(self.scale);
        let (sx, sy) = self.stretch();
        RectF::new(
            (upright.x / scale - self.crop.x) * sx,
            (upright.y / scale - self.crop.y) * sy,
            upright.w / scale * sx,
            upright.h / scale * sy,
        )
    }

    /// Logical pixels for one content unit.
    fn stretch(&self) -> (f64, f64) {
        (f64::from(self.size.w) / self.crop.w, f64::from(self.size.h) / self.crop.h)
    }

    fn content_to_buffer(&self, content: RectF) -> RectF {
        let scale = f64::from(self.scale);
        let upright = self.transform.inverse().apply_size(self.buffer);
        self.transform.apply_rect_f64(content.scaled(scale, scale), f64::from(upright.w), f64::from(upright.h))
    }
}

/// One surface on one output: where its pixels go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    placement: Placement,
    /// Logical rectangle on the desktop.
    logical: RectF,
    /// Physical pixels.
    dst: Rect,
    /// Texels are not pixels one to one, so that a texel's change reaches into its neighbours' pixels.
    resampled: bool,
}

impl Placed {
    /// Of `view` with its top left corner at logical (`x`, `y`).
    pub fn new(view: &View, placement: &Placement, x: f64, y: f64) -> Self {
        let logical = RectF::new(x, y, f64::from(view.size.w), f64::from(view.size.h));
        let dst = placement.to_physical(logical);
        let source = view.source();
        let turned = placement.transform.after(view.transform.inverse()).apply_size(Size::new(1, 2));
        let (w, h) = if turned.w == 1 { (source.w, source.h) } else { (source.h, source.w) };
        let resampled = source.as_integer().is_none() || w != f64::from(dst.w) || h != f64::from(dst.h);
        Self { placement: *placement, logical, dst, resampled }
    }

    /// Where, in physical pixels; may reach past the output.
    pub const fn dst(&self) -> Rect {
        self.dst
    }

    /// Whether texels and pixels are not one to one: what wants a linear filter.
    pub const fn is_resampled(&self) -> bool {
        self.resampled
    }

    /// A damaged rectangle of the buffer in physical pixels, rounded outwards, clipped to `dst`; `None` outside.
    pub fn damage(&self, view: &View, buffer: Rect) -> Option<Rect> {
        let surface = view.damage_to_surface(buffer);
        let spread = if self.resampled { 1 } else { 0 };
        let at = self.on_desktop(surface);
        let rect = self.placement.to_physical_out(at);
        let grown = Rect::from_edges(
            rect.x.saturating_sub(spread),
            rect.y.saturating_sub(spread),
            rect.right().saturating_add(spread),
            rect.bottom().saturating_add(spread),
        );
        grown.intersection(self.dst)
    }

    /// An opaque rectangle of the surface (logical) in physical pixels: rounded inwards, except where it reaches the
    /// surface's own edge, whose pixels it covers as far as `dst` does.
    pub fn opaque(&self, surface: Rect) -> Option<Rect> {
        let size = Rect::from_edges(0, 0, self.logical.w as i32, self.logical.h as i32);
        let rect = surface.intersection(size)?;
        let upright_dst = self.placement.transform.inverse().apply_rect(self.dst, self.placement.mode_size);
        let scale = self.placement.scale.as_f64();
        let x = |v: i32| (self.logical.x + f64::from(v) - f64::from(self.placement.position.x)) * scale;
        let y = |v: i32| (self.logical.y + f64::from(v) - f64::from(self.placement.position.y)) * scale;
        let upright = Rect::from_edges(
            if rect.x == 0 { upright_dst.x } else { x(rect.x).ceil() as i32 },
            if rect.y == 0 { upright_dst.y } else { y(rect.y).ceil() as i32 },
            if rect.right() == size.w { upright_dst.right() } else { x(rect.right()).floor() as i32 },
            if rect.bottom() == size.h { upright_dst.bottom() } else { y(rect.bottom()).floor() as i32 },
        );
        let physical = self.placement.transform.apply_rect(upright, self.placement.upright_size());
        physical.intersection(self.dst)
    }

    fn on_desktop(&self, surface: RectF) -> RectF {
        RectF { x: surface.x + self.logical.x, y: surface.y + self.logical.y, ..surface }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::{Point, Scale};
    use super::*;

    fn shape(scale: i32, transform: Transform) -> Shape {
        Shape { scale, transform, ..Shape::default() }
    }

    #[test]
    fn view_of_each_shape_has_size_and_source() {
        let src = |x, y, w, h| Some(RectF::new(x, y, w, h));
        let dst = |w, h| Some(Size::new(w, h));
        let t = Transform::Normal;
        let r = Transform::Rot90;
        let f = Transform::Flipped;
        #[rustfmt::skip]
        let table = [
            // scale, transform, source, destination, size, source in texels; the buffer is 40x20
            (1, t, None, None, (40, 20), (0.0, 0.0, 40.0, 20.0)),
            (2, t, None, None, (20, 10), (0.0, 0.0, 40.0, 20.0)),
            (2, r, None, None, (10, 20), (0.0, 0.0, 40.0, 20.0)),
            (1, t, None, dst(80, 7), (80, 7), (0.0, 0.0, 40.0, 20.0)),
            (1, t, src(1.0, 2.0, 3.0, 4.0), None, (3, 4), (1.0, 2.0, 3.0, 4.0)),
            (2, t, src(0.5, 0.0, 3.5, 4.0), dst(7, 8), (7, 8), (1.0, 0.0, 7.0, 8.0)),
            (1, r, src(0.0, 0.0, 5.0, 8.0), None, (5, 8), (0.0, 15.0, 8.0, 5.0)),
            (1, f, src(0.0, 0.0, 10.0, 8.0), None, (10, 8), (30.0, 0.0, 10.0, 8.0)),
        ];
        for (scale, transform, source, destination, size, texels) in table {
            let shape = Shape { scale, transform, source, destination };
            let view = View::new(Size::new(40, 20), &shape, false).unwrap();
            assert_eq!(view.size(), Size::new(size.0, size.1), "{shape:?}");
            assert_eq!(view.source(), RectF::new(texels.0, texels.1, texels.2, texels.3), "{shape:?}");
        }
    }

    #[test]
    fn view_of_an_impossible_shape_names_the_error() {
        let view = |shape: &Shape| View::new(Size::new(40, 21), shape, false);
        assert!(matches!(view(&shape(2, Transform::Normal)), Err(ShapeError::NotMultiple { scale: 2, .. })));
        assert!(View::new(Size::new(40, 21), &shape(2, Transform::Normal), true).is_ok());
        let cropped = |x, y, w, h| Shape { source: Some(RectF::new(x, y, w, h)), ..Shape::default() };
        assert!(matches!(view(&cropped(0.0, 0.0, 40.5, 2.0)), Err(ShapeError::OutOfBuffer { .. })));
        assert!(matches!(view(&cropped(39.0, 0.0, 2.0, 2.0)), Err(ShapeError::OutOfBuffer { .. })));
        assert!(matches!(view(&cropped(0.0, 0.0, 2.5, 2.0)), Err(ShapeError::BadSize)));
        assert!(view(&cropped(39.0, 20.0, 1.0, 1.0)).is_ok());
    }

    #[test]
    fn damage_of_the_surface_and_back_covers_it_under_every_transform() {
        for transform in Transform::ALL {
            for (scale, destination) in [(1, None), (2, None), (2, Some(Size::new(33, 47)))] {
                let shape = Shape { scale, transform, source: None, destination };
                let view = View::new(Size::new(40, 20), &shape, false).unwrap();
                let damage = Rect::new(1, 2, 3, 4);
                let buffer = view.damage_to_buffer(damage).unwrap();
                assert!(Rect::from_size(Size::new(40, 20)).contains_rect(buffer));
                let back = view.damage_to_surface(buffer).round_out();
                assert!(back.contains_rect(damage), "{shape:?}: {damage:?} → {buffer:?} → {back:?}");
            }
        }
    }

    #[test]
    fn damage_beyond_the_surface_is_clipped_or_nothing() {
        let view = View::new(Size::new(40, 20), &Shape::default(), false).unwrap();
        let max = i32::MAX;
        assert_eq!(view.damage_to_buffer(Rect::new(-5, -5, max, max)), Some(Rect::new(0, 0, 40, 20)));
        assert_eq!(view.damage_to_buffer(Rect::new(40, 0, 5, 5)), None);
        assert_eq!(view.damage_to_buffer(Rect::new(max, max, max, max)), None);
    }

    fn placement(scale: u32, transform: Transform) -> Placement {
        Placement {
            position: Point::new(10, 20),
            mode_size: Size::new(200, 100),
            scale: Scale::from_120ths(scale),
            transform,
        }
    }

    #[test]
    fn placed_one_to_one_is_not_resampled_even_when_both_are_turned() {
        let view = View::new(Size::new(40, 20), &shape(1, Transform::Rot90), false).unwrap();
        let placed = Placed::new(&view, &placement(120, Transform::Rot90), 15.0, 25.0);
        assert!(!placed.is_resampled());
        assert_eq!(placed.dst().size(), Size::new(40, 20));
        let scaled = Placed::new(&view, &placement(150, Transform::Rot90), 15.0, 25.0);
        assert!(scaled.is_resampled());
    }

    #[test]
    fn opaque_of_the_whole_surface_is_its_destination_at_every_scale() {
        let view = View::new(Size::new(41, 21), &Shape::default(), false).unwrap();
        for transform in Transform::ALL {
            for scale in [120, 150, 180, 203, 240] {
                let placed = Placed::new(&view, &placement(scale, transform), 13.0, 27.0);
                assert_eq!(placed.opaque(Rect::new(-9, 0, 900, 900)), Some(placed.dst()), "{transform:?} {scale}");
                let part = placed.opaque(Rect::new(1, 1, 10, 10)).unwrap();
                assert!(placed.dst().contains_rect(part) && part != placed.dst());
            }
        }
    }

    #[test]
    fn damage_of_all_texels_covers_the_destination_at_every_scale() {
        let view = View::new(Size::new(41, 21), &Shape::default(), false).unwrap();
        for transform in Transform::ALL {
            for scale in [120, 150, 180, 203, 240] {
                let placed = Placed::new(&view, &placement(scale, transform), 13.0, 27.0);
                assert_eq!(placed.damage(&view, Rect::new(0, 0, 41, 21)), Some(placed.dst()), "{transform:?} {scale}");
            }
        }
    }
}
