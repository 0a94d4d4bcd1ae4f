//! Which surface is on which output, and the scale and transform that surfaces had best be drawn for.
//!
//! A surface is on an output while its tree is shown there and it overlaps it, hidden by others or not: wl_surface.enter
//! and .leave. It prefers the greatest scale of the outputs it is on; before it is on any, that of the first output.

use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::wayland::compositor::{send_surface_state, with_states};
use smithay::wayland::fractional_scale::with_fractional_scale;

use super::output::{Entry, Outputs, to_smithay};
use super::state::{Core, Event, State};
use super::surface::{Presence, Surface, SurfaceKey};
use crate::domain::output::OutputId;

impl Surface {
    /// Notes that the latch numbered `latch` met it on `output`; true where it was not there before.
    pub(super) fn meet(&mut self, output: OutputId, latch: u64, visible: bool) -> bool {
        let met = Presence { output, latch, visible };
        match self.on.iter_mut().find(|presence| presence.output == output) {
            Some(presence) => {
                *presence = met;
                false
            }
            None => {
                self.on.push(met);
                true
            }
        }
    }

    /// The output whose frames pace it: the first that shows some pixel of it.
    pub fn pacing_output(&self) -> Option<OutputId> {
        self.on.iter().find(|presence| presence.visible).map(|presence| presence.output)
    }
}

impl Core {
    /// After a latch: enters and leaves, and what follows from them.
    pub(super) fn settle_presence(
        &mut self,
        output: OutputId,
        latch: u64,
        entered: &[SurfaceKey],
        before: &[SurfaceKey],
    ) {
        let Some(entry) = self.outputs.get(output) else { return };
        for &key in entered {
            if let Some(surface) = self.surfaces.get(key) {
                entry.output.enter(&surface.wl);
                prefer(surface, &self.outputs);
            }
        }
        for &key in before {
            let Some(surface) = self.surfaces.get_mut(key) else { continue };
            let count = surface.on.len();
            surface.on.retain(|presence| presence.output != output || presence.latch == latch);
            if surface.on.len() < count {
                entry.output.leave(&surface.wl);
                prefer(surface, &self.outputs);
                self.hidden_waits |= !surface.is_visible() && !surface.callbacks.is_empty();
            }
        }
    }

    /// A surface is going away.
    pub(super) fn leave_outputs(&mut self, key: SurfaceKey) {
        let Some(surface) = self.surfaces.get_mut(key) else { return };
        for presence in surface.on.drain(..) {
            if let Some(entry) = self.outputs.get(presence.output) {
                entry.output.leave(&surface.wl);
            }
        }
    }

    /// An output is going away.
    pub(super) fn leave_output(&mut self, gone: &Entry) {
        for (_, surface) in self.surfaces.iter_mut() {
            let count = surface.on.len();
            surface.on.retain(|presence| presence.output != gone.id);
            if surface.on.len() < count {
                gone.output.leave(&surface.wl);
                self.hidden_waits |= !surface.is_visible() && !surface.callbacks.is_empty();
            }
        }
    }

    /// Outputs changed: tells every surface anew what it had best be drawn for (only what changed is sent).
    pub(super) fn prefer_all(&self) {
        for (_, surface) in self.surfaces.iter() {
            prefer(surface, &self.outputs);
        }
    }

    /// Tells a surface what it had best be drawn for.
    pub(super) fn prefer(&self, wl: &WlSurface) {
        if let Some(surface) = self.surfaces.of(wl) {
            prefer(surface, &self.outputs);
        }
    }
}

/// See [`Core::prefer`].
fn prefer(surface: &Surface, outputs: &Outputs) {
    let own = surface.on.iter().filter_map(|presence| outputs.get(presence.output));
    let Some(best) = own.max_by_key(|entry| entry.placement.scale).or_else(|| outputs.iter().next()) else { return };
    let placement = best.placement;
    with_states(&surface.wl, |states| {
        send_surface_state(&surface.wl, states, placement.scale.ceil(), to_smithay(placement.transform));
        with_fractional_scale(states, |fractional| fractional.set_preferred_scale(placement.scale.as_f64()));
    });
}

impl State {
    /// Asks for a frame of an output.
    pub fn redraw(&mut self, output: OutputId) {
        let known = |event: &Event| *event == Event::RedrawAll || *event == Event::Redraw(output);
        if !self.events.iter().any(known) {
            self.events.push(Event::Redraw(output));
        }
    }

    /// Asks for a frame of every output.
    pub fn redraw_all(&mut self) {
        if !self.events.contains(&Event::RedrawAll) {
            self.events.push(Event::RedrawAll);
        }
    }

    /// Asks for a frame of every output that a surface, or the root of its tree, is on. One that is on none is not
    /// shown: whoever shows it (the shell) asks by itself.
    pub(super) fn redraw_surface(&mut self, key: SurfaceKey) {
        let root = self.core.surfaces.root(key);
        for key in [root, key] {
            let mut index = 0;
            while let Some(presence) = self.core.surfaces.get(key).and_then(|surface| surface.on.get(index)) {
                self.redraw(presence.output);
                index += 1;
            }
        }
    }
}
