//! Barriers, batched: one call each time, however many images.
//!
//! Textures and offscreen targets stay in layout GENERAL, so one memory barrier orders all of them. A frame is
//!
//! ```text
//! [open: first layouts, a window's image for copies]   only with new images, or a window that is only copied to
//!                                                      or clients' images that are copied from: acquired
//! uploads and transfers
//! before: copies → shaders and attachment              only where something was copied and something is drawn,
//!                                                      or clients' images are drawn: acquired, unless they are already
//! rendering
//! after: all of it → the next frame's copies and draws (a window's image → the presentation engine,
//!                                                      clients' images → their owners)
//! ```
//!
//! The last one also orders this frame's reads before the next one's writes, so a frame needs no barrier of its own
//! against the one before.

use ash::vk;
use vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stage};

use super::image::WHOLE;

/// Stages, and what they do to memory.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    stages: Stage,
    access: Access,
}

const fn scope(stages: Stage, access: Access) -> Scope {
    Scope { stages, access }
}

/// Nothing to wait for, or nobody who waits.
pub(super) const NOTHING: Scope = scope(Stage::NONE, Access::NONE);
/// Copies that wrote.
pub(super) const COPIED: Scope = scope(Stage::COPY, Access::TRANSFER_WRITE);
/// Copies that only read: the order is enough.
pub(super) const COPIED_FROM: Scope = scope(Stage::COPY, Access::NONE);
/// Copies to come.
pub(super) const COPIES: Scope =
    scope(Stage::COPY, Access::from_raw(Access::TRANSFER_READ.as_raw() | Access::TRANSFER_WRITE.as_raw()));
/// Shaders that sampled: the order is enough.
pub(super) const SAMPLED: Scope = scope(Stage::FRAGMENT_SHADER, Access::NONE);
/// Copies and shaders that read: the order is enough.
pub(super) const READ: Scope =
    scope(Stage::from_raw(Stage::COPY.as_raw() | Stage::FRAGMENT_SHADER.as_raw()), Access::NONE);
/// Copies and shaders that will read.
pub(super) const READS: Scope =
    scope(READ.stages, Access::from_raw(Access::TRANSFER_READ.as_raw() | Access::SHADER_SAMPLED_READ.as_raw()));
/// Shaders to come.
pub(super) const SAMPLES: Scope = scope(Stage::FRAGMENT_SHADER, Access::SHADER_SAMPLED_READ);
/// Rendering that wrote the target.
pub(super) const RENDERED: Scope = scope(Stage::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
/// What an acquire semaphore is waited for with: the layout change follows it.
pub(super) const ACQUIRED: Scope = scope(Stage::COLOR_ATTACHMENT_OUTPUT, Access::NONE);
/// Rendering to come.
pub(super) const RENDERS: Scope = scope(
    Stage::COLOR_ATTACHMENT_OUTPUT,
    Access::from_raw(Access::COLOR_ATTACHMENT_READ.as_raw() | Access::COLOR_ATTACHMENT_WRITE.as_raw()),
);
/// Copies and rendering to come.
pub(super) const PAINTS: Scope = scope(
    Stage::from_raw(Stage::COPY.as_raw() | Stage::COLOR_ATTACHMENT_OUTPUT.as_raw()),
    Access::from_raw(COPIES.access.as_raw() | RENDERS.access.as_raw()),
);
/// The CPU, reading.
pub(super) const HOST_READS: Scope = scope(Stage::HOST, Access::HOST_READ);

/// The barriers of one call. Storage is kept.
#[derive(Default)]
pub(super) struct Batch {
    memory: vk::MemoryBarrier2<'static>,
    images: Vec<vk::ImageMemoryBarrier2<'static>>,
}

impl Batch {
    /// What `then` does comes after what `first` did, for all memory.
    pub(super) fn memory(&mut self, first: Scope, then: Scope) {
        self.memory.src_stage_mask |= first.stages;
        self.memory.src_access_mask |= first.access;
        self.memory.dst_stage_mask |= then.stages;
        self.memory.dst_access_mask |= then.access;
    }

    /// As [`Batch::memory`], for one image, which also changes its layout.
    pub(super) fn image(
        &mut self,
        image: vk::Image,
        (first, old): (Scope, vk::ImageLayout),
        (then, new): (Scope, vk::ImageLayout),
    ) {
        self.images.push(vk::ImageMemoryBarrier2 {
            src_stage_mask: first.stages,
            src_access_mask: first.access,
            dst_stage_mask: then.stages,
            dst_access_mask: then.access,
            old_layout: old,
            new_layout: new,
            src_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
            dst_queue_family_index: vk::QUEUE_FAMILY_IGNORED,
            image,
            subresource_range: WHOLE,
            ..Default::default()
        });
    }

    /// Takes a client's image over from the client's device, content and all, for queues of `family`. What is read of it
    /// comes after what was waited for at those stages.
    pub(super) fn acquire(&mut self, image: vk::Image, family: u32) {
        self.image(image, (READ, vk::ImageLayout::GENERAL), (READS, vk::ImageLayout::GENERAL));
        if let Some(barrier) = self.images.last_mut() {
            barrier.src_queue_family_index = vk::QUEUE_FAMILY_FOREIGN_EXT;
            barrier.dst_queue_family_index = family;
        }
    }

    /// Gives it back.
    pub(super) fn release(&mut self, image: vk::Image, family: u32) {
        self.image(image, (READ, vk::ImageLayout::GENERAL), (NOTHING, vk::ImageLayout::GENERAL));
        if let Some(barrier) = self.images.last_mut() {
            barrier.src_queue_family_index = family;
            barrier.dst_queue_family_index = vk::QUEUE_FAMILY_FOREIGN_EXT;
        }
    }

    /// Records all of it as one call and starts over; false where there is nothing to record.
    pub(super) fn record(&mut self, device: &ash::Device, commands: vk::CommandBuffer) -> bool {
        let memory = [self.memory];
        let has_memory = self.memory.src_stage_mask != Stage::NONE;
        if !has_memory && self.images.is_empty() {
            return false;
        }
        let info = vk::DependencyInfo::default()
            .memory_barriers(&memory[..usize::from(has_memory)])
            .image_memory_barriers(&self.images);
        // SAFETY: the command buffer is being recorded, outside rendering; the images are alive and in the old layouts.
        unsafe { device.cmd_pipeline_barrier2(commands, &info) };
        self.memory = vk::MemoryBarrier2::default();
        self.images.clear();
        true
    }
}
