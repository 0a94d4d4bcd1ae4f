//! Binary semaphores: a pool of those that frames wait for.
//!
//! One is taken for a client's fence, waited for by one frame, retired with it and given back once the frame is
//! complete: a wait leaves a binary semaphore unsignalled, with its own payload in place of the imported one ("Importing
//! Semaphore Payloads" in the specification), so it serves again. The pool makes one only where none is idle. Next:
//! `sync`, which fills them.

use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::CallError;
use super::owned::Owned;
use super::retire;

/// The pool and its book.
pub(super) struct Pool {
    idle: retire::Pool<Owned<vk::Semaphore>>,
    created: u64,
    destroyed: u64,
    returned: u64,
    device: Arc<Device>,
}

impl Pool {
    /// Empty.
    pub(super) fn new(device: &Arc<Device>) -> Self {
        Self { idle: retire::Pool::new(), created: 0, destroyed: 0, returned: 0, device: Arc::clone(device) }
    }

    /// An unsignalled semaphore that nothing waits for or signals.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn take(&mut self) -> Result<Owned<vk::Semaphore>, CallError> {
        self.idle.take(|| {
            let semaphore = create(&self.device, vk::ExternalSemaphoreHandleTypeFlags::empty())?;
            self.created += 1;
            Ok(semaphore.named("fence"))
        })
    }

    /// Takes one back that a complete submission waited for, or that nothing was done with.
    pub(super) fn give(&mut self, semaphore: Owned<vk::Semaphore>) {
        self.returned += 1;
        self.idle.give(semaphore);
    }

    /// Destroys one that was signalled and not waited for: it cannot serve again. Nothing in flight uses it.
    pub(super) fn discard(&mut self, semaphore: Owned<vk::Semaphore>) {
        self.destroyed += 1;
        drop(semaphore);
    }

    /// How many were made.
    pub(super) fn created(&self) -> u64 {
        self.created
    }

    /// How many were destroyed.
    pub(super) fn destroyed(&self) -> u64 {
        self.destroyed
    }

    /// How often one was given back.
    pub(super) fn returned(&self) -> u64 {
        self.returned
    }

    /// How many are alive, idle or not.
    pub(super) fn live(&self) -> u64 {
        self.created - self.destroyed
    }

    /// How many are out: waited for, or about to be.
    pub(super) fn in_use(&self) -> u64 {
        self.live() - self.idle.len() as u64
    }
}

/// A binary semaphore whose payload can leave as `exports`.
///
/// # Errors
/// The failing call.
pub(super) fn create(
    device: &Arc<Device>,
    exports: vk::ExternalSemaphoreHandleTypeFlags,
) -> Result<Owned<vk::Semaphore>, CallError> {
    let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(exports);
    let mut info = vk::SemaphoreCreateInfo::default();
    if !exports.is_empty() {
        info = info.push_next(&mut export);
    }
    // SAFETY: the structures live across the call; the caller asks only for exports that the device offers.
    let made = unsafe { device.raw().create_semaphore(&info, Some(device.callbacks())) };
    Owned::new(device, "vkCreateSemaphore", made)
}
