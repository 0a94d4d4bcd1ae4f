//! winit's event loop and the one window in it.
//!
//! The loop is turned by [`Host::pump`] alone and never waits. It is asked again until it has nothing more to say,
//! since events can lie in the client library's queues with nothing left to read on the descriptor: winit's own
//! requests, and a driver that presents through the same connection, read ahead. Deliberately absent: winit's thread
//! that watches for such readers on Wayland (a poll with a time limit would start it); the main loop would have to
//! wait for it at each read. Instead the output asks for a pump after each call that may have read.
//! Next: [`super::surface`], what the swapchain is made on.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use raw_window_handle::{HasDisplayHandle, RawDisplayHandle};
use winit::application::ApplicationHandler;
use winit::dpi::{LogicalSize, PhysicalSize};
use winit::error::OsError;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::platform::pump_events::{EventLoopExtPumpEvents, PumpStatus};
use winit::platform::wayland::{EventLoopBuilderExtWayland, EventLoopExtWayland, WindowAttributesExtWayland};
use winit::platform::x11::EventLoopBuilderExtX11;
use winit::window::{Window, WindowId};

use super::HostError;
use super::resize::Shape;
use super::xlib;
use crate::adapters::input::nested::{HostKind, Inside, Translator};
use crate::domain::frame::Time;
use crate::domain::geometry::{Scale, Size};

/// Rounds of one pump; what is left then waits for the next one, which is asked for.
const ROUNDS: usize = 16;

/// What the window said since the last look, input aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Draw again: on Wayland, the frame asked for is wanted; on X, the content was lost.
    pub(super) redraw: bool,
    /// Nothing of it is seen, or something is.
    pub(super) covered: Option<bool>,
    /// Somebody wants it closed, or the host is gone.
    pub(super) close: bool,
}

/// See the module's docs. Fields are dropped in order: the window before its connection.
pub(super) struct Host {
    window: Arc<Window>,
    state: State,
    events: EventLoop<()>,
    kind: HostKind,
    /// For people.
    name: String,
    /// On X alone: winit does not say that the server is gone.
    server: Option<xlib::Watch>,
    /// What the window said while it was opened.
    early: Vec<WindowEvent>,
    /// The connection broke: winit must not be asked again.
    gone: bool,
    /// The last pump ended with something left to say.
    more: bool,
}

/// What winit calls back into, once there is a window.
struct State {
    window: Arc<Window>,
    /// By its events: asking for it is a round trip on X.
    size_px: Size,
    translator: Translator,
    now: Time,
    heard: bool,
    said: Said,
}

/// What winit calls back into at first: windows are made from inside its loop.
struct Opening {
    size: Size,
    window: Option<Result<Arc<Window>, OsError>>,
    /// What the window said meanwhile, sizes aside: on X it may open beneath the pointer.
    early: Vec<WindowEvent>,
}

impl Host {
    /// Opens a window of `size` logical pixels; input goes to what `translator` makes for that kind of host.
    pub(super) fn open(
        size: Size,
        translator: impl FnOnce(HostKind) -> std::io::Result<Translator>,
    ) -> Result<Self, HostError> {
        let mut builder = EventLoop::builder();
        // The loop lives wherever the compositor's does; neither window system minds.
        EventLoopBuilderExtWayland::with_any_thread(&mut builder, true);
        EventLoopBuilderExtX11::with_any_thread(&mut builder, true);
        let mut events = builder.build().map_err(HostError::Connect)?;
        events.set_control_flow(ControlFlow::Poll);
        let kind = if events.is_wayland() { HostKind::Wayland } else { HostKind::X11 };
        let mut opening = Opening { size, window: None, early: Vec::new() };
        if let PumpStatus::Exit(_) = events.pump_app_events(None, &mut opening) {
            return Err(HostError::Gone);
        }
        let window = opening.window.ok_or(HostError::Gone)?.map_err(HostError::Window)?;
        // The compositor draws the pointer itself.
        window.set_cursor_visible(false);
        let (now, said) = (Time::default(), Said::default());
        let size_px = pixels(window.inner_size());
        let translator = translator(kind)?;
        let server = match kind {
            HostKind::Wayland => None,
            HostKind::X11 => watch(&window),
        };
        let state = State { window: Arc::clone(&window), size_px, translator, now, heard: false, said };
        let name = name(kind, |variable| std::env::var(variable).ok());
        Ok(Self { window, state, events, kind, name, server, early: opening.early, gone: false, more: true })
    }

    pub(super) fn kind(&self) -> HostKind {
        self.kind
    }

    pub(super) fn window(&self) -> &Arc<Window> {
        &self.window
    }

    pub(super) fn shape(&self) -> Shape {
        let inside = self.state.inside();
        Shape { size_px: inside.size_px, scale: Scale::from_f64(inside.scale) }
    }

    /// The rate of the monitor that shows the window, mHz, where the host tells.
    pub(super) fn refresh_mhz(&self) -> Option<u32> {
        if self.gone {
            return None;
        }
        self.window.current_monitor()?.refresh_rate_millihertz()
    }

    /// Readable when there is something to pump, unless it was read ahead: see the module's docs.
    pub(super) fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.gone).then(|| self.events.as_fd())
    }

    /// Whether another pump is needed, whatever the descriptor says.
    pub(super) fn more(&self) -> bool {
        self.more
    }

    /// Reads all that is there, passes input on, and gives what else was said.
    pub(super) fn pump(&mut self, now: Time) -> Said {
        self.state.now = now;
        self.early.drain(..).for_each(|event| self.state.hear(event));
        self.more = !self.gone;
        for _ in 0..ROUNDS {
            if !self.more {
                break;
            }
            self.state.heard = false;
            let ended = matches!(self.events.pump_app_events(None, &mut self.state), PumpStatus::Exit(_));
            if ended || self.server.as_ref().is_some_and(xlib::Watch::is_gone) {
                self.lose();
                self.state.said.close = true;
            }
            self.more = self.state.heard && !self.gone;
        }
        self.state.translator.finish(now);
        std::mem::take(&mut self.state.said)
    }
}

impl Host {
    /// The window is lost, whoever notices first: winit, or the driver over a connection of its own.
    pub(super) fn lose(&mut self) {
        if !std::mem::replace(&mut self.gone, true) {
            tracing::warn!(host = self.name, "the host is gone, or took the window away");
        }
    }
}

impl ApplicationHandler for Opening {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        let size = LogicalSize::new(self.size.w, self.size.h);
        let attributes = Window::default_attributes().with_title("Transom").with_inner_size(size);
        // One field serves as the app id on Wayland and as the class on X.
        let attributes = WindowAttributesExtWayland::with_name(attributes, "transom", "transom");
        self.window = Some(events.create_window(attributes).map(Arc::new));
    }

    fn window_event(&mut self, _events: &ActiveEventLoop, _window: WindowId, event: WindowEvent) {
        if !matches!(event, WindowEvent::Resized(_)) {
            self.early.push(event);
        }
    }
}

fn watch(window: &Window) -> Option<xlib::Watch> {
    let RawDisplayHandle::Xlib(handle) = window.display_handle().ok()?.as_raw() else { return None };
    // SAFETY: the display is the window's, and so open.
    unsafe { xlib::Watch::new(handle.display?.as_ptr()) }
}

/// The host by the variables that led to it.
fn name(kind: HostKind, variable: impl Fn(&str) -> Option<String>) -> String {
    let known = |name: &str| variable(name).filter(|value| !value.is_empty());
    match kind {
        HostKind::Wayland => match known("WAYLAND_SOCKET") {
            Some(_) => "a Wayland compositor, by WAYLAND_SOCKET".to_owned(),
            None => format!("the Wayland compositor at {}", known("WAYLAND_DISPLAY").unwrap_or_default()),
        },
        HostKind::X11 => format!("the X server at {}", known("DISPLAY").unwrap_or_default()),
    }
}

/// Each side at least one.
fn pixels(size: PhysicalSize<u32>) -> Size {
    let side = |pixels: u32| i32::try_from(pixels).unwrap_or(i32::MAX).max(1);
    Size::new(side(size.width), side(size.height))
}

impl State {
    fn inside(&self) -> Inside {
        Inside { size_px: self.size_px, scale: self.window.scale_factor() }
    }

    fn hear(&mut self, event: WindowEvent) {
        self.heard = true;
        match &event {
            WindowEvent::RedrawRequested => self.said.redraw = true,
            WindowEvent::Resized(size) => self.size_px = pixels(*size),
            WindowEvent::Occluded(covered) => self.said.covered = Some(*covered),
            WindowEvent::CloseRequested | WindowEvent::Destroyed => self.said.close = true,
            _ => {
                let inside = self.inside();
                self.translator.translate(&event, inside, self.now);
            }
        }
    }
}

impl ApplicationHandler for State {
    fn resumed(&mut self, _events: &ActiveEventLoop) {}

    fn window_event(&mut self, _events: &ActiveEventLoop, _window: WindowId, event: WindowEvent) {
        self.hear(event);
    }
}
