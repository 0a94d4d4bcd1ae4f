//! One frame of one output: latch → damage → plane choice → upload → render → present.
//!
//! Reads like the design's list of a frame. Whether there is a frame at all is the schedule's and the tracker's word.
//! Next of the walk: [`super::present`].

use super::Compositor;
use super::screen::Screen;
use crate::adapters::wayland::State;
use crate::adapters::wayland::upload::{DeviceLost, Uploaded};
use crate::domain::buffer::BufferId;
use crate::domain::frame::{Counters, Time};
use crate::domain::plane::{self, Choice};
use crate::domain::scene::Color;
use crate::domain::schedule::Redrawn;
use crate::ports::output::Content;
use crate::ports::renderer::{RenderError, Renderer};

/// From the first failure to the next try; doubled with each one after the other.
const RETRY_NS: u64 = 16_000_000;
/// But no longer.
const MAX_RETRY_NS: u64 = 2_000_000_000;
/// Refreshes in a row that an output may be not ready for; then it is asked less and less often.
const PROMPT_TRIES: u32 = 8;
/// But so often: nothing need tell that a window is on screen again.
const MAX_NOT_READY_NS: u64 = 250_000_000;

impl Compositor {
    /// The middle part of a turn: redraws every output whose schedule says so. Between [`Compositor::attend`] and
    /// [`Compositor::conclude`]; frames of known content allocate nothing here.
    pub fn redraw(&mut self, now: Time) {
        let Some(renderer) = &mut self.renderer else { return };
        let mut lost = false;
        for screen in &mut self.screens {
            if screen.put_off_due().is_some_and(|due| due <= now) {
                screen.put_off = None;
                screen.schedule.queue();
            }
        }
        for screen in self.screens.iter_mut().filter(|screen| screen.schedule.is_queued()) {
            let background = self.config.desktop.background;
            let result = frame(screen, &mut self.server.state, &mut **renderer, background, now);
            let how = match result {
                Ok(how) => {
                    (screen.failures, screen.not_ready) = (0, 0);
                    how
                }
                Err(error) => {
                    lost |= matches!(error, RenderError::DeviceLost);
                    failed(screen, &error, now)
                }
            };
            if how == Redrawn::NoDamage {
                screen.tally.skipped += 1;
            }
            screen.schedule.redrawn(now, how);
        }
        if lost {
            self.lose_renderer(now);
        }
    }
}

/// Puts a failure off: a frame's time for what passes by itself, ever longer for what does not.
fn failed(screen: &mut Screen, error: &RenderError, now: Time) -> Redrawn {
    screen.tally.failed += 1;
    let name = &screen.output.info().name;
    if matches!(error, RenderError::NotReady) {
        tracing::debug!(name, "not ready: this frame is skipped");
        let refresh = screen.output.info().mode.period_ns().min(RETRY_NS);
        let wait = grown(refresh, screen.not_ready.saturating_sub(PROMPT_TRIES), MAX_NOT_READY_NS);
        screen.not_ready += 1;
        return Redrawn::Failed(now.plus_ns(wait));
    }
    let wait = grown(RETRY_NS, screen.failures, MAX_RETRY_NS);
    if screen.failures == 0 {
        tracing::warn!(name, error = error as &dyn std::error::Error, "a frame failed and is tried again");
    }
    screen.failures += 1;
    Redrawn::Failed(now.plus_ns(wait))
}

/// `first_ns`, doubled `times` times, but at most `max_ns`.
fn grown(first_ns: u64, times: u32, max_ns: u64) -> u64 {
    first_ns.saturating_mul(1 << times.min(16)).min(max_ns)
}

fn frame(
    screen: &mut Screen,
    state: &mut State,
    renderer: &mut dyn Renderer,
    background: Color,
    now: Time,
) -> Result<Redrawn, RenderError> {
    state.latch(screen.id, &screen.tracker, background, &mut screen.scene);
    screen.tracker.compare(&screen.scene);
    if !screen.tracker.is_damaged() {
        return Ok(Redrawn::NoDamage);
    }
    match choose(screen, state) {
        Some(buffer) => scan_out(screen, buffer, now),
        None => composite(screen, state, renderer, now)?,
    }
    state.frame_submitted(screen.id);
    Ok(Redrawn::Submitted)
}

/// The buffer to show as it is, held for the output; `None` where the frame is composited.
fn choose(screen: &Screen, state: &mut State) -> Option<BufferId> {
    match plane::choose(&screen.scene, screen.abilities()) {
        Choice::ScanOut(index) => {
            let buffer = screen.scene.elements()[index].buffer?;
            state.core.buffers.hold_for_scan_out(buffer).then_some(buffer)
        }
        Choice::Composite(reason) => {
            tracing::trace!(%reason, "composited");
            None
        }
    }
}

fn scan_out(screen: &mut Screen, buffer: BufferId, now: Time) {
    screen.scan_out.coming = Some(buffer);
    screen.target_is_current = false;
    screen.last_frame = Counters::default();
    screen.tracker.shown_unrendered(&screen.scene);
    screen.output.present(Content::ScannedOut, now);
}

fn composite(
    screen: &mut Screen,
    state: &mut State,
    renderer: &mut dyn Renderer,
    now: Time,
) -> Result<(), RenderError> {
    let (target, acquired) = screen.output.acquire(renderer)?;
    if acquired.size != screen.scene.size() {
        // The output changed since it told its mode; it will tell, and the scene will fit then.
        return Err(RenderError::NotReady);
    }
    let uploaded = state.upload(screen.id, renderer, &mut screen.scene);
    let uploaded = uploaded.map_err(|DeviceLost| RenderError::DeviceLost)?;
    let damage = screen.tracker.for_age(&screen.scene, acquired.age);
    let ticket = state.render(screen.id, renderer, target, &screen.scene, damage)?;
    screen.last_frame = ticket.cost;
    screen.submitted = ticket.serial;
    screen.target_is_current = true;
    screen.tracker.rendered(&screen.scene);
    screen.output.present(Content::Composited(ticket.serial), now);
    match uploaded {
        Uploaded::All => (screen.put_off, screen.put_offs) = (None, 0),
        Uploaded::Share => screen.put_off = Some(now.plus_ns(RETRY_NS)),
        Uploaded::Part => {
            screen.put_off = Some(now.plus_ns(grown(RETRY_NS, screen.put_offs, MAX_RETRY_NS)));
            screen.put_offs += 1;
        }
    }
    Ok(())
}
