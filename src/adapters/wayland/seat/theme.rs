//! Pictures of an XCursor theme, or the built-in [`super::arrow`] where it has none.

use smithay::input::pointer::CursorIcon;
use xcursor::CursorTheme;
use xcursor::parser::{Image, parse_xcursor};

use super::arrow;
use crate::domain::config;
use crate::domain::geometry::{Point, Scale, Size};

/// A theme's file that is greater than this is not read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Pixels of a pointer's image.
#[derive(Debug)]
pub(super) struct Picture {
    /// Pixels.
    pub(super) size: Size,
    /// The pixel that points.
    pub(super) hotspot: Point,
    /// ARGB8888 little-endian, premultiplied, rows without padding.
    pub(super) argb: Vec<u8>,
}

/// See the module's docs.
#[derive(Debug)]
pub(super) struct Theme {
    name: String,
    /// Logical pixels.
    size: u8,
    files: Option<CursorTheme>,
}

impl Theme {
    /// The theme that a configuration names; its files are looked for when needed.
    pub(super) fn new(config: &config::Cursor) -> Self {
        Self { name: config.theme.clone(), size: config.size, files: None }
    }

    /// Whether it is the one that a configuration names.
    pub(super) fn is(&self, config: &config::Cursor) -> bool {
        self.name == config.theme && self.size == config.size
    }

    /// A picture for an output of this scale.
    pub(super) fn load(&mut self, icon: CursorIcon, scale: Scale) -> Picture {
        let wanted = (f64::from(self.size) * scale.as_f64()).round().clamp(1.0, 512.0) as u32;
        let files = self.files.get_or_insert_with(|| CursorTheme::load(&self.name));
        let names = std::iter::once(icon.name()).chain(icon.alt_names().iter().copied()).chain(["default", "left_ptr"]);
        let found = names.filter_map(|name| files.load_icon(name)).find_map(|path| {
            let small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_FILE_BYTES);
            let bytes = std::fs::read(&path).ok().filter(|_| small)?;
            best(parse_xcursor(&bytes)?, wanted)
        });
        match found {
            Some(image) => Picture {
                size: Size::new(image.width as i32, image.height as i32),
                hotspot: Point::new(image.xhot as i32, image.yhot as i32),
                argb: image.pixels_rgba, // the file's bytes as they are, whatever the name says: B, G, R, A
            },
            None => {
                tracing::debug!(theme = self.name, ?icon, "no such cursor: the built-in arrow is used");
                arrow::draw(wanted)
            }
        }
    }
}

/// The first frame of the size nearest to what is wanted, the greater one of two.
fn best(images: Vec<Image>, wanted: u32) -> Option<Image> {
    let distance = |image: &Image| (image.size.abs_diff(wanted), u32::MAX - image.size);
    let mut best: Option<Image> = None;
    for image in images {
        if best.as_ref().is_none_or(|best| distance(&image) < distance(best)) {
            best = Some(image);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_without_the_theme_is_the_arrow_of_the_wanted_size() {
        let config = config::Cursor { theme: "transom-no-such-theme".into(), size: 24 };
        let mut theme = Theme::new(&config);
        // Whatever is installed, "no such theme" falls back on nothing but what `default` inherits.
        theme.files = Some(CursorTheme::load("transom-no-such-theme-either"));
        let picture = theme.load(CursorIcon::Text, Scale::from_120ths(180));
        assert_eq!(picture.argb.len(), picture.size.area() as usize * 4);
        assert!(picture.hotspot.x < picture.size.w && picture.hotspot.y < picture.size.h);
    }

    #[test]
    fn best_of_several_sizes_is_the_nearest_and_its_first_frame() {
        let image = |size, delay| Image {
            size,
            width: 1,
            height: 1,
            xhot: 0,
            yhot: 0,
            delay,
            pixels_rgba: vec![0; 4],
            pixels_argb: vec![0; 4],
        };
        let images = vec![image(24, 1), image(24, 2), image(32, 3), image(48, 4)];
        for (wanted, size, delay) in [(24, 24, 1), (28, 32, 3), (40, 48, 4), (100, 48, 4), (1, 24, 1)] {
            let found = best(images.clone(), wanted).unwrap();
            assert_eq!((found.size, found.delay), (size, delay), "{wanted}");
        }
        assert!(best(Vec::new(), 24).is_none());
    }
}
