//! The pointer's image: a client's surface, a picture of the theme, or none.
//!
//! Pictures are loaded when first asked for, at each output's own scale, and kept until the theme changes. What is shown
//! while a window is dragged is ours to say; else it is what the client under the pointer asked for.
//!
//! An icon of several pictures moves: a latch that shows one notes when the next is due ([`State::cursor_due`]), and then
//! ([`State::turn_cursor`]) the outputs that it is on are asked to repaint. Nothing is due while it is not shown.

use std::collections::HashMap;

use smithay::input::pointer::{CursorIcon, CursorImageStatus, CursorImageSurfaceData};
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::wayland::compositor::with_states;

use super::theme::{Picture, Theme};
use crate::adapters::wayland::image::ImageId;
use crate::adapters::wayland::latch::Item;
use crate::adapters::wayland::shell::stack::OWN_ELEMENT;
use crate::adapters::wayland::state::{Event, State};
use crate::domain::animation::{Animation, Moment};
use crate::domain::config;
use crate::domain::frame::Time;
use crate::domain::geometry::{Point, Rect, RectF, Scale, Size};
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

/// The pictures of an icon.
#[derive(Debug)]
struct Strip {
    pictures: Vec<Stored>,
    animation: Animation,
}

/// The pointer's image.
#[derive(Debug)]
pub(super) struct Cursor {
    image: CursorImageStatus,
    theme: Theme,
    /// By name and scale; without pictures where they could not be stored.
    strips: HashMap<(CursorIcon, Scale), Strip>,
    /// The icon of the theme shown last, and since when.
    since: (CursorIcon, Time),
    /// When the picture shown is to be followed by the next.
    due: Option<Time>,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            image: CursorImageStatus::default_named(),
            theme: Theme::new(&config::Cursor::default()),
            strips: HashMap::new(),
            since: (CursorIcon::Default, Time::default()),
            due: None,
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
        let old: Vec<_> = self.seat.cursor.strips.drain().flat_map(|(_, strip)| strip.pictures).collect();
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

    /// Loads what the pointer's image needs, on every output, and notes when `output`, which shows it now, must show the
    /// next picture. Called before frames are latched.
    pub(in crate::adapters::wayland) fn prepare_cursor(&mut self, output: OutputId) {
        let CursorImageStatus::Named(icon) = self.cursor_now() else { return };
        loop {
            let strips = &self.seat.cursor.strips;
            let mut scales = self.core.outputs.iter().map(|output| output.placement.scale);
            let Some(scale) = scales.find(|scale| !strips.contains_key(&(icon, *scale))) else { break };
            drop(scales);
            self.load_strip(icon, scale);
        }
        if self.seat.cursor.since.0 != icon {
            self.seat.cursor.since = (icon, self.core.now);
        }
        if let Some((_, Moment { left_ns: Some(left_ns), .. })) = self.picture(icon, output) {
            self.seat.cursor.due = Some(self.core.now.plus_ns(left_ns));
        }
    }

    fn load_strip(&mut self, icon: CursorIcon, scale: Scale) {
        let frames = self.seat.cursor.theme.load(icon, scale);
        let animation = Animation::new(frames.iter().map(|picture| picture.delay_ms));
        let mut pictures = Vec::with_capacity(frames.len());
        for Picture { size, hotspot, argb, .. } in frames {
            match self.add_image(size, &argb) {
                Ok(image) => pictures.push(Stored { image, size, hotspot }),
                Err(error) => {
                    tracing::warn!(%error, ?icon, "the pointer's image cannot be stored");
                    break;
                }
            }
        }
        self.seat.cursor.strips.insert((icon, scale), Strip { pictures, animation });
    }

    /// When [`State::turn_cursor`] is due; `None` while no image that moves is shown.
    pub(in crate::adapters::wayland) fn cursor_due(&self) -> Option<Time> {
        self.seat.cursor.due
    }

    /// Asks for the pointer's next picture where it is shown, once that is due.
    pub(in crate::adapters::wayland) fn turn_cursor(&mut self, now: Time) {
        if self.seat.cursor.due.take_if(|due| *due <= now).is_none() {
            return;
        }
        if let CursorImageStatus::Named(icon) = self.cursor_now() {
            for output in self.core.outputs.iter().map(|output| output.id) {
                if self.picture(icon, output).is_some_and(|(_, moment)| moment.left_ns.is_some()) {
                    self.events.push(Event::Redraw(output));
                }
            }
        }
    }

    /// The pointer and what it drags, on an output, front to back.
    pub fn seat_items(&self, output: OutputId, items: &mut Vec<Item>) {
        let (x, y) = self.pointer_place();
        if !self.seat.pointer_gone {
            match self.cursor_now() {
                CursorImageStatus::Hidden => {}
                CursorImageStatus::Named(icon) => items.extend(self.picture(icon, output).map(|(item, _)| item)),
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

    /// An icon's picture of now where the pointer is, if any of it is on an output.
    fn picture(&self, icon: CursorIcon, output: OutputId) -> Option<(Item, Moment)> {
        let Cursor { strips, since, .. } = &self.seat.cursor;
        let placement = self.core.outputs.get(output).filter(|_| !self.seat.pointer_gone)?.placement;
        let Strip { pictures, animation } = strips.get(&(icon, placement.scale))?;
        let moment = animation.at(self.core.now.since_ns(since.1));
        let Stored { image, size, hotspot } = *pictures.get(moment.index)?;
        // On whole physical pixels, so that no texel is blended with its neighbour.
        let factor = placement.scale.as_f64();
        let snap = |v: f64, hotspot: i32| ((v * factor).floor() - f64::from(hotspot)) / factor;
        let (x, y) = self.pointer_place();
        let rect =
            RectF::new(snap(x, hotspot.x), snap(y, hotspot.y), f64::from(size.w) / factor, f64::from(size.h) / factor);
        placement.to_physical(rect).intersection(Rect::from_size(placement.mode_size))?;
        Some((Item::Image { id: CURSOR_ELEMENT, image, rect, role: Role::Cursor }, moment))
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
