//! One owner for each Vulkan object, and the one place where creations and destructions are counted.
//!
//! [`Owned`] is not `Copy`: the object is destroyed when its owner is dropped, so an early return leaks nothing. Whoever
//! drops an owner answers for the device no longer using the object; what a frame may still touch is moved into
//! `retire` first. Command buffers and descriptor sets belong to their pools and are counted with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ash::prelude::VkResult;
use ash::vk;

use super::device::Device;
use super::error::CallError;

/// How many objects were made and unmade.
#[derive(Debug, Default)]
pub(super) struct Counts {
    created: AtomicU64,
    destroyed: AtomicU64,
}

impl Counts {
    /// Counts `n` creations.
    pub(super) fn create(&self, n: u64) {
        self.created.fetch_add(n, Relaxed);
    }

    /// Counts `n` destructions.
    pub(super) fn destroy(&self, n: u64) {
        self.destroyed.fetch_add(n, Relaxed);
    }

    /// Creations since start.
    pub(super) fn created(&self) -> u64 {
        self.created.load(Relaxed)
    }

    /// Destructions since start.
    pub(super) fn destroyed(&self) -> u64 {
        self.destroyed.load(Relaxed)
    }
}

/// A kind of object that a device makes.
pub(super) trait Object: vk::Handle + Copy {
    /// Destroys the object.
    ///
    /// # Safety
    /// It was made by `device` with `callbacks`, is not in use, and is not used afterwards.
    unsafe fn destroy(self, device: &ash::Device, callbacks: &vk::AllocationCallbacks<'_>);
}

/// Says how each kind is destroyed. A macro, as each kind has a function of another name.
macro_rules! objects {
    ($($kind:ident: $destroy:ident,)*) => {$(
        impl Object for vk::$kind {
            unsafe fn destroy(self, device: &ash::Device, callbacks: &vk::AllocationCallbacks<'_>) {
                // SAFETY: the caller's promise is the function's own rule.
                unsafe { device.$destroy(self, Some(callbacks)) };
            }
        }
    )*};
}

objects! {
    Buffer: destroy_buffer,
    CommandPool: destroy_command_pool,
    DescriptorPool: destroy_descriptor_pool,
    DescriptorSetLayout: destroy_descriptor_set_layout,
    DeviceMemory: free_memory,
    Image: destroy_image,
    ImageView: destroy_image_view,
    Pipeline: destroy_pipeline,
    PipelineCache: destroy_pipeline_cache,
    PipelineLayout: destroy_pipeline_layout,
    Sampler: destroy_sampler,
    Semaphore: destroy_semaphore,
    ShaderModule: destroy_shader_module,
}

/// An object and the device that made it.
pub(super) struct Owned<T: Object> {
    raw: T,
    device: Arc<Device>,
}

impl<T: Object> Owned<T> {
    /// Takes what `call` returned, which was made by `device` with [`Device::callbacks`] and has no other owner.
    pub(super) fn new(device: &Arc<Device>, call: &'static str, made: VkResult<T>) -> Result<Self, CallError> {
        let raw = device.check(call, made)?;
        device.counts().create(1);
        Ok(Self { raw, device: Arc::clone(device) })
    }

    /// The handle, not owned.
    pub(super) fn raw(&self) -> T {
        self.raw
    }

    /// Names it for the validation layers and debuggers.
    pub(super) fn named(self, name: &str) -> Self {
        self.device.name(self.raw, name);
        self
    }
}

impl<T: Object> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: made by this device with these callbacks (`new`), owned here alone; the module's rule says that the
        // device no longer uses it.
        unsafe { self.raw.destroy(self.device.raw(), self.device.callbacks()) };
        self.device.counts().destroy(1);
    }
}
