//! What is kept for each connection.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use smithay::reexports::wayland_server::DisplayHandle;
use smithay::reexports::wayland_server::backend::{ClientData, ClientId, DisconnectReason};
use smithay::reexports::wayland_server::protocol::__interfaces::WL_DISPLAY_INTERFACE;
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
    /// Who it is.
    pub credentials: Option<Credentials>,
    /// wl_surfaces that it has.
    pub(super) surfaces: AtomicU64,
    /// Descriptors that its requests took. Every handler of a request that takes one counts it, used or not.
    pub(super) fds_taken: AtomicU64,
    all: Arc<Clients>,
}

/// The process at the other end, when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Zero where it is in no namespace that we see into.
    pub pid: i32,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
}

impl Credentials {
    /// Of a connected socket's other end; `None` where the kernel does not tell.
    pub fn of(socket: impl AsFd) -> Option<Self> {
        let told = getsockopt(&socket, PeerCredentials).ok()?;
        Some(Self { pid: told.pid(), uid: told.uid(), gid: told.gid() })
    }
}

/// What is known of all connections together.
#[derive(Debug, Default)]
pub(super) struct Clients {
    live: AtomicU64,
    departed: Mutex<Vec<ClientId>>,
}

impl Clients {
    /// Connections alive.
    pub(super) fn live(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// Whether there are connections that ended and that [`Clients::take_departed`] did not tell of yet.
    pub(super) fn has_departed(&self) -> bool {
        self.departed.lock().is_ok_and(|departed| !departed.is_empty())
    }

    /// Connections that ended. The display forgets them once it is told to look after one of them.
    pub(super) fn take_departed(&self) -> Vec<ClientId> {
        self.departed.lock().map(|mut departed| std::mem::take(&mut *departed)).unwrap_or_default()
    }
}

impl ClientState {
    /// For a new connection, counted among `all` until it ends.
    pub(super) fn new(all: Arc<Clients>, credentials: Option<Credentials>) -> Self {
        all.live.fetch_add(1, Ordering::Relaxed);
        Self {
            compositor: CompositorClientState::default(),
            pools: Arc::default(),
            fences: SharedRecord::default(),
            credentials,
            surfaces: AtomicU64::new(0),
            fds_taken: AtomicU64::new(0),
            all,
        }
    }

    /// One of its requests took a descriptor.
    pub(super) fn took_descriptor(&self) {
        self.fds_taken.fetch_add(1, Ordering::Relaxed);
    }
}

impl ClientData for ClientState {
    fn disconnected(&self, client: ClientId, reason: DisconnectReason) {
        if let Ok(mut departed) = self.all.departed.lock() {
            departed.push(client.clone());
        }
        match reason {
            DisconnectReason::ConnectionClosed => tracing::debug!(?client, "client left"),
            DisconnectReason::ProtocolError(error) => tracing::warn!(?client, %error, "client broke the protocol"),
        }
    }
}

/// wl_display.error.no_memory.
const NO_MEMORY: u32 = 2;

/// Ends a connection that asks for more than its share, for want of an error of the interface's own: the display's.
pub(super) fn refuse(client: &ClientId, display: &DisplayHandle, why: &str) {
    let backend = display.backend_handle();
    let wl_display = backend.object_for_protocol_id(client.clone(), &WL_DISPLAY_INTERFACE, 1);
    match wl_display.map(|wl_display| (wl_display, CString::new(why))) {
        Ok((wl_display, Ok(why))) => backend.post_error(wl_display, NO_MEMORY, why),
        // Without a display object the client is gone already.
        _ => tracing::debug!(why, "a client that is gone is refused"),
    }
}

impl Drop for ClientState {
    fn drop(&mut self) {
        self.all.live.fetch_sub(1, Ordering::Relaxed);
    }
}
