//! The validation layers' messages, and names for objects.
//!
//! Every message is kept (up to a bound), counted and logged as an error: it is a fault of ours. Shared by `instance` with
//! whoever wants to hear what is said of the instance's own end.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use ash::vk;

/// Messages whose text is kept; the count goes on.
const KEPT: usize = 64;

/// What the layers said.
#[derive(Debug, Default)]
pub struct Messages {
    count: AtomicU64,
    texts: Mutex<Vec<String>>,
}

impl Messages {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The first of them.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What makes a messenger that reports here. The caller keeps `self` at its address until the messenger, and the
    /// instance that was created with the same information, are destroyed.
    pub(super) fn create_info(&self) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
        use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
        vk::DebugUtilsMessengerCreateInfoEXT {
            message_severity: Severity::ERROR | Severity::WARNING,
            // GENERAL is the loader talking about other drivers on the machine, not ours to answer for; PERFORMANCE is
            // advice, such as not to keep images in layout GENERAL, which is done here on purpose.
            message_type: Type::VALIDATION,
            pfn_user_callback: Some(receive),
            p_user_data: std::ptr::from_ref(self).cast_mut().cast(),
            ..Default::default()
        }
    }

    fn add(&self, text: String) {
        tracing::error!("validation: {text}");
        self.count.fetch_add(1, Relaxed);
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() < KEPT {
            texts.push(text);
        }
    }
}

/// PFN_vkDebugUtilsMessengerCallbackEXT. Any thread that calls Vulkan may land here.
unsafe extern "system" fn receive(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes a valid structure whose message is a C string, for the length of this call.
    let text = unsafe {
        match (*data).p_message {
            message if message.is_null() => String::new(),
            message => CStr::from_ptr(message).to_string_lossy().into_owned(),
        }
    };
    // SAFETY: `user` is the `Messages` that `create_info` was called on, alive by that function's contract, only shared.
    unsafe { &*user.cast::<Messages>() }.add(text);
    vk::FALSE
}
