//! An X server that goes away, told instead of died of.
//!
//! When its connection breaks, Xlib calls the process's I/O error handler, and then the display's exit handler, which
//! ends the process from wherever Xlib was called. winit replaces neither. With both replaced, Xlib's calls on the
//! display fail from then on, and [`Watch::is_gone`] says why. libX11 before 1.7 has no exit handler to replace: there
//! the handler says what happened before Xlib ends the process.
//!
//! The handlers belong to the process and stay; they are none of the library's and touch nothing but two flags.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix::{Library, RTLD_NOW};

/// The name that winit opens it by, too.
const LIBRARY: &str = "libX11.so.6";

/// A display of Xlib's, which only it looks into.
type Display = *mut c_void;
type ErrorHandler = unsafe extern "C" fn(Display) -> c_int;
type ExitHandler = unsafe extern "C" fn(Display, *mut c_void);

/// Some display's connection broke. One process has one X host.
static GONE: AtomicBool = AtomicBool::new(false);
/// Xlib lets the process live on.
static STAYS: AtomicBool = AtomicBool::new(false);

/// See the module's docs.
pub(super) struct Watch {
    /// Keeps what the handlers are called from.
    _library: Library,
}

impl Watch {
    /// Watches the connection of `display`; `None`, with a warning, where Xlib cannot be asked.
    ///
    /// # Safety
    /// `display` is open.
    pub(super) unsafe fn new(display: Display) -> Option<Self> {
        // SAFETY: winit opened the same library; opening it again runs nothing.
        let library = unsafe { Library::open(Some(LIBRARY), RTLD_NOW) };
        let refused = |error: &libloading::Error| tracing::warn!(%error, "an X server that goes ends the process");
        let library = library.inspect_err(refused).ok()?;
        // SAFETY: Xlib's own declarations: `XIOErrorHandler XSetIOErrorHandler(XIOErrorHandler)`, and `void
        // XSetIOErrorExitHandler(Display *, XIOErrorExitHandler, void *)` where it is.
        let (set, set_exit) = unsafe {
            let set = library.get::<unsafe extern "C" fn(ErrorHandler) -> *mut c_void>(b"XSetIOErrorHandler\0");
            let set_exit =
                library.get::<unsafe extern "C" fn(Display, ExitHandler, *mut c_void)>(b"XSetIOErrorExitHandler\0");
            (set.inspect_err(refused).ok()?, set_exit)
        };
        // SAFETY: the handlers are functions of this program, callable from any thread at any time.
        unsafe { set(broken) };
        if let Ok(set_exit) = set_exit {
            STAYS.store(true, Ordering::Relaxed);
            // SAFETY: as above, and the display is open.
            unsafe { set_exit(display, stay, ptr::null_mut()) };
        }
        Some(Self { _library: library })
    }

    /// Whether the server is gone: nothing may be asked of the display any more.
    pub(super) fn is_gone(&self) -> bool {
        GONE.load(Ordering::Relaxed)
    }
}

unsafe extern "C" fn broken(_display: Display) -> c_int {
    GONE.store(true, Ordering::Relaxed);
    if !STAYS.load(Ordering::Relaxed) {
        tracing::warn!("the X server is gone, and this libX11 ends the process with it");
    }
    0
}

unsafe extern "C" fn stay(_display: Display, _data: *mut c_void) {}
