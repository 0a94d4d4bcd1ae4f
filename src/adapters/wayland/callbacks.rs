//! What clients are told about their frames: wl_surface.frame callbacks and wp_presentation feedback.
//!
//! Only what was latched is answered, and only after its frame was presented; a surface on several outputs is paced by
//! one of them. A surface that nobody sees gets its frame callbacks once a second ([`HIDDEN_PERIOD_NS`]): enough for a
//! client that waits for them before it does anything else, too little to burn a processor.

use std::time::Duration;

use smithay::reexports::wayland_protocols::wp::presentation_time::server::wp_presentation_feedback::Kind;
use smithay::wayland::presentation::{PresentationFeedbackCallback, Refresh};

use super::state::{Core, State};
use super::surface::{Surface, SurfaceKey};
use crate::domain::frame::Time;
use crate::domain::output::OutputId;
use crate::ports::output::Presented;

/// From callback to callback of a surface that nobody sees.
pub const HIDDEN_PERIOD_NS: u64 = 1_000_000_000;

/// Feedback for content that an output latched.
#[derive(Debug)]
pub(super) struct Feedback {
    key: SurfaceKey,
    callback: PresentationFeedbackCallback,
    /// Its frame was handed to the output.
    submitted: bool,
}

/// Feedback that waits for one output.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    list: Vec<Feedback>,
}

impl Waiting {
    /// Before a latch: what was latched, never submitted and now superseded will not be seen.
    pub(super) fn discard_superseded(&mut self, is_superseded: impl Fn(SurfaceKey) -> bool) {
        let stale = |feedback: &mut Feedback| !feedback.submitted && is_superseded(feedback.key);
        for feedback in self.list.extract_if(.., stale) {
            feedback.callback.discarded();
        }
    }

    /// Nothing of it will be seen.
    pub(super) fn discard(&mut self) {
        self.list.drain(..).for_each(|feedback| feedback.callback.discarded());
    }
}

impl Surface {
    /// Its content is part of a frame of its pacing output: what it asked to be told is now about that frame.
    pub(super) fn latch_callbacks(&mut self, key: SurfaceKey, waiting: &mut Waiting) {
        self.latched = self.callbacks.len();
        let callbacks = self.feedback.drain(..);
        waiting.list.extend(callbacks.map(|callback| Feedback { key, callback, submitted: false }));
    }

    fn call_back(&mut self, count: usize, now: Time) {
        for callback in self.callbacks.drain(..count) {
            callback.done(now.as_ms_wrapping());
        }
        self.latched = 0;
    }
}

impl State {
    /// The frame latched last for `output` was handed to it.
    pub fn frame_submitted(&mut self, output: OutputId) {
        if let Some(entry) = self.core.outputs.get_mut(output) {
            entry.latch.waiting.list.iter_mut().for_each(|feedback| feedback.submitted = true);
        }
    }

    /// A refresh of `output` passed and the next frame may be drawn: tells every surface that it paces.
    pub fn frame_done(&mut self, output: OutputId, now: Time) {
        let Core { outputs, surfaces, .. } = &mut self.core;
        let Some(entry) = outputs.get(output) else { return };
        for &key in &entry.latch.shown {
            let Some(surface) = surfaces.get_mut(key) else { continue };
            if surface.latched > 0 && surface.pacing_output() == Some(output) {
                surface.call_back(surface.latched, now);
            }
        }
    }

    /// The frame submitted last for `output` is on screen, or what was latched without visible change would be.
    pub fn frame_presented(&mut self, output: OutputId, presented: &Presented) {
        let Some(entry) = self.core.outputs.get_mut(output) else { return };
        let mut flags = Kind::empty();
        flags.set(Kind::Vsync, presented.vsync);
        flags.set(Kind::HwClock, presented.hw_clock);
        flags.set(Kind::HwCompletion, presented.hw_completion);
        flags.set(Kind::ZeroCopy, presented.zero_copy);
        let time = Duration::from_nanos(presented.time.as_ns());
        let refresh = match presented.period_ns {
            0 => Refresh::Unknown,
            ns => Refresh::fixed(Duration::from_nanos(ns)),
        };
        for feedback in entry.latch.waiting.list.extract_if(.., |feedback| feedback.submitted) {
            feedback.callback.presented(&entry.output, time, refresh, presented.sequence, flags);
        }
    }

    /// The frame submitted last for `output` will never be shown.
    pub fn frame_discarded(&mut self, output: OutputId) {
        if let Some(entry) = self.core.outputs.get_mut(output) {
            entry.latch.waiting.discard();
        }
    }

    /// When [`State::tick`] is due; `None` while no hidden surface waits for a callback and no pointer's image moves.
    pub fn next_tick(&self) -> Option<Time> {
        [self.hidden_due(), self.cursor_due()].into_iter().flatten().min()
    }

    fn hidden_due(&self) -> Option<Time> {
        self.core.hidden_waits.then(|| self.core.ticked.plus_ns(HIDDEN_PERIOD_NS))
    }

    /// Sends the frame callbacks of surfaces that nobody sees, at most once a [`HIDDEN_PERIOD_NS`], and turns to the
    /// next picture of a pointer's image that moves.
    pub fn tick(&mut self, now: Time) {
        self.core.now = now;
        self.turn_cursor(now);
        if self.hidden_due().is_none_or(|due| now < due) {
            return;
        }
        self.core.ticked = now;
        self.core.hidden_waits = false;
        for (_, surface) in self.core.surfaces.iter_mut().filter(|(_, surface)| !surface.is_visible()) {
            surface.call_back(surface.callbacks.len(), now);
        }
    }
}
