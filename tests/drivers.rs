//! The rig itself: every other test trusts that it runs on the driver it was asked to, and that the validation layer,
//! with synchronisation validation, would speak up. Here both are made to show it, through plain Vulkan calls, so that
//! a fault of our own adapter cannot hide a fault of the rig.

mod support;

use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use ash::vk;

const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Collects the identifiers of warnings and errors in the `Mutex<Vec<String>>` that `user_data` points at.
unsafe extern "system" fn collect(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user_data: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes valid data, and user_data is the mutex below, which outlives the instance.
    let (name, messages) = unsafe { ((*data).message_id_name_as_c_str(), &*user_data.cast::<Mutex<Vec<String>>>()) };
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    messages.lock().expect("no other holder panics").push(name);
    vk::FALSE
}

/// Writes the same buffer twice in one command buffer without a barrier, on a device of `instance`.
fn record_a_hazard(instance: &ash::Instance, physical_device: vk::PhysicalDevice) {
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
    let device_info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
    let buffer_info = vk::BufferCreateInfo::default().size(64).usage(vk::BufferUsageFlags::TRANSFER_DST);
    let pool_info = vk::CommandPoolCreateInfo::default();
    // SAFETY: one thread; every handle is made, used and destroyed here, in order, and nothing is ever submitted.
    unsafe {
        let device = instance.create_device(physical_device, &device_info, None).expect("a device");
        let buffer = device.create_buffer(&buffer_info, None).expect("a buffer");
        let needs = device.get_buffer_memory_requirements(buffer);
        let memory_info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(needs.memory_type_bits.trailing_zeros());
        let memory = device.allocate_memory(&memory_info, None).expect("memory");
        device.bind_buffer_memory(buffer, memory, 0).expect("bound memory");
        let pool = device.create_command_pool(&pool_info, None).expect("a pool");
        let commands_info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let commands = device.allocate_command_buffers(&commands_info).expect("a command buffer")[0];
        device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default()).expect("begun");
        device.cmd_fill_buffer(commands, buffer, 0, 64, 1);
        device.cmd_fill_buffer(commands, buffer, 0, 64, 2);
        device.end_command_buffer(commands).expect("ended");
        device.destroy_command_pool(pool, None);
        device.destroy_buffer(buffer, None);
        device.free_memory(memory, None);
        device.destroy_device(None);
    }
}

#[test]
fn layer_on_an_unordered_write_reports_that_hazard_alone() {
    // SAFETY: the loader library is the system's or the rig's, and has no unsound initialisers.
    let entry = unsafe { ash::Entry::load() }.expect("a Vulkan loader");
    // SAFETY: no handle involved.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }.expect("a list of layers");
    if !layers.iter().any(|layer| layer.layer_name_as_c_str() == Ok(LAYER)) {
        return support::rig::missing("layer_on_an_unordered_write", "validation layer");
    }

    let messages = Mutex::new(Vec::<String>::new());
    let enabled = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
    let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enabled);
    let mut messenger = vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
        .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
        .pfn_user_callback(Some(collect))
        .user_data((&raw const messages).cast_mut().cast());
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let layers = [LAYER.as_ptr()];
    let extensions = [ash::ext::debug_utils::NAME.as_ptr(), ash::ext::validation_features::NAME.as_ptr()];
    let instance_info = vk::InstanceCreateInfo::default()
        .application_info(&application)
        .enabled_layer_names(&layers)
        .enabled_extension_names(&extensions)
        .push_next(&mut features);
    // SAFETY: the names and structures outlive the calls, and each handle is destroyed once, the messenger first.
    unsafe {
        let instance = entry.create_instance(&instance_info, None).expect("an instance");
        let debug = ash::ext::debug_utils::Instance::new(&entry, &instance);
        messenger.p_next = std::ptr::null();
        let messenger = debug.create_debug_utils_messenger(&messenger, None).expect("a messenger");
        let physical_device = instance.enumerate_physical_devices().expect("devices")[0];
        record_a_hazard(&instance, physical_device);
        debug.destroy_debug_utils_messenger(messenger, None);
        instance.destroy_instance(None);
    }
    assert_eq!(*messages.lock().expect("unpoisoned"), ["SYNC-HAZARD-WRITE-AFTER-WRITE"]);
}

#[test]
fn driver_of_each_rig_is_lavapipe_of_that_rig() {
    let Ok(rig) = std::env::var("TRANSOM_DRIVER") else {
        return support::rig::missing("driver_of_each_rig", "choice of a driver (tests/rig/with-driver)");
    };
    // SAFETY: as above.
    let entry = unsafe { ash::Entry::load() }.expect("a Vulkan loader");
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    // SAFETY: the device belongs to the instance, which is destroyed after its last use.
    unsafe {
        let instance = entry.create_instance(&info, None).expect("an instance");
        let devices = instance.enumerate_physical_devices().expect("devices");
        assert_eq!(devices.len(), 1, "the rig shows its own device alone");
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
        instance.get_physical_device_properties2(devices[0], &mut properties);
        instance.destroy_instance(None);
    }
    assert_eq!(driver.driver_id.as_raw(), vk::DriverId::MESA_LLVMPIPE.as_raw());
    // The library itself tells where it was opened from.
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the memory map");
    let opened = maps.lines().find(|line| line.contains("libvulkan.so")).expect("the Vulkan loader is mapped");
    assert_eq!(opened.contains("/modern/"), rig == "modern", "{rig} runs on {opened}");
}
