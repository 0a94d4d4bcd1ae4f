//! Pixel formats: which Vulkan format and which swizzle read a DRM fourcc's texels.
//!
//! Nothing is listed twice: each Vulkan format's components are given by their bits, a DRM format's channels are found
//! among them, and the swizzle follows. A format without alpha reads alpha as one, without a colour as zero. Where two
//! Vulkan formats fit, the first that the device can sample is taken.

use ash::vk;
use vk::ComponentSwizzle as Swizzle;

use super::instance::Instance;
use crate::domain::format::{Channel, Encoding, FormatInfo, Fourcc, TABLE};

/// A Vulkan format, and where its components r, g, b, a lie in the little-endian texel: (lowest bit, bits).
struct Packing {
    format: vk::Format,
    texel_bytes: u32,
    encoding: Encoding,
    rgba: [(u8, u8); 4],
}

const NONE: (u8, u8) = (0, 0);

const fn packing(format: vk::Format, texel_bytes: u32, encoding: Encoding, rgba: [(u8, u8); 4]) -> Packing {
    Packing { format, texel_bytes, encoding, rgba }
}

use Encoding::{Half, Unorm};

/// What can be made of it; preferred ones first. Source: VkFormat, "Identification of Formats".
#[rustfmt::skip]
const PACKINGS: &[Packing] = &[
    packing(vk::Format::B8G8R8A8_UNORM, 4, Unorm, [(16, 8), (8, 8), (0, 8), (24, 8)]),
    packing(vk::Format::R8G8B8A8_UNORM, 4, Unorm, [(0, 8), (8, 8), (16, 8), (24, 8)]),
    packing(vk::Format::B8G8R8_UNORM, 3, Unorm, [(16, 8), (8, 8), (0, 8), NONE]),
    packing(vk::Format::R8G8B8_UNORM, 3, Unorm, [(0, 8), (8, 8), (16, 8), NONE]),
    packing(vk::Format::A2R10G10B10_UNORM_PACK32, 4, Unorm, [(20, 10), (10, 10), (0, 10), (30, 2)]),
    packing(vk::Format::A2B10G10R10_UNORM_PACK32, 4, Unorm, [(0, 10), (10, 10), (20, 10), (30, 2)]),
    packing(vk::Format::R5G6B5_UNORM_PACK16, 2, Unorm, [(11, 5), (5, 6), (0, 5), NONE]),
    packing(vk::Format::B5G6R5_UNORM_PACK16, 2, Unorm, [(0, 5), (5, 6), (11, 5), NONE]),
    packing(vk::Format::A1R5G5B5_UNORM_PACK16, 2, Unorm, [(10, 5), (5, 5), (0, 5), (15, 1)]),
    packing(vk::Format::R5G5B5A1_UNORM_PACK16, 2, Unorm, [(11, 5), (6, 5), (1, 5), (0, 1)]),
    packing(vk::Format::B5G5R5A1_UNORM_PACK16, 2, Unorm, [(1, 5), (6, 5), (11, 5), (0, 1)]),
    packing(vk::Format::B4G4R4A4_UNORM_PACK16, 2, Unorm, [(4, 4), (8, 4), (12, 4), (0, 4)]),
    packing(vk::Format::R4G4B4A4_UNORM_PACK16, 2, Unorm, [(12, 4), (8, 4), (4, 4), (0, 4)]),
    packing(vk::Format::A4R4G4B4_UNORM_PACK16, 2, Unorm, [(8, 4), (4, 4), (0, 4), (12, 4)]),
    packing(vk::Format::R16G16B16A16_UNORM, 8, Unorm, [(0, 16), (16, 16), (32, 16), (48, 16)]),
    packing(vk::Format::R16G16B16A16_SFLOAT, 8, Half, [(0, 16), (16, 16), (32, 16), (48, 16)]),
    packing(vk::Format::R8_UNORM, 1, Unorm, [(0, 8), NONE, NONE, NONE]),
    packing(vk::Format::R8G8_UNORM, 2, Unorm, [(0, 8), (8, 8), NONE, NONE]),
    packing(vk::Format::R16_UNORM, 2, Unorm, [(0, 16), NONE, NONE, NONE]),
    packing(vk::Format::R16G16_UNORM, 4, Unorm, [(0, 16), (16, 16), NONE, NONE]),
];

/// How a device reads a DRM format.
#[derive(Clone, Copy)]
pub(super) struct Texel {
    /// The Vulkan format.
    pub(super) format: vk::Format,
    /// The view's swizzle.
    pub(super) swizzle: vk::ComponentMapping,
}

/// How the device reads `fourcc`; `None` where it cannot. `a4r4g4b4`: that format may be used.
pub(super) fn texel(instance: &Instance, gpu: vk::PhysicalDevice, fourcc: Fourcc, a4r4g4b4: bool) -> Option<Texel> {
    use vk::FormatFeatureFlags as Can;
    let wanted = Can::SAMPLED_IMAGE | Can::SAMPLED_IMAGE_FILTER_LINEAR | Can::TRANSFER_DST;
    let info = fourcc.info()?;
    candidates(info)
        .filter(|texel| a4r4g4b4 || texel.format != vk::Format::A4R4G4B4_UNORM_PACK16)
        .find(|texel| features(instance, gpu, texel.format).contains(wanted))
}

impl Texel {
    /// Whether red, green and blue are where the Vulkan format has them.
    pub(super) fn is_straight(&self) -> bool {
        self.swizzle.r == Swizzle::R && self.swizzle.g == Swizzle::G && self.swizzle.b == Swizzle::B
    }
}

/// The DRM formats that the device reads.
pub(super) fn supported(instance: &Instance, gpu: vk::PhysicalDevice, a4r4g4b4: bool) -> impl Iterator<Item = Fourcc> {
    TABLE.iter().map(|info| info.fourcc).filter(move |&code| texel(instance, gpu, code, a4r4g4b4).is_some())
}

/// What the device can do with optimally tiled images of `format`.
pub(super) fn features(instance: &Instance, gpu: vk::PhysicalDevice, format: vk::Format) -> vk::FormatFeatureFlags {
    // SAFETY: the physical device is the instance's, the format one of its own enumeration.
    unsafe { instance.raw().get_physical_device_format_properties(gpu, format) }.optimal_tiling_features
}

/// What the device can do with linear images of `format`.
pub(super) fn linear_features(
    instance: &Instance,
    gpu: vk::PhysicalDevice,
    format: vk::Format,
) -> vk::FormatFeatureFlags {
    // SAFETY: as in `features`.
    unsafe { instance.raw().get_physical_device_format_properties(gpu, format) }.linear_tiling_features
}

/// The modifiers that the device knows for `format`, with what it can do with each. Only for a device with
/// VK_EXT_image_drm_format_modifier.
pub(super) fn modifiers(
    instance: &Instance,
    gpu: vk::PhysicalDevice,
    format: vk::Format,
) -> Vec<vk::DrmFormatModifierPropertiesEXT> {
    let mut list = vk::DrmFormatModifierPropertiesListEXT::default();
    let mut properties = vk::FormatProperties2::default().push_next(&mut list);
    // SAFETY: as in `features`; the caller looked for the extension; without an array it tells how many there are.
    unsafe { instance.raw().get_physical_device_format_properties2(gpu, format, &mut properties) };
    let mut all = vec![vk::DrmFormatModifierPropertiesEXT::default(); list.drm_format_modifier_count as usize];
    let mut list = vk::DrmFormatModifierPropertiesListEXT::default().drm_format_modifier_properties(&mut all);
    let mut properties = vk::FormatProperties2::default().push_next(&mut list);
    // SAFETY: as above; the array is as long as its count says.
    unsafe { instance.raw().get_physical_device_format_properties2(gpu, format, &mut properties) };
    all
}

/// Whether the CPU may write such images (VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT_EXT).
pub(super) fn is_host_writable(instance: &Instance, gpu: vk::PhysicalDevice, format: vk::Format) -> bool {
    let mut more = vk::FormatProperties3::default();
    let mut properties = vk::FormatProperties2::default().push_next(&mut more);
    // SAFETY: as in `features`; VkFormatProperties3 is core in 1.3.
    unsafe { instance.raw().get_physical_device_format_properties2(gpu, format, &mut properties) };
    more.optimal_tiling_features.contains(vk::FormatFeatureFlags2::HOST_IMAGE_TRANSFER_EXT)
}

/// The Vulkan formats that hold `info`'s channels, with the swizzle that finds them; first those that need none.
fn candidates(info: &FormatInfo) -> impl Iterator<Item = Texel> {
    let all = || {
        PACKINGS
            .iter()
            .filter(|p| p.texel_bytes == info.texel_bytes && p.encoding == info.encoding)
            .filter_map(|p| Some(Texel { format: p.format, swizzle: swizzle(info, p)? }))
    };
    all().filter(|texel| is_straight(texel.swizzle)).chain(all().filter(|texel| !is_straight(texel.swizzle)))
}

/// Whether each channel is the component of its own name.
fn is_straight(swizzle: vk::ComponentMapping) -> bool {
    swizzle.r == Swizzle::R && [Swizzle::B, Swizzle::ZERO].contains(&swizzle.b)
}

fn swizzle(info: &FormatInfo, packing: &Packing) -> Option<vk::ComponentMapping> {
    let component = |channel: Channel, absent| {
        if channel.bits == 0 {
            return Some(absent);
        }
        let at = packing.rgba.iter().position(|&place| place == (channel.shift, channel.bits))?;
        Some([Swizzle::R, Swizzle::G, Swizzle::B, Swizzle::A][at])
    };
    let [r, g, b, a] = info.channels;
    Some(vk::ComponentMapping {
        r: component(r, Swizzle::ZERO)?,
        g: component(g, Swizzle::ZERO)?,
        b: component(b, Swizzle::ZERO)?,
        a: component(a, Swizzle::ONE)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(code: &[u8; 4]) -> (vk::Format, [Swizzle; 4]) {
        let texel = candidates(Fourcc::new(code).info().unwrap()).next().unwrap();
        let s = texel.swizzle;
        (texel.format, [s.r, s.g, s.b, s.a])
    }

    #[test]
    fn every_format_of_the_table_has_a_vulkan_format() {
        for info in TABLE {
            assert!(candidates(info).next().is_some(), "{}", info.name);
        }
    }

    #[test]
    fn swizzle_of_formats_without_alpha_reads_one() {
        for info in TABLE {
            for texel in candidates(info) {
                assert!((texel.swizzle.a == Swizzle::ONE) != info.has_alpha(), "{}", info.name);
            }
        }
    }

    #[test]
    fn swizzle_of_the_common_formats_is_as_written_down_by_hand() {
        let [r, g, b, a] = [Swizzle::R, Swizzle::G, Swizzle::B, Swizzle::A];
        assert!(first(b"AR24") == (vk::Format::B8G8R8A8_UNORM, [r, g, b, a]));
        assert!(first(b"XR24") == (vk::Format::B8G8R8A8_UNORM, [r, g, b, Swizzle::ONE]));
        assert!(first(b"AB24") == (vk::Format::R8G8B8A8_UNORM, [r, g, b, a]));
        assert!(first(b"XR30") == (vk::Format::A2R10G10B10_UNORM_PACK32, [r, g, b, Swizzle::ONE]));
        assert!(first(b"RG16") == (vk::Format::R5G6B5_UNORM_PACK16, [r, g, b, Swizzle::ONE]));
        assert!(first(b"AB4H") == (vk::Format::R16G16B16A16_SFLOAT, [r, g, b, a]));
        // Words whose bytes lie A, B, G, R and A, R, G, B.
        let rgba = candidates(Fourcc::new(b"RA24").info().unwrap()).last().unwrap();
        assert!((rgba.format, rgba.swizzle.r, rgba.swizzle.a) == (vk::Format::R8G8B8A8_UNORM, a, r));
        assert!(first(b"GR88") == (vk::Format::R8G8_UNORM, [r, g, Swizzle::ZERO, Swizzle::ONE]));
    }
}
