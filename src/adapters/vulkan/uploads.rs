//! Staged copies that wait for the next submission, and the images that it must first give a layout.
//!
//! Invariant: no two waiting copies write the same texel, so they need no order among themselves.

use ash::vk;

use super::barrier::{self, Batch};
use super::buffer::Buffer;
use super::image::LAYER;
use crate::domain::buffer::TextureId;
use crate::domain::geometry::Rect;

/// One rectangle on its way from staging memory to its texture.
#[derive(Clone, Copy)]
pub(super) struct Upload {
    /// The texture.
    pub(super) texture: TextureId,
    /// Its image, not owned.
    pub(super) image: vk::Image,
    /// Where its texels are staged, rows without padding. Not owned.
    pub(super) buffer: vk::Buffer,
    /// From the buffer's start.
    pub(super) offset: u64,
    /// Texels of the texture.
    pub(super) rect: Rect,
}

impl Upload {
    /// As Vulkan wants it, for a `part` of the rectangle whose corner goes to (`x`, `y`) of an image.
    pub(super) fn region(&self, part: Rect, texel_bytes: u64, x: i32, y: i32) -> vk::BufferImageCopy2<'static> {
        let skipped = (part.y - self.rect.y) as u64 * self.rect.w as u64 + (part.x - self.rect.x) as u64;
        vk::BufferImageCopy2 {
            buffer_offset: self.offset + skipped * texel_bytes,
            buffer_row_length: self.rect.w as u32,
            image_subresource: LAYER,
            image_offset: vk::Offset3D { x, y, z: 0 },
            image_extent: vk::Extent3D { width: part.w as u32, height: part.h as u32, depth: 1 },
            ..Default::default()
        }
    }
}

/// Copies that there is storage for from the start.
const START_ROOM: usize = 256;

/// What waits. Storage is kept.
pub(super) struct Uploads {
    list: Vec<Upload>,
    fresh: Vec<(TextureId, vk::Image)>,
    buffers: Vec<Buffer>,
    bytes: u64,
    regions: Vec<vk::BufferImageCopy2<'static>>,
}

impl Uploads {
    /// Nothing waits.
    pub(super) fn new() -> Self {
        Self {
            list: Vec::with_capacity(START_ROOM),
            fresh: Vec::with_capacity(START_ROOM),
            buffers: Vec::new(),
            bytes: 0,
            regions: Vec::with_capacity(START_ROOM),
        }
    }

    /// The copies, those of one texture next to each other where they came in one update.
    pub(super) fn list(&self) -> &[Upload] {
        &self.list
    }

    /// Whether there is anything to record.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.fresh.is_empty()
    }

    /// Staged bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a copy of `bytes` staged bytes.
    pub(super) fn push(&mut self, upload: Upload, bytes: u64) {
        self.list.push(upload);
        self.bytes += bytes;
    }

    /// Adds an image that has no layout yet.
    pub(super) fn push_fresh(&mut self, texture: TextureId, image: vk::Image) {
        self.fresh.push((texture, image));
    }

    /// Keeps a staging buffer until the waiting copies are submitted.
    pub(super) fn keep(&mut self, buffer: Buffer) {
        self.buffers.push(buffer);
    }

    /// Forgets the texture's copies that `condemned` holds for; tells how many there were.
    pub(super) fn cancel(&mut self, texture: TextureId, condemned: impl Fn(Rect) -> bool) -> u32 {
        let before = self.list.len();
        self.list.retain(|upload| upload.texture != texture || !condemned(upload.rect));
        (before - self.list.len()) as u32
    }

    /// Forgets everything about a texture.
    pub(super) fn forget(&mut self, texture: TextureId) {
        self.cancel(texture, |_| true);
        self.fresh.retain(|(id, _)| *id != texture);
    }

    /// Puts the layouts that copies need into `batch`; tells whether there are any.
    pub(super) fn open(&self, batch: &mut Batch) -> bool {
        for &(_, image) in &self.fresh {
            let (old, new) = (vk::ImageLayout::UNDEFINED, vk::ImageLayout::GENERAL);
            batch.image(image, (barrier::NOTHING, old), (barrier::COPIES, new));
        }
        !self.fresh.is_empty()
    }

    /// Records the copies; `texel_bytes` tells those of a texture. Returns the bytes that they move.
    pub(super) fn record(
        &mut self,
        device: &ash::Device,
        commands: vk::CommandBuffer,
        texel_bytes: impl Fn(TextureId) -> u64,
    ) -> u64 {
        let mut bytes = 0;
        for run in self.list.chunk_by(|a, b| a.image == b.image && a.buffer == b.buffer) {
            let Some(first) = run.first() else { continue };
            let texel_bytes = texel_bytes(first.texture);
            self.regions.clear();
            for upload in run {
                bytes += upload.rect.size().area() * texel_bytes;
                self.regions.push(upload.region(upload.rect, texel_bytes, upload.rect.x, upload.rect.y));
            }
            let info = vk::CopyBufferToImageInfo2::default()
                .src_buffer(first.buffer)
                .dst_image(first.image)
                .dst_image_layout(vk::ImageLayout::GENERAL)
                .regions(&self.regions);
            // SAFETY: buffer and image are alive and the rectangles inside both (`shm`); the image is in layout
            // GENERAL (`open`); no two copies overlap (the module's invariant).
            unsafe { device.cmd_copy_buffer_to_image2(commands, &info) };
        }
        bytes
    }

    /// The kept buffers that no waiting copy reads any more.
    pub(super) fn idle_buffers(&mut self) -> impl Iterator<Item = Buffer> + '_ {
        let idle = if self.list.is_empty() { self.buffers.len() } else { 0 };
        self.buffers.drain(..idle)
    }

    /// Everything was submitted: starts over; each texture that was written and each buffer that was kept is told.
    pub(super) fn submitted(&mut self, mut texture: impl FnMut(TextureId), mut buffer: impl FnMut(Buffer)) {
        self.list.drain(..).for_each(|upload| texture(upload.texture));
        self.fresh.drain(..).for_each(|(id, _)| texture(id));
        self.buffers.drain(..).for_each(&mut buffer);
        self.bytes = 0;
    }
}
