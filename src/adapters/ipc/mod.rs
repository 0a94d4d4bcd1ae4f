//! The control socket: `transom msg` and `transom screenshot` on one side, the compositor on the other.
//!
//! A Unix stream socket, `$XDG_RUNTIME_DIR/transom-$WAYLAND_DISPLAY.sock`, for its owner alone (mode 0600), whose path
//! children find in `$TRANSOM_SOCKET`. One JSON object a line in each direction, answers in the order of the requests,
//! one request of a peer at a time. A screenshot's answer is followed by its bytes, so that the compositor never
//! writes to a path that somebody else chose. [`protocol`] is the documented, stable form of both directions;
//! [`server`] never blocks and bounds what a peer can make it hold; [`client`] is the blocking other end.

pub mod client;
pub mod protocol;
pub mod server;

use std::path::{Path, PathBuf};

/// Names the socket's path in the environment of children.
pub const SOCKET_VARIABLE: &str = "TRANSOM_SOCKET";

/// Where the compositor of a Wayland display listens.
pub fn socket_path(runtime_dir: &Path, wayland_display: &str) -> PathBuf {
    runtime_dir.join(format!("transom-{wayland_display}.sock"))
}
