//! A physical device: what it is, what it lacks, what it can do; and the choice among several.
//!
//! Everything here is a question; nothing is made. Next: `device`.

use std::ffi::CStr;

use ash::{ext, khr, vk};

use super::error::NewError;
use super::format;
use super::import::{self, Sampled};
use super::instance::Instance;
use crate::ports::renderer::{Capabilities, Capability};

/// The format of every target: XRGB8888, as every output and every capture wants it.
pub(super) const TARGET_FORMAT: vk::Format = vk::Format::B8G8R8A8_UNORM;

/// A device as a person sees it.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its name.
    pub name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: &'static str,
    /// Its UUID in hexadecimal digits.
    pub uuid: String,
    /// What it lacks to be used at all; empty where it is good enough.
    pub lacks: Vec<String>,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// A physical device and the answers to every question asked of it.
pub(super) struct Gpu {
    /// The handle; belongs to the instance.
    pub(super) raw: vk::PhysicalDevice,
    /// For people.
    pub(super) probe: Probe,
    /// What sort of device.
    pub(super) kind: vk::PhysicalDeviceType,
    /// Its memory.
    pub(super) memory: vk::PhysicalDeviceMemoryProperties,
    /// The queue family used for everything.
    pub(super) family: u32,
    /// Identifies a driver's compiled pipelines: vendor, device, UUID.
    pub(super) cache_key: (u32, u32, [u8; vk::UUID_SIZE]),
    /// Why there is no bindless array, if there is none.
    pub(super) bindless: Result<(), String>,
    /// Why the CPU cannot write images, if it cannot.
    pub(super) host_copy: Result<(), String>,
    /// VK_KHR_swapchain is there.
    pub(super) swapchain: bool,
    /// VK_EXT_4444_formats is there with its feature.
    pub(super) a4r4g4b4: bool,
    /// Why the queue cannot wait for sync_files, if it cannot.
    pub(super) fence_import: Result<(), String>,
    /// Why frames cannot signal sync_files, if they cannot.
    pub(super) fence_export: Result<(), String>,
    /// Why no dma-buf can be imported, if none can.
    pub(super) dmabuf: Result<(), String>,
    /// Why images cannot be given by their modifier, if they cannot.
    pub(super) modifiers: Result<(), String>,
    /// What it samples of clients' dma-bufs.
    pub(super) sampled: Vec<Sampled>,
}

/// The device features that decide something here.
#[derive(Default)]
struct Features {
    v12: vk::PhysicalDeviceVulkan12Features<'static>,
    v13: vk::PhysicalDeviceVulkan13Features<'static>,
    host_copy: bool,
    a4r4g4b4: bool,
}

/// Every device of the instance, in the loader's order.
///
/// # Errors
/// [`NewError::Instance`] where the devices cannot be listed.
pub(super) fn all(instance: &Instance) -> Result<Vec<Gpu>, NewError> {
    // SAFETY: the instance is alive.
    let devices = unsafe { instance.raw().enumerate_physical_devices() }
        .map_err(|result| NewError::Instance(super::error::CallError { call: "vkEnumeratePhysicalDevices", result }))?;
    Ok(devices.into_iter().map(|raw| Gpu::inspect(instance, raw)).collect())
}

/// The device named by `wanted`, or the best by type; the first of equals.
///
/// # Errors
/// [`NewError::NoDevice`] with what each candidate lacks.
pub(super) fn choose(mut gpus: Vec<Gpu>, wanted: Option<&str>) -> Result<Gpu, NewError> {
    let best = gpus
        .iter()
        .enumerate()
        .filter(|(_, gpu)| gpu.probe.lacks.is_empty())
        .filter(|(_, gpu)| wanted.is_none_or(|wanted| is_named(&gpu.probe, wanted)))
        .min_by_key(|(_, gpu)| rank(gpu.kind))
        .map(|(index, _)| index);
    match best {
        Some(index) => Ok(gpus.swap_remove(index)),
        None => Err(NewError::NoDevice {
            wanted: wanted.map(str::to_owned),
            found: gpus.into_iter().map(|gpu| gpu.probe).collect(),
        }),
    }
}

/// Whether `wanted` is a part of the name in any case, or the UUID with or without dashes.
fn is_named(probe: &Probe, wanted: &str) -> bool {
    let digits: String = wanted.chars().filter(|c| *c != '-').collect();
    digits.eq_ignore_ascii_case(&probe.uuid) || probe.name.to_lowercase().contains(&wanted.to_lowercase())
}

/// Lower is better.
fn rank(kind: vk::PhysicalDeviceType) -> u32 {
    match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => 0,
        vk::PhysicalDeviceType::INTEGRATED_GPU => 1,
        vk::PhysicalDeviceType::VIRTUAL_GPU => 2,
        vk::PhysicalDeviceType::CPU => 3,
        _ => 4,
    }
}

fn kind_name(kind: vk::PhysicalDeviceType) -> &'static str {
    ["discrete", "integrated", "virtual", "cpu", "other"][rank(kind) as usize]
}

impl Gpu {
    fn inspect(instance: &Instance, raw: vk::PhysicalDevice) -> Self {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut ids = vk::PhysicalDeviceIDProperties::default();
        let mut indexing = vk::PhysicalDeviceDescriptorIndexingProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut driver)
            .push_next(&mut ids)
            .push_next(&mut indexing);
        // SAFETY: the physical device is the instance's; structures of later versions are left alone by older drivers.
        unsafe { instance.raw().get_physical_device_properties2(raw, &mut properties) };
        let base = properties.properties;
        // SAFETY: as above.
        let memory = unsafe { instance.raw().get_physical_device_memory_properties(raw) };
        // SAFETY: as above.
        let families = unsafe { instance.raw().get_physical_device_queue_family_properties(raw) };
        let family = families.iter().position(|f| f.queue_flags.contains(vk::QueueFlags::GRAPHICS));
        // SAFETY: as above.
        let extensions = unsafe { instance.raw().enumerate_device_extension_properties(raw) }.unwrap_or_default();
        let has = |name: &CStr| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        let features = Features::read(instance, raw, base.api_version, &has);
        let bindless = bindless(&features.v12, &indexing);
        let host_copy = host_copy(instance, raw, &features, &has);
        let swapchain = has(khr::swapchain::NAME);
        let [fence_import, fence_export] = fences(instance, raw, &has);
        let software = base.device_type == vk::PhysicalDeviceType::CPU;
        let dmabuf = all_of(
            &has,
            &[khr::external_memory_fd::NAME, ext::external_memory_dma_buf::NAME, ext::queue_family_foreign::NAME],
        );
        let modifiers = all_of(&has, &[ext::image_drm_format_modifier::NAME]).and_then(|()| dmabuf.clone());
        let sampled = match dmabuf.is_ok() && version_is_enough(base.api_version) {
            true => import::sampled(instance, raw, software, modifiers.is_ok()),
            false => Vec::new(),
        };
        let name = base.device_name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
        let version = base.api_version;
        let capabilities = Capabilities {
            device: format!(
                "{name} ({} {}, Vulkan {}.{}.{})",
                driver.driver_name_as_c_str().unwrap_or_default().to_string_lossy(),
                driver.driver_info_as_c_str().unwrap_or_default().to_string_lossy(),
                vk::api_version_major(version),
                vk::api_version_minor(version),
                vk::api_version_patch(version),
            ),
            software,
            shm_formats: format::supported(instance, raw, features.a4r4g4b4).collect(),
            dmabuf_pairs: sampled.iter().map(|sampled| sampled.pair).collect(),
            drm_node: drm_node(instance, raw, &has),
            max_texture_side: base.limits.max_image_dimension2_d,
            max_target_side: max_target_side(&base.limits),
            upload_tiers: vec![capability("host-copy", &host_copy), capability("staging", &Ok(()))],
            features: other_features([&bindless, &fence_import, &fence_export, &dmabuf, &modifiers], &has),
        };
        let lacks = lacks(instance, raw, version, family.is_some(), &features);
        Self {
            raw,
            kind: base.device_type,
            memory,
            family: family.unwrap_or(0) as u32,
            cache_key: (base.vendor_id, base.device_id, base.pipeline_cache_uuid),
            bindless,
            host_copy,
            swapchain,
            a4r4g4b4: features.a4r4g4b4,
            fence_import,
            fence_export,
            dmabuf,
            modifiers,
            sampled,
            probe: Probe {
                name,
                kind: kind_name(base.device_type),
                uuid: ids.device_uuid.iter().map(|byte| format!("{byte:02x}")).collect(),
                lacks,
                capabilities,
            },
        }
    }

    /// Whether the CPU computes the pixels.
    pub(super) fn is_software(&self) -> bool {
        self.kind == vk::PhysicalDeviceType::CPU
    }
}

/// Whether the structures of Vulkan 1.3 may be asked.
fn version_is_enough(version: u32) -> bool {
    version >= vk::API_VERSION_1_3
}

impl Features {
    fn read(instance: &Instance, raw: vk::PhysicalDevice, version: u32, has: &dyn Fn(&CStr) -> bool) -> Self {
        let mut found = Self::default();
        if !version_is_enough(version) {
            return found; // the structures below are not for it
        }
        let mut host_copy = vk::PhysicalDeviceHostImageCopyFeaturesEXT::default();
        let mut formats = vk::PhysicalDevice4444FormatsFeaturesEXT::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut found.v12).push_next(&mut found.v13);
        if has(ext::host_image_copy::NAME) {
            features = features.push_next(&mut host_copy);
        }
        if has(ext::_4444_formats::NAME) {
            features = features.push_next(&mut formats);
        }
        // SAFETY: the device is the instance's and knows every structure in the chain.
        unsafe { instance.raw().get_physical_device_features2(raw, &mut features) };
        found.host_copy = host_copy.host_image_copy == vk::TRUE;
        found.a4r4g4b4 = formats.format_a4r4g4b4 == vk::TRUE;
        // The chain's pointers were to this function's own structures.
        found.v12.p_next = std::ptr::null_mut();
        found.v13.p_next = std::ptr::null_mut();
        found
    }
}

/// What the device lacks to be used at all.
fn lacks(instance: &Instance, raw: vk::PhysicalDevice, version: u32, graphics: bool, has: &Features) -> Vec<String> {
    let mut lacks = Vec::new();
    let mut want = |there: bool, what: &str| {
        if !there {
            lacks.push(what.to_owned());
        }
    };
    want(version >= vk::API_VERSION_1_3, "Vulkan 1.3 (a newer driver)");
    want(graphics, "a graphics queue");
    if version >= vk::API_VERSION_1_3 {
        want(has.v13.dynamic_rendering == vk::TRUE, "dynamic rendering");
        want(has.v13.synchronization2 == vk::TRUE, "synchronization2");
        want(has.v12.timeline_semaphore == vk::TRUE, "timeline semaphores");
        use vk::FormatFeatureFlags as Can;
        let target = Can::COLOR_ATTACHMENT_BLEND | Can::TRANSFER_SRC | Can::TRANSFER_DST;
        want(format::features(instance, raw, TARGET_FORMAT).contains(target), "rendering to XRGB8888");
    }
    lacks
}

/// Why there is no bindless array, if there is none.
fn bindless(
    has: &vk::PhysicalDeviceVulkan12Features<'_>,
    limits: &vk::PhysicalDeviceDescriptorIndexingProperties<'_>,
) -> Result<(), String> {
    let wanted = [
        (has.runtime_descriptor_array, "runtimeDescriptorArray"),
        (has.shader_sampled_image_array_non_uniform_indexing, "shaderSampledImageArrayNonUniformIndexing"),
        (has.descriptor_binding_sampled_image_update_after_bind, "descriptorBindingSampledImageUpdateAfterBind"),
        (has.descriptor_binding_update_unused_while_pending, "descriptorBindingUpdateUnusedWhilePending"),
        (has.descriptor_binding_partially_bound, "descriptorBindingPartiallyBound"),
    ];
    if let Some((_, name)) = wanted.iter().find(|(there, _)| *there != vk::TRUE) {
        return Err(format!("the feature {name}"));
    }
    let room = limits
        .max_per_stage_descriptor_update_after_bind_sampled_images
        .min(limits.max_descriptor_set_update_after_bind_sampled_images)
        .min(limits.max_per_stage_update_after_bind_resources.saturating_sub(8));
    if room < super::descriptor::ARRAY_LEN {
        return Err(format!("room for {} textures in a set (it has {room})", super::descriptor::ARRAY_LEN));
    }
    Ok(())
}

/// Why the CPU cannot write images, if it cannot.
fn host_copy(
    instance: &Instance,
    raw: vk::PhysicalDevice,
    features: &Features,
    has: &dyn Fn(&CStr) -> bool,
) -> Result<(), String> {
    if !has(ext::host_image_copy::NAME) {
        return Err("the extension VK_EXT_host_image_copy".into());
    }
    if !features.host_copy {
        return Err("the feature hostImageCopy".into());
    }
    // Two calls: how many layouts, then which.
    let mut counts = vk::PhysicalDeviceHostImageCopyPropertiesEXT::default();
    // SAFETY: the device has the extension; null arrays ask for their lengths.
    unsafe {
        instance
            .raw()
            .get_physical_device_properties2(raw, &mut vk::PhysicalDeviceProperties2::default().push_next(&mut counts));
    }
    let mut sources = vec![vk::ImageLayout::UNDEFINED; counts.copy_src_layout_count as usize];
    let mut destinations = vec![vk::ImageLayout::UNDEFINED; counts.copy_dst_layout_count as usize];
    let mut layouts = vk::PhysicalDeviceHostImageCopyPropertiesEXT::default()
        .copy_src_layouts(&mut sources)
        .copy_dst_layouts(&mut destinations);
    // SAFETY: as above; the arrays are as long as their counts say.
    unsafe {
        instance.raw().get_physical_device_properties2(
            raw,
            &mut vk::PhysicalDeviceProperties2::default().push_next(&mut layouts),
        );
    }
    match destinations.contains(&vk::ImageLayout::GENERAL) {
        true => Ok(()),
        false => Err("copies into the layout GENERAL".into()),
    }
}

/// Why the queue cannot wait for sync_files and frames cannot signal any, if so.
fn fences(instance: &Instance, raw: vk::PhysicalDevice, has: &dyn Fn(&CStr) -> bool) -> [Result<(), String>; 2] {
    use vk::ExternalSemaphoreFeatureFlags as Can;
    let info =
        vk::PhysicalDeviceExternalSemaphoreInfo::default().handle_type(vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD);
    let mut sync_fd = vk::ExternalSemaphoreProperties::default();
    // SAFETY: the physical device is the instance's.
    unsafe { instance.raw().get_physical_device_external_semaphore_properties(raw, &info, &mut sync_fd) };
    [(Can::IMPORTABLE, "imported"), (Can::EXPORTABLE, "exported")].map(|(what, verb)| {
        extension(khr::external_semaphore_fd::NAME, has)?;
        match sync_fd.external_semaphore_features.contains(what) {
            true => Ok(()),
            false => Err(format!("semaphores whose SYNC_FD can be {verb}")),
        }
    })
}

/// Why an extension is not there, if it is not.
fn extension(name: &CStr, has: &dyn Fn(&CStr) -> bool) -> Result<(), String> {
    match has(name) {
        true => Ok(()),
        false => Err(format!("the extension {}", name.to_string_lossy())),
    }
}

/// What is worth telling besides.
fn other_features(
    [bindless, fence_import, fence_export, dmabuf, modifiers]: [&Result<(), String>; 5],
    has: &dyn Fn(&CStr) -> bool,
) -> Vec<Capability> {
    vec![
        capability("bindless", bindless),
        capability("windows", &extension(khr::swapchain::NAME, has)),
        capability("sync-file-import", fence_import),
        capability("sync-file-export", fence_export),
        capability("dmabuf", dmabuf),
        capability("modifiers", modifiers),
        capability("host-import", &extension(ext::external_memory_host::NAME, has)),
    ]
}

/// Why not all of the extensions are there, if they are not.
fn all_of(has: &dyn Fn(&CStr) -> bool, names: &[&CStr]) -> Result<(), String> {
    match names.iter().find(|name| !has(name)) {
        Some(missing) => Err(format!("the extension {}", missing.to_string_lossy())),
        None => Ok(()),
    }
}

/// The device's DRM node (dev_t), the one for rendering where it has one.
fn drm_node(instance: &Instance, raw: vk::PhysicalDevice, has: &dyn Fn(&CStr) -> bool) -> Option<u64> {
    if !has(ext::physical_device_drm::NAME) {
        return None;
    }
    let mut drm = vk::PhysicalDeviceDrmPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut drm);
    // SAFETY: the physical device is the instance's and has the extension.
    unsafe { instance.raw().get_physical_device_properties2(raw, &mut properties) };
    let node = |major: i64, minor: i64| nix::sys::stat::makedev(major as u64, minor as u64);
    match (drm.has_render == vk::TRUE, drm.has_primary == vk::TRUE) {
        (true, _) => Some(node(drm.render_major, drm.render_minor)),
        (false, true) => Some(node(drm.primary_major, drm.primary_minor)),
        (false, false) => None,
    }
}

fn capability(name: &'static str, there: &Result<(), String>) -> Capability {
    Capability { name, missing: there.as_ref().err().cloned() }
}

fn max_target_side(limits: &vk::PhysicalDeviceLimits) -> u32 {
    limits
        .max_image_dimension2_d
        .min(limits.max_framebuffer_width)
        .min(limits.max_framebuffer_height)
        .min(limits.max_viewport_dimensions[0])
        .min(limits.max_viewport_dimensions[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(name: &str, kind: vk::PhysicalDeviceType, lacks: &[&str]) -> Gpu {
        Gpu {
            raw: vk::PhysicalDevice::null(),
            probe: Probe {
                name: name.into(),
                kind: kind_name(kind),
                uuid: format!("{:032x}", name.len()),
                lacks: lacks.iter().map(|s| (*s).to_owned()).collect(),
                capabilities: Capabilities::default(),
            },
            kind,
            memory: Default::default(),
            family: 0,
            cache_key: (0, 0, [0; 16]),
            bindless: Ok(()),
            host_copy: Ok(()),
            swapchain: true,
            a4r4g4b4: true,
            fence_import: Ok(()),
            fence_export: Ok(()),
            dmabuf: Ok(()),
            modifiers: Ok(()),
            sampled: Vec::new(),
        }
    }

    fn three() -> Vec<Gpu> {
        use vk::PhysicalDeviceType as Kind;
        vec![
            gpu("llvmpipe", Kind::CPU, &[]),
            gpu("Big GPU", Kind::DISCRETE_GPU, &["Vulkan 1.3"]),
            gpu("Small GPU one", Kind::INTEGRATED_GPU, &[]),
        ]
    }

    #[test]
    fn choice_without_a_name_is_the_best_complete_device() {
        assert_eq!(choose(three(), None).ok().unwrap().probe.name, "Small GPU one");
    }

    #[test]
    fn choice_by_name_or_uuid_finds_the_device() {
        assert_eq!(choose(three(), Some("LLVM")).ok().unwrap().probe.name, "llvmpipe");
        let uuid = "00000000-0000-0000-0000-000000000008";
        assert_eq!(choose(three(), Some(uuid)).ok().unwrap().probe.name, "llvmpipe");
    }

    #[test]
    fn choice_of_an_incomplete_device_says_what_it_lacks() {
        let error = choose(three(), Some("Big")).err().unwrap();
        assert!(error.to_string().contains("Big GPU (discrete"), "{error}");
        assert!(error.to_string().contains("lacks Vulkan 1.3"), "{error}");
    }
}
