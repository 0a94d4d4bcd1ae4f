//! From a pixel of the target to a texel of the texture.

use crate::domain::geometry::{Rect, RectF, Size};
use crate::domain::scene::{Element, Filter, Paint};

/// How an element's pixels find their texels: with `p` the pixel's centre measured from the element's corner, its
/// axes exchanged where `swap` says so, the texel is `p * map.xy + map.zw`, held inside `bounds`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mapping {
    /// x and y change places.
    pub(super) swap: bool,
    /// Texels per pixel along u and v, then the texel at the corner.
    pub(super) map: [f32; 4],
    /// Centres of the outermost texels that the source rectangle touches: first u, v, last u, v.
    pub(super) bounds: [f32; 4],
    /// No two texels are ever mixed: nearest, or texels and pixels coincide.
    pub(super) is_exact: bool,
}

impl Mapping {
    /// `None` where the element shows no texel of a texture of `size`.
    pub(super) fn new(element: &Element, size: Size) -> Option<Self> {
        let Paint::Texture { source, transform, filter, .. } = element.paint else { return None };
        let finite = [source.x, source.y, source.w, source.h].into_iter().all(f64::is_finite);
        if !finite || source.w <= 0.0 || source.h <= 0.0 || element.dst.is_empty() {
            return None;
        }
        let touched = source.round_out().intersection(Rect::from_size(size))?;
        let swap = transform.swaps_axes();
        // The source's picture as it is turned on screen, and where in the source its corners come from.
        let (w, h) = if swap { (source.h, source.w) } else { (source.w, source.h) };
        let back = transform.inverse();
        let (u, v) = back.apply_point(0.0, 0.0, w, h);
        let (ur, vr) = back.apply_point(w, 0.0, w, h);
        let (ub, vb) = back.apply_point(0.0, h, w, h);
        let (pw, ph) = (f64::from(element.dst.w), f64::from(element.dst.h));
        let (du, dv) = if swap { ((ub - u) / ph, (vr - v) / pw) } else { ((ur - u) / pw, (vb - v) / ph) };
        let coincide = (w, h) == (pw, ph) && source.as_integer().is_some();
        Some(Self {
            swap,
            map: [du, dv, source.x + u, source.y + v].map(|n| n as f32),
            bounds: centres(touched.to_f64()).map(|n| n as f32),
            is_exact: coincide || filter == Filter::Nearest,
        })
    }
}

fn centres(touched: RectF) -> [f64; 4] {
    [touched.x + 0.5, touched.y + 0.5, touched.x + touched.w - 0.5, touched.y + touched.h - 0.5]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::buffer::TextureId;
    use crate::domain::scene::{ElementId, Role};
    use crate::domain::transform::Transform;

    fn element(source: RectF, dst: Rect, transform: Transform, filter: Filter) -> Element {
        Element {
            id: ElementId(1),
            role: Role::Content,
            content: Default::default(),
            paint: Paint::Texture { texture: TextureId(1), source, transform, filter },
            dst,
            alpha: 1.0,
            opaque: Default::default(),
            damage: Default::default(),
            buffer: None,
            buffer_size: Size::default(),
        }
    }

    /// What the shader does.
    fn texel(map: &Mapping, x: i32, y: i32, dst: Rect) -> (i32, i32) {
        let (px, py) = ((x - dst.x) as f32 + 0.5, (y - dst.y) as f32 + 0.5);
        let (a, b) = if map.swap { (py, px) } else { (px, py) };
        let u = (a * map.map[0] + map.map[2]).clamp(map.bounds[0], map.bounds[2]);
        let v = (b * map.map[1] + map.map[3]).clamp(map.bounds[1], map.bounds[3]);
        (u as i32, v as i32)
    }

    #[test]
    fn texel_of_every_transform_is_where_the_domain_puts_it() {
        let size = Size::new(7, 5);
        for transform in Transform::ALL {
            let turned = transform.apply_size(size);
            let dst = Rect::new(11, -3, turned.w, turned.h);
            let e = element(Rect::from_size(size).to_f64(), dst, transform, Filter::Linear);
            let map = Mapping::new(&e, size).unwrap();
            assert!(map.is_exact);
            for (x, y) in (0..size.w).flat_map(|x| (0..size.h).map(move |y| (x, y))) {
                let there = transform.apply_rect(Rect::new(x, y, 1, 1), size);
                assert_eq!(texel(&map, dst.x + there.x, dst.y + there.y, dst), (x, y), "{transform:?}");
            }
        }
    }

    #[test]
    fn texel_between_two_falls_to_the_second_at_any_place() {
        // 100 texels on 125 pixels: pixel 62's centre is exactly on texel 50's edge.
        for at in [0, 7, 1913] {
            let dst = Rect::new(at, at, 125, 125);
            let e = element(RectF::new(0.0, 0.0, 100.0, 100.0), dst, Transform::Normal, Filter::Nearest);
            let map = Mapping::new(&e, Size::new(100, 100)).unwrap();
            assert_eq!(texel(&map, at + 62, at + 62, dst), (50, 50));
        }
    }

    #[test]
    fn bounds_of_a_fractional_source_are_the_texels_it_touches() {
        let e = element(RectF::new(1.5, 0.0, 2.0, 9.0), Rect::new(0, 0, 4, 4), Transform::Normal, Filter::Linear);
        let map = Mapping::new(&e, Size::new(8, 4)).unwrap();
        assert_eq!(map.bounds, [1.5, 0.5, 3.5, 3.5]);
        assert!(!map.is_exact);
    }

    #[test]
    fn source_outside_the_texture_or_not_a_number_shows_nothing() {
        let dst = Rect::new(0, 0, 4, 4);
        for source in [
            RectF::new(9.0, 0.0, 2.0, 2.0),
            RectF::new(f64::NAN, 0.0, 2.0, 2.0),
            RectF::new(0.0, 0.0, f64::INFINITY, 2.0),
            RectF::new(0.0, 0.0, 0.0, 2.0),
        ] {
            let e = element(source, dst, Transform::Normal, Filter::Linear);
            assert_eq!(Mapping::new(&e, Size::new(8, 8)), None, "{source:?}");
        }
    }
}
