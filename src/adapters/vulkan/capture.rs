//! Captures: a part of an offscreen target to CPU memory, in a submission of its own that nobody waits for.

use ash::vk;

use super::barrier;
use super::buffer::{Buffer, Direction};
use super::error::CallError;
use super::image::LAYER;
use super::target::Target;
use super::{Vulkan, submit};
use crate::domain::frame::FrameSerial;
use crate::domain::geometry::{Rect, Size};
use crate::ports::renderer::{CaptureId, Pixels, RenderError, TargetId};

/// Captures that may wait to be taken.
const MAX_CAPTURES: u64 = 64;

/// Pixels on their way.
pub(super) struct Capture {
    buffer: Buffer,
    size: Size,
    serial: FrameSerial,
}

impl Vulkan {
    pub(super) fn start_capture(&mut self, id: TargetId, part: Rect) -> Result<CaptureId, RenderError> {
        let Target::Offscreen(target) = self.targets.get(id.0).ok_or(RenderError::Unknown)? else {
            return Err(RenderError::Unsupported("capturing a window".into()));
        };
        let unsupported = |what: &str| RenderError::Unsupported(format!("capturing {what}"));
        let image = target.rendered_image().ok_or_else(|| unsupported("what was never rendered"))?;
        let inside = part.intersection(Rect::from_size(target.size()));
        let part = inside.ok_or_else(|| unsupported("what is outside the target"))?;
        if self.captures.len() >= MAX_CAPTURES {
            return Err(RenderError::Exhausted { what: "captures that nobody takes", source: None });
        }
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let buffer = Buffer::new(&self.device, part.size().area() * 4, usage, Direction::Down, "capture")
            .map_err(|error| error.into_render("memory for a capture"))?;
        let serial = self.submit_capture(image, part, &buffer).map_err(|error| error.into_render("command buffers"))?;
        if let Some(Target::Offscreen(target)) = self.targets.get_mut(id.0) {
            target.captured(serial);
        }
        Ok(CaptureId(self.captures.insert(Capture { buffer, size: part.size(), serial })))
    }

    fn submit_capture(&mut self, image: vk::Image, part: Rect, to: &Buffer) -> Result<FrameSerial, CallError> {
        self.poll()?;
        let Some((at, commands)) = self.submitter.begin_other()? else { return Err(submit::TOO_MANY) };
        let raw = self.device.raw();
        let regions = [vk::BufferImageCopy2::default()
            .image_subresource(LAYER)
            .image_offset(vk::Offset3D { x: part.x, y: part.y, z: 0 })
            .image_extent(vk::Extent3D { width: part.w as u32, height: part.h as u32, depth: 1 })];
        let info = vk::CopyImageToBufferInfo2::default()
            .src_image(image)
            .src_image_layout(vk::ImageLayout::GENERAL)
            .dst_buffer(to.raw())
            .regions(&regions);
        // SAFETY: the image is alive, in layout GENERAL, and ordered after the frames that wrote it by their last
        // barrier; the part is inside it and fits the buffer, which `captures` keeps until the serial is complete.
        unsafe { raw.cmd_copy_image_to_buffer2(commands, &info) };
        self.batch.memory(barrier::COPIED, barrier::HOST_READS);
        self.batch.memory(barrier::COPIED_FROM, barrier::PAINTS);
        self.batch.record(raw, commands);
        // SAFETY: the command buffer is being recorded.
        let ended = unsafe { raw.end_command_buffer(commands) };
        self.device.check("vkEndCommandBuffer", ended)?;
        self.submitter.submit_other(at)
    }

    pub(super) fn finish_capture(&mut self, id: CaptureId) -> Result<Option<Pixels>, RenderError> {
        let serial = self.captures.get(id.0).ok_or(RenderError::Unknown)?.serial;
        if serial > self.poll().map_err(|error| error.into_render("a capture"))? {
            return Ok(None);
        }
        let Capture { buffer, size, .. } = self.captures.remove(id.0).ok_or(RenderError::Unknown)?;
        let len = size.area() as usize * 4;
        // SAFETY: the buffer is mapped for at least `len` bytes (`start_capture`), all written by the copy, which is
        // complete and made available to the CPU; nobody writes to it any more.
        let mut bytes = unsafe { std::slice::from_raw_parts(buffer.address().as_ptr(), len) }.to_vec();
        bytes.iter_mut().skip(3).step_by(4).for_each(|x| *x = 255);
        Ok(Some(Pixels { size, bytes }))
    }
}
