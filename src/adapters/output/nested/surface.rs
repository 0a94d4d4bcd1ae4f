//! What the swapchain is made on: the window, over a connection that suits the driver.
//!
//! On Wayland there is but one, the window's: a surface belongs to its client. On X a second connection is opened for
//! the swapchain alone. Drivers wait for the presentation's events in threads of their own, and whoever reads a
//! connection's socket takes everybody's events off it, into a queue that no descriptor tells about: on a shared
//! connection a key could lie there until the next frame.

use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::Arc;

use raw_window_handle::{
    DisplayHandle, HandleError, HasDisplayHandle, HasWindowHandle, RawDisplayHandle, RawWindowHandle, WindowHandle,
    XcbDisplayHandle, XcbWindowHandle,
};
use winit::window::Window;
use x11rb::xcb_ffi::XCBConnection;

use super::HostError;
use crate::adapters::input::nested::HostKind;
use crate::ports::renderer;

/// A window of X over a connection of its own. Fields are dropped in order: the connection before the window.
struct XcbSurface {
    connection: XCBConnection,
    screen: i32,
    window_id: NonZeroU32,
    visual_id: Option<NonZeroU32>,
    _window: Arc<Window>,
}

impl HasWindowHandle for XcbSurface {
    fn window_handle(&self) -> Result<WindowHandle<'_>, HandleError> {
        let mut handle = XcbWindowHandle::new(self.window_id);
        handle.visual_id = self.visual_id;
        // SAFETY: the window lives as long as `_window`, which `self` holds and the result borrows.
        Ok(unsafe { WindowHandle::borrow_raw(RawWindowHandle::Xcb(handle)) })
    }
}

impl HasDisplayHandle for XcbSurface {
    fn display_handle(&self) -> Result<DisplayHandle<'_>, HandleError> {
        let connection = NonNull::new(self.connection.get_raw_xcb_connection());
        let handle = XcbDisplayHandle::new(connection, self.screen);
        // SAFETY: the connection is open as long as `self`, which the result borrows.
        Ok(unsafe { DisplayHandle::borrow_raw(RawDisplayHandle::Xcb(handle)) })
    }
}

/// The window as the renderer gets it.
///
/// # Errors
/// [`HostError::Swapchain`] where the X server takes no second connection.
pub(super) fn create(window: &Arc<Window>, kind: HostKind) -> Result<Arc<dyn renderer::Window>, HostError> {
    if kind == HostKind::Wayland {
        return Ok(Arc::clone(window) as Arc<dyn renderer::Window>);
    }
    let refused = |reason: &dyn ToString| HostError::Swapchain(reason.to_string());
    let raw = window.window_handle().map_err(|error| refused(&error))?.as_raw();
    let RawWindowHandle::Xlib(xlib) = raw else { return Err(refused(&"the window is none of Xlib's")) };
    // Both are 32-bit numbers of the X protocol in wider types.
    let id = |wide: u64| u32::try_from(wide).ok().and_then(NonZeroU32::new);
    let window_id = id(xlib.window).ok_or_else(|| refused(&"the window has no number"))?;
    let (connection, screen) = XCBConnection::connect(None).map_err(|error| refused(&error))?;
    Ok(Arc::new(XcbSurface {
        connection,
        screen: i32::try_from(screen).map_err(|error| refused(&error))?,
        window_id,
        visual_id: id(xlib.visual_id),
        _window: Arc::clone(window),
    }))
}
