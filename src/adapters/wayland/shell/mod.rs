//! Windows, seats and input: the part of the state that the shell protocols own.

use smithay::reexports::wayland_server::DisplayHandle;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;

use super::latch::Item;
use super::state::State;
use crate::domain::output::OutputId;

/// The shell's part of [`State`].
#[derive(Debug)]
pub struct Shell {}

impl Shell {
    /// Announces the shell's globals on `display`.
    pub fn new(_display: &DisplayHandle) -> Self {
        Self {}
    }
}

impl State {
    /// After every surface commit took effect, the surface's own state being up to date.
    pub(super) fn shell_surface_committed(&mut self, _surface: &WlSurface) {}

    /// A surface is going away; its role objects may already be gone.
    pub(super) fn shell_surface_destroyed(&mut self, _surface: &WlSurface) {}

    /// What `output` shows, front to back, pushed onto `items`.
    pub(super) fn shell_items(&self, _output: OutputId, _items: &mut Vec<Item>) {}

    /// An output came, went, or changed its place, size, scale or transform: arrange anew.
    pub(super) fn shell_outputs_changed(&mut self) {}
}
