//! Which client got which input event: the proof that the user did something to it.

use std::collections::VecDeque;

use smithay::reexports::wayland_server::backend::ClientId;
use smithay::utils::Serial;

/// Events remembered; an answer to an older one is too late.
const MEMORY: usize = 64;

/// The last presses of keys, buttons and fingers, and whom they went to.
#[derive(Debug, Default)]
pub(in crate::adapters::wayland) struct Serials {
    given: VecDeque<(Serial, ClientId)>,
}

impl Serials {
    /// A client got an event with this serial.
    pub(super) fn give(&mut self, serial: Serial, client: ClientId) {
        if self.given.len() == MEMORY {
            self.given.pop_front();
        }
        self.given.push_back((serial, client));
    }

    /// Whether that serial was this client's, not long ago.
    pub(in crate::adapters::wayland) fn was_given(&self, serial: Serial, client: &ClientId) -> bool {
        self.given.iter().any(|(given, to)| *given == serial && to == client)
    }
}
