//! A screenshot from captured framebuffers: turned upright, put together as outputs lie on the desktop, cut, encoded.
//!
//! Pure, and slow for large pictures: [`super::capture`] runs it on a thread of its own.

use std::io;

use crate::domain::geometry::{Rect, RectF, Scale, Size};
use crate::domain::transform::Transform;
use crate::ports::renderer::Pixels;

/// Pixels of a picture, at most: outputs may lie far from each other.
const MAX_AREA: u64 = 1 << 28;

/// A captured output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// On the desktop.
    pub(super) logical: Rect,
    pub(super) scale: Scale,
    pub(super) transform: Transform,
    /// Of the framebuffer, physical pixels.
    pub(super) size: Size,
}

/// Where each output goes in the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Pixels of the whole picture.
    pub(super) size: Size,
    places: Vec<Rect>,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub(super) enum PictureError {
    #[error("the outputs lie too far apart for one picture: name one with --output")]
    TooLarge,
    #[error("the part {x},{y},{w},{h} does not lie inside the picture, which is {}x{}", size.w, size.h)]
    Outside { x: i32, y: i32, w: i32, h: i32, size: Size },
    #[error("the picture cannot be encoded")]
    Encode(#[from] io::Error),
}

/// One output as it is, or several as they lie on the desktop, at the greatest scale among them.
pub(super) fn lay_out(views: &[View]) -> Result<Layout, PictureError> {
    if let [view] = views {
        let size = view.transform.apply_size(view.size);
        return Ok(Layout { size, places: vec![Rect::from_size(size)] });
    }
    let bounds = views.iter().fold(Rect::default(), |hull, view| hull.hull(view.logical));
    let scale = views.iter().map(|view| view.scale).max().unwrap_or_default().as_f64();
    let place = |rect: Rect| {
        let (x, y) = (f64::from(rect.x) - f64::from(bounds.x), f64::from(rect.y) - f64::from(bounds.y));
        RectF::new(x, y, f64::from(rect.w), f64::from(rect.h)).scaled(scale, scale).round_edges()
    };
    let size = place(bounds).size();
    if size.area() > MAX_AREA {
        return Err(PictureError::TooLarge);
    }
    Ok(Layout { size, places: views.iter().map(|view| place(view.logical)).collect() })
}

impl Layout {
    /// The part that is wanted: all of it without one.
    pub(super) fn part(&self, part: Option<Rect>) -> Result<Rect, PictureError> {
        let all = Rect::from_size(self.size);
        let part = part.unwrap_or(all);
        let Rect { x, y, w, h } = part;
        let inside = !part.is_empty() && all.contains_rect(part);
        inside.then_some(part).ok_or(PictureError::Outside { x, y, w, h, size: self.size })
    }

    /// The part's pixels, three bytes each, black where no output is. `framebuffers` are in the order of the views.
    pub(super) fn compose(&self, views: &[View], framebuffers: &[Pixels], part: Rect) -> Vec<u8> {
        let mut rgb = vec![0; part.size().area() as usize * 3];
        for ((view, pixels), place) in views.iter().zip(framebuffers).zip(&self.places) {
            let Some(shared) = place.intersection(part) else { continue };
            let upright = view.transform.apply_size(view.size);
            for y in shared.y..shared.bottom() {
                let row = (y - part.y) as usize * part.w as usize;
                let from_y = nearest(y - place.y, place.h, upright.h);
                for x in shared.x..shared.right() {
                    let from_x = nearest(x - place.x, place.w, upright.w);
                    // The framebuffer is the upright picture with the transform done to it.
                    let texel = view.transform.apply_rect(Rect::new(from_x, from_y, 1, 1), upright);
                    let at = (texel.y as usize * pixels.size.w as usize + texel.x as usize) * 4;
                    let Some(&[b, g, r, _]) = pixels.bytes.get(at..at + 4) else { continue };
                    let to = (row + (x - part.x) as usize) * 3;
                    rgb[to..to + 3].copy_from_slice(&[r, g, b]);
                }
            }
        }
        rgb
    }
}

/// The pixel of `to` under pixel `v` of `from`.
fn nearest(v: i32, from: i32, to: i32) -> i32 {
    ((i64::from(v) * 2 + 1) * i64::from(to) / (i64::from(from) * 2)) as i32
}

/// As a PNG file.
pub(super) fn encode(size: Size, rgb: &[u8]) -> Result<Vec<u8>, PictureError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.w as u32, size.h as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(io::Error::from)?;
    writer.write_image_data(rgb).map_err(io::Error::from)?;
    writer.finish().map_err(io::Error::from)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pixel's blue and green are its place.
    fn framebuffer(size: Size) -> Pixels {
        let pixels = (0..size.h).flat_map(|y| (0..size.w).map(move |x| [x as u8, y as u8, 7, 255]));
        Pixels { size, bytes: pixels.flatten().collect() }
    }

    fn view(x: i32, y: i32, size: Size, scale: Scale, transform: Transform) -> View {
        let upright = transform.apply_size(size);
        let logical =
            Rect::new(x, y, upright.w * 120 / scale.in_120ths() as i32, upright.h * 120 / scale.in_120ths() as i32);
        View { logical, scale, transform, size }
    }

    #[test]
    fn picture_of_a_turned_output_is_upright() {
        let size = Size::new(4, 3);
        for transform in Transform::ALL {
            let views = [view(9, 9, size, Scale::ONE, transform)];
            let layout = lay_out(&views).unwrap();
            let upright = transform.apply_size(size);
            assert_eq!(layout.size, upright);
            let rgb = layout.compose(&views, &[framebuffer(size)], Rect::from_size(upright));
            for y in 0..upright.h {
                for x in 0..upright.w {
                    let at = transform.apply_rect(Rect::new(x, y, 1, 1), upright);
                    let pixel = &rgb[(y * upright.w + x) as usize * 3..][..3];
                    assert_eq!(pixel, [7, at.y as u8, at.x as u8], "{transform:?} {x},{y}");
                }
            }
        }
    }

    #[test]
    fn picture_of_two_outputs_has_the_greater_scale_and_black_gaps() {
        let size = Size::new(4, 4);
        let views = [
            view(-2, 0, size, Scale::from_120ths(240), Transform::Normal),
            view(1, 1, size, Scale::ONE, Transform::Normal),
        ];
        let layout = lay_out(&views).unwrap();
        // Logical bounds -2,0 to 5,5 at scale 2.
        assert_eq!(layout.size, Size::new(14, 10));
        let all = layout.part(None).unwrap();
        let rgb = layout.compose(&views, &[framebuffer(size), framebuffer(size)], all);
        let pixel = |x: usize, y: usize| &rgb[(y * 14 + x) * 3..][..3];
        assert_eq!(pixel(3, 2), [7, 2, 3], "the first, one to one");
        assert_eq!(pixel(6, 2), [7, 0, 0], "the second begins");
        assert_eq!((pixel(8, 2), pixel(9, 5)), (&[7, 0, 1][..], &[7, 1, 1][..]), "and is doubled");
        assert_eq!((pixel(5, 0), pixel(0, 9)), (&[0; 3][..], &[0; 3][..]), "nobody's");
    }

    #[test]
    fn part_is_cut_from_the_whole() {
        let size = Size::new(5, 5);
        let views = [view(0, 0, size, Scale::ONE, Transform::Normal)];
        let layout = lay_out(&views).unwrap();
        let part = layout.part(Some(Rect::new(3, 1, 2, 1))).unwrap();
        assert_eq!(layout.compose(&views, &[framebuffer(size)], part), [7, 1, 3, 7, 1, 4]);
        for outside in [Rect::new(4, 0, 2, 1), Rect::new(-1, 0, 2, 1), Rect::new(0, 0, 0, 1)] {
            assert!(layout.part(Some(outside)).unwrap_err().to_string().ends_with("which is 5x5"));
        }
    }

    #[test]
    fn outputs_far_apart_make_no_picture() {
        let far = |x| view(x, x, Size::new(8, 8), Scale::ONE, Transform::Normal);
        assert!(matches!(lay_out(&[far(-1_000_000), far(1_000_000)]), Err(PictureError::TooLarge)));
    }

    #[test]
    fn file_decodes_to_the_same_pixels() {
        let rgb: Vec<u8> = (0..5 * 3 * 3).collect();
        let file = encode(Size::new(5, 3), &rgb).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(file)).read_info().unwrap();
        let mut decoded = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut decoded).unwrap();
        assert_eq!((info.width, info.height, decoded), (5, 3, rgb));
    }
}
