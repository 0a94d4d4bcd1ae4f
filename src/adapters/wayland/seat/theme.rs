//! Pictures of an XCursor theme, or the built-in [`super::arrow`] where it has none. An icon that moves is several.

use smithay::input::pointer::CursorIcon;
use xcursor::CursorTheme;
use xcursor::parser::{Image, parse_xcursor};

use super::arrow;
use crate::domain::config;
use crate::domain::geometry::{Point, Scale, Size};

/// A theme's file that is greater than this is not read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Bytes of one icon's pictures past which the rest is left out.
const MAX_PICTURE_BYTES: usize = 16 << 20;

/// Pixels of a pointer's image.
#[derive(Debug)]
pub(super) struct Picture {
    /// Pixels.
    pub(super) size: Size,
    /// The pixel that points.
    pub(super) hotspot: Point,
    /// ARGB8888 little-endian, premultiplied, rows without padding.
    pub(super) argb: Vec<u8>,
    /// How long it is shown, where another one follows.
    pub(super) delay_ms: u32,
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

    /// An icon's pictures for an output of this scale, in order; at least one.
    pub(super) fn load(&mut self, icon: CursorIcon, scale: Scale) -> Vec<Picture> {
        let wanted = (f64::from(self.size) * scale.as_f64()).round().clamp(1.0, 512.0) as u32;
        let files = self.files.get_or_insert_with(|| CursorTheme::load(&self.name));
        let names = std::iter::once(icon.name()).chain(icon.alt_names().iter().copied()).chain(["default", "left_ptr"]);
        let found = names.filter_map(|name| files.load_icon(name)).find_map(|path| {
            let small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_FILE_BYTES);
            let bytes = std::fs::read(&path).ok().filter(|_| small)?;
            let images = best(parse_xcursor(&bytes)?, wanted);
            (!images.is_empty()).then_some(images)
        });
        let Some(images) = found else {
            tracing::debug!(theme = self.name, ?icon, "no such cursor: the built-in arrow is used");
            return vec![arrow::draw(wanted)];
        };
        let picture = |image: Image| Picture {
            size: Size::new(image.width as i32, image.height as i32),
            hotspot: Point::new(image.xhot as i32, image.yhot as i32),
            argb: image.pixels_rgba, // the file's bytes as they are, whatever the name says: B, G, R, A
            delay_ms: image.delay,
        };
        images.into_iter().map(picture).collect()
    }
}

/// The pictures of the size nearest to what is wanted, the greater one of two, in order.
fn best(mut images: Vec<Image>, wanted: u32) -> Vec<Image> {
    let nearest = images.iter().map(|image| image.size).min_by_key(|size| (size.abs_diff(wanted), u32::MAX - size));
    images.retain(|image| Some(image.size) == nearest);
    let mut bytes = 0_usize;
    let fit = images.iter().take_while(|image| {
        bytes = bytes.saturating_add(image.pixels_rgba.len());
        bytes <= MAX_PICTURE_BYTES
    });
    let count = fit.count().max(1);
    images.truncate(count);
    images
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
        let pictures = theme.load(CursorIcon::Text, Scale::from_120ths(180));
        let [picture] = &pictures[..] else { panic!("{} pictures", pictures.len()) };
        assert_eq!(picture.argb.len(), picture.size.area() as usize * 4);
        assert!(picture.hotspot.x < picture.size.w && picture.hotspot.y < picture.size.h);
    }

    #[test]
    fn best_of_several_sizes_is_the_nearest_with_all_its_pictures() {
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
        for (wanted, delays) in [(24, &[1, 2][..]), (28, &[3]), (40, &[4]), (100, &[4]), (1, &[1, 2])] {
            let found: Vec<_> = best(images.clone(), wanted).iter().map(|image| image.delay).collect();
            assert_eq!(found, delays, "{wanted}");
        }
        assert!(best(Vec::new(), 24).is_empty());
    }
}
