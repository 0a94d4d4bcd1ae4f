//! Fences in and out: sync_files that frames wait for, and one that a frame signals.
//!
//! **In**: a fence becomes the temporary payload of a pooled semaphore, kept with its texture until a frame reads that;
//! the frame's submission waits for it at the stages that read and nowhere else, and retires it. Where the device imports
//! no sync_file the fence goes back to the caller, who waits in the loop until it is readable, before latching: nothing
//! is drawn unsynchronised and nothing waits on this thread.
//!
//! **Out**: each frame slot has one exportable semaphore, made when a fence is first asked for. Exporting takes its
//! payload away, as a wait would, so it serves again. Only on request: a fence costs a descriptor and a kernel object, and a
//! software driver without kernel fences waits for the frame in vkGetSemaphoreFdKHR (seen with lavapipe of Mesa 26.1
//! where there is no /dev/udmabuf), which then says that it is signalled.

use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use ash::{khr, vk};

use super::Vulkan;
use super::device::Device;
use super::error::CallError;
use super::owned::Owned;
use super::retire::DeferredFree;
use super::semaphore;
use super::submit::Wait;
use crate::adapters::dmabuf::{self, Access};
use crate::domain::buffer::TextureId;
use crate::domain::scene::Scene;
use crate::ports::renderer::{FenceError, RenderError};

const SYNC_FILE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD;

/// What the next frame that reads a texture waits for.
pub(super) struct Acquire {
    semaphore: Owned<vk::Semaphore>,
    /// The payload came from a sync_file, and another may replace it; else a submission signals it.
    imported: bool,
    /// What the frame being made does with the texture; nothing between frames.
    stages: vk::PipelineStageFlags2,
}

/// What one frame waits for. Storage is kept.
#[derive(Default)]
pub(super) struct Waits {
    textures: Vec<TextureId>,
    infos: Vec<vk::SemaphoreSubmitInfo<'static>>,
}

impl Waits {
    /// Besides the textures': a window's image.
    pub(super) fn extend(&mut self, wait: Option<Wait>) {
        let info = |(semaphore, stages)| vk::SemaphoreSubmitInfo::default().semaphore(semaphore).stage_mask(stages);
        self.infos.extend(wait.map(info));
    }

    /// For the submission.
    pub(super) fn infos(&self) -> &[vk::SemaphoreSubmitInfo<'static>] {
        &self.infos
    }
}

impl Vulkan {
    /// Has the next frame that reads `texture` wait for `fence`; the port's word.
    pub(super) fn acquire_after(&mut self, id: TextureId, fence: OwnedFd) -> Result<(), FenceError> {
        let texture = self.textures.get_mut(id.0).ok_or(FenceError::Unknown(id))?;
        let Some(functions) = self.device.fence_import() else {
            return Err(FenceError::NotTaken { fence, source: None });
        };
        let mut acquire = match texture.acquire.take() {
            Some(acquire) if acquire.imported => acquire, // never waited for: takes another payload
            other => {
                if let Some(Acquire { semaphore, .. }) = other {
                    self.retired.retire(self.submitter.submitted(), DeferredFree::Signalled(semaphore));
                }
                match self.semaphores.take() {
                    Ok(semaphore) => Acquire { semaphore, imported: true, stages: vk::PipelineStageFlags2::NONE },
                    Err(error) => return Err(FenceError::NotTaken { fence, source: Some(Box::new(error)) }),
                }
            }
        };
        acquire.stages = vk::PipelineStageFlags2::NONE;
        match import(&self.device, functions, &acquire.semaphore, fence) {
            Ok(()) => {
                texture.acquire = Some(acquire);
                self.costs.fences_imported += 1;
                Ok(())
            }
            Err((fence, error)) => {
                // Unchanged by a failed import: unsignalled, or with a payload that nobody waits for any more.
                self.retired.retire(self.submitter.submitted(), DeferredFree::Signalled(acquire.semaphore));
                Err(FenceError::NotTaken { fence, source: Some(Box::new(error)) })
            }
        }
    }

    /// Has the next frame that reads `texture` wait for a submission of its own, which does nothing: what
    /// [`crate::ports::renderer::Renderer::wait_for`] does, on every device and always signalled. For tests.
    ///
    /// # Errors
    /// [`RenderError::Unknown`], [`RenderError::Exhausted`], [`RenderError::DeviceLost`].
    pub fn wait_for_nothing(&mut self, id: TextureId) -> Result<(), RenderError> {
        self.alive(RenderError::DeviceLost)?;
        let failed = |error: CallError| error.into_render("semaphores");
        let texture = self.textures.get_mut(id.0).ok_or(RenderError::Unknown)?;
        let semaphore = self.semaphores.take().map_err(failed)?;
        match self.submitter.submit_signal(semaphore.raw()) {
            Ok(_) => {
                let made = Acquire { semaphore, imported: false, stages: vk::PipelineStageFlags2::NONE };
                if let Some(old) = texture.acquire.replace(made) {
                    self.retired.retire(self.submitter.submitted(), DeferredFree::Signalled(old.semaphore));
                }
                Ok(())
            }
            Err(error) => {
                self.semaphores.give(semaphore);
                Err(failed(error))
            }
        }
    }

    /// A forgotten texture's: no frame will wait for it.
    pub(super) fn forget_acquire(&mut self, acquire: Acquire) {
        self.retired.retire(self.submitter.submitted(), DeferredFree::Signalled(acquire.semaphore));
    }

    /// Gathers what the frame planned last waits for, each semaphore once, at the stages that read its texture.
    pub(super) fn gather_waits(&mut self, scene: &Scene) {
        let Self { plan, textures, waits, .. } = self;
        waits.textures.clear();
        waits.infos.clear();
        for (id, stages) in plan.reads(scene) {
            let Some(acquire) = textures.get_mut(id.0).and_then(|texture| texture.acquire.as_mut()) else { continue };
            if acquire.stages.is_empty() {
                waits.textures.push(id);
            }
            acquire.stages |= stages;
        }
        for id in &waits.textures {
            let Some(acquire) = textures.get_mut(id.0).and_then(|texture| texture.acquire.as_mut()) else { continue };
            waits
                .infos
                .push(vk::SemaphoreSubmitInfo::default().semaphore(acquire.semaphore.raw()).stage_mask(acquire.stages));
            acquire.stages = vk::PipelineStageFlags2::NONE; // a submission that fails waited for nothing
        }
    }

    /// Leaves the fence of the frame submitted last in every client's dma-buf that it reads: whoever writes one next
    /// waits for the frame, whether or not it waits for the buffer's release.
    pub(super) fn attach(&mut self, fence: &Option<OwnedFd>) {
        let Some(fence) = fence.as_ref().filter(|_| self.attaches) else { return };
        for id in &self.foreign_textures {
            let foreign = self.textures.get(id.0).and_then(|texture| texture.foreign.as_ref());
            for fd in foreign.iter().flat_map(|foreign| &foreign.fds) {
                match dmabuf::import_fence(fd, fence, Access::Read) {
                    Ok(()) => self.costs.fences_attached += 1,
                    // The release still comes when the frame is complete.
                    Err(error) => tracing::debug!(%error, "a dma-buf takes no fence"),
                }
            }
        }
    }

    /// Retires what the frame submitted last waits for.
    pub(super) fn waited(&mut self) {
        for id in &self.waits.textures {
            if let Some(acquire) = self.textures.get_mut(id.0).and_then(|texture| texture.acquire.take()) {
                self.retired.retire(self.submitter.submitted(), DeferredFree::Semaphore(acquire.semaphore));
            }
        }
    }
}

/// Makes `fence` the payload of `semaphore` until it is waited for. The descriptor is the driver's once this succeeds,
/// else it comes back.
fn import(
    device: &Device,
    functions: &khr::external_semaphore_fd::Device,
    semaphore: &Owned<vk::Semaphore>,
    fence: OwnedFd,
) -> Result<(), (OwnedFd, CallError)> {
    let info = vk::ImportSemaphoreFdInfoKHR::default()
        .semaphore(semaphore.raw())
        .flags(vk::SemaphoreImportFlags::TEMPORARY)
        .handle_type(SYNC_FILE)
        .fd(fence.as_raw_fd());
    // SAFETY: the semaphore is alive, binary and used by nothing in flight; the device imports SYNC_FD (`fence_import`).
    let imported = unsafe { functions.import_semaphore_fd(&info) };
    match device.check("vkImportSemaphoreFdKHR", imported) {
        Ok(()) => {
            let _ = fence.into_raw_fd(); // the driver closes it
            Ok(())
        }
        Err(error) => Err((fence, error)),
    }
}

/// A frame slot's way to tell others that its frame is complete.
pub(super) struct Export {
    semaphore: Owned<vk::Semaphore>,
    /// It was signalled and the payload perhaps not taken: it cannot be signalled again.
    is_spoilt: bool,
}

impl Export {
    /// What the slot's next frame is to signal: the semaphore it has, where that can be. Its last frame is complete.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn ready(slot: &mut Option<Self>, device: &Arc<Device>) -> Result<vk::Semaphore, CallError> {
        if let Some(export) = slot.as_ref().filter(|export| !export.is_spoilt) {
            return Ok(export.semaphore.raw());
        }
        let semaphore = semaphore::create(device, SYNC_FILE)?.named("frame done");
        Ok(slot.insert(Self { semaphore, is_spoilt: false }).semaphore.raw())
    }

    /// The fence, once the frame is submitted; `None` where it has signalled already, or could not be had (logged).
    pub(super) fn take(&mut self, device: &Device) -> Option<OwnedFd> {
        let functions = device.fence_export()?;
        let info = vk::SemaphoreGetFdInfoKHR::default().semaphore(self.semaphore.raw()).handle_type(SYNC_FILE);
        // SAFETY: the semaphore was made for this and a submission that signals it is pending or complete.
        let exported = unsafe { functions.get_semaphore_fd(&info) };
        match device.check("vkGetSemaphoreFdKHR", exported) {
            // SAFETY: the descriptor is new and nobody else's.
            Ok(fd) if fd >= 0 => Some(unsafe { OwnedFd::from_raw_fd(fd) }),
            Ok(_) => {
                // "Already signalled" in the specification, the payload taken all the same; but validation layers
                // (1.4.309) count it as not taken. Replaced until they know better; drivers with kernel fences of their
                // own never get here.
                self.is_spoilt = true;
                None
            }
            Err(error) => {
                tracing::warn!("a frame goes without its fence: {error}");
                self.is_spoilt = true;
                None
            }
        }
    }
}
