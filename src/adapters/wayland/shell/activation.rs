//! Who may take the focus: xdg-activation.
//!
//! A token is good where its maker proves that the user just did something to it: the serial of an input event that
//! this very client got. It is good once.

use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::wayland::xdg_activation::{
    XdgActivationHandler, XdgActivationState, XdgActivationToken, XdgActivationTokenData,
};

use crate::adapters::wayland::state::State;

/// Unused tokens kept; the oldest go first.
const MAX_TOKENS: usize = 128;

impl XdgActivationHandler for State {
    fn activation_state(&mut self) -> &mut XdgActivationState {
        &mut self.shell.activation
    }

    fn token_created(&mut self, _token: XdgActivationToken, data: XdgActivationTokenData) -> bool {
        let (Some((serial, _)), Some(client)) = (&data.serial, &data.client_id) else { return false };
        if !self.seat.serials.was_given(*serial, client) {
            return false;
        }
        let activation = &mut self.shell.activation;
        if activation.tokens().count() >= MAX_TOKENS {
            let oldest = activation.tokens().min_by_key(|(_, data)| data.timestamp).map(|(token, _)| token.clone());
            if let Some(oldest) = oldest {
                activation.remove_token(&oldest);
            }
        }
        true
    }

    fn request_activation(&mut self, token: XdgActivationToken, _data: XdgActivationTokenData, surface: WlSurface) {
        self.shell.activation.remove_token(&token);
        let root = self.core.surfaces.key(&surface).map(|key| self.core.surfaces.root(key));
        let root = root.and_then(|key| self.core.surfaces.get(key)).map(|surface| surface.wl.clone());
        if let Some(window) = root.and_then(|root| self.shell.window_of(&root)) {
            self.shell.desktop.activate(window);
        }
    }
}

smithay::delegate_xdg_activation!(State);
