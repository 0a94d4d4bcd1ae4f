//! Failed Vulkan calls, and what they mean to the port's caller.
//!
//! A [`CallError`] keeps the call's name and its result; the conversions choose the caller's remedy from the result and
//! keep the call as the source. Made by `device::Device::check` alone, which also notes a lost device.

use std::fmt;

use ash::vk;

use super::gpu::Probe;
use crate::ports::renderer::{ImportError, RenderError};

/// A Vulkan call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {result}")]
pub struct CallError {
    /// The function, e.g. `vkCreateImage`.
    pub call: &'static str,
    /// What it returned.
    pub result: vk::Result,
}

impl CallError {
    /// As an import's failure; `what` names what ran out where that is what happened.
    pub(super) fn into_import(self, what: &'static str) -> ImportError {
        match self.result {
            vk::Result::ERROR_DEVICE_LOST => ImportError::DeviceLost,
            vk::Result::ERROR_FORMAT_NOT_SUPPORTED => ImportError::Unsupported { reason: self.to_string() },
            _ => ImportError::Exhausted { what, source: Some(Box::new(self)) },
        }
    }

    /// As a target's failure; `what` names what ran out where that is what happened.
    pub(super) fn into_render(self, what: &'static str) -> RenderError {
        match self.result {
            vk::Result::ERROR_DEVICE_LOST => RenderError::DeviceLost,
            vk::Result::ERROR_OUT_OF_DATE_KHR => RenderError::OutOfDate,
            vk::Result::ERROR_SURFACE_LOST_KHR => RenderError::SurfaceLost,
            vk::Result::NOT_READY | vk::Result::TIMEOUT => RenderError::NotReady,
            vk::Result::ERROR_FORMAT_NOT_SUPPORTED
            | vk::Result::ERROR_EXTENSION_NOT_PRESENT
            | vk::Result::ERROR_FEATURE_NOT_PRESENT => RenderError::Unsupported(self.to_string()),
            _ => RenderError::Exhausted { what, source: Some(Box::new(self)) },
        }
    }
}

/// Why no renderer could be made. The text says what was found, what is missing and what to install.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    /// No libvulkan.
    #[error("the Vulkan loader cannot be opened ({0}); install libvulkan1 and a driver such as mesa-vulkan-drivers")]
    Loader(String),
    /// The loader is there but makes no instance.
    #[error("no Vulkan instance can be made; is a driver such as mesa-vulkan-drivers installed?")]
    Instance(#[source] CallError),
    /// Validation was asked for and is not installed.
    #[error("validation is asked for, but VK_LAYER_KHRONOS_validation is missing: install vulkan-validationlayers")]
    ValidationMissing,
    /// No device does, or not the one named.
    #[error("{}", NoDevice { wanted, found })]
    NoDevice {
        /// The name asked for.
        wanted: Option<String>,
        /// Every device there is, with what each lacks.
        found: Vec<Probe>,
    },
    /// An option asks for what the device has not.
    #[error("{option} is asked for, but {device} lacks it: {missing}")]
    Lacking {
        /// The option.
        option: &'static str,
        /// The device.
        device: String,
        /// What it lacks.
        missing: String,
    },
    /// The device was found but could not be put to use.
    #[error("the device {device} cannot be used")]
    Device {
        /// Its name.
        device: String,
        /// The failing call.
        #[source]
        source: CallError,
    },
    /// The thread that waits for the device, or its eventfd, could not be made.
    #[error("no thread to wait for the device")]
    Waiter(#[source] std::io::Error),
}

/// The message of [`NewError::NoDevice`].
struct NoDevice<'a> {
    wanted: &'a Option<String>,
    found: &'a [Probe],
}

impl fmt::Display for NoDevice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wanted {
            Some(name) => write!(f, "no usable Vulkan device is called or numbered {name:?}")?,
            None => f.write_str("no Vulkan device is good enough")?,
        }
        if self.found.is_empty() {
            return f.write_str("; no driver offers any: install one, such as mesa-vulkan-drivers");
        }
        for probe in self.found {
            write!(f, "; {} ({}, UUID {})", probe.name, probe.kind, probe.uuid)?;
            if probe.lacks.is_empty() {
                f.write_str(" is good enough but not the one named")?;
            } else {
                write!(f, " lacks {}", probe.lacks.join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(name: &str, lacks: &[&str]) -> Probe {
        Probe {
            name: name.into(),
            kind: "cpu",
            uuid: "00".into(),
            lacks: lacks.iter().map(|s| (*s).to_owned()).collect(),
            capabilities: Default::default(),
        }
    }

    #[test]
    fn message_without_a_device_names_what_each_candidate_lacks() {
        let found = vec![probe("old", &["Vulkan 1.3", "dynamic rendering"]), probe("other", &[])];
        let text = NewError::NoDevice { wanted: Some("RTX".into()), found }.to_string();
        assert!(text.contains("\"RTX\"") && text.contains("old (cpu, UUID 00) lacks Vulkan 1.3, dynamic rendering"));
        assert!(text.contains("other (cpu, UUID 00) is good enough but not the one named"), "{text}");
        let none = NewError::NoDevice { wanted: None, found: Vec::new() }.to_string();
        assert!(none.contains("install one"), "{none}");
    }

    #[test]
    fn lost_device_of_any_call_is_device_lost() {
        let lost = CallError { call: "vkQueueSubmit2", result: vk::Result::ERROR_DEVICE_LOST };
        assert!(matches!(lost.into_import("memory"), ImportError::DeviceLost));
        assert!(matches!(lost.into_render("memory"), RenderError::DeviceLost));
        let full = CallError { call: "vkAllocateMemory", result: vk::Result::ERROR_OUT_OF_DEVICE_MEMORY };
        assert!(matches!(full.into_import("memory"), ImportError::Exhausted { what: "memory", source: Some(_) }));
    }
}
