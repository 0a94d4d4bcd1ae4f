//! Windows, panels and popups: the shell protocols, on top of the pure `domain::desktop`.
//!
//! Owner of the protocol side of the desktop: which xdg_toplevel is which [`Window`](crate::domain::window::Window),
//! which layer surface which panel. Handlers change the model; [`State::settle`], after every dispatch and every input
//! event, tells clients what became of it (configures, focus) and asks for redraws, so that ten changes cost one
//! answer. Whatever is in here goes with its protocol object, also when its client dies in the middle.
//!
//! - [`toplevel`]: xdg_toplevel, its configures and its surface commits; [`xdg`]: its requests, behind [`guard`];
//! - [`popup`]: xdg_popup, its place and its grab; [`layer`]: zwlr_layer_surface_v1;
//! - [`activation`], [`decoration`]: who may take the focus, who draws title bars;
//! - [`action`]: what bindings and the control socket ask for; [`stack`]: everything on an output, front to back.
//!
//! Input is [`super::seat`]'s. Next of the walk: [`stack`].

use std::collections::HashMap;

use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_surface::XdgSurface;
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_toplevel::WmCapabilities;
use smithay::reexports::wayland_server::backend::ObjectId;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::reexports::wayland_server::{DisplayHandle, Resource};
use smithay::wayland::shell::wlr_layer::WlrLayerShellState;
use smithay::wayland::shell::xdg::XdgShellState;
use smithay::wayland::shell::xdg::decoration::XdgDecorationState;
use smithay::wayland::xdg_activation::XdgActivationState;

use self::layer::Panels;
use self::popup::Popups;
use self::toplevel::Toplevel;
use super::state::State;
use crate::domain::config::{self, Config};
use crate::domain::desktop::{Desktop, Policy};
use crate::domain::window::WindowId;

pub mod action;
mod activation;
mod decoration;
mod guard;
pub mod layer;
pub mod popup;
pub mod stack;
pub mod toplevel;
mod xdg;

/// The shell's part of [`State`].
#[derive(Debug)]
pub struct Shell {
    /// The rules of windows and screens.
    pub desktop: Desktop,
    /// What windows are to clients.
    pub(super) toplevels: HashMap<WindowId, Toplevel>,
    /// Which window a surface is.
    window_of: HashMap<ObjectId, WindowId>,
    last_window: u64,
    /// The xdg_surface whose request is being handled.
    role_giver: Option<XdgSurface>,
    pub(super) panels: Panels,
    pub(super) popups: Popups,
    pub(super) decorations: config::Decorations,
    pub(super) background: crate::domain::scene::Color,
    /// What is shown, or where, changed since outputs were last asked to repaint.
    pub(super) dirty: bool,
    xdg: XdgShellState,
    layers: WlrLayerShellState,
    activation: XdgActivationState,
}

impl Shell {
    /// Announces the shell's globals on `display`.
    pub fn new(display: &DisplayHandle) -> Self {
        let capabilities = [WmCapabilities::Fullscreen, WmCapabilities::Maximize, WmCapabilities::Minimize];
        XdgDecorationState::new::<State>(display);
        Self {
            desktop: Desktop::default(),
            toplevels: HashMap::new(),
            window_of: HashMap::new(),
            last_window: 0,
            role_giver: None,
            panels: Panels::default(),
            popups: Popups::default(),
            decorations: config::Decorations::default(),
            background: config::Desktop::default().background,
            dirty: false,
            xdg: XdgShellState::new_with_capabilities::<State>(display, capabilities),
            layers: WlrLayerShellState::new::<State>(display),
            activation: XdgActivationState::new::<State>(display),
        }
    }

    pub(super) fn set_config(&mut self, config: &Config) {
        self.desktop.set_policy(Policy {
            centre: config.windows.placement == config::Placement::Centre,
            focus_new: config.windows.focus_new,
            workspaces: config.workspaces.count,
        });
        self.decorations = config.windows.decorations;
        self.background = config.desktop.background;
        self.dirty = true;
    }

    /// The window that a surface is, itself, not its sub-surfaces or popups.
    pub fn window_of(&self, surface: &WlSurface) -> Option<WindowId> {
        self.window_of.get(&surface.id()).copied()
    }

    /// A window's surface.
    pub fn surface_of(&self, window: WindowId) -> Option<&WlSurface> {
        self.toplevels.get(&window).map(|toplevel| toplevel.handle.wl_surface())
    }
}

impl State {
    /// After every surface commit took effect, the surface's own state being up to date.
    pub(super) fn shell_surface_committed(&mut self, surface: &WlSurface) {
        if let Some(window) = self.shell.window_of(surface) {
            self.toplevel_committed(window);
        } else if self.shell.panels.contains(surface) {
            self.panel_committed(surface);
        } else if self.shell.popups.contains(surface) {
            self.popup_committed(surface);
        } else {
            self.seat_surface_committed(surface);
        }
    }

    /// A surface is going away; its role objects may already be gone.
    pub(super) fn shell_surface_destroyed(&mut self, surface: &WlSurface) {
        self.forget_window(surface);
        self.forget_panel(surface);
        self.forget_popup(surface);
        self.seat_surface_destroyed(surface);
    }

    /// An output came, went, or changed its place, size, scale or transform: arrange anew.
    pub(super) fn shell_outputs_changed(&mut self) {
        let desktop = &mut self.shell.desktop;
        let outputs = &self.core.outputs;
        let gone: Vec<_> = desktop.screens().iter().map(|s| s.id).filter(|id| outputs.get(*id).is_none()).collect();
        for output in outputs.iter().filter(|output| desktop.screen(output.id).is_none()).collect::<Vec<_>>() {
            desktop.add_screen(output.id, &output.name, output.placement.logical_rect());
        }
        for id in gone {
            self.shell.desktop.remove_screen(id);
            self.close_panels(id);
        }
        self.arrange_panels();
        self.keep_pointer_inside();
        self.settle();
    }

    /// Tells clients what handlers and input changed: configures, focus; then asks for redraws. To be called after
    /// every dispatch of clients; [`State::input`] and [`State::act`] call it themselves.
    pub fn settle(&mut self) {
        if self.shell.desktop.take_changed() {
            self.shell.dirty = true;
            self.dismiss_hidden_popups();
            self.configure_toplevels();
        }
        if std::mem::take(&mut self.shell.dirty) {
            self.refocus();
            self.redraw_all();
        }
    }
}
