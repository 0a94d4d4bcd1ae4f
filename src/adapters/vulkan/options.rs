//! What the person who starts the renderer may choose. Everything has a sensible default.

use std::path::PathBuf;

/// How textures reach the shader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bindless {
    /// An array where the device has descriptor indexing and computes pixels itself, else a set each.
    #[default]
    Auto,
    /// One array for thousands of textures; an error where the device lacks descriptor indexing.
    On,
    /// One cached descriptor set for each texture.
    Off,
}

/// How client bytes reach an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upload {
    /// The best tier that the device has.
    #[default]
    Auto,
    /// The CPU writes into the image (`host-copy`); an error where the device lacks it.
    HostCopy,
    /// The CPU writes into a ring, the device copies from there (`staging`).
    Staging,
}

/// Whether an opaque element in the target's own format is copied rather than drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transfers {
    /// On software devices, where a rasteriser costs ten times a copy.
    #[default]
    Auto,
    /// Wherever it can be.
    Always,
    /// Nowhere.
    Never,
}

/// Whether a frame leaves its fence in the clients' dma-bufs that it reads, for who writes them next without waiting
/// for wl_buffer.release. Without kernel fences it is not missed: the release comes when the frame is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadFences {
    /// Where frames have kernel fences: on devices that are no software.
    #[default]
    Auto,
    /// Wherever frames can export a fence; a driver may wait for the frame there.
    On,
    /// Nowhere.
    Off,
}

/// How to make a renderer.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Part of a device's name (any case), or its UUID; `None` takes the best by type.
    pub device: Option<String>,
    /// Validation layers with synchronization validation; the environment's `TRANSOM_VALIDATION=1` does the same.
    pub validation: bool,
    /// Whether targets may be windows.
    pub presentation: bool,
    /// How textures reach the shader.
    pub bindless: Bindless,
    /// How client bytes reach an image.
    pub upload: Upload,
    /// Whether copies may replace draws.
    pub transfers: Transfers,
    /// Whether frames leave their fence in the dma-bufs that they read.
    pub read_fences: ReadFences,
    /// Directory for compiled pipelines, one file a driver; `None` keeps none.
    pub pipeline_cache: Option<PathBuf>,
}

impl Options {
    /// Whether validation is asked for, here or in the environment.
    pub(super) fn wants_validation(&self) -> bool {
        self.validation || std::env::var_os("TRANSOM_VALIDATION").is_some_and(|v| v == "1")
    }
}
