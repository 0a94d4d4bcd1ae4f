//! An output in a window of another desktop: winit's window, the renderer's swapchain.
//!
//! The window's size in the host's pixels is the mode; its scale is the preferred scale. Frames are paced by
//! [`pacing`], shapes told on by [`resize`]; the host's events are read here, input among them, which goes on to
//! [`crate::adapters::input::nested`]. Nothing here waits for the host. The host's pointer is hidden inside the
//! window: the compositor draws its own, so that a screenshot and every other backend show the same. Deliberately
//! absent: scan-out, and capture from the swapchain.

mod host;
mod pacing;
mod resize;
mod surface;
mod xlib;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::adapters::input::nested as input;
use crate::domain::frame::Time;
use crate::domain::geometry::Size;
use crate::domain::mode::Mode;
use crate::ports::output::{Content, Event, Info, Output, Presented};
use crate::ports::renderer::{self, Acquired, RenderError, Renderer, TargetId};
use host::{Host, Said};
use input::HostKind;
use pacing::{Outcome, Pacing, Source};
use resize::{Resize, Shape};

/// The only window's name.
const NAME: &str = "NESTED-1";
/// Assumed where the host does not tell its rate.
const DEFAULT_MHZ: u32 = 60_000;
/// The host's rate is asked for at most so often: that a window moved to another monitor is not announced.
const RATE_CHECK_NS: u64 = 1_000_000_000;

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// No desktop to open it on: set WAYLAND_DISPLAY or DISPLAY.
    #[error("cannot connect to a Wayland or an X host")]
    Connect(#[source] winit::error::EventLoopError),
    /// The host refused it.
    #[error("the host opens no window")]
    Window(#[source] winit::error::OsError),
    /// The host hung up meanwhile.
    #[error("the host closed the connection")]
    Gone,
    /// The window cannot be presented to.
    #[error("no way to present to the window: {0}")]
    Swapchain(String),
    /// No file descriptor left.
    #[error("cannot make an event descriptor")]
    Descriptor(#[from] io::Error),
}

/// See the module's docs. Fields are dropped in order: what presents to the window before the window.
pub struct Nested {
    surface: Arc<dyn renderer::Window>,
    host: Host,
    info: Info,
    pacing: Pacing,
    resize: Resize,
    /// The target and the size it was last given.
    target: Option<(TargetId, Size)>,
    /// The renderer was in the driver since the last pump, and may have read the host's events.
    read_ahead: bool,
    rate_checked: Time,
    // To be told with the next dispatch.
    changed: bool,
    exposed: bool,
    closed: bool,
}

impl fmt::Debug for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nested").field("info", &self.info).field("target", &self.target).finish_non_exhaustive()
    }
}

/// Opens the window, `size` of the host's logical pixels at first, and gives its two faces.
///
/// # Errors
/// [`HostError`].
pub fn open(size: Size) -> Result<(Nested, input::Nested), HostError> {
    let mut face = None;
    let host = Host::open(size, |kind| {
        let (translator, input) = input::pair(NAME, kind)?;
        face = Some(input);
        Ok(translator)
    })?;
    let input = face.ok_or(HostError::Gone)?;
    let surface = surface::create(host.window(), host.kind())?;
    let shape = host.shape();
    let mode = Mode { size: shape.size_px, refresh_mhz: rate(host.refresh_mhz()) };
    let (model, source) = match host.kind() {
        HostKind::Wayland => ("Wayland window", Source::Callback),
        HostKind::X11 => ("X11 window", Source::Clock),
    };
    tracing::info!(model, %mode, scale = shape.scale.as_f64(), "nested window opened");
    let info = Info {
        name: NAME.to_owned(),
        make: "Transom".to_owned(),
        model: model.to_owned(),
        physical_mm: Size::default(),
        mode,
        preferred_scale: shape.scale,
        scan_out: false,
        cursor_plane: false,
    };
    let nested = Nested {
        surface,
        host,
        info,
        pacing: Pacing::new(source, mode.period_ns()),
        resize: Resize::new(shape),
        target: None,
        read_ahead: false,
        rate_checked: Time::default(),
        changed: false,
        exposed: false,
        closed: false,
    };
    Ok((nested, input))
}

/// The host's rate where it is one, in mHz.
fn rate(told: Option<u32>) -> u32 {
    told.filter(|mhz| (1_000..=1_000_000).contains(mhz)).unwrap_or(DEFAULT_MHZ)
}

impl Nested {
    /// Notes the window's shape of this moment, and makes it the mode once it came to rest.
    fn follow_shape(&mut self, now: Time) {
        self.resize.set(self.host.shape(), now);
        if let Some(Shape { size_px, scale }) = self.resize.take(now) {
            tracing::debug!(size = ?size_px, scale = scale.as_f64(), "nested window changed");
            self.info.mode.size = size_px;
            self.info.preferred_scale = scale;
            self.changed = true;
        }
    }

    /// Follows the rate of the monitor that shows the window.
    fn follow_rate(&mut self, now: Time) {
        if now.since_ns(self.rate_checked) < RATE_CHECK_NS {
            return;
        }
        self.rate_checked = now;
        let refresh_mhz = rate(self.host.refresh_mhz());
        if refresh_mhz != self.info.mode.refresh_mhz {
            self.info.mode.refresh_mhz = refresh_mhz;
            self.pacing.set_period_ns(self.info.mode.period_ns());
            self.changed = true;
        }
    }

    /// Takes in what the window said; the frame's outcome, if it is now known.
    fn hear(&mut self, said: Said, now: Time) -> Option<Outcome> {
        if let Some(covered) = said.covered {
            self.pacing.set_covered(covered, now);
        }
        self.closed |= said.close;
        // An X host asks for a redraw only where content was lost; a Wayland host keeps content.
        self.exposed |= said.redraw && self.host.kind() == HostKind::X11;
        let called_back = if said.redraw { self.pacing.called_back(now) } else { None };
        called_back.or_else(|| self.pacing.expire(now))
    }

    /// Asks the renderer for the target once, at the mode's size.
    fn try_acquire(&mut self, renderer: &mut dyn Renderer) -> Result<(TargetId, Acquired), RenderError> {
        let (target, size) = self.target.ok_or(RenderError::Unknown)?;
        if size != self.info.mode.size {
            renderer.resize_target(target, self.info.mode.size)?;
            self.target = Some((target, self.info.mode.size));
        }
        Ok((target, renderer.acquire(target)?))
    }

    /// As [`Nested::try_acquire`], with a new swapchain where the old one no longer fits.
    fn acquire_anew(&mut self, renderer: &mut dyn Renderer) -> Result<(TargetId, Acquired), RenderError> {
        // Another shape of the window, if that is the reason, becomes the mode with the next dispatch.
        self.resize.hurry();
        self.target = self.target.map(|(target, _)| (target, Size::default()));
        match self.try_acquire(renderer) {
            Err(RenderError::OutOfDate) => Err(RenderError::NotReady),
            other => other,
        }
    }
}

impl Output for Nested {
    fn info(&self) -> &Info {
        &self.info
    }

    fn acquire(&mut self, renderer: &mut dyn Renderer) -> Result<(TargetId, Acquired), RenderError> {
        self.read_ahead = true;
        let acquired = match self.try_acquire(renderer) {
            Err(RenderError::OutOfDate) => self.acquire_anew(renderer),
            other => other,
        };
        match &acquired {
            // A callback goes with the surface commit to come.
            Ok(_) => self.host.window().pre_present_notify(),
            Err(RenderError::SurfaceLost) => {
                self.host.lose();
                self.closed = true;
            }
            Err(_) => {}
        }
        acquired
    }

    fn present(&mut self, _content: Content, now: Time) {
        self.read_ahead = true;
        self.pacing.present(now);
        if self.host.kind() == HostKind::Wayland {
            self.host.window().request_redraw(); // winit holds it back until the callback comes
        }
    }

    fn capture_target(&self) -> Option<TargetId> {
        None
    }

    fn next_wake(&self) -> Option<Time> {
        if self.read_ahead || self.host.more() {
            return Some(Time::default()); // at once
        }
        [self.pacing.due(), self.resize.due()].into_iter().flatten().min()
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.host.wake_fd()
    }

    fn dispatch(&mut self, now: Time, tell: &mut dyn FnMut(Event)) {
        self.read_ahead = false;
        let said = self.host.pump(now);
        let outcome = self.hear(said, now);
        self.follow_shape(now);
        if let Some(outcome) = outcome {
            self.follow_rate(now);
            tell(match outcome {
                Outcome::Shown(time) => Event::Presented(Presented {
                    time,
                    sequence: 0,
                    period_ns: self.info.mode.period_ns(),
                    vsync: false,
                    hw_clock: false,
                    hw_completion: false,
                    zero_copy: false,
                }),
                Outcome::Discarded => Event::Discarded,
            });
        }
        if std::mem::take(&mut self.changed) {
            self.exposed = false; // a change repaints all, too
            tell(Event::Changed);
        }
        if std::mem::take(&mut self.exposed) {
            tell(Event::Exposed);
        }
        if std::mem::take(&mut self.closed) {
            tell(Event::Closed);
        }
    }

    fn release(&mut self, renderer: &mut dyn Renderer) {
        if let Some((target, _)) = self.target.take() {
            self.read_ahead = true;
            renderer.destroy_target(target);
        }
    }

    fn attach(&mut self, renderer: &mut dyn Renderer) -> Result<(), RenderError> {
        self.release(renderer);
        self.read_ahead = true;
        let size = self.info.mode.size;
        self.target = Some((renderer.create_window(Arc::clone(&self.surface), size)?, size));
        Ok(())
    }
}
