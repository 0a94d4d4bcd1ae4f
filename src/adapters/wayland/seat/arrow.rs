//! The built-in pointer, for machines without a cursor theme: an arrow, drawn at any size.
//!
//! Two polygons, black inside white, sampled four by four times a pixel. Coordinates are 24ths of the picture's side.

use super::theme::Picture;
use crate::domain::geometry::{Point, Size};

/// The outline: white.
const OUTER: [(f32, f32); 7] =
    [(1.0, 0.0), (1.0, 20.0), (5.6, 15.8), (8.6, 22.6), (12.6, 20.8), (9.7, 14.2), (16.0, 14.0)];
/// The inside: black.
const INNER: [(f32, f32); 7] =
    [(2.2, 2.8), (2.2, 17.4), (6.0, 13.9), (9.2, 20.9), (11.0, 20.1), (7.9, 13.1), (13.2, 12.9)];

/// Samples along each side of a pixel.
const SAMPLES: u32 = 4;

/// The arrow, `side` pixels square.
pub(super) fn draw(side: u32) -> Picture {
    let side = side.clamp(1, 512);
    let step = 24.0 / side as f32;
    let mut argb = Vec::with_capacity((side * side * 4) as usize);
    for y in 0..side {
        for x in 0..side {
            let (mut cover, mut light) = (0, 0);
            for sample in 0..SAMPLES * SAMPLES {
                let inner = |v: u32, part: u32| (v as f32 + (part as f32 + 0.5) / SAMPLES as f32) * step;
                let at = (inner(x, sample % SAMPLES), inner(y, sample / SAMPLES));
                let outside = is_inside(&OUTER, at);
                cover += u32::from(outside);
                light += u32::from(outside && !is_inside(&INNER, at));
            }
            let byte = |n: u32| (n * 255 / (SAMPLES * SAMPLES)) as u8;
            // Premultiplied: grey is what of the pixel is white.
            let (grey, alpha) = (byte(light), byte(cover));
            argb.extend([grey, grey, grey, alpha]);
        }
    }
    let tip = (side / 24) as i32;
    Picture { size: Size::new(side as i32, side as i32), hotspot: Point::new(tip, 0), argb, delay_ms: 0 }
}

/// By the even-odd rule.
fn is_inside(polygon: &[(f32, f32)], (x, y): (f32, f32)) -> bool {
    let mut inside = false;
    let mut from = polygon[polygon.len() - 1];
    for &to in polygon {
        if (from.1 > y) != (to.1 > y) && x < (to.0 - from.0) * (y - from.1) / (to.1 - from.1) + from.0 {
            inside = !inside;
        }
        from = to;
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draw_of_any_size_is_premultiplied_and_neither_empty_nor_full() {
        for side in [1, 7, 24, 36, 512, 100_000] {
            let picture = draw(side);
            let pixels: Vec<&[u8]> = picture.argb.chunks_exact(4).collect();
            assert_eq!(pixels.len() as u64, picture.size.area());
            assert!(pixels.iter().all(|p| p[0] <= p[3] && p[1] <= p[3] && p[2] <= p[3]), "{side}");
            if side >= 7 {
                assert!(pixels.iter().any(|p| p[3] == 255 && p[0] == 0), "black at {side}");
                assert!(pixels.iter().any(|p| p[3] == 0), "transparent at {side}");
            }
            assert!(picture.hotspot.x < picture.size.w);
        }
    }

    #[test]
    fn draw_at_the_hotspot_is_opaque_enough_to_be_seen() {
        let picture = draw(48);
        let at = (picture.hotspot.y * picture.size.w + picture.hotspot.x) as usize * 4;
        let below = at + 4 * picture.size.w as usize * 4;
        assert!(picture.argb[below + 3] > 200);
    }
}
