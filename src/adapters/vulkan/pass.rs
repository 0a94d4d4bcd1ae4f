//! Records a frame: barriers, uploads, transfers, one rendering pass. Reads like `barrier`'s diagram.
//!
//! Owns nothing. The caller keeps everything that is named here alive until the frame's serial is complete.

use ash::vk;

use super::barrier::{self, Batch};
use super::image::extent;
use super::pipeline::{Fill, Pipelines};
use super::plan::{Load, Plan, Source, Step};
use super::uploads::Uploads;
use crate::domain::buffer::TextureId;
use crate::domain::frame::Counters;
use crate::domain::geometry::Size;
use crate::domain::scene::Color;

/// The target as a frame meets it.
#[derive(Clone, Copy)]
pub(super) struct Canvas {
    /// The image, not owned.
    pub(super) image: vk::Image,
    /// Its view, not owned.
    pub(super) view: vk::ImageView,
    /// Pixels.
    pub(super) size: Size,
    /// Its layout now; UNDEFINED where its content does not matter.
    pub(super) layout: vk::ImageLayout,
    /// It belongs to a presentation engine, which wants it back in a layout of its own.
    pub(super) window: bool,
}

/// What is recorded.
pub(super) struct Frame<'a> {
    /// The device's functions.
    pub(super) device: &'a ash::Device,
    /// Where to.
    pub(super) commands: vk::CommandBuffer,
    /// Onto what.
    pub(super) canvas: Canvas,
    /// What to do.
    pub(super) plan: &'a Plan,
    /// The compiled ways to draw.
    pub(super) pipelines: &'a Pipelines,
    /// Their layout.
    pub(super) layout: vk::PipelineLayout,
    /// The plan's instances.
    pub(super) instances: vk::Buffer,
    /// Clients' images that it reads, each once.
    pub(super) foreign: &'a [vk::Image],
    /// The family of the queue that reads them.
    pub(super) family: u32,
}

impl Frame<'_> {
    /// Records all of it, counting into `costs`.
    pub(super) fn record(
        &self,
        uploads: &mut Uploads,
        texel_bytes: impl Fn(TextureId) -> u64,
        batch: &mut Batch,
        costs: &mut Counters,
    ) {
        let copies = !uploads.list().is_empty() || !self.plan.runs().is_empty();
        let renders = self.plan.renders();
        let acquired = self.copies_foreign();
        if acquired {
            self.acquire_foreign(batch);
        }
        let mut layout = self.open(uploads, batch, costs);
        costs.staging_gpu_bytes += uploads.record(self.device, self.commands, texel_bytes);
        self.transfer(costs);
        if renders {
            if !acquired {
                self.acquire_foreign(batch);
            }
            layout = self.before(copies, layout, batch, costs);
            self.render(layout, costs);
        }
        self.after(copies, renders, layout, batch, costs);
    }

    /// First layouts, and a window's image for copies. Returns the target's layout afterwards.
    fn open(&self, uploads: &Uploads, batch: &mut Batch, costs: &mut Counters) -> vk::ImageLayout {
        let Canvas { image, layout, window, .. } = self.canvas;
        let mut setup = uploads.open(batch);
        let mut now = layout;
        if window && !self.plan.runs().is_empty() {
            now = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
            batch.image(image, (barrier::COPIED_FROM, layout), (barrier::COPIES, now));
        } else if !window && layout == vk::ImageLayout::UNDEFINED {
            setup = true;
            now = vk::ImageLayout::GENERAL;
            batch.image(image, (barrier::NOTHING, layout), (barrier::PAINTS, now));
        }
        let recorded = u64::from(batch.record(self.device, self.commands));
        costs.barrier_calls += recorded;
        costs.setup_barrier_calls += if setup { recorded } else { 0 };
        now
    }

    /// Whether a client's image is copied from, so that all of them are acquired before the copies.
    fn copies_foreign(&self) -> bool {
        let is_foreign = |source| matches!(source, Source::Texture(image) if self.foreign.contains(&image));
        self.plan.runs().iter().any(|run| is_foreign(run.source))
    }

    fn acquire_foreign(&self, batch: &mut Batch) {
        self.foreign.iter().for_each(|&image| batch.acquire(image, self.family));
    }

    /// Copies from staging memory and from textures to the target.
    fn transfer(&self, costs: &mut Counters) {
        let to = match self.canvas.window {
            true => vk::ImageLayout::TRANSFER_DST_OPTIMAL,
            false => vk::ImageLayout::GENERAL,
        };
        for run in self.plan.runs() {
            let regions = run.first..run.first + run.count;
            match run.source {
                Source::Staged(buffer) => {
                    let info = vk::CopyBufferToImageInfo2::default()
                        .src_buffer(buffer)
                        .dst_image(self.canvas.image)
                        .dst_image_layout(to)
                        .regions(&self.plan.buffer_copies()[regions]);
                    // SAFETY: both are alive; the rectangles are inside the staged one and inside the target
                    // (`domain::visibility`); the target is in this layout (`open`); no two copies overlap.
                    unsafe { self.device.cmd_copy_buffer_to_image2(self.commands, &info) };
                }
                Source::Texture(image) => {
                    let info = vk::CopyImageInfo2::default()
                        .src_image(image)
                        .src_image_layout(vk::ImageLayout::GENERAL)
                        .dst_image(self.canvas.image)
                        .dst_image_layout(to)
                        .regions(&self.plan.image_copies()[regions]);
                    // SAFETY: as above; the source is inside the texture (`plan::means`) and of the target's format;
                    // texels that arrive with this very submission are not read from it (`Plan::transfer`).
                    unsafe { self.device.cmd_copy_image2(self.commands, &info) };
                }
            }
        }
        costs.transfers += self.plan.transfer_count();
    }

    /// Copies before rendering, and a window's image for rendering. Returns the target's layout afterwards.
    fn before(
        &self,
        copies: bool,
        layout: vk::ImageLayout,
        batch: &mut Batch,
        costs: &mut Counters,
    ) -> vk::ImageLayout {
        let mut now = layout;
        if copies {
            batch.memory(barrier::COPIED, barrier::SAMPLES);
            if !self.plan.runs().is_empty() {
                batch.memory(barrier::COPIED, barrier::RENDERS);
            }
        }
        if self.canvas.window {
            now = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
            batch.image(self.canvas.image, (barrier::ACQUIRED, layout), (barrier::RENDERS, now));
        }
        costs.barrier_calls += u64::from(batch.record(self.device, self.commands));
        now
    }

    fn render(&self, layout: vk::ImageLayout, costs: &mut Counters) {
        let Canvas { view, size, .. } = self.canvas;
        let area = self.plan.render_area();
        let (load, clear) = match self.plan.load() {
            Load::Keep => (vk::AttachmentLoadOp::LOAD, Color::BLACK),
            Load::Discard => (vk::AttachmentLoadOp::DONT_CARE, Color::BLACK),
            Load::Clear(color) => (vk::AttachmentLoadOp::CLEAR, color),
        };
        let area = vk::Rect2D { offset: vk::Offset2D { x: area.x, y: area.y }, extent: extent(area.size()) };
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(view)
            .image_layout(layout)
            .load_op(load)
            .store_op(vk::AttachmentStoreOp::STORE)
            .clear_value(clear_value(clear))];
        let info = vk::RenderingInfo::default().render_area(area).layer_count(1).color_attachments(&attachments);
        let viewport =
            vk::Viewport { width: size.w as f32, height: size.h as f32, max_depth: 1.0, ..Default::default() };
        let scale = [2.0 / size.w as f32, 2.0 / size.h as f32].map(f32::to_ne_bytes);
        // SAFETY: the view is alive, in `layout`, and of the pipelines' format; the area is inside it; the instances
        // were written for this plan.
        unsafe {
            self.device.cmd_begin_rendering(self.commands, &info);
            self.device.cmd_set_viewport(self.commands, 0, &[viewport]);
            self.device.cmd_set_scissor(self.commands, 0, &[area]);
            self.device.cmd_bind_vertex_buffers(self.commands, 0, &[self.instances], &[0]);
            let stages = vk::ShaderStageFlags::VERTEX;
            self.device.cmd_push_constants(self.commands, self.layout, stages, 0, scale.as_flattened());
        }
        self.steps(costs);
        // SAFETY: rendering was begun above.
        unsafe { self.device.cmd_end_rendering(self.commands) };
    }

    fn steps(&self, costs: &mut Counters) {
        let (mut bound_way, mut bound_set) = (None, vk::DescriptorSet::null());
        for step in self.plan.steps() {
            costs.draws += 1;
            match *step {
                Step::Draw { way, set, first, count } => {
                    if bound_way != Some(way) {
                        let pipeline = self.pipelines.get(way);
                        let graphics = vk::PipelineBindPoint::GRAPHICS;
                        // SAFETY: the pipeline is alive and made for this target's format.
                        unsafe { self.device.cmd_bind_pipeline(self.commands, graphics, pipeline) };
                        bound_way = Some(way);
                    }
                    if bound_set != set && way.fill != Fill::Solid {
                        let graphics = vk::PipelineBindPoint::GRAPHICS;
                        // SAFETY: the set is alive, of the pipelines' layout, and its descriptors for these instances
                        // were written at import.
                        unsafe {
                            self.device.cmd_bind_descriptor_sets(self.commands, graphics, self.layout, 0, &[set], &[]);
                        }
                        bound_set = set;
                    }
                    // SAFETY: pipeline, set, vertex buffer, push constants and dynamic state are bound.
                    unsafe { self.device.cmd_draw(self.commands, 4, count, 0, first) };
                }
                Step::Clear { color, first, count } => {
                    let attachments = [vk::ClearAttachment {
                        aspect_mask: vk::ImageAspectFlags::COLOR,
                        color_attachment: 0,
                        clear_value: clear_value(color),
                    }];
                    let rects = &self.plan.clears()[first..first + count];
                    // SAFETY: inside rendering; the rectangles are inside the render area, which holds the damage.
                    unsafe { self.device.cmd_clear_attachments(self.commands, &attachments, rects) };
                }
            }
        }
    }

    /// All of it before the next frame; a window's image to the presentation engine.
    fn after(&self, copies: bool, renders: bool, layout: vk::ImageLayout, batch: &mut Batch, costs: &mut Counters) {
        if copies {
            batch.memory(barrier::COPIED, barrier::COPIES);
            batch.memory(barrier::COPIED, barrier::SAMPLES);
            batch.memory(barrier::COPIED, barrier::RENDERS);
        }
        if renders {
            batch.memory(barrier::SAMPLED, barrier::COPIES);
            if !self.canvas.window {
                batch.memory(barrier::RENDERED, barrier::COPIES);
                batch.memory(barrier::RENDERED, barrier::RENDERS);
            }
        }
        self.foreign.iter().for_each(|&image| batch.release(image, self.family));
        let present = vk::ImageLayout::PRESENT_SRC_KHR;
        if self.canvas.window && layout != present {
            let first = match layout {
                vk::ImageLayout::TRANSFER_DST_OPTIMAL => barrier::COPIED,
                vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL => barrier::RENDERED,
                _ => barrier::ACQUIRED,
            };
            batch.image(self.canvas.image, (first, layout), (barrier::NOTHING, present));
        }
        costs.barrier_calls += u64::from(batch.record(self.device, self.commands));
    }
}

fn clear_value(color: Color) -> vk::ClearValue {
    vk::ClearValue { color: vk::ClearColorValue { float32: [color.r, color.g, color.b, color.a] } }
}
