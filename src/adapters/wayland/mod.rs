//! Wayland: what clients say and what they are told.
//!
//! [`server`] owns the display and its sockets, and the [`turnstile`] between them; [`state`] is smithay's dispatch type, in three parts: [`state::Core`] for
//! surfaces, buffers and outputs, [`shell`] for windows, [`seat`] for input. None knows the renderer or an output's
//! backend: both are lent at latch. What the application must do about it comes out of [`state::Event`]s.
//!
//! The walk of a client's pixels: `shm` (pool and buffer, checked) → `surface` (surface commit) → `latch`
//! (upload, scene element) → `ports::renderer` → `callbacks` (frame callbacks, presentation feedback) → `buffer`
//! (release once nobody reads).

pub mod buffer;
pub mod callbacks;
pub mod client;
mod commit;
mod compositor;
pub mod dmabuf;
pub mod fence;
pub mod image;
pub mod latch;
pub mod output;
pub mod pool;
mod presence;
pub mod seat;
pub mod server;
pub mod shell;
pub mod shm;
mod sigbus;
pub mod state;
mod subsurface;
pub mod surface;
mod turnstile;
pub mod upload;

pub use server::Server;
pub use state::{Event, State};
pub use turnstile::Traffic;
