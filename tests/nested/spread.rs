//! Where a colour is in a picture.

use transom::domain::geometry::Point;
use transom::ports::renderer::Pixels;

use crate::support::picture::{points, rgb};

/// Red, green and blue.
pub(crate) type Color = [u8; 3];

/// A bounding box, and how many pixels of it have the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) w: i32,
    pub(crate) h: i32,
    pub(crate) pixels: usize,
}

/// Where `color` is, exactly; `None` where it is nowhere.
pub(crate) fn spread(picture: &Pixels, color: Color) -> Option<Spread> {
    let mut found: Option<(Point, Point, usize)> = None;
    for p in points(picture.size).filter(|p| rgb(picture, *p) == color) {
        let (low, high, pixels) = found.unwrap_or((p, p, 0));
        let low = Point::new(low.x.min(p.x), low.y.min(p.y));
        let high = Point::new(high.x.max(p.x), high.y.max(p.y));
        found = Some((low, high, pixels + 1));
    }
    found.map(|(low, high, pixels)| Spread { x: low.x, y: low.y, w: high.x - low.x + 1, h: high.y - low.y + 1, pixels })
}
