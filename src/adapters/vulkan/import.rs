//! Client dma-bufs as textures: imported once, sampled in place.
//!
//! ```text
//! pairs          which formats and modifiers the device samples, asked once
//! import_dmabuf  checks what the driver would trust ─▶ image (explicit layout) ─▶ memory, one for each dma-buf ─▶ view
//! ```
//!
//! Between frames such an image belongs to its client's device (VK_QUEUE_FAMILY_FOREIGN_EXT): `barrier` acquires it
//! before a frame's first use and releases it after the last. Content is there from the start, so the first acquire is
//! from layout GENERAL, never from UNDEFINED.
//!
//! With VK_EXT_image_drm_format_modifier a layout is given as the client gave it. Without (a software driver on a kernel
//! without udmabuf) images are linear, and the stride must be the one that the driver would have chosen itself.
//!
//! A descriptor goes to the driver only with a successful allocation; until then, and on every failure, it stays ours.

use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

use arrayvec::ArrayVec;
use ash::vk;
use nix::unistd::{Whence, lseek};

use super::format::{self, Texel};
use super::gpu::TARGET_FORMAT;
use super::image::{Image, create_view, extent};
use super::instance::Instance;
use super::memory::Imported;
use super::owned::Owned;
use super::texture::{Foreign, Format, Texture};
use super::{CallError, Vulkan};
use crate::domain::buffer::{BufferId, TextureId};
use crate::domain::dmabuf::{Layout, MAX_PLANES, Modifier, Pair};
use crate::domain::format::{FormatInfo, TABLE};
use crate::domain::frame::FrameSerial;
use crate::ports::renderer::{Dmabuf, ImportError};

const DMA_BUF: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT;
/// What a client's image is used for, beside being copied to a target where it can be.
const USAGE: vk::ImageUsageFlags = vk::ImageUsageFlags::SAMPLED;

/// What the device samples of a format under a modifier.
#[derive(Clone, Copy)]
pub(super) struct Sampled {
    /// As the outside knows it.
    pub(super) pair: Pair,
    /// The Vulkan format and swizzle.
    texel: Texel,
    /// It may be copied to a target.
    copied: bool,
    /// The driver wants memory for this image alone.
    dedicated: bool,
    /// Planes may have memory of their own.
    disjoint: bool,
}

/// Everything that the device samples from dma-bufs; empty where it imports none. `modifiers`: it knows them.
pub(super) fn sampled(instance: &Instance, gpu: vk::PhysicalDevice, software: bool, modifiers: bool) -> Vec<Sampled> {
    TABLE.iter().flat_map(|info| of_format(instance, gpu, info, software, modifiers)).collect()
}

fn of_format(
    instance: &Instance,
    gpu: vk::PhysicalDevice,
    info: &FormatInfo,
    software: bool,
    modifiers: bool,
) -> Vec<Sampled> {
    let Some(texel) = format::texel(instance, gpu, info.fourcc, true) else { return Vec::new() };
    let mut found = Vec::new();
    if modifiers {
        for one in format::modifiers(instance, gpu, texel.format) {
            let modifier = Modifier(one.drm_format_modifier);
            found.extend(ask(instance, gpu, info, texel, modifier, one.drm_format_modifier_plane_count, Some(&one)));
        }
    } else {
        found.extend(ask(instance, gpu, info, texel, Modifier::LINEAR, 1, None));
    }
    // What a software driver is given without a modifier was written by a CPU: it is linear.
    let linear = found.iter().find(|sampled| sampled.pair.modifier == Modifier::LINEAR && software).copied();
    found.extend(
        linear.map(|sampled| Sampled { pair: Pair { modifier: Modifier::INVALID, ..sampled.pair }, ..sampled }),
    );
    found
}

/// What the device does with images of a format under a modifier; `None` where it does not sample them.
fn ask(
    instance: &Instance,
    gpu: vk::PhysicalDevice,
    info: &FormatInfo,
    texel: Texel,
    modifier: Modifier,
    planes: u32,
    known: Option<&vk::DrmFormatModifierPropertiesEXT>,
) -> Option<Sampled> {
    use vk::FormatFeatureFlags as Can;
    let features = match known {
        Some(known) => known.drm_format_modifier_tiling_features,
        None => format::linear_features(instance, gpu, texel.format),
    };
    if !features.contains(Can::SAMPLED_IMAGE | Can::SAMPLED_IMAGE_FILTER_LINEAR) || planes as usize > MAX_PLANES {
        return None;
    }
    let copied = texel.format == TARGET_FORMAT && features.contains(Can::TRANSFER_SRC) && texel.is_straight();
    let usage = if copied { USAGE | vk::ImageUsageFlags::TRANSFER_SRC } else { USAGE };
    let mut explicit = vk::PhysicalDeviceImageDrmFormatModifierInfoEXT::default()
        .drm_format_modifier(modifier.0)
        .sharing_mode(vk::SharingMode::EXCLUSIVE);
    let mut external = vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(DMA_BUF);
    let mut query = vk::PhysicalDeviceImageFormatInfo2::default()
        .format(texel.format)
        .ty(vk::ImageType::TYPE_2D)
        .tiling(tiling(known.is_some()))
        .usage(usage)
        .push_next(&mut external);
    if known.is_some() {
        query = query.push_next(&mut explicit);
    }
    let mut answer = vk::ExternalImageFormatProperties::default();
    let mut properties = vk::ImageFormatProperties2::default().push_next(&mut answer);
    // SAFETY: the physical device is the instance's; the caller looked for the extensions of the structures in the chain.
    unsafe { instance.raw().get_physical_device_image_format_properties2(gpu, &query, &mut properties) }.ok()?;
    let external = answer.external_memory_properties;
    if !external.external_memory_features.contains(vk::ExternalMemoryFeatureFlags::IMPORTABLE) {
        return None;
    }
    Some(Sampled {
        pair: Pair { format: info.fourcc, modifier, planes: planes as u8 },
        texel,
        copied,
        dedicated: external.external_memory_features.contains(vk::ExternalMemoryFeatureFlags::DEDICATED_ONLY),
        disjoint: features.contains(Can::DISJOINT),
    })
}

fn tiling(modifiers: bool) -> vk::ImageTiling {
    if modifiers { vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT } else { vk::ImageTiling::LINEAR }
}

fn unsupported(reason: impl Into<String>) -> ImportError {
    ImportError::Unsupported { reason: reason.into() }
}

impl Vulkan {
    pub(super) fn import_client_image(&mut self, buffer: &Dmabuf, id: BufferId) -> Result<TextureId, ImportError> {
        let layout = &buffer.layout;
        let (wanted, size) = ((layout.format(), layout.modifier()), layout.size());
        let known = self.device.gpu().sampled.iter().find(|s| (s.pair.format, s.pair.modifier) == wanted).copied();
        let known = known.filter(|_| self.device.external_memory().is_some());
        let sampled = known.ok_or_else(|| unsupported(format!("{} {} is not sampled here", wanted.0, wanted.1)))?;
        if layout.planes().len() != usize::from(sampled.pair.planes) || buffer.fds.len() != layout.planes().len() {
            return Err(unsupported(format!("{} planes", buffer.fds.len())));
        }
        let max = self.capabilities.max_texture_side;
        if size.w as u32 > max || size.h as u32 > max {
            return Err(unsupported(format!("{}x{} is more than {max} texels a side", size.w, size.h)));
        }
        let image = self.import_image(buffer, sampled)?;
        let slot = self.descriptors.take(image.view()).map_err(|error| error.into_import("descriptors"))?;
        let format = Format {
            fourcc: wanted.0,
            texel: sampled.texel,
            has_alpha: wanted.0.info().is_some_and(FormatInfo::has_alpha),
            host_writable: false,
            like_target: sampled.copied,
        };
        let foreign = Some(Foreign { buffer: id, fds: buffer.distinct_fds().cloned().collect() });
        let texture = Texture {
            image,
            slot,
            size,
            format,
            last_used: FrameSerial(0),
            staged: 0,
            acquire: None,
            foreign,
            met: FrameSerial(0),
        };
        self.texture_bytes += texture.image.bytes();
        Ok(TextureId(self.textures.insert(texture)))
    }

    fn import_image(&self, buffer: &Dmabuf, sampled: Sampled) -> Result<Image, ImportError> {
        const WHAT: &str = "memory for a client's image";
        let disjoint = buffer.is_disjoint();
        if disjoint && !sampled.disjoint {
            return Err(unsupported("its planes are in several dma-bufs"));
        }
        let raw = self.create_client_image(&buffer.layout, sampled, disjoint)?;
        let mut memory = Imported::default();
        for plane in 0..if disjoint { buffer.fds.len() } else { 1 } {
            let imported = self.import_memory(buffer, plane, raw.raw(), sampled, disjoint)?;
            memory.push(imported.0, imported.1);
        }
        self.bind(raw.raw(), &memory, &buffer.layout, disjoint).map_err(|error| error.into_import(WHAT))?;
        let view = create_view(&self.device, raw.raw(), sampled.texel.format, sampled.texel.swizzle, "client image");
        Ok(Image::imported(view.map_err(|error| error.into_import(WHAT))?, raw, memory))
    }

    fn create_client_image(
        &self,
        layout: &Layout,
        sampled: Sampled,
        disjoint: bool,
    ) -> Result<Owned<vk::Image>, ImportError> {
        let modifiers = self.device.gpu().modifiers.is_ok();
        let planes: ArrayVec<_, MAX_PLANES> = layout
            .planes()
            .iter()
            .map(|plane| {
                let (offset, row_pitch) = (u64::from(plane.offset), u64::from(plane.stride));
                vk::SubresourceLayout { offset, row_pitch, ..Default::default() }
            })
            .collect();
        // What has no modifier is offered where it is linear (`of_format`).
        let modifier = match layout.modifier() {
            Modifier::INVALID => Modifier::LINEAR,
            other => other,
        };
        let mut explicit = vk::ImageDrmFormatModifierExplicitCreateInfoEXT::default()
            .drm_format_modifier(modifier.0)
            .plane_layouts(&planes);
        let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(DMA_BUF);
        let usage = if sampled.copied { USAGE | vk::ImageUsageFlags::TRANSFER_SRC } else { USAGE };
        let flags = if disjoint { vk::ImageCreateFlags::DISJOINT } else { vk::ImageCreateFlags::empty() };
        let mut info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(vk::ImageType::TYPE_2D)
            .format(sampled.texel.format)
            .extent(extent(layout.size()).into())
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(tiling(modifiers))
            .usage(usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED)
            .push_next(&mut external);
        if modifiers {
            info = info.push_next(&mut explicit);
        }
        // SAFETY: the device said that it takes this format, usage, modifier and plane count (`ask`); the size is within
        // its limits (`import_client_image`); the layouts live across the call.
        let made = unsafe { self.device.raw().create_image(&info, Some(self.device.callbacks())) };
        let image = Owned::new(&self.device, "vkCreateImage", made).map_err(refused)?.named("client image");
        if !modifiers {
            self.check_linear(image.raw(), layout)?;
        }
        Ok(image)
    }

    /// Without modifiers the driver chooses the stride: it must be the client's.
    fn check_linear(&self, image: vk::Image, layout: &Layout) -> Result<(), ImportError> {
        let whole = vk::ImageSubresource { aspect_mask: vk::ImageAspectFlags::COLOR, ..Default::default() };
        // SAFETY: the image is alive and linear.
        let chosen = unsafe { self.device.raw().get_image_subresource_layout(image, whole) };
        match layout.planes() {
            [plane] if u64::from(plane.stride) == chosen.row_pitch && chosen.offset == 0 => Ok(()),
            [plane] => Err(unsupported(format!("stride {} (it takes {})", plane.stride, chosen.row_pitch))),
            _ => Err(unsupported("several planes")),
        }
    }

    /// The dma-buf of `plane` as memory for `image`, and its bytes.
    fn import_memory(
        &self,
        buffer: &Dmabuf,
        plane: usize,
        image: vk::Image,
        sampled: Sampled,
        disjoint: bool,
    ) -> Result<(Owned<vk::DeviceMemory>, u64), ImportError> {
        let device = &self.device;
        let Some(external) = device.external_memory() else { return Err(unsupported("dma-bufs")) };
        let gone = |error: nix::Error| unsupported(format!("plane {plane}: {error}"));
        let fd: OwnedFd = buffer.fds[plane]
            .try_clone()
            .map_err(|error| ImportError::Exhausted { what: "file descriptors", source: Some(Box::new(error)) })?;
        let size = lseek(fd.as_fd(), 0, Whence::SeekEnd).map_err(gone)?;
        let mut of_fd = vk::MemoryFdPropertiesKHR::default();
        // SAFETY: the descriptor is open and stays ours.
        let asked = unsafe { external.get_memory_fd_properties(DMA_BUF, fd.as_raw_fd(), &mut of_fd) };
        device.check("vkGetMemoryFdPropertiesKHR", asked).map_err(refused)?;
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut need = vk::MemoryRequirements2::default().push_next(&mut dedicated);
        let mut of_plane = vk::ImagePlaneMemoryRequirementsInfo::default().plane_aspect(aspect(plane));
        let mut query = vk::ImageMemoryRequirementsInfo2::default().image(image);
        if disjoint {
            query = query.push_next(&mut of_plane);
        }
        // SAFETY: the image is alive; for a disjoint one the plane is one of its memory planes.
        unsafe { device.raw().get_image_memory_requirements2(&query, &mut need) };
        let need = need.memory_requirements;
        // Without modifiers the image starts where it is bound, with them its layout holds the offset already.
        let offset = if device.gpu().modifiers.is_ok() { 0 } else { u64::from(buffer.layout.planes()[plane].offset) };
        if need.size.saturating_add(offset) > size as u64 {
            return Err(unsupported(format!("the driver wants {} bytes of a dma-buf of {size}", need.size + offset)));
        }
        if !offset.is_multiple_of(need.alignment.max(1)) {
            return Err(unsupported(format!("offset {offset} (it takes multiples of {})", need.alignment)));
        }
        let allowed = need.memory_type_bits & of_fd.memory_type_bits;
        if allowed == 0 {
            return Err(unsupported("no memory type fits"));
        }
        let own = sampled.dedicated
            || dedicated.requires_dedicated_allocation | dedicated.prefers_dedicated_allocation == vk::TRUE;
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().image(image);
        let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(DMA_BUF).fd(fd.as_raw_fd());
        let bytes = if own { need.size } else { size as u64 };
        let mut info = vk::MemoryAllocateInfo::default()
            .allocation_size(bytes)
            .memory_type_index(allowed.trailing_zeros())
            .push_next(&mut import);
        if own && !disjoint {
            info = info.push_next(&mut dedicated);
        }
        // SAFETY: the type is allowed for the image and for the dma-buf, which is open and at least this large; a
        // dedicated image is alive and unbound.
        let made = unsafe { device.raw().allocate_memory(&info, Some(device.callbacks())) };
        let memory = Owned::new(device, "vkAllocateMemory", made).map_err(refused)?.named("client image");
        // The driver's from here on (VkImportMemoryFdInfoKHR: a successful import transfers ownership).
        let _ = fd.into_raw_fd();
        Ok((memory, bytes))
    }

    fn bind(&self, image: vk::Image, memory: &Imported, layout: &Layout, disjoint: bool) -> Result<(), CallError> {
        let linear = self.device.gpu().modifiers.is_err();
        let offset = layout.planes().first().filter(|_| linear).map_or(0, |plane| u64::from(plane.offset));
        let mut planes: ArrayVec<_, MAX_PLANES> = (0..if disjoint { layout.planes().len() } else { 0 })
            .map(|plane| vk::BindImagePlaneMemoryInfo::default().plane_aspect(aspect(plane)))
            .collect();
        let mut infos: ArrayVec<_, MAX_PLANES> = ArrayVec::new();
        if disjoint {
            for (plane, memory) in planes.iter_mut().zip(memory.raw()) {
                infos.push(vk::BindImageMemoryInfo::default().image(image).memory(memory).push_next(plane));
            }
        } else if let Some(memory) = memory.raw().next() {
            infos.push(vk::BindImageMemoryInfo::default().image(image).memory(memory).memory_offset(offset));
        }
        // SAFETY: the image is alive and unbound; each memory was imported for it, large enough (`import_memory`).
        let bound = unsafe { self.device.raw().bind_image_memory2(&infos) };
        self.device.check("vkBindImageMemory2", bound)
    }
}

/// What a driver refuses may be any of several errors: the buffer's, unless the device is lost or memory ran out.
fn refused(error: CallError) -> ImportError {
    match error.result {
        vk::Result::ERROR_DEVICE_LOST => ImportError::DeviceLost,
        vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_TOO_MANY_OBJECTS => {
            error.into_import("memory for a client's image")
        }
        _ => unsupported(error.to_string()),
    }
}

fn aspect(plane: usize) -> vk::ImageAspectFlags {
    use vk::ImageAspectFlags as Aspect;
    [Aspect::MEMORY_PLANE_0_EXT, Aspect::MEMORY_PLANE_1_EXT, Aspect::MEMORY_PLANE_2_EXT, Aspect::MEMORY_PLANE_3_EXT]
        [plane]
}
