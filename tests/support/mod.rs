//! Shared by the integration tests.

#![allow(dead_code, reason = "each test binary takes the part that it needs")]
#![allow(clippy::unwrap_used, reason = "clippy.toml's permission for tests covers marked functions alone")]

pub(crate) mod allocation;
pub(crate) mod client;
pub(crate) mod compositor;
pub(crate) mod desk;
pub(crate) mod dmabuf;
pub(crate) mod dmabuf_client;
pub(crate) mod fence;
pub(crate) mod guest;
pub(crate) mod kernel;
pub(crate) mod picture;
pub(crate) mod pool;
pub(crate) mod process;
pub(crate) mod protocol;
pub(crate) mod recorder;
pub(crate) mod reference;
pub(crate) mod renderers;
pub(crate) mod rig;
pub(crate) mod stage;
pub(crate) mod texel;
pub(crate) mod wire;
