//! Clients that lie, flood, stall and die, against the built compositor over its real socket, with the validation layers
//! on; an ordinary client beside them must notice nothing.
//!
//! [`arena`] holds the compositor and that neighbour, and says what must be true after every misdeed. The misdeeds:
//! [`shm`] (pools and buffers that are not what they claim), [`content`] (surfaces that contradict themselves),
//! [`floods`] (too much of everything), [`turns`] (more than a turn's worth), [`socket`] (bytes that are no protocol),
//! [`deaths`] (gone at any point).
//! Which requests are right and which wrong is asked in more detail, and in process, by the test `wayland_core`.

#![allow(clippy::unwrap_used, reason = "the test fails with it")]

#[path = "../support/mod.rs"]
mod support;

mod arena;
mod content;
mod deaths;
mod floods;
mod neighbour;
mod shm;
mod socket;
mod turns;
