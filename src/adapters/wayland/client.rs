//! What is kept for each connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smithay::reexports::wayland_server::backend::{ClientData, ClientId, DisconnectReason};
use smithay::wayland::compositor::CompositorClientState;

use super::pool::PoolCount;

/// A connection's own state, dropped with it.
#[derive(Debug)]
pub struct ClientState {
    /// smithay's queue of surface commits.
    pub compositor: CompositorClientState,
    /// Its pools, wl_shm's.
    pub pools: Arc<PoolCount>,
    live: Arc<AtomicU64>,
}

impl ClientState {
    /// For a new connection, counted in `live` until it ends.
    pub(super) fn new(live: Arc<AtomicU64>) -> Self {
        live.fetch_add(1, Ordering::Relaxed);
        Self { compositor: CompositorClientState::default(), pools: Arc::default(), live }
    }
}

impl ClientData for ClientState {
    fn disconnected(&self, client: ClientId, reason: DisconnectReason) {
        match reason {
            DisconnectReason::ConnectionClosed => tracing::debug!(?client, "client left"),
            DisconnectReason::ProtocolError(error) => tracing::warn!(?client, %error, "client broke the protocol"),
        }
    }
}

impl Drop for ClientState {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}
