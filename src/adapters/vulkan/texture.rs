//! Textures: what a client's pixels become.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use arrayvec::ArrayVec;
use ash::vk;

use super::descriptor::Slot;
use super::format::{self, Texel};
use super::gpu::{Gpu, TARGET_FORMAT};
use super::image::Image;
use super::instance::Instance;
use super::sync::Acquire;
use crate::domain::buffer::BufferId;
use crate::domain::dmabuf::MAX_PLANES;
use crate::domain::format::Fourcc;
use crate::domain::frame::FrameSerial;
use crate::domain::geometry::Size;

/// A texture.
pub(super) struct Texture {
    /// Image, view and memory.
    pub(super) image: Image,
    /// Where shaders find it.
    pub(super) slot: Slot,
    /// Texels.
    pub(super) size: Size,
    /// How they are read.
    pub(super) format: Format,
    /// The last submission that reads or writes it.
    pub(super) last_used: FrameSerial,
    /// Staged copies that are not submitted yet.
    pub(super) staged: u32,
    /// What the next frame that reads it waits for.
    pub(super) acquire: Option<Acquire>,
    /// A client's own image: acquired and released by each frame.
    pub(super) foreign: Option<Foreign>,
    /// The submission that acquires it, so that it does so once.
    pub(super) met: FrameSerial,
}

/// Whose image a texture is.
pub(super) struct Foreign {
    /// The client's buffer.
    pub(super) buffer: BufferId,
    /// Its dma-bufs, each once.
    pub(super) fds: ArrayVec<Arc<OwnedFd>, MAX_PLANES>,
}

/// How the device handles a DRM format.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// The DRM format.
    pub(super) fourcc: Fourcc,
    /// The Vulkan format and swizzle.
    pub(super) texel: Texel,
    /// Texels may be translucent.
    pub(super) has_alpha: bool,
    /// The CPU may write such images.
    pub(super) host_writable: bool,
    /// Texels are bit for bit what a target holds.
    pub(super) like_target: bool,
}

impl Format {
    /// What such textures' images are used for.
    pub(super) fn usage(&self, host_copy: bool) -> vk::ImageUsageFlags {
        use vk::ImageUsageFlags as Usage;
        let mut usage = Usage::SAMPLED | Usage::TRANSFER_DST;
        if self.like_target {
            usage |= Usage::TRANSFER_SRC;
        }
        if host_copy && self.host_writable {
            usage |= Usage::HOST_TRANSFER_EXT;
        }
        usage
    }
}

/// Every format that the device can sample, in the order of `formats`.
pub(super) fn formats(instance: &Instance, gpu: &Gpu, formats: &[Fourcc]) -> Vec<Format> {
    let one = |&fourcc: &Fourcc| {
        let texel = format::texel(instance, gpu.raw, fourcc, gpu.a4r4g4b4)?;
        let swizzle = texel.swizzle;
        Some(Format {
            fourcc,
            texel,
            has_alpha: fourcc.info()?.has_alpha(),
            host_writable: format::is_host_writable(instance, gpu.raw, texel.format),
            like_target: texel.format == TARGET_FORMAT
                && swizzle.r == vk::ComponentSwizzle::R
                && swizzle.b == vk::ComponentSwizzle::B,
        })
    };
    formats.iter().filter_map(one).collect()
}
