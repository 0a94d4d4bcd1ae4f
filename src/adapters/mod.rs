//! The world: each adapter implements a port, or turns what a client or a file says into domain values.

pub mod config_file;
pub mod dmabuf;
pub mod input;
pub mod ipc;
pub mod output;
pub mod vulkan;
pub mod wayland;
