//! `ports::Renderer` on Vulkan 1.3.

#![allow(dead_code)] // goes with the frame path, which uses all of it

mod buffer;
mod debug;
mod device;
mod error;
mod format;
mod gpu;
mod host_memory;
mod image;
mod instance;
mod memory;
mod options;
mod owned;
mod surface;
mod swapchain;

mod descriptor {
    /// Textures in one array.
    pub(super) const ARRAY_LEN: u32 = 4096;
}

use std::sync::Arc;

pub use self::error::{CallError, NewError};
pub use self::gpu::Probe;
pub use self::options::{Bindless, Options, Transfers, Upload};

/// The renderer.
pub struct Vulkan {
    device: Arc<device::Device>,
}

impl Vulkan {
    /// Makes a renderer.
    ///
    /// # Errors
    /// [`NewError`], which says what is missing.
    pub fn new(options: &Options) -> Result<Self, NewError> {
        let instance = Arc::new(instance::Instance::new(options)?);
        let gpu = gpu::choose(gpu::all(&instance)?, options.device.as_deref())?;
        let device = Arc::new(device::Device::new(instance, gpu, options)?);
        Ok(Self { device })
    }

    /// What the validation layers said so far: how much, and the first of it. Always nothing without validation.
    pub fn validation_messages(&self) -> (u64, Vec<String>) {
        let messages = self.device.instance().messages();
        (messages.count(), messages.texts())
    }
}

/// Every device of the machine, with what it lacks and what it can do.
///
/// # Errors
/// [`NewError::Loader`], [`NewError::Instance`], [`NewError::ValidationMissing`].
pub fn probe(options: &Options) -> Result<Vec<Probe>, NewError> {
    let instance = instance::Instance::new(options)?;
    Ok(gpu::all(&instance)?.into_iter().map(|gpu| gpu.probe).collect())
}
