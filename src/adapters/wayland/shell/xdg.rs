//! The requests of xdg_wm_base, xdg_toplevel and xdg_popup.
//!
//! A request that needs the user's doing (move, resize, grab) counts only with the serial of an input event that its
//! client got; others are ignored, as the protocol says.

use smithay::output::Output;
use smithay::reexports::wayland_protocols::xdg::shell::server::xdg_toplevel;
use smithay::reexports::wayland_server::protocol::wl_output::WlOutput;
use smithay::reexports::wayland_server::protocol::wl_seat::WlSeat;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::utils::Serial;
use smithay::wayland::shell::xdg::{
    Configure, PopupSurface, PositionerState, ShellClient, ToplevelSurface, XdgShellHandler, XdgShellState,
};

use crate::adapters::wayland::state::State;
use crate::domain::window::{Edges, WindowId};

impl State {
    fn with_window(&mut self, toplevel: &ToplevelSurface, f: impl FnOnce(&mut Self, WindowId)) {
        if let Some(id) = self.shell.window_of(toplevel.wl_surface()) {
            f(self, id);
        }
    }
}

impl XdgShellHandler for State {
    fn xdg_shell_state(&mut self) -> &mut XdgShellState {
        &mut self.shell.xdg
    }

    fn client_pong(&mut self, client: ShellClient) {
        self.ponged(&client);
    }

    fn new_toplevel(&mut self, surface: ToplevelSurface) {
        self.toplevel_created(surface);
    }

    fn toplevel_destroyed(&mut self, surface: ToplevelSurface) {
        self.forget_window(surface.wl_surface());
    }

    fn parent_changed(&mut self, surface: ToplevelSurface) {
        let parent = surface.parent().and_then(|parent| self.shell.window_of(&parent));
        self.with_window(&surface, |state, id| {
            state.shell.desktop.set_parent(id, parent);
            state.tell_parent(id);
        });
    }

    fn ack_configure(&mut self, surface: WlSurface, configure: Configure) {
        match configure {
            Configure::Toplevel(_) => self.toplevel_acked(&surface),
            Configure::Popup(_) => {}
        }
    }

    fn maximize_request(&mut self, surface: ToplevelSurface) {
        self.with_window(&surface, |state, id| {
            state.shell.desktop.set_maximised(id, true);
            state.answer_toplevel(id);
        });
    }

    fn unmaximize_request(&mut self, surface: ToplevelSurface) {
        self.with_window(&surface, |state, id| {
            state.shell.desktop.set_maximised(id, false);
            state.answer_toplevel(id);
        });
    }

    fn fullscreen_request(&mut self, surface: ToplevelSurface, output: Option<WlOutput>) {
        let output = output.and_then(|output| Output::from_resource(&output));
        let output = output.and_then(|output| self.core.outputs.by_output(&output)).map(|entry| entry.id);
        self.with_window(&surface, |state, id| {
            state.shell.desktop.set_fullscreen(id, true, output);
            state.answer_toplevel(id);
        });
    }

    fn unfullscreen_request(&mut self, surface: ToplevelSurface) {
        self.with_window(&surface, |state, id| {
            state.shell.desktop.set_fullscreen(id, false, None);
            state.answer_toplevel(id);
        });
    }

    fn minimize_request(&mut self, surface: ToplevelSurface) {
        self.with_window(&surface, |state, id| state.shell.desktop.set_minimised(id, true));
    }

    fn move_request(&mut self, surface: ToplevelSurface, _seat: WlSeat, serial: Serial) {
        self.with_window(&surface, |state, id| state.begin_client_drag(id, serial, None));
    }

    fn resize_request(
        &mut self,
        surface: ToplevelSurface,
        _seat: WlSeat,
        serial: Serial,
        edges: xdg_toplevel::ResizeEdge,
    ) {
        let Some(edges) = Edges::from_resize_edge(edges as u32) else { return };
        self.with_window(&surface, |state, id| state.begin_client_drag(id, serial, Some(edges)));
    }

    fn new_popup(&mut self, surface: PopupSurface, positioner: PositionerState) {
        self.popup_created(surface, &positioner);
    }

    fn popup_destroyed(&mut self, surface: PopupSurface) {
        self.forget_popup(surface.wl_surface());
    }

    fn reposition_request(&mut self, surface: PopupSurface, positioner: PositionerState, token: u32) {
        self.popup_repositioned(&surface, &positioner, token);
    }

    fn grab(&mut self, surface: PopupSurface, _seat: WlSeat, serial: Serial) {
        self.popup_grabbed(&surface, serial);
    }
}
