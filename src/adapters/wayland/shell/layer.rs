//! Panels: zwlr_layer_surface_v1.
//!
//! The arithmetic is `domain::layout`'s; here is which client made which panel on which output, what it was told and
//! what it committed. A panel counts in the arrangement from its first surface commit on, and is closed with its output.

use std::collections::VecDeque;

use smithay::output::Output;
use smithay::reexports::wayland_server::protocol::wl_output::WlOutput;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::utils::Serial;
use smithay::wayland::compositor::with_states;
use smithay::wayland::shell::wlr_layer::{
    ExclusiveZone, KeyboardInteractivity, Layer as WlrLayer, LayerSurface, LayerSurfaceCachedState,
    LayerSurfaceConfigure, LayerSurfaceData, WlrLayerShellHandler, WlrLayerShellState,
};
use smithay::wayland::shell::xdg::PopupSurface;

use super::toplevel::MAX_UNANSWERED;
use crate::adapters::wayland::state::State;
use crate::domain::geometry::{Point, Rect, Size};
use crate::domain::layout::{self, Layer, Margins, Zone};
use crate::domain::output::OutputId;
use crate::domain::window::Edges;

#[derive(Debug)]
struct Panel {
    handle: LayerSurface,
    output: OutputId,
    /// As committed last; `None` until the first surface commit.
    wants: Option<layout::Panel>,
    keyboard: KeyboardInteractivity,
    /// Where it is, logical.
    place: Rect,
    mapped: bool,
    unanswered: VecDeque<Serial>,
}

/// Every panel, in order of creation.
#[derive(Debug, Default)]
pub struct Panels {
    list: Vec<Panel>,
    /// Reused by arranging.
    wants: Vec<layout::Panel>,
    rects: Vec<Rect>,
}

impl Panels {
    pub(in crate::adapters::wayland) fn contains(&self, surface: &WlSurface) -> bool {
        self.list.iter().any(|panel| panel.handle.wl_surface() == surface)
    }

    fn find_mut(&mut self, surface: &WlSurface) -> Option<&mut Panel> {
        self.list.iter_mut().find(|panel| panel.handle.wl_surface() == surface)
    }

    /// Where a panel is, logical.
    pub(super) fn place(&self, surface: &WlSurface) -> Option<Rect> {
        self.list.iter().find(|panel| panel.handle.wl_surface() == surface).map(|panel| panel.place)
    }

    /// Calls `f` with each mapped panel of a layer of an output, frontmost first, and its corner, logical.
    pub(super) fn each_of(&self, output: OutputId, layer: Layer, mut f: impl FnMut(&WlSurface, Point)) {
        let shown = |panel: &&Panel| {
            panel.mapped && panel.output == output && panel.wants.is_some_and(|wants| wants.layer == layer)
        };
        for panel in self.list.iter().rev().filter(shown) {
            f(panel.handle.wl_surface(), panel.place.origin());
        }
    }

    /// The panel that takes the keyboard whatever else is there: the frontmost one above windows that asks for it.
    pub(in crate::adapters::wayland) fn exclusive(&self) -> Option<&WlSurface> {
        let asks = |panel: &&Panel| {
            let layer = panel.wants.map(|wants| wants.layer);
            panel.mapped
                && panel.keyboard == KeyboardInteractivity::Exclusive
                && matches!(layer, Some(Layer::Top | Layer::Overlay))
        };
        let frontmost = |panel: &&Panel| panel.wants.map(|wants| wants.layer);
        self.list.iter().filter(asks).max_by_key(frontmost).map(|panel| panel.handle.wl_surface())
    }

    /// Whether a click on a panel gives it the keyboard.
    pub(in crate::adapters::wayland) fn takes_keyboard(&self, surface: &WlSurface) -> bool {
        let panel = self.list.iter().find(|panel| panel.handle.wl_surface() == surface);
        panel.is_some_and(|panel| panel.mapped && panel.keyboard != KeyboardInteractivity::None)
    }
}

impl State {
    pub(super) fn panel_committed(&mut self, surface: &WlSurface) {
        let shows = self.core.surfaces.of(surface).is_some_and(|surface| surface.is_mapped());
        let cached = with_states(surface, |states| *states.cached_state.get::<LayerSurfaceCachedState>().current());
        let Some(panel) = self.shell.panels.find_mut(surface) else { return };
        let was_mapped = std::mem::replace(&mut panel.mapped, shows);
        if !shows && was_mapped {
            // Unmapped: it has to begin anew.
            panel.wants = None;
            panel.unanswered.clear();
            with_states(surface, |states| {
                if let Some(mut role) = states.data_map.get::<LayerSurfaceData>().and_then(|data| data.lock().ok()) {
                    (role.initial_configure_sent, role.configured) = (false, false);
                }
            });
            self.dismiss_popups(surface);
            self.arrange_panels();
            return;
        }
        if shows && !panel.handle.ensure_configured() {
            return;
        }
        panel.keyboard = cached.keyboard_interactivity;
        let wants = wanted(&cached);
        let first = panel.wants.is_none();
        if panel.wants.replace(wants) != Some(wants) || shows != was_mapped {
            self.arrange_panels();
        }
        if first && let Some(panel) = self.shell.panels.find_mut(surface) {
            panel.configure(true);
        }
    }

    /// Places every panel of every output and tells windows what is left to them.
    pub(super) fn arrange_panels(&mut self) {
        let screens: Vec<_> = self.shell.desktop.screens().iter().map(|screen| screen.id).collect();
        let panels = &mut self.shell.panels;
        for id in screens {
            let Some(entry) = self.core.outputs.get(id) else { continue };
            let output = entry.placement.logical_rect();
            let here = |panel: &&mut Panel| panel.output == id && panel.wants.is_some();
            panels.wants.clear();
            panels.wants.extend(panels.list.iter().filter(|panel| panel.output == id).filter_map(|panel| panel.wants));
            let usable = layout::arrange(output, &panels.wants, &mut panels.rects);
            for (panel, rect) in panels.list.iter_mut().filter(here).zip(&panels.rects) {
                panel.place = *rect;
                panel.configure(false);
            }
            self.shell.desktop.set_screen(id, output, usable);
        }
        self.shell.dirty = true;
    }

    /// An output is gone: so are its panels.
    pub(super) fn close_panels(&mut self, output: OutputId) {
        let gone: Vec<_> = self.shell.panels.list.iter().filter(|panel| panel.output == output).collect();
        let gone: Vec<_> = gone.into_iter().map(|panel| panel.handle.clone()).collect();
        for handle in gone {
            handle.send_close();
            self.forget_panel(handle.wl_surface());
        }
    }

    /// A panel or its surface is gone.
    pub(super) fn forget_panel(&mut self, surface: &WlSurface) {
        let panels = &mut self.shell.panels.list;
        let count = panels.len();
        panels.retain(|panel| panel.handle.wl_surface() != surface);
        if panels.len() < count {
            self.dismiss_popups(surface);
            self.arrange_panels();
        }
    }
}

impl Panel {
    /// Tells the client its size, where that changed; `initial` begins the dialogue.
    fn configure(&mut self, initial: bool) {
        let begun = with_states(self.handle.wl_surface(), |states| {
            let role = states.data_map.get::<LayerSurfaceData>()?.lock().ok()?;
            Some(role.initial_configure_sent)
        });
        if !self.handle.alive() || !(initial || begun == Some(true)) || self.unanswered.len() >= MAX_UNANSWERED {
            return;
        }
        let size = self.place.size();
        self.handle.with_pending_state(|state| state.size = Some((size.w, size.h).into()));
        self.unanswered.extend(self.handle.send_pending_configure());
    }
}

impl WlrLayerShellHandler for State {
    fn shell_state(&mut self) -> &mut WlrLayerShellState {
        &mut self.shell.layers
    }

    fn new_layer_surface(&mut self, handle: LayerSurface, output: Option<WlOutput>, _: WlrLayer, _namespace: String) {
        let output = match output {
            Some(output) => Output::from_resource(&output)
                .and_then(|output| self.core.outputs.by_output(&output))
                .map(|entry| entry.id),
            None => self.shell.desktop.current_screen().map(|screen| screen.id),
        };
        let Some(output) = output else {
            handle.send_close();
            return;
        };
        self.shell.panels.list.push(Panel {
            handle,
            output,
            wants: None,
            keyboard: KeyboardInteractivity::None,
            place: Rect::default(),
            mapped: false,
            unanswered: VecDeque::new(),
        });
    }

    fn new_popup(&mut self, parent: LayerSurface, popup: PopupSurface) {
        if self.shell.panels.contains(parent.wl_surface()) {
            self.popup_given(&popup, parent.wl_surface());
        }
    }

    fn ack_configure(&mut self, surface: WlSurface, configure: LayerSurfaceConfigure) {
        if let Some(panel) = self.shell.panels.find_mut(&surface) {
            panel.unanswered.retain(|serial| *serial > configure.serial);
            panel.configure(false);
        }
    }

    fn layer_destroyed(&mut self, surface: LayerSurface) {
        self.forget_panel(surface.wl_surface());
    }
}

/// In the domain's words.
fn wanted(cached: &LayerSurfaceCachedState) -> layout::Panel {
    layout::Panel {
        layer: match cached.layer {
            WlrLayer::Background => Layer::Background,
            WlrLayer::Bottom => Layer::Bottom,
            WlrLayer::Top => Layer::Top,
            WlrLayer::Overlay => Layer::Overlay,
        },
        anchor: Edges::from_bits_truncate(cached.anchor.bits()),
        size: Size::new(cached.size.w, cached.size.h),
        margins: Margins {
            top: cached.margin.top,
            right: cached.margin.right,
            bottom: cached.margin.bottom,
            left: cached.margin.left,
        },
        zone: match cached.exclusive_zone {
            ExclusiveZone::Exclusive(zone) => Zone::Exclusive(zone),
            ExclusiveZone::Neutral => Zone::Neutral,
            ExclusiveZone::DontCare => Zone::Ignore,
        },
        exclusive_edge: None,
    }
}
