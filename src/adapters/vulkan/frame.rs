//! One frame: plan → record → submit → present → book-keeping. Reads like a contents page.

use std::os::fd::OwnedFd;

use ash::vk;

use super::Vulkan;
use super::error::CallError;
use super::pass::{Canvas, Frame};
use super::pipeline::Instance;
use super::plan::{Instances, World};
use super::retire::DeferredFree;
use super::shm::texel_bytes;
use super::target::Target;
use crate::domain::frame::FrameSerial;
use crate::domain::geometry::Rect;
use crate::domain::region::Region;
use crate::domain::scene::{Paint, Scene};
use crate::ports::renderer::{FrameTicket, RenderError, TargetId};

impl Vulkan {
    pub(super) fn frame(&mut self, id: TargetId, scene: &Scene, damage: &Region) -> Result<FrameTicket, RenderError> {
        let failed = |error: CallError| error.into_render("memory for a frame");
        let before = self.count();
        let canvas = self.targets.get(id.0).ok_or(RenderError::Unknown)?.canvas()?;
        if canvas.size != scene.size() {
            return Err(RenderError::OutOfDate);
        }
        self.poll().map_err(failed)?;
        if !self.submitter.has_free_frame() {
            return Err(RenderError::NotReady);
        }
        let commands = self.plan_and_begin(canvas, scene, damage).map_err(failed)?.ok_or(RenderError::NotReady)?;
        self.find_foreign(scene);
        let cost_so_far = self.costs;
        let recorded = self.record(canvas, commands).map_err(failed);
        self.gather_waits(scene);
        let submitted = recorded.and_then(|()| self.submit(id).map_err(failed));
        let (serial, mut fence) = match submitted {
            Ok(submitted) => submitted,
            Err(error) => {
                self.costs = cost_so_far; // nothing of it happened
                return Err(error);
            }
        };
        self.uploaded(serial);
        self.waited();
        self.costs.fences_exported += u64::from(fence.is_some());
        self.attach(&fence);
        fence = fence.filter(|_| self.wants_fences);
        for (texture, _) in self.plan.reads(scene) {
            if let Some(texture) = self.textures.get_mut(texture.0) {
                texture.last_used = serial;
            }
        }
        self.present(id, serial)?;
        Ok(FrameTicket { serial, fence, cost: self.count().since(&before) })
    }

    /// Decides what to do and writes the instances; `None` where no frame slot is free.
    fn plan_and_begin(
        &mut self,
        canvas: Canvas,
        scene: &Scene,
        damage: &Region,
    ) -> Result<Option<vk::CommandBuffer>, CallError> {
        let world = World {
            textures: &self.textures,
            descriptors: &self.descriptors,
            uploads: self.uploads.list(),
            transfers: self.transfers,
            target: Rect::from_size(canvas.size),
            all_or_nothing: canvas.window,
        };
        let count = self.plan.decide(scene, damage, world);
        let Some(commands) = self.submitter.begin_frame(count)? else { return Ok(None) };
        let buffer = self.submitter.instances();
        let room = buffer.bytes() as usize / size_of::<Instance>();
        // SAFETY: the slot's buffer is mapped for `room` instances, aligned for any (VkMemoryMapping aligns to at least
        // 64), and its last frame is complete (`begin_frame`): nobody else reads or writes it. `MaybeUninit` asks
        // nothing of its content.
        let to = unsafe { std::slice::from_raw_parts_mut(buffer.address().as_ptr().cast(), room) };
        self.plan.work_out(scene, world, &mut Instances::new(to));
        Ok(Some(commands))
    }

    /// Notes every client's image that the planned frame reads, once.
    fn find_foreign(&mut self, scene: &Scene) {
        let coming = FrameSerial(self.submitter.submitted().0 + 1);
        self.foreign.clear();
        self.foreign_textures.clear();
        for (id, _) in self.plan.reads(scene) {
            if let Some(texture) = self.textures.get_mut(id.0).filter(|t| t.foreign.is_some() && t.met != coming) {
                texture.met = coming;
                self.foreign.push(texture.image.raw());
                self.foreign_textures.push(id);
            }
        }
    }

    /// Every client's buffer that the scene names is its client's again when what was submitted is complete.
    pub(super) fn hold_clients_buffers(&mut self, scene: &Scene) {
        let serial = self.submitter.submitted();
        for element in scene.elements() {
            if let Paint::Texture { texture, .. } = element.paint
                && let Some(buffer) = self.textures.get(texture.0).and_then(|texture| texture.foreign.as_ref())
            {
                self.retired.retire(serial, DeferredFree::ClientBuffer(buffer.buffer));
            }
        }
    }

    fn record(&mut self, canvas: Canvas, commands: vk::CommandBuffer) -> Result<(), CallError> {
        let frame = Frame {
            device: self.device.raw(),
            commands,
            canvas,
            plan: &self.plan,
            pipelines: &self.pipelines,
            layout: self.shaders.layout(),
            instances: self.submitter.instances().raw(),
            foreign: &self.foreign,
            family: self.device.gpu().family,
        };
        let textures = &self.textures;
        frame.record(&mut self.uploads, |id| texel_bytes(textures, id), &mut self.batch, &mut self.costs);
        // SAFETY: the command buffer is being recorded, outside rendering.
        let ended = unsafe { self.device.raw().end_command_buffer(commands) };
        self.device.check("vkEndCommandBuffer", ended)
    }

    fn submit(&mut self, id: TargetId) -> Result<(FrameSerial, Option<OwnedFd>), CallError> {
        // A window's image is waited for by the stage that touches it first.
        let stages = match self.plan.runs().is_empty() {
            true => vk::PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT,
            false => vk::PipelineStageFlags2::COPY,
        };
        let current = match self.targets.get(id.0) {
            Some(Target::Window(swapchain)) => swapchain.current(),
            _ => None,
        };
        let fence = self.wants_fences || self.attaches && !self.foreign.is_empty();
        self.waits.extend(current.map(|current| (current.acquired, stages)));
        self.submitter.submit_frame(self.waits.infos(), current.map(|current| current.rendered), fence)
    }

    fn present(&mut self, id: TargetId, serial: FrameSerial) -> Result<(), RenderError> {
        match self.targets.get_mut(id.0) {
            Some(Target::Offscreen(target)) => target.rendered(serial),
            Some(Target::Window(swapchain)) => {
                swapchain.present()?;
                if let Some(old) = swapchain.let_go() {
                    self.retire_swapchain(old);
                }
            }
            None => {}
        }
        Ok(())
    }
}
