//! An image with its memory and its view: textures and offscreen targets.
//!
//! Images stay in VK_IMAGE_LAYOUT_GENERAL from their first use to their last, so that a frame needs no layout
//! transitions and one memory barrier orders all of them.

use std::rc::Rc;
use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::CallError;
use super::memory::{Allocation, Imported, Memory};
use super::owned::Owned;
use crate::domain::geometry::Size;

/// A 2D image of one level and one layer. Fields are dropped in order: the view, the image, its memory.
pub(super) struct Image {
    view: Owned<vk::ImageView>,
    raw: Owned<vk::Image>,
    memory: Backing,
}

/// Whose memory it is.
enum Backing {
    /// Ours.
    Own(Allocation),
    /// A client's.
    Imported(Imported),
}

/// The whole of such an image.
pub(super) const WHOLE: vk::ImageSubresourceRange = vk::ImageSubresourceRange {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    base_mip_level: 0,
    level_count: 1,
    base_array_layer: 0,
    layer_count: 1,
};

/// Its one layer, for copies.
pub(super) const LAYER: vk::ImageSubresourceLayers = vk::ImageSubresourceLayers {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    mip_level: 0,
    base_array_layer: 0,
    layer_count: 1,
};

/// Width and height as Vulkan wants them; empty sizes become zero.
pub(super) fn extent(size: Size) -> vk::Extent2D {
    vk::Extent2D { width: size.w.max(0) as u32, height: size.h.max(0) as u32 }
}

impl Image {
    /// An image of `size` in layout UNDEFINED.
    ///
    /// # Errors
    /// The failing call; nothing stays allocated.
    pub(super) fn new(
        device: &Arc<Device>,
        memory: &Rc<Memory>,
        size: Size,
        format: vk::Format,
        swizzle: vk::ComponentMapping,
        usage: vk::ImageUsageFlags,
        name: &str,
    ) -> Result<Self, CallError> {
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(extent(size).into())
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED);
        // SAFETY: the caller checked the size against the device's limits and the format's features for the usage.
        let made = unsafe { device.raw().create_image(&info, Some(device.callbacks())) };
        let raw = Owned::new(device, "vkCreateImage", made)?.named(name);
        let memory = memory.allocate(raw.raw())?;
        // SAFETY: the memory was allocated for this image's requirements; both are alive, the image unbound.
        let bound = unsafe { device.raw().bind_image_memory(raw.raw(), memory.raw(), memory.offset()) };
        device.check("vkBindImageMemory", bound)?;
        let view = create_view(device, raw.raw(), format, swizzle, name)?;
        Ok(Self { view, raw, memory: Backing::Own(memory) })
    }

    /// An image that a client made, bound to its memory.
    pub(super) fn imported(view: Owned<vk::ImageView>, raw: Owned<vk::Image>, memory: Imported) -> Self {
        Self { view, raw, memory: Backing::Imported(memory) }
    }

    /// The image, not owned.
    pub(super) fn raw(&self) -> vk::Image {
        self.raw.raw()
    }

    /// The view, not owned.
    pub(super) fn view(&self) -> vk::ImageView {
        self.view.raw()
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        match &self.memory {
            Backing::Own(memory) => memory.bytes(),
            Backing::Imported(memory) => memory.bytes(),
        }
    }
}

/// A view of the whole of `image`.
///
/// # Errors
/// The failing call.
pub(super) fn create_view(
    device: &Arc<Device>,
    image: vk::Image,
    format: vk::Format,
    swizzle: vk::ComponentMapping,
    name: &str,
) -> Result<Owned<vk::ImageView>, CallError> {
    let info = vk::ImageViewCreateInfo::default()
        .image(image)
        .view_type(vk::ImageViewType::TYPE_2D)
        .format(format)
        .components(swizzle)
        .subresource_range(WHOLE);
    // SAFETY: the image is alive, bound and of this format; the owner of the view drops it before the image.
    let made = unsafe { device.raw().create_image_view(&info, Some(device.callbacks())) };
    Ok(Owned::new(device, "vkCreateImageView", made)?.named(name))
}
