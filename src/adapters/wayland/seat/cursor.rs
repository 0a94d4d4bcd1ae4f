//! The pointer's image: a client's surface, a picture of the theme, or none.
//!
//! Pictures are loaded when first asked for, at each output's own scale, and kept until the theme changes. What is shown
//! while a window is dragged is ours to say; else it is what the client under the pointer asked for.

use std::collections::HashMap;

use smithay::input::pointer::{CursorIcon, CursorImageStatus, CursorImageSurfaceData};
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::wayland::compositor::with_states;

use super::theme::{Picture, Theme};
use crate::adapters::wayland::image::ImageId;
use crate::adapters::wayland::latch::Item;
use crate::adapters::wayland::shell::stack::OWN_ELEMENT;
use crate::adapters::wayland::state::State;
use crate::domain::config;
use crate::domain::geometry::{Point, RectF, Scale, Size};
use crate::domain::output::OutputId;
use crate::domain::scene::{ElementId, Role};
use crate::domain::window::Edges;

/// The pointer's element where the image is a picture of the theme.
const CURSOR_ELEMENT: ElementId = ElementId(OWN_ELEMENT | 1 << 62);

/// A picture of the theme, stored.
#[derive(Clone, Copy, Debug)]
struct Stored {
    image: ImageId,
    size: Size,
    hotspot: Point,
}

/// The pointer's image.
#[derive(Debug)]
pub(super) struct Cursor {
    image: CursorImageStatus,
    theme: Theme,
    /// By name and scale; `None`: could not be stored.
    pictures: HashMap<(CursorIcon, Scale), Option<Stored>>,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            image: CursorImageStatus::default_named(),
            theme: Theme::new(&config::Cursor::default()),
            pictures: HashMap::new(),
        }
    }
}

impl Cursor {
    /// What the client under the pointer asks for.
    pub(super) fn set(&mut self, image: CursorImageStatus) {
        self.image = image;
    }
}

impl State {
    pub(super) fn set_cursor_theme(&mut self, config: &config::Cursor) {
        if self.seat.cursor.theme.is(config) {
            return;
        }
        self.seat.cursor.theme = Theme::new(config);
        let old: Vec<_> = self.seat.cursor.pictures.drain().filter_map(|(_, stored)| stored).collect();
        for stored in old {
            self.remove_image(stored.image);
        }
        self.shell.dirty = true;
    }

    /// The image in effect.
    fn cursor_now(&self) -> CursorImageStatus {
        match &self.seat.drag {
            Some(drag) => CursorImageStatus::Named(drag.edges().map_or(CursorIcon::Grabbing, resize_icon)),
            None if self.seat.icon.is_some() => CursorImageStatus::Named(CursorIcon::Grabbing),
            None => self.seat.cursor.image.clone(),
        }
    }

    /// Loads what the pointer's image needs, on every output. Called before frames are latched.
    pub(in crate::adapters::wayland) fn prepare_cursor(&mut self) {
        let CursorImageStatus::Named(icon) = self.cursor_now() else { return };
        loop {
            let pictures = &self.seat.cursor.pictures;
            let mut scales = self.core.outputs.iter().map(|output| output.placement.scale);
            let Some(scale) = scales.find(|scale| !pictures.contains_key(&(icon, *scale))) else { break };
            drop(scales);
            let Picture { size, hotspot, argb } = self.seat.cursor.theme.load(icon, scale);
            let stored = match self.add_image(size, &argb) {
                Ok(image) => Some(Stored { image, size, hotspot }),
                Err(error) => {
                    tracing::warn!(%error, ?icon, "the pointer's image cannot be stored");
                    None
                }
            };
            self.seat.cursor.pictures.insert((icon, scale), stored);
        }
    }

    /// The pointer and what it drags, on an output, front to back.
    pub fn seat_items(&self, output: OutputId, items: &mut Vec<Item>) {
        let (x, y) = self.pointer_place();
        if !self.seat.pointer_gone {
            match self.cursor_now() {
                CursorImageStatus::Hidden => {}
                CursorImageStatus::Named(icon) => self.picture_item(icon, output, x, y, items),
                CursorImageStatus::Surface(surface) => {
                    let hotspot = hotspot(&surface);
                    if let Some(root) = self.core.surfaces.key(&surface) {
                        let (x, y) = (x.floor() - f64::from(hotspot.x), y.floor() - f64::from(hotspot.y));
                        items.push(Item::Tree { root, x, y, alpha: 1.0, role: Role::Cursor });
                    }
                }
            }
        }
        if let Some(icon) = &self.seat.icon
            && let Some(root) = self.core.surfaces.key(&icon.surface)
        {
            let (x, y) = icon.finger.unwrap_or((x, y));
            let (x, y) = (x.floor() + f64::from(icon.offset.x), y.floor() + f64::from(icon.offset.y));
            items.push(Item::Tree { root, x, y, alpha: 1.0, role: Role::Content });
        }
    }

    fn picture_item(&self, icon: CursorIcon, output: OutputId, x: f64, y: f64, items: &mut Vec<Item>) {
        let Some(scale) = self.core.outputs.get(output).map(|output| output.placement.scale) else { return };
        let Some(Some(stored)) = self.seat.cursor.pictures.get(&(icon, scale)) else { return };
        // On whole physical pixels, so that no texel is blended with its neighbour.
        let factor = scale.as_f64();
        let snap = |v: f64, hotspot: i32| ((v * factor).floor() - f64::from(hotspot)) / factor;
        let rect = RectF::new(
            snap(x, stored.hotspot.x),
            snap(y, stored.hotspot.y),
            f64::from(stored.size.w) / factor,
            f64::from(stored.size.h) / factor,
        );
        items.push(Item::Image { id: CURSOR_ELEMENT, image: stored.image, rect, role: Role::Cursor });
    }

    /// The pointer moved: the outputs that show it must be painted anew.
    pub(super) fn cursor_moved(&mut self) {
        let hidden = matches!(self.cursor_now(), CursorImageStatus::Hidden) && self.seat.icon.is_none();
        if !hidden {
            self.redraw_all();
        }
    }

    pub(super) fn cursor_committed(&mut self, surface: &WlSurface) {
        if !matches!(&self.seat.cursor.image, CursorImageStatus::Surface(cursor) if cursor == surface) {
            return;
        }
        let key = self.core.surfaces.key(surface);
        let Some(content) = key.and_then(|key| self.core.surfaces.get_mut(key)) else { return };
        let by = content.take_offset();
        if by != Point::default() {
            with_states(surface, |states| {
                if let Some(mut data) = states.data_map.get::<CursorImageSurfaceData>().and_then(|d| d.lock().ok()) {
                    data.hotspot.x = data.hotspot.x.saturating_sub(by.x);
                    data.hotspot.y = data.hotspot.y.saturating_sub(by.y);
                }
            });
        }
        self.shell.dirty = true;
    }

    pub(super) fn cursor_destroyed(&mut self, surface: &WlSurface) {
        if matches!(&self.seat.cursor.image, CursorImageStatus::Surface(cursor) if cursor == surface) {
            self.seat.cursor.image = CursorImageStatus::default_named();
            self.shell.dirty = true;
        }
    }
}

fn hotspot(surface: &WlSurface) -> Point {
    with_states(surface, |states| {
        let data = states.data_map.get::<CursorImageSurfaceData>().and_then(|data| data.lock().ok());
        data.map_or(Point::default(), |data| Point::new(data.hotspot.x, data.hotspot.y))
    })
}

fn resize_icon(edges: Edges) -> CursorIcon {
    const TOP_LEFT: Edges = Edges::TOP.union(Edges::LEFT);
    const TOP_RIGHT: Edges = Edges::TOP.union(Edges::RIGHT);
    const BOTTOM_LEFT: Edges = Edges::BOTTOM.union(Edges::LEFT);
    match edges {
        Edges::TOP => CursorIcon::NResize,
        Edges::BOTTOM => CursorIcon::SResize,
        Edges::LEFT => CursorIcon::WResize,
        Edges::RIGHT => CursorIcon::EResize,
        TOP_LEFT => CursorIcon::NwResize,
        TOP_RIGHT => CursorIcon::NeResize,
        BOTTOM_LEFT => CursorIcon::SwResize,
        _ => CursorIcon::SeResize,
    }
}
