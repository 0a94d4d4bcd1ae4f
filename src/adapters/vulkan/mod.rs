//! `ports::Renderer` on Vulkan 1.3: dynamic rendering, synchronization2, one timeline semaphore.
//!
//! The life of a client's pixels, a file each: `shm` (into staging or straight into the image) → `uploads` → `plan`
//! (copies, clears, draws) → `pass` (records them) → `submit` → `retire`. The objects below them: `instance`, `gpu`,
//! `device`, `memory`, `image`, `buffer`, `descriptor`, `pipeline`, `barrier`, `target`, `surface`, `swapchain`,
//! `capture`; what holds for all of them, ownership and counting, is in `owned`.
//!
//! A steady frame is one command buffer, at most two barrier calls, one rendering pass, one `vkQueueSubmit2`; it writes
//! no descriptor, creates no object, allocates no memory and waits for nothing. `tests/allocations.rs` counts it.
//!
//! `semaphore` and `sync` let frames wait for clients' fences and tell fences of their own.
//!
//! Deliberately absent, to come: the udmabuf tiers, linear-light blending.

mod barrier;
mod buffer;
mod capture;
mod debug;
mod descriptor;
mod device;
mod error;
mod format;
mod frame;
mod geometry;
mod gpu;
mod host_memory;
mod image;
mod import;
mod instance;
mod memory;
mod options;
mod owned;
mod pass;
mod pipeline;
mod pipeline_cache;
mod plan;
pub mod retire;
mod semaphore;
mod shm;
mod slab;
mod staging;
mod submit;
mod surface;
mod swapchain;
mod sync;
mod target;
mod texture;
mod uploads;
mod waiter;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use ash::vk;

pub use self::debug::Messages;
pub use self::error::{CallError, NewError};
pub use self::gpu::Probe;
pub use self::options::{Bindless, Options, ReadFences, Transfers, Upload};

use self::retire::DeferredFree;
use crate::domain::buffer::{BufferId, TextureId};
use crate::domain::frame::{Counters, FrameSerial, Holdings};
use crate::domain::geometry::{Rect, Size};
use crate::domain::region::Region;
use crate::domain::scene::Scene;
use crate::ports::pool::ShmBuffer;
use crate::ports::renderer::{
    Acquired, BufferUse, Capabilities, CaptureId, Dmabuf, FenceError, FrameTicket, ImportError, Pixels, RenderError,
    Renderer, TargetId, Window,
};

/// The renderer. One thread's; dropped, it waits for what is in flight and leaves nothing behind.
pub struct Vulkan {
    device: Arc<device::Device>,
    capabilities: Capabilities,
    formats: Vec<texture::Format>,
    transfers: bool,
    // What frames are made of.
    submitter: submit::Submitter,
    retired: retire::Queue<DeferredFree>,
    semaphores: semaphore::Pool,
    waits: sync::Waits,
    wants_fences: bool,
    targets: slab::Slab<target::Target>,
    captures: slab::Slab<capture::Capture>,
    textures: slab::Slab<texture::Texture>,
    uploads: uploads::Uploads,
    staging: staging::Staging,
    descriptors: descriptor::Descriptors,
    memory: Rc<memory::Memory>,
    pipelines: pipeline::Pipelines,
    shaders: pipeline::Shaders,
    // Storage that is kept from frame to frame.
    plan: plan::Plan,
    batch: barrier::Batch,
    scratch: shm::Scratch,
    foreign: Vec<vk::Image>,
    foreign_textures: Vec<TextureId>,
    /// Frames leave their fence in the dma-bufs that they read.
    attaches: bool,
    // Numbers.
    costs: Counters,
    texture_bytes: u64,
    retired_textures: u64,
    retired_bytes: u64,
}

/// Every device of the machine, with what it lacks and what it can do.
///
/// # Errors
/// [`NewError::Loader`], [`NewError::Instance`], [`NewError::ValidationMissing`].
pub fn probe(options: &Options) -> Result<Vec<Probe>, NewError> {
    let instance = instance::Instance::new(options)?;
    Ok(gpu::all(&instance)?.into_iter().map(|gpu| gpu.probe).collect())
}

impl Vulkan {
    /// Makes a renderer, everything compiled.
    ///
    /// # Errors
    /// [`NewError`], which says what is missing.
    pub fn new(options: &Options) -> Result<Self, NewError> {
        let instance = Arc::new(instance::Instance::new(options)?);
        let gpu = gpu::choose(gpu::all(&instance)?, options.device.as_deref())?;
        let capabilities = gpu.probe.capabilities.clone();
        tracing::info!("rendering on {}", capabilities.device);
        let formats = texture::formats(&instance, &gpu, &capabilities.shm_formats);
        let device = Arc::new(device::Device::new(instance, gpu, options)?);
        tracing::debug!("bindless: {}, host copies: {}", device.is_bindless(), device.host_copy().is_some());
        let name = capabilities.device.clone();
        let failed = |source| NewError::Device { device: name.clone(), source };
        let memory = memory::Memory::new(&device).map_err(failed)?;
        let descriptors = descriptor::Descriptors::new(&device).map_err(failed)?;
        let shaders = pipeline::Shaders::new(&device, descriptors.layout()).map_err(failed)?;
        let directory = options.pipeline_cache.as_deref();
        let mut pipeline_cache = pipeline_cache::PipelineCache::new(&device, directory).map_err(failed)?;
        let pipelines = pipeline::Pipelines::new(&device, &shaders, &mut pipeline_cache);
        Ok(Self {
            pipelines: pipelines.map_err(failed)?,
            transfers: match options.transfers {
                Transfers::Auto => capabilities.software,
                Transfers::Always => true,
                Transfers::Never => false,
            },
            submitter: submit::Submitter::new(&device)?,
            staging: staging::Staging::new(&device).map_err(failed)?,
            retired: retire::Queue::with_capacity(64),
            semaphores: semaphore::Pool::new(&device),
            waits: sync::Waits::default(),
            wants_fences: false,
            targets: slab::Slab::new(),
            captures: slab::Slab::new(),
            textures: slab::Slab::new(),
            uploads: uploads::Uploads::new(),
            plan: plan::Plan::new(),
            batch: barrier::Batch::default(),
            scratch: shm::Scratch::new(),
            foreign: Vec::with_capacity(64),
            foreign_textures: Vec::with_capacity(64),
            attaches: match options.read_fences {
                ReadFences::Auto => !capabilities.software,
                ReadFences::On => true,
                ReadFences::Off => false,
            },
            costs: Counters::default(),
            texture_bytes: 0,
            retired_textures: 0,
            retired_bytes: 0,
            device,
            capabilities,
            formats,
            descriptors,
            memory,
            shaders,
        })
    }

    /// What the validation layers say; nothing without validation. To be read also when the renderer is gone: what it
    /// left behind is told at its end.
    pub fn messages(&self) -> Arc<Messages> {
        Arc::clone(self.device.instance().messages())
    }

    /// Behaves from now on as though the device were lost: for tests of what happens then.
    pub fn lose_device(&mut self) {
        self.device.lose();
    }

    /// What is complete, and with it the staging memory that is free again.
    fn poll(&mut self) -> Result<FrameSerial, CallError> {
        let completed = self.submitter.poll()?;
        self.staging.reclaim(completed);
        Ok(completed)
    }

    /// Frees what is complete.
    fn free(&mut self, completed: FrameSerial, released: &mut dyn FnMut(BufferId)) {
        for buffer in self.uploads.idle_buffers() {
            self.retired.retire(self.submitter.submitted(), DeferredFree::Buffer(buffer));
        }
        while let Some(entry) = self.retired.drain_one(completed) {
            match entry {
                DeferredFree::Semaphore(semaphore) => self.semaphores.give(semaphore),
                DeferredFree::Signalled(semaphore) => self.semaphores.discard(semaphore),
                DeferredFree::Texture { image, slot } => {
                    self.retired_textures -= 1;
                    self.retired_bytes -= image.bytes();
                    self.descriptors.give(slot);
                }
                DeferredFree::ClientBuffer(buffer) => released(buffer),
                DeferredFree::Target(image) => drop(image),
                DeferredFree::Buffer(buffer) => drop(buffer),
                DeferredFree::Swapchain(old) => drop(old),
            }
        }
    }

    fn count(&self) -> Counters {
        let counts = self.device.counts();
        Counters {
            submits: self.submitter.submits(),
            descriptor_writes: self.descriptors.writes(),
            objects_created: counts.created(),
            objects_destroyed: counts.destroyed(),
            semaphores_created: self.semaphores.created(),
            semaphores_destroyed: self.semaphores.destroyed(),
            semaphores_returned: self.semaphores.returned(),
            driver_host_allocations: self.device.instance().host_memory().allocations(),
            validation_messages: self.device.instance().messages().count(),
            ..self.costs
        }
    }

    fn alive<E>(&self, lost: E) -> Result<(), E> {
        if self.device.is_lost() { Err(lost) } else { Ok(()) }
    }
}

impl Renderer for Vulkan {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn import_shm(&mut self, buffer: &ShmBuffer, _id: BufferId) -> Result<(TextureId, BufferUse), ImportError> {
        self.alive(ImportError::DeviceLost)?;
        self.import(buffer).map(|texture| (texture, BufferUse::Copied))
    }

    fn update_shm(
        &mut self,
        texture: TextureId,
        buffer: &ShmBuffer,
        _id: BufferId,
        damage: &[Rect],
    ) -> Result<BufferUse, ImportError> {
        self.alive(ImportError::DeviceLost)?;
        self.update(texture, buffer, damage).map(|()| BufferUse::Copied)
    }

    fn import_dmabuf(&mut self, buffer: &Dmabuf, id: BufferId) -> Result<TextureId, ImportError> {
        self.alive(ImportError::DeviceLost)?;
        self.import_client_image(buffer, id)
    }

    fn forget(&mut self, texture: TextureId) {
        self.forget_texture(texture);
    }

    fn wait_for(&mut self, texture: TextureId, fence: OwnedFd) -> Result<(), FenceError> {
        self.alive(FenceError::DeviceLost)?;
        self.acquire_after(texture, fence)
    }

    fn want_fences(&mut self, wanted: bool) {
        self.wants_fences = wanted;
    }

    fn create_offscreen(&mut self, size: Size) -> Result<TargetId, RenderError> {
        self.alive(RenderError::DeviceLost)?;
        self.offscreen(size)
    }

    fn create_window(&mut self, window: Arc<dyn Window>, size: Size) -> Result<TargetId, RenderError> {
        self.alive(RenderError::DeviceLost)?;
        self.window(window, size)
    }

    fn resize_target(&mut self, target: TargetId, size: Size) -> Result<(), RenderError> {
        self.alive(RenderError::DeviceLost)?;
        self.resize(target, size)
    }

    fn destroy_target(&mut self, target: TargetId) {
        self.destroy(target);
    }

    fn acquire(&mut self, target: TargetId) -> Result<Acquired, RenderError> {
        self.alive(RenderError::DeviceLost)?;
        self.acquire_target(target)
    }

    fn render(&mut self, target: TargetId, scene: &Scene, damage: &Region) -> Result<FrameTicket, RenderError> {
        self.alive(RenderError::DeviceLost)?;
        let rendered = self.frame(target, scene, damage);
        self.hold_clients_buffers(scene);
        rendered
    }

    fn completed(&mut self) -> Result<FrameSerial, RenderError> {
        self.alive(RenderError::DeviceLost)?;
        self.poll().map_err(|error| error.into_render("host memory"))
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.submitter.waiter().fd())
    }

    fn drain(&mut self, released: &mut dyn FnMut(BufferId)) -> Result<(), RenderError> {
        self.submitter.waiter().clear();
        self.alive(RenderError::DeviceLost)?;
        let completed = self.poll().map_err(|error| error.into_render("host memory"))?;
        self.free(completed, released);
        Ok(())
    }

    fn capture(&mut self, target: TargetId, part: Rect) -> Result<CaptureId, RenderError> {
        self.alive(RenderError::DeviceLost)?;
        self.start_capture(target, part)
    }

    fn take_capture(&mut self, capture: CaptureId) -> Result<Option<Pixels>, RenderError> {
        self.alive(RenderError::DeviceLost)?;
        self.finish_capture(capture)
    }

    fn wait_idle(&mut self, limit_ns: u64) -> Result<(), RenderError> {
        self.alive(RenderError::DeviceLost)?;
        match self.submitter.wait(limit_ns).map_err(|error| error.into_render("host memory"))? {
            true => Ok(()),
            false => Err(RenderError::NotReady),
        }
    }

    fn counters(&self) -> Counters {
        self.count()
    }

    fn holdings(&self) -> Holdings {
        let counts = self.device.counts();
        Holdings {
            textures: self.textures.len(),
            texture_bytes: self.texture_bytes,
            retired_textures: self.retired_textures,
            retired_bytes: self.retired_bytes,
            deferred_entries: self.retired.len() as u64,
            targets: self.targets.len(),
            staging_bytes: self.staging.bytes(),
            semaphores: self.semaphores.live(),
            semaphores_in_use: self.semaphores.in_use(),
            vulkan_objects: counts.created() - counts.destroyed(),
        }
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // Every field may be in use by the device until here, by none after it; then each owner destroys its own.
        self.device.wait_idle();
    }
}
