//! The logical device with its one queue.
//!
//! Shared by `Arc`: every owner of an object holds it, so it goes last. All calls come from the renderer's thread,
//! except the waiter's, which only waits for the timeline. [`Device::check`] is the door that every result passes: it
//! notes a lost device, after which nothing is submitted any more. Next: `memory`, `image`, `submit`.

use std::ffi::{CStr, c_char};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ash::prelude::VkResult;
use ash::{ext, khr, vk};

use super::error::{CallError, NewError};
use super::gpu::Gpu;
use super::instance::{Instance, c_string};
use super::options::{Bindless, Options, Upload};
use super::owned::Counts;

/// The device, what is enabled on it, and whether it is lost.
pub(super) struct Device {
    raw: ash::Device,
    queue: vk::Queue,
    gpu: Gpu,
    bindless: bool,
    host_copy: Option<ext::host_image_copy::Device>,
    swapchain: Option<khr::swapchain::Device>,
    external_semaphores: Option<khr::external_semaphore_fd::Device>,
    external_memory: Option<khr::external_memory_fd::Device>,
    names: Option<ext::debug_utils::Device>,
    lost: AtomicBool,
    instance: Arc<Instance>,
}

impl Device {
    /// Makes a device of `gpu` with what it offers of use and `options` allow.
    ///
    /// # Errors
    /// [`NewError::Lacking`] where an option asks for what is not there, [`NewError::Device`].
    pub(super) fn new(instance: Arc<Instance>, gpu: Gpu, options: &Options) -> Result<Self, NewError> {
        let bindless = wanted(
            &gpu,
            "bindless",
            &gpu.bindless,
            match options.bindless {
                Bindless::Off => Want::No,
                Bindless::On => Want::Must,
                // A software rasteriser pays for a lookup in the array at every pixel, and saves no set changes worth it.
                Bindless::Auto if gpu.is_software() => Want::No,
                Bindless::Auto => Want::May,
            },
        )?;
        let host_copy = wanted(
            &gpu,
            "the upload tier host-copy",
            &gpu.host_copy,
            match options.upload {
                Upload::Staging => Want::No,
                Upload::HostCopy => Want::Must,
                // Across a bus the CPU's scattered writes lose to the copy engine.
                Upload::Auto if gpu.kind == vk::PhysicalDeviceType::DISCRETE_GPU => Want::No,
                Upload::Auto => Want::May,
            },
        )?;
        let swapchain = instance.surfaces().is_some() && gpu.swapchain;
        let fences = gpu.fence_import.is_ok() || gpu.fence_export.is_ok();
        let dmabuf = gpu.dmabuf.is_ok();
        let raw = create(&instance, &gpu, bindless, host_copy, swapchain, fences)
            .map_err(|source| NewError::Device { device: gpu.probe.name.clone(), source })?;
        instance.counts().create(1);
        // SAFETY: the family was asked for one queue.
        let queue = unsafe { raw.get_device_queue(gpu.family, 0) };
        Ok(Self {
            queue,
            bindless,
            host_copy: host_copy.then(|| ext::host_image_copy::Device::new(instance.raw(), &raw)),
            swapchain: swapchain.then(|| khr::swapchain::Device::new(instance.raw(), &raw)),
            external_semaphores: fences.then(|| khr::external_semaphore_fd::Device::new(instance.raw(), &raw)),
            external_memory: dmabuf.then(|| khr::external_memory_fd::Device::new(instance.raw(), &raw)),
            names: instance.is_validated().then(|| ext::debug_utils::Device::new(instance.raw(), &raw)),
            lost: AtomicBool::new(false),
            raw,
            gpu,
            instance,
        })
    }

    /// The device's functions.
    pub(super) fn raw(&self) -> &ash::Device {
        &self.raw
    }

    /// The one queue; used by the renderer's thread alone.
    pub(super) fn queue(&self) -> vk::Queue {
        self.queue
    }

    /// What the device is.
    pub(super) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The instance.
    pub(super) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Whether textures sit in arrays.
    pub(super) fn is_bindless(&self) -> bool {
        self.bindless
    }

    /// VK_EXT_host_image_copy, where it is to be used.
    pub(super) fn host_copy(&self) -> Option<&ext::host_image_copy::Device> {
        self.host_copy.as_ref()
    }

    /// VK_KHR_swapchain, where it is to be used.
    pub(super) fn swapchain(&self) -> Option<&khr::swapchain::Device> {
        self.swapchain.as_ref()
    }

    /// VK_KHR_external_semaphore_fd, where it imports sync_files.
    pub(super) fn fence_import(&self) -> Option<&khr::external_semaphore_fd::Device> {
        self.external_semaphores.as_ref().filter(|_| self.gpu.fence_import.is_ok())
    }

    /// VK_KHR_external_semaphore_fd, where it exports sync_files.
    pub(super) fn fence_export(&self) -> Option<&khr::external_semaphore_fd::Device> {
        self.external_semaphores.as_ref().filter(|_| self.gpu.fence_export.is_ok())
    }

    /// VK_KHR_external_memory_fd, where dma-bufs can be imported.
    pub(super) fn external_memory(&self) -> Option<&khr::external_memory_fd::Device> {
        self.external_memory.as_ref()
    }

    /// The callbacks that every object is made and destroyed with.
    pub(super) fn callbacks(&self) -> &vk::AllocationCallbacks<'static> {
        self.instance.callbacks()
    }

    /// The count of objects.
    pub(super) fn counts(&self) -> &Counts {
        self.instance.counts()
    }

    /// The result of `call`, noting a lost device.
    pub(super) fn check<T>(&self, call: &'static str, result: VkResult<T>) -> Result<T, CallError> {
        result.map_err(|result| {
            if result == vk::Result::ERROR_DEVICE_LOST {
                self.lose();
            }
            CallError { call, result }
        })
    }

    /// Notes that the device is lost.
    pub(super) fn lose(&self) {
        if !self.lost.swap(true, Relaxed) {
            tracing::warn!("the device {} was lost", self.gpu.probe.name);
        }
    }

    /// Whether the device is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }

    /// Waits until nothing is in flight. A lost device says so at once ("Lost Device" in the specification).
    pub(super) fn wait_idle(&self) {
        // SAFETY: only the renderer's thread uses the queue, and it is here.
        let idle = unsafe { self.raw.device_wait_idle() };
        if let Err(error) = self.check("vkDeviceWaitIdle", idle) {
            tracing::warn!("{error}");
        }
    }

    /// Names an object for the validation layers and debuggers; does nothing without them.
    pub(super) fn name<T: vk::Handle>(&self, object: T, name: &str) {
        let Some(names) = &self.names else { return };
        let name = c_string(name);
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(object).object_name(&name);
        // SAFETY: the object is this device's and alive; the name lives across the call.
        if let Err(result) = unsafe { names.set_debug_utils_object_name(&info) } {
            tracing::debug!("naming {name:?}: {result}");
        }
    }
}

/// Whether an optional part is wanted.
enum Want {
    No,
    May,
    Must,
}

fn wanted(gpu: &Gpu, option: &'static str, there: &Result<(), String>, want: Want) -> Result<bool, NewError> {
    match (want, there) {
        (Want::No, _) | (Want::May, Err(_)) => Ok(false),
        (Want::May | Want::Must, Ok(())) => Ok(true),
        (Want::Must, Err(missing)) => {
            Err(NewError::Lacking { option, device: gpu.probe.name.clone(), missing: missing.clone() })
        }
    }
}

/// Calls vkCreateDevice.
fn create(
    instance: &Instance,
    gpu: &Gpu,
    bindless: bool,
    host_copy: bool,
    swapchain: bool,
    fences: bool,
) -> Result<ash::Device, CallError> {
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(gpu.family).queue_priorities(&priorities)];
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    if bindless {
        v12 = v12
            .runtime_descriptor_array(true)
            .shader_sampled_image_array_non_uniform_indexing(true)
            .descriptor_binding_sampled_image_update_after_bind(true)
            .descriptor_binding_update_unused_while_pending(true)
            .descriptor_binding_partially_bound(true);
    }
    let mut v13 = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true).synchronization2(true);
    let mut host_copy_feature = vk::PhysicalDeviceHostImageCopyFeaturesEXT::default().host_image_copy(true);
    let mut formats = vk::PhysicalDevice4444FormatsFeaturesEXT::default().format_a4r4g4b4(true);
    let mut extensions: Vec<&CStr> = Vec::new();
    let mut info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut v12).push_next(&mut v13);
    if host_copy {
        extensions.push(ext::host_image_copy::NAME);
        info = info.push_next(&mut host_copy_feature);
    }
    if gpu.a4r4g4b4 {
        extensions.push(ext::_4444_formats::NAME);
        info = info.push_next(&mut formats);
    }
    if swapchain {
        extensions.push(khr::swapchain::NAME);
    }
    if fences {
        extensions.push(khr::external_semaphore_fd::NAME);
    }
    if gpu.dmabuf.is_ok() {
        let dmabuf =
            [khr::external_memory_fd::NAME, ext::external_memory_dma_buf::NAME, ext::queue_family_foreign::NAME];
        extensions.extend(dmabuf);
    }
    if gpu.modifiers.is_ok() {
        extensions.push(ext::image_drm_format_modifier::NAME);
    }
    let names: Vec<*const c_char> = extensions.iter().map(|name| name.as_ptr()).collect();
    info = info.enabled_extension_names(&names);
    // SAFETY: the device is the instance's; every feature and extension was found there; pointers live across the call;
    // the callbacks outlive the device, which holds the instance.
    unsafe { instance.raw().create_device(gpu.raw, &info, Some(instance.callbacks())) }
        .map_err(|result| CallError { call: "vkCreateDevice", result })
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: every owner of a child holds an `Arc` of this, so none is left; made with these callbacks.
        unsafe { self.raw.destroy_device(Some(self.instance.callbacks())) };
        self.instance.counts().destroy(1);
    }
}
