//! What is kept for each connection.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smithay::reexports::wayland_server::backend::{ClientData, ClientId, DisconnectReason};
use smithay::reexports::wayland_server::protocol::__interfaces::WL_DISPLAY_INTERFACE;
use smithay::reexports::wayland_server::{Client, DisplayHandle};
use smithay::wayland::compositor::CompositorClientState;

use super::fence::SharedRecord;
use super::pool::PoolCount;

/// A connection's own state, dropped with it.
#[derive(Debug)]
pub struct ClientState {
    /// smithay's queue of surface commits.
    pub compositor: CompositorClientState,
    /// Its pools, wl_shm's.
    pub pools: Arc<PoolCount>,
    /// How its fences did.
    pub(super) fences: SharedRecord,
    live: Arc<AtomicU64>,
}

impl ClientState {
    /// For a new connection, counted in `live` until it ends.
    pub(super) fn new(live: Arc<AtomicU64>) -> Self {
        live.fetch_add(1, Ordering::Relaxed);
        Self {
            compositor: CompositorClientState::default(),
            pools: Arc::default(),
            fences: SharedRecord::default(),
            live,
        }
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

/// wl_display.error.no_memory.
const NO_MEMORY: u32 = 2;

/// Ends a connection that asks for more than its share, for want of an error of the interface's own: the display's.
pub(super) fn refuse(client: &Client, display: &DisplayHandle, why: &str) {
    let backend = display.backend_handle();
    let wl_display = backend.object_for_protocol_id(client.id(), &WL_DISPLAY_INTERFACE, 1);
    match wl_display.map(|wl_display| (wl_display, CString::new(why))) {
        Ok((wl_display, Ok(why))) => backend.post_error(wl_display, NO_MEMORY, why),
        // Without a display object the client is gone already.
        _ => tracing::debug!(why, "a client that is gone is refused"),
    }
}

impl Drop for ClientState {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}
