//! A window's surface: what a swapchain presents to.
//!
//! Made through raw-window-handle for Wayland, XCB and Xlib hosts. Keeps the window alive for as long as it lives, and
//! the instance. Source: VK_KHR_surface and the window systems' own extensions. Next: `swapchain`.

use std::sync::Arc;

use ash::prelude::VkResult;
use ash::vk;
use raw_window_handle::{RawDisplayHandle, RawWindowHandle};

use super::error::CallError;
use super::instance::{Instance, Surfaces};
use crate::ports::renderer::{RenderError, Window};

/// The one owner of a VkSurfaceKHR.
pub(super) struct Surface {
    raw: vk::SurfaceKHR,
    instance: Arc<Instance>,
    // Dropped after the surface was destroyed.
    _window: Arc<dyn Window>,
}

impl Surface {
    /// Makes the surface of `window`.
    ///
    /// # Errors
    /// [`RenderError::Unsupported`] where the instance cannot present to such windows, [`RenderError::SurfaceLost`]
    /// where the window is gone, [`RenderError::Exhausted`].
    pub(super) fn new(instance: &Arc<Instance>, window: Arc<dyn Window>) -> Result<Self, RenderError> {
        let surfaces = instance.surfaces().ok_or_else(|| {
            RenderError::Unsupported("presentation (not asked for, or the Vulkan loader lacks VK_KHR_surface)".into())
        })?;
        let gone = |error: raw_window_handle::HandleError| {
            tracing::warn!(%error, "the window has no handle");
            RenderError::SurfaceLost
        };
        let display = window.display_handle().map_err(gone)?.as_raw();
        let handle = window.window_handle().map_err(gone)?.as_raw();
        let raw = create(instance, surfaces, display, handle)?
            .map_err(|result| CallError { call: "creating the surface", result }.into_render("surfaces"))?;
        instance.counts().create(1);
        Ok(Self { raw, instance: Arc::clone(instance), _window: window })
    }

    /// The handle, not owned.
    pub(super) fn raw(&self) -> vk::SurfaceKHR {
        self.raw
    }

    /// VK_KHR_surface; there as long as a surface is.
    pub(super) fn functions(&self) -> Option<&ash::khr::surface::Instance> {
        self.instance.surfaces().map(|surfaces| &surfaces.base)
    }
}

/// Calls the window system's own function.
fn create(
    instance: &Instance,
    surfaces: &Surfaces,
    display: RawDisplayHandle,
    window: RawWindowHandle,
) -> Result<VkResult<vk::SurfaceKHR>, RenderError> {
    let callbacks = Some(instance.callbacks());
    match (display, window) {
        (RawDisplayHandle::Wayland(display), RawWindowHandle::Wayland(window)) => {
            let functions = surfaces.wayland.as_ref().ok_or_else(|| lacks("VK_KHR_wayland_surface"))?;
            let info = vk::WaylandSurfaceCreateInfoKHR::default()
                .display(display.display.as_ptr())
                .surface(window.surface.as_ptr());
            // SAFETY: the handles are of the live window, which the surface's owner keeps; the callbacks outlive it.
            Ok(unsafe { functions.create_wayland_surface(&info, callbacks) })
        }
        (RawDisplayHandle::Xcb(display), RawWindowHandle::Xcb(window)) => {
            let functions = surfaces.xcb.as_ref().ok_or_else(|| lacks("VK_KHR_xcb_surface"))?;
            let connection = display.connection.ok_or(RenderError::SurfaceLost)?;
            let info =
                vk::XcbSurfaceCreateInfoKHR::default().connection(connection.as_ptr()).window(window.window.get());
            // SAFETY: as above.
            Ok(unsafe { functions.create_xcb_surface(&info, callbacks) })
        }
        (RawDisplayHandle::Xlib(display), RawWindowHandle::Xlib(window)) => {
            let functions = surfaces.xlib.as_ref().ok_or_else(|| lacks("VK_KHR_xlib_surface"))?;
            let connection = display.display.ok_or(RenderError::SurfaceLost)?;
            let info = vk::XlibSurfaceCreateInfoKHR::default().dpy(connection.as_ptr().cast()).window(window.window);
            // SAFETY: as above.
            Ok(unsafe { functions.create_xlib_surface(&info, callbacks) })
        }
        (display, window) => Err(RenderError::Unsupported(format!("windows of the kind {display:?} {window:?}"))),
    }
}

fn lacks(extension: &str) -> RenderError {
    RenderError::Unsupported(format!("this window: the Vulkan loader lacks {extension}"))
}

impl Drop for Surface {
    fn drop(&mut self) {
        let Some(surfaces) = self.instance.surfaces() else { return };
        // SAFETY: each swapchain holds its surface, so none is left; made with these callbacks.
        unsafe { surfaces.base.destroy_surface(self.raw, Some(self.instance.callbacks())) };
        self.instance.counts().destroy(1);
    }
}
