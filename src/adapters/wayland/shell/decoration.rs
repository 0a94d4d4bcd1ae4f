//! Who draws title bars: xdg-decoration.
//!
//! Clients draw their own unless the configuration or the client itself wants none. "Server side" here means that
//! nobody draws any: windows are moved and resized with the drag modifiers held.

use smithay::reexports::wayland_protocols::xdg::decoration::zv1::server::zxdg_toplevel_decoration_v1::Mode;
use smithay::wayland::shell::xdg::ToplevelSurface;
use smithay::wayland::shell::xdg::decoration::XdgDecorationHandler;

use crate::adapters::wayland::state::State;

impl State {
    fn set_decoration(&mut self, surface: &ToplevelSurface, mode: Option<Mode>) {
        let Some(id) = self.shell.window_of(surface.wl_surface()) else { return };
        if let Some(toplevel) = self.shell.toplevels.get_mut(&id) {
            toplevel.decoration = mode;
        }
        self.answer_toplevel(id);
    }
}

impl XdgDecorationHandler for State {
    fn new_decoration(&mut self, toplevel: ToplevelSurface) {
        self.set_decoration(&toplevel, None);
    }

    fn request_mode(&mut self, toplevel: ToplevelSurface, mode: Mode) {
        self.set_decoration(&toplevel, Some(mode));
    }

    fn unset_mode(&mut self, toplevel: ToplevelSurface) {
        self.set_decoration(&toplevel, None);
    }
}

smithay::delegate_xdg_decoration!(State);
