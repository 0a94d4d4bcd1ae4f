//! Everything on an output, front to back: what is shown, and who is under the pointer.
//!
//! ```text
//! pointer · drag icon · overlay panels ·
//!   with a window in fullscreen: windows down to it · black ·          (nothing beneath is visited)
//!   else: top panels · windows · bottom panels · background panels
//! ```
//! Each window's and panel's popups are directly in front of it. Nothing is allocated but what the lists given grow by.

use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;

use crate::adapters::wayland::latch::Item;
use crate::adapters::wayland::state::State;
use crate::adapters::wayland::surface::SurfaceKey;
use crate::domain::geometry::{Point, RectF};
use crate::domain::layout::Layer;
use crate::domain::output::OutputId;
use crate::domain::scene::{Color, ElementId, Role};
use crate::domain::window::{Mode, Window};

/// Elements that are no surface's have this bit set: see [`Item`].
pub(in crate::adapters::wayland) const OWN_ELEMENT: u64 = 1 << 63;

/// A surface under a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The surface itself, a sub-surface maybe.
    pub surface: WlSurface,
    /// The root of its tree: a window's, panel's or popup's surface.
    pub root: WlSurface,
    /// The surface's corner, logical.
    pub x: f64,
    /// The surface's corner, logical.
    pub y: f64,
}

impl State {
    /// What `output` shows, front to back, pushed onto `items`.
    pub(in crate::adapters::wayland) fn shell_items(&self, output: OutputId, items: &mut Vec<Item>) {
        self.seat_items(output, items);
        self.desktop_items(output, items);
    }

    /// As what is latched, without the pointer and what it drags.
    pub fn desktop_items(&self, output: OutputId, items: &mut Vec<Item>) {
        let desktop = &self.shell.desktop;
        self.panel_items(output, Layer::Overlay, items);
        let fullscreen = desktop.fullscreen_on(output);
        if fullscreen.is_none() {
            self.panel_items(output, Layer::Top, items);
        }
        for window in desktop.shown().rev() {
            self.window_items(window, items);
            if fullscreen.is_some_and(|fullscreen| fullscreen.id() == window.id()) {
                return;
            }
        }
        self.panel_items(output, Layer::Bottom, items);
        self.panel_items(output, Layer::Background, items);
    }

    fn window_items(&self, window: &Window, items: &mut Vec<Item>) {
        let Some(toplevel) = self.shell.toplevels.get(&window.id()) else { return };
        let (surface, at) = (toplevel.handle.wl_surface(), window.geometry().origin());
        self.popup_items(surface, at, items);
        // The client's shadows lie outside of its window geometry.
        let frame = toplevel.frame;
        self.tree_item(surface, Point::new(at.x.saturating_sub(frame.x), at.y.saturating_sub(frame.y)), items);
        if window.shown_mode() == Mode::Fullscreen {
            // What a smaller or translucent client leaves of the output: nothing else must be seen there.
            items.push(Item::Solid {
                id: ElementId(OWN_ELEMENT | window.id().0),
                rect: window.covered().to_f64(),
                color: Color::BLACK,
            });
        }
    }

    fn panel_items(&self, output: OutputId, layer: Layer, items: &mut Vec<Item>) {
        self.shell.panels.each_of(output, layer, |surface, at| {
            self.popup_items(surface, at, items);
            self.tree_item(surface, at, items);
        });
    }

    fn popup_items(&self, root: &WlSurface, corner: Point, items: &mut Vec<Item>) {
        self.shell.popups.each_of(root, |surface, offset| {
            let at = Point::new(corner.x.saturating_add(offset.x), corner.y.saturating_add(offset.y));
            self.tree_item(surface, at, items);
        });
    }

    fn tree_item(&self, surface: &WlSurface, at: Point, items: &mut Vec<Item>) {
        if let Some(root) = self.core.surfaces.key(surface) {
            items.push(Item::Tree { root, x: f64::from(at.x), y: f64::from(at.y), alpha: 1.0, role: Role::Content });
        }
    }

    /// The frontmost surface that takes input at a logical point; `scratch` is storage to reuse.
    pub(in crate::adapters::wayland) fn surface_at(&self, x: f64, y: f64, scratch: &mut Vec<Item>) -> Option<Hit> {
        let output = self.shell.desktop.screen_at(Point::new(x.floor() as i32, y.floor() as i32))?.id;
        scratch.clear();
        self.desktop_items(output, scratch);
        for item in scratch.iter() {
            match *item {
                Item::Tree { root, x: left, y: top, .. } => {
                    if let Some(hit) = self.hit_tree(root, left, top, x, y) {
                        return Some(hit);
                    }
                }
                Item::Solid { rect: RectF { x: left, y: top, w, h }, .. } => {
                    if x >= left && y >= top && x < left + w && y < top + h {
                        return None;
                    }
                }
                Item::Image { .. } => {}
            }
        }
        None
    }

    fn hit_tree(&self, root: SurfaceKey, left: f64, top: f64, x: f64, y: f64) -> Option<Hit> {
        let surfaces = &self.core.surfaces;
        let (key, dx, dy) = surfaces.under(root, x - left, y - top)?;
        Some(Hit {
            surface: surfaces.get(key)?.wl.clone(),
            root: surfaces.get(root)?.wl.clone(),
            x: left + dx,
            y: top + dy,
        })
    }
}
