//! The device is lost: another renderer takes its place, everything is imported anew, and clients see no more than a
//! late frame.
//!
//! Making a renderer can fail for a while (a driver that resets); it is tried again with growing pauses, and given up
//! after [`MAX_TRIES`].

use super::screen::Screen;
use super::{Compositor, Exit, NoRenderer};
use crate::domain::frame::{FrameSerial, Time};

/// Pause before the second try; doubled with each.
const PAUSE_NS: u64 = 100_000_000;
/// Tries one after the other: about 25 seconds.
const MAX_TRIES: u32 = 8;
/// A renderer that lasts so long starts the count of tries anew.
const LASTING_NS: u64 = 10_000_000_000;

/// Where the way back stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    /// When to try next; `None` while there is nothing to recover.
    next: Option<Time>,
    /// Since a renderer lasted.
    tries: u32,
    recovered: Time,
    /// Since start.
    pub(super) losses: u64,
}

impl Recovery {
    pub(super) fn due(&self) -> Option<Time> {
        self.next
    }

    fn lost(&mut self, now: Time) {
        self.losses += 1;
        if now.since_ns(self.recovered) >= LASTING_NS {
            self.tries = 0;
        }
        self.plan(now);
    }

    /// The first try comes at once.
    fn plan(&mut self, now: Time) {
        let pause = if self.tries == 0 { 0 } else { PAUSE_NS << (self.tries - 1) };
        self.next = Some(now.plus_ns(pause));
    }
}

impl Compositor {
    /// The renderer is of no use any more.
    pub(super) fn lose_renderer(&mut self, now: Time) {
        let Some(mut renderer) = self.renderer.take() else { return };
        tracing::warn!("the device was lost: making another renderer");
        self.recovery.lost(now);
        for screen in &mut self.screens {
            screen.output.release(&mut *renderer);
            screen.submitted = FrameSerial::default();
        }
        self.completed = FrameSerial::default();
        self.past_costs = self.past_costs.plus(&renderer.counters());
        self.fail_captures("the device was lost", now);
        self.server.state.renderer_lost();
        self.watch_renderer();
    }

    /// Tries to make another renderer, where one is missing and it is time.
    pub(super) fn recover(&mut self, now: Time) {
        if self.recovery.next.is_none_or(|at| now < at) {
            return;
        }
        if self.recovery.tries >= MAX_TRIES {
            self.recovery.next = None;
            return self.end(Exit::NoRenderer);
        }
        self.recovery.tries += 1;
        match self.rebuild() {
            Ok(()) => {
                self.recovery.next = None;
                self.recovery.recovered = now;
                self.watch_renderer();
                self.screens.iter_mut().for_each(Screen::repaint);
                self.redraw(now);
            }
            Err(error) => {
                let tries = self.recovery.tries;
                tracing::error!(error = &*error as &dyn std::error::Error, tries, "no other renderer can be made");
                self.recovery.plan(now);
            }
        }
    }

    fn rebuild(&mut self) -> Result<(), NoRenderer> {
        let mut renderer = (self.factory)()?;
        let attached = self.screens.iter_mut().try_for_each(|screen| screen.output.attach(&mut *renderer));
        if let Err(error) = attached {
            self.screens.iter_mut().for_each(|screen| screen.output.release(&mut *renderer));
            return Err(error.into());
        }
        tracing::info!(device = renderer.capabilities().device, "the renderer is back");
        self.renderer = Some(renderer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_try_comes_at_once_and_later_ones_ever_later_until_a_renderer_lasts() {
        let second = |s: u64| Time::from_ns(s * 1_000_000_000);
        let mut recovery = Recovery::default();
        recovery.lost(second(100));
        assert_eq!(recovery.due(), Some(second(100)));
        for pause in [100_000_000, 200_000_000, 400_000_000] {
            recovery.tries += 1;
            recovery.recovered = second(100);
            recovery.lost(second(101));
            assert_eq!(recovery.due(), Some(second(101).plus_ns(pause)));
        }
        recovery.lost(second(110));
        assert_eq!(recovery.due(), Some(second(110)));
        assert_eq!(recovery.losses, 5);
    }
}
