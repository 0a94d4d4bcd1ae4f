//! wl_shm pools into textures: the upload tiers `host-copy` and `staging`.
//!
//! - `host-copy`: the CPU writes the damaged rectangles into the image. The device must not be reading it meanwhile, so
//!   while a frame in flight uses the texture, or staged copies wait for it, that update goes through `staging`.
//! - `staging`: the CPU copies the damaged rectangles into the ring, the next submission copies them into the image.
//!
//! Both are counted by tier. An update happens as a whole or not at all, except that a pool whose file proved too short
//! may have left zeros in the damaged part (`host-copy` only).

use std::ops::Range;
use std::ptr::NonNull;

use ash::vk;

use super::image::{Image, LAYER};
use super::retire::DeferredFree;
use super::staging::{self, MAX_BYTES};
use super::texture::Texture;
use super::uploads::Upload;
use super::{CallError, Vulkan, barrier, submit};
use crate::domain::buffer::{ShmLayout, TextureId};
use crate::domain::frame::FrameSerial;
use crate::domain::geometry::Rect;
use crate::domain::region::Region;
use crate::ports::pool::{PoolError, ShmBuffer};
use crate::ports::renderer::ImportError;

/// Past so many damaged rectangles their hull is uploaded.
const MAX_RECTS: usize = 64;
/// Staged bytes that may wait for a frame before they are submitted without one.
const MAX_WAITING_BYTES: u64 = 64 << 20;

/// What an update is made of: the damaged rectangles, and scratch for their copies. Storage is kept.
pub(super) struct Scratch {
    damage: Region,
    regions: Vec<vk::MemoryToImageCopyEXT<'static>>,
}

impl Scratch {
    /// With storage for as many rectangles as are uploaded one by one.
    pub(super) fn new() -> Self {
        Self { damage: Region::with_capacity(MAX_RECTS * 4), regions: Vec::with_capacity(MAX_RECTS * 4) }
    }
}

impl Vulkan {
    pub(super) fn import(&mut self, buffer: &ShmBuffer) -> Result<TextureId, ImportError> {
        let layout = &buffer.layout;
        let size = layout.size();
        let known = self.formats.iter().find(|format| format.fourcc == layout.format());
        let format = *known
            .ok_or_else(|| ImportError::Unsupported { reason: format!("it cannot sample {}", layout.format()) })?;
        let max = self.capabilities.max_texture_side;
        if size.w as u32 > max || size.h as u32 > max {
            let reason = format!("{}x{} is more than {max} texels a side", size.w, size.h);
            return Err(ImportError::Unsupported { reason });
        }
        let usage = format.usage(self.device.host_copy().is_some());
        let texel = format.texel;
        let image = Image::new(&self.device, &self.memory, size, texel.format, texel.swizzle, usage, "texture")
            .map_err(|error| error.into_import("device memory"))?;
        let slot = self.descriptors.take(image.view()).map_err(|error| error.into_import("descriptors"))?;
        let raw = image.raw();
        let texture = Texture {
            image,
            slot,
            size,
            format,
            last_used: FrameSerial(0),
            staged: 0,
            acquire: None,
            foreign: None,
            met: FrameSerial(0),
        };
        self.texture_bytes += texture.image.bytes();
        let id = TextureId(self.textures.insert(texture));
        let filled = self.prepare(id, raw).and_then(|()| self.update(id, buffer, &[Rect::from_size(size)]));
        if let Err(error) = filled {
            self.forget_texture(id);
            return Err(error);
        }
        Ok(id)
    }

    /// Gives a new image its layout: at once where the CPU can, else with the next submission.
    fn prepare(&mut self, id: TextureId, image: vk::Image) -> Result<(), ImportError> {
        let host = self.device.host_copy().filter(|_| self.textures.get(id.0).is_some_and(|t| t.format.host_writable));
        let Some(host) = host else {
            self.uploads.push_fresh(id, image);
            return Ok(());
        };
        let transition = vk::HostImageLayoutTransitionInfoEXT::default()
            .image(image)
            .old_layout(vk::ImageLayout::UNDEFINED)
            .new_layout(vk::ImageLayout::GENERAL)
            .subresource_range(super::image::WHOLE);
        // SAFETY: the image is new, has HOST_TRANSFER usage (`Format::usage`) and is used by nobody; `gpu` checked that
        // GENERAL is among the layouts for host copies.
        let done = unsafe { host.transition_image_layout(&[transition]) };
        self.device.check("vkTransitionImageLayoutEXT", done).map_err(|error| error.into_import("host memory"))
    }

    pub(super) fn update(&mut self, id: TextureId, buffer: &ShmBuffer, damage: &[Rect]) -> Result<(), ImportError> {
        let texture = self.textures.get(id.0).ok_or(ImportError::Unknown(id))?;
        if texture.foreign.is_some()
            || texture.size != buffer.layout.size()
            || texture.format.fourcc != buffer.layout.format()
        {
            return Err(ImportError::Incompatible);
        }
        let whole = Rect::from_size(texture.size);
        self.scratch.damage.clear();
        for rect in damage.iter().filter_map(|rect| rect.intersection(whole)) {
            self.scratch.damage.add(rect);
            self.scratch.damage.limit(MAX_RECTS);
        }
        if self.scratch.damage.is_empty() {
            return Ok(());
        }
        let (last_used, staged, host) = (texture.last_used, texture.staged, texture.format.host_writable);
        let idle = staged == 0 && last_used <= self.poll().map_err(|error| error.into_import("host memory"))?;
        if host && idle && self.device.host_copy().is_some() {
            self.update_from_host(id, buffer)
        } else {
            self.update_staged(id, buffer)
        }
    }

    fn update_from_host(&mut self, id: TextureId, buffer: &ShmBuffer) -> Result<(), ImportError> {
        let texture = self.textures.get(id.0).ok_or(ImportError::Unknown(id))?;
        let Some(host) = self.device.host_copy() else { return Err(ImportError::Unknown(id)) };
        let layout = &buffer.layout;
        let (image, texel_bytes) = (texture.image.raw(), layout.texel_bytes());
        let Scratch { damage, regions } = &mut self.scratch;
        let range = bytes_of(layout, damage.bounds());
        let mut copied = Ok(());
        buffer.pool.read(range.clone(), &mut |first| {
            regions.clear();
            regions.extend(damage.rects().iter().map(|&rect| {
                // SAFETY: the rectangle is inside the bounds whose bytes `range` holds, so the offset is inside what
                // the pool shows.
                let from = unsafe { first.add(bytes_of(layout, rect).start - range.start) };
                vk::MemoryToImageCopyEXT {
                    p_host_pointer: from.cast(),
                    memory_row_length: (layout.stride() / texel_bytes) as u32,
                    image_subresource: LAYER,
                    image_offset: vk::Offset3D { x: rect.x, y: rect.y, z: 0 },
                    image_extent: vk::Extent3D { width: rect.w as u32, height: rect.h as u32, depth: 1 },
                    ..Default::default()
                }
            }));
            let info = vk::CopyMemoryToImageInfoEXT::default()
                .dst_image(image)
                .dst_image_layout(vk::ImageLayout::GENERAL)
                .regions(regions);
            // SAFETY: the image has HOST_TRANSFER usage, is in layout GENERAL (`prepare`) and no submission in flight
            // uses it (`update`); each region's rows are inside the guarded range, which is whole texels by
            // `ShmLayout`; a client that writes meanwhile only spoils its own picture.
            copied = unsafe { host.copy_memory_to_image(&info) };
        })?;
        self.device.check("vkCopyMemoryToImageEXT", copied).map_err(|error| error.into_import("host memory"))?;
        self.costs.host_copy_cpu_bytes += damage.area() * texel_bytes as u64;
        Ok(())
    }

    fn update_staged(&mut self, id: TextureId, buffer: &ShmBuffer) -> Result<(), ImportError> {
        self.settle_overlap(id)?;
        let layout = &buffer.layout;
        let texel_bytes = layout.texel_bytes() as u64;
        // Offsets are multiples of a texel, and of 16 for the CPU's sake.
        let alignment = if texel_bytes == 3 { 48 } else { 16 };
        let padded = |rect: &Rect| (rect.size().area() * texel_bytes).next_multiple_of(alignment);
        let bytes: u64 = self.scratch.damage.rects().iter().map(padded).sum();
        let room = self.room(bytes, alignment)?;
        let read = stage(buffer, &self.scratch.damage, room.address, padded);
        if let Err(error) = read {
            self.staging.rewind(room.buffer, room.head);
            return Err(error.into());
        }
        let damage = &self.scratch.damage;
        let Some(texture) = self.textures.get_mut(id.0) else { return Err(ImportError::Unknown(id)) };
        texture.staged -= self.uploads.cancel(id, |rect| damage.contains_rect(rect));
        let mut offset = room.offset;
        for rect in damage.rects() {
            let image = texture.image.raw();
            self.uploads.push(Upload { texture: id, image, buffer: room.buffer, offset, rect: *rect }, padded(rect));
            texture.staged += 1;
            offset += padded(rect);
        }
        self.costs.staging_cpu_bytes += damage.area() * texel_bytes;
        if self.uploads.bytes() > MAX_WAITING_BYTES || bytes > MAX_BYTES / 2 {
            // Nothing renders, or a buffer of its own should not stay long. Where this fails, it goes with a frame.
            self.flush().or_else(|error| {
                if self.device.is_lost() {
                    Err(ImportError::DeviceLost)
                } else {
                    tracing::debug!("staged copies wait for a frame: {error}");
                    Ok(())
                }
            })?;
        }
        Ok(())
    }

    /// Submits the waiting copies if some of them overlap the damage without being covered by it: those that are covered
    /// are replaced, those that do not touch it do not matter.
    fn settle_overlap(&mut self, id: TextureId) -> Result<(), ImportError> {
        let damage = &self.scratch.damage;
        let staged = self.textures.get(id.0).is_some_and(|texture| texture.staged > 0);
        let overlaps = |u: &Upload| u.texture == id && damage.overlaps(u.rect) && !damage.contains_rect(u.rect);
        if staged && self.uploads.list().iter().any(overlaps) {
            self.flush().map_err(|error| error.into_import("command buffers"))?;
        }
        Ok(())
    }

    /// Room in the ring, in a larger ring, or in a buffer of its own.
    fn room(&mut self, bytes: u64, alignment: u64) -> Result<Placed, ImportError> {
        const WHAT: &str = "staging memory";
        if bytes > MAX_BYTES / 2 {
            let buffer = staging::create(&self.device, bytes).map_err(|error| error.into_import(WHAT))?;
            let placed = Placed { buffer: buffer.raw(), offset: 0, address: buffer.address(), head: 0 };
            self.uploads.keep(buffer);
            return Ok(placed);
        }
        for attempt in 0..3 {
            let head = self.staging.head();
            if let Some(room) = self.staging.reserve(bytes, alignment) {
                return Ok(Placed { buffer: room.buffer, offset: room.offset, address: room.address, head });
            }
            if attempt == 0 {
                self.poll().map_err(|error| error.into_import(WHAT))?;
            } else if attempt == 1 {
                match self.staging.grow(bytes).map_err(|error| error.into_import(WHAT))? {
                    Some(old) => self.uploads.keep(old),
                    // At the limit: let the device have what waits, so that there is room for the next frame.
                    None => self.flush().map_err(|error| error.into_import(WHAT))?,
                }
            }
        }
        Err(ImportError::Exhausted { what: WHAT, source: None })
    }

    /// Submits the waiting copies without a frame.
    pub(super) fn flush(&mut self) -> Result<(), CallError> {
        if self.uploads.is_empty() {
            return Ok(());
        }
        self.poll()?;
        let Some((at, commands)) = self.submitter.begin_other()? else {
            return Err(submit::TOO_MANY);
        };
        let raw = self.device.raw();
        self.uploads.open(&mut self.batch);
        self.costs.setup_barrier_calls += u64::from(self.batch.record(raw, commands));
        let moved = self.uploads.record(raw, commands, |id| texel_bytes(&self.textures, id));
        self.batch.memory(barrier::COPIED, barrier::SAMPLES);
        self.batch.memory(barrier::COPIED, barrier::COPIES);
        self.batch.record(raw, commands);
        // SAFETY: the command buffer is being recorded.
        let ended = unsafe { raw.end_command_buffer(commands) };
        self.device.check("vkEndCommandBuffer", ended)?;
        let serial = self.submitter.submit_other(at)?;
        self.costs.staging_gpu_bytes += moved;
        self.uploaded(serial);
        Ok(())
    }

    /// The waiting copies were submitted as a part of `serial`.
    pub(super) fn uploaded(&mut self, serial: FrameSerial) {
        let (textures, retired) = (&mut self.textures, &mut self.retired);
        self.uploads.submitted(
            |id| {
                if let Some(texture) = textures.get_mut(id.0) {
                    texture.last_used = serial;
                    texture.staged = 0;
                }
            },
            |buffer| retired.retire(serial, DeferredFree::Buffer(buffer)),
        );
        self.staging.mark(serial);
    }

    pub(super) fn forget_texture(&mut self, id: TextureId) {
        let Some(texture) = self.textures.remove(id.0) else { return };
        self.uploads.forget(id);
        let Texture { image, slot, last_used, acquire, .. } = texture;
        if let Some(acquire) = acquire {
            self.forget_acquire(acquire);
        }
        self.texture_bytes -= image.bytes();
        if last_used <= self.submitter.completed() {
            self.descriptors.give(slot);
        } else {
            self.retired_textures += 1;
            self.retired_bytes += image.bytes();
            self.retired.retire(last_used, DeferredFree::Texture { image, slot });
        }
        self.shrink_staging();
    }

    /// A ring much larger than all textures together is no longer needed.
    fn shrink_staging(&mut self) {
        let ring = self.staging.bytes();
        if ring <= staging::START_BYTES || ring / 4 < self.texture_bytes {
            return;
        }
        match self.staging.replace(staging::START_BYTES) {
            Ok(old) if self.uploads.is_empty() => {
                self.retired.retire(self.submitter.submitted(), DeferredFree::Buffer(old));
            }
            Ok(old) => self.uploads.keep(old),
            Err(error) => tracing::debug!("keeping the staging ring: {error}"),
        }
    }
}

/// Where an update is staged.
struct Placed {
    buffer: vk::Buffer,
    offset: u64,
    address: NonNull<u8>,
    head: u64,
}

/// Bytes of the texture's texels.
pub(super) fn texel_bytes(textures: &super::slab::Slab<Texture>, id: TextureId) -> u64 {
    let info = textures.get(id.0).and_then(|texture| texture.format.fourcc.info());
    info.map_or(4, |info| u64::from(info.texel_bytes))
}

/// The pool's bytes from the rectangle's first texel to its last. The rectangle is inside the buffer, not empty.
fn bytes_of(layout: &ShmLayout, rect: Rect) -> Range<usize> {
    let texel = layout.texel_bytes();
    let start = layout.offset() + rect.y as usize * layout.stride() + rect.x as usize * texel;
    start..start + (rect.h as usize - 1) * layout.stride() + rect.w as usize * texel
}

/// Copies the damaged rectangles' rows to `to`, without the stride's padding, each rectangle `padded` bytes after the
/// one before.
fn stage(buffer: &ShmBuffer, damage: &Region, to: NonNull<u8>, padded: impl Fn(&Rect) -> u64) -> Result<(), PoolError> {
    let layout = &buffer.layout;
    let range = bytes_of(layout, damage.bounds());
    buffer.pool.read(range.clone(), &mut |first| {
        let mut to = to.as_ptr();
        for &rect in damage.rects() {
            let row = rect.w as usize * layout.texel_bytes();
            let (rows, bytes) =
                if row == layout.stride() { (1, row * rect.h as usize) } else { (rect.h as usize, row) };
            let start = bytes_of(layout, rect).start - range.start;
            for y in 0..rows {
                // SAFETY: the source is inside the guarded range (the rectangle is inside the bounds it was computed
                // from), the destination inside the room that was reserved for the sum of all `padded`, which no
                // submission in flight reads; they are different mappings. The client may write meanwhile: bytes have
                // no invalid values, and nothing is decided by them.
                unsafe {
                    let from = first.add(start + y * layout.stride());
                    std::ptr::copy_nonoverlapping(from, to.add(y * bytes), bytes);
                }
            }
            // SAFETY: still inside the room, or at its end.
            to = unsafe { to.add(padded(&rect) as usize) };
        }
    })
}
