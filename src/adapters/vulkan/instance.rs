//! The instance: loader, layers, extensions, and what must outlive every object made through it.
//!
//! Shared by `Arc`: the device and each window's surface hold it. It owns the driver's host memory callbacks and the
//! validation messages, both at fixed addresses that Vulkan keeps. Next: `gpu`, then `device`.

use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

use ash::{ext, khr, vk};

use super::debug::Messages;
use super::error::{CallError, NewError};
use super::host_memory::HostMemory;
use super::options::Options;
use super::owned::Counts;

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// The instance and its companions.
pub(super) struct Instance {
    raw: ash::Instance,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    surface: Option<Surfaces>,
    callbacks: vk::AllocationCallbacks<'static>,
    counts: Counts,
    // Vulkan holds these two addresses until the instance is destroyed.
    host_memory: Box<HostMemory>,
    messages: Arc<Messages>,
    // The loader's library; closed last.
    entry: ash::Entry,
}

/// The window systems that a surface can be made for.
pub(super) struct Surfaces {
    /// VK_KHR_surface.
    pub(super) base: khr::surface::Instance,
    /// VK_KHR_wayland_surface, where there.
    pub(super) wayland: Option<khr::wayland_surface::Instance>,
    /// VK_KHR_xcb_surface, where there.
    pub(super) xcb: Option<khr::xcb_surface::Instance>,
    /// VK_KHR_xlib_surface, where there.
    pub(super) xlib: Option<khr::xlib_surface::Instance>,
}

impl Instance {
    /// Makes an instance with what `options` ask for.
    ///
    /// # Errors
    /// [`NewError::Loader`], [`NewError::Instance`], [`NewError::ValidationMissing`].
    pub(super) fn new(options: &Options) -> Result<Self, NewError> {
        // SAFETY: the library is the system's Vulkan loader, whose initialisers ask nothing of us.
        let entry = unsafe { ash::Entry::load() }.map_err(|e| NewError::Loader(e.to_string()))?;
        let failed = |call| move |result| NewError::Instance(CallError { call, result });
        let validation = options.wants_validation();
        // SAFETY: no preconditions.
        let layers = unsafe { entry.enumerate_instance_layer_properties() }
            .map_err(failed("vkEnumerateInstanceLayerProperties"))?;
        if validation && !layers.iter().any(|l| l.layer_name_as_c_str() == Ok(VALIDATION_LAYER)) {
            return Err(NewError::ValidationMissing);
        }
        // SAFETY: no preconditions.
        let available = unsafe { entry.enumerate_instance_extension_properties(None) }
            .map_err(failed("vkEnumerateInstanceExtensionProperties"))?;
        let has = |name: &CStr| available.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        let surfaces = options.presentation && has(khr::surface::NAME);
        let mut extensions = Vec::new();
        if validation {
            extensions.push(ext::debug_utils::NAME); // the layer offers it where no driver does
        }
        let window_systems = [khr::wayland_surface::NAME, khr::xcb_surface::NAME, khr::xlib_surface::NAME];
        if surfaces {
            extensions.push(khr::surface::NAME);
            extensions.extend(window_systems.into_iter().filter(|name| has(name)));
        }
        let host_memory = Box::<HostMemory>::default();
        let messages = Arc::<Messages>::default();
        let callbacks = host_memory.callbacks();
        let raw = create(&entry, validation, &extensions, &messages, &callbacks).map_err(failed("vkCreateInstance"))?;
        let counts = Counts::default();
        counts.create(1);
        let enabled = |name: &CStr| extensions.contains(&name);
        let surface = surfaces.then(|| Surfaces {
            base: khr::surface::Instance::new(&entry, &raw),
            wayland: enabled(window_systems[0]).then(|| khr::wayland_surface::Instance::new(&entry, &raw)),
            xcb: enabled(window_systems[1]).then(|| khr::xcb_surface::Instance::new(&entry, &raw)),
            xlib: enabled(window_systems[2]).then(|| khr::xlib_surface::Instance::new(&entry, &raw)),
        });
        let mut this = Self { raw, messenger: None, surface, callbacks, counts, host_memory, messages, entry };
        if validation {
            this.messenger = Some(this.create_messenger().map_err(NewError::Instance)?);
        }
        Ok(this)
    }

    fn create_messenger(&self) -> Result<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT), CallError> {
        let utils = ext::debug_utils::Instance::new(&self.entry, &self.raw);
        let info = self.messages.create_info();
        // SAFETY: the instance is alive and has the extension; `messages` outlives the messenger (field order and Drop).
        let messenger = unsafe { utils.create_debug_utils_messenger(&info, Some(&self.callbacks)) }
            .map_err(|result| CallError { call: "vkCreateDebugUtilsMessengerEXT", result })?;
        self.counts.create(1);
        Ok((utils, messenger))
    }

    /// The instance's functions.
    pub(super) fn raw(&self) -> &ash::Instance {
        &self.raw
    }

    /// The callbacks that every object is made and destroyed with.
    pub(super) fn callbacks(&self) -> &vk::AllocationCallbacks<'static> {
        &self.callbacks
    }

    /// The count of objects.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The driver's host memory.
    pub(super) fn host_memory(&self) -> &HostMemory {
        &self.host_memory
    }

    /// What the validation layers said.
    pub(super) fn messages(&self) -> &Arc<Messages> {
        &self.messages
    }

    /// Whether the validation layers are on.
    pub(super) fn is_validated(&self) -> bool {
        self.messenger.is_some()
    }

    /// The window systems; `None` where presentation was not asked for or is not there.
    pub(super) fn surfaces(&self) -> Option<&Surfaces> {
        self.surface.as_ref()
    }
}

/// Calls vkCreateInstance.
fn create(
    entry: &ash::Entry,
    validation: bool,
    extensions: &[&CStr],
    messages: &Messages,
    callbacks: &vk::AllocationCallbacks<'_>,
) -> Result<ash::Instance, vk::Result> {
    let app = vk::ApplicationInfo::default()
        .application_name(c"transom")
        .engine_name(c"transom")
        .api_version(vk::API_VERSION_1_3);
    let names: Vec<*const c_char> = extensions.iter().map(|name| name.as_ptr()).collect();
    let layers = [VALIDATION_LAYER.as_ptr()];
    let enables = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
    let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enables);
    let mut messenger = messages.create_info();
    let mut info = vk::InstanceCreateInfo::default().application_info(&app).enabled_extension_names(&names);
    if validation {
        info = info.enabled_layer_names(&layers).push_next(&mut features).push_next(&mut messenger);
    }
    // SAFETY: every pointer in `info` lives across the call; the layer and the extensions were enumerated; `messages`
    // and `callbacks` outlive the instance (`Instance`'s Drop and field order).
    unsafe { entry.create_instance(&info, Some(callbacks)) }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the last holder is going, so no child object is left; each was made with these callbacks. The boxes
        // and the loader are dropped after this.
        unsafe {
            if let Some((utils, messenger)) = self.messenger.take() {
                utils.destroy_debug_utils_messenger(messenger, Some(&self.callbacks));
            }
            self.raw.destroy_instance(Some(&self.callbacks));
        }
    }
}

/// A C string for Vulkan; text after an inner NUL is dropped.
pub(super) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
