//! An output: something that shows frames at its own pace.
//!
//! The cycle is acquire → render → present → (event) presented. The application never presents again before
//! [`Event::Presented`] or [`Event::Discarded`] came for the last one. Outputs own their pacing: a timer
//! ([`Output::next_wake`]) or a descriptor ([`Output::wake_fd`]), after either of which [`Output::dispatch`] is called.

use std::os::fd::BorrowedFd;

use super::renderer::{Acquired, RenderError, Renderer, TargetId};
use crate::domain::frame::{FrameSerial, Time};
use crate::domain::geometry::{Scale, Size};
pub use crate::domain::mode::Mode;

/// What an output is, for people and clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Unique name, e.g. `HEADLESS-1`, `NESTED-1`.
    pub name: String,
    /// Who made it.
    pub make: String,
    /// Which model.
    pub model: String,
    /// Millimetres, zero where unknown.
    pub physical_mm: Size,
    /// The mode in force.
    pub mode: Mode,
    /// The scale that suits the place it is shown at (a nested window: its host's); [`Scale::ONE`] where unknown. The
    /// configuration's word counts more.
    pub preferred_scale: Scale,
    /// Whether a client's buffer that covers the whole output can be shown without compositing.
    pub scan_out: bool,
    /// Whether the pointer's image need not be composited: the output shows it by itself.
    pub cursor_plane: bool,
}

/// What a frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The target that was acquired, as of this submission.
    Composited(FrameSerial),
    /// A client's buffer as it is; the caller keeps it until the presentation after this one.
    ScannedOut,
}

/// How a frame reached the screen. Source: wp_presentation_feedback.presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presented {
    /// When.
    pub time: Time,
    /// Refresh counter, zero where there is none.
    pub sequence: u64,
    /// Time to the next refresh, zero where it is not constant or unknown.
    pub period_ns: u64,
    /// The time is the display's own start of scan-out, not a guess.
    pub vsync: bool,
    /// The time came from the hardware's clock.
    pub hw_clock: bool,
    /// The hardware said that it was done.
    pub hw_completion: bool,
    /// No copy was made: scanned out.
    pub zero_copy: bool,
}

/// What an output tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The frame last presented is on screen: the next may come.
    Presented(Presented),
    /// The frame last presented will never be shown: the next may come.
    Discarded,
    /// Size, rate or scale changed: read [`Output::info`] again and repaint all.
    Changed,
    /// The content was lost: repaint all.
    Exposed,
    /// The output is going away (its window was closed).
    Closed,
}

/// See the module's docs.
pub trait Output {
    /// What it is now.
    fn info(&self) -> &Info;

    /// Makes the next target ready.
    ///
    /// # Errors
    /// [`RenderError`], after recovering by itself where the swapchain no longer fitted;
    /// [`RenderError::NotReady`] means: skip this frame.
    fn acquire(&mut self, renderer: &mut dyn Renderer) -> Result<(TargetId, Acquired), RenderError>;

    /// Shows a frame at the next refresh after `now`.
    fn present(&mut self, content: Content, now: Time);

    /// The renderer completed everything up to `until`. Told after each [`Renderer::drain`]; for outputs that learn of
    /// it in no other way.
    fn rendered(&mut self, _until: FrameSerial, _now: Time) {}

    /// The target that [`Content::Composited`] frames were rendered to, for capture; `None` where it cannot be read.
    fn capture_target(&self) -> Option<TargetId>;

    /// When [`Output::dispatch`] must be called at the latest.
    fn next_wake(&self) -> Option<Time>;

    /// A descriptor whose readability calls for [`Output::dispatch`].
    fn wake_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Handles what is due and tells what happened.
    fn dispatch(&mut self, now: Time, tell: &mut dyn FnMut(Event));

    /// Lets go of everything it made in a renderer that is about to be replaced (device lost) or dropped.
    fn release(&mut self, renderer: &mut dyn Renderer);

    /// Makes its targets anew in a fresh renderer.
    ///
    /// # Errors
    /// [`RenderError`] as from [`Renderer::create_offscreen`] and [`Renderer::create_window`].
    fn attach(&mut self, renderer: &mut dyn Renderer) -> Result<(), RenderError>;
}
