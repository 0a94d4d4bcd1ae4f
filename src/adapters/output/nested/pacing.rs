//! When a frame counts as shown: the host's word where it gives one, else a clock at the host's rate.
//!
//! A Wayland host calls back when it wants the next frame; one that does not within [`PATIENCE_NS`] hides the window,
//! and the frame counts as discarded, which lets one frame through in that time and blocks nobody. An X host says
//! nothing: refreshes are laid a period apart from the first present on, and slow down as far where the window is
//! known to be covered. Either way the time told is an estimate. Pure; `now` comes from the caller.

use crate::domain::frame::Time;

/// How long a host may take to call back.
pub(super) const PATIENCE_NS: u64 = 1_000_000_000;

/// What became of the frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// On screen, about then.
    Shown(Time),
    /// Not known to have been seen.
    Discarded,
}

/// Who tells that a frame was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The host calls back.
    Callback,
    /// The clock.
    Clock,
}

/// The pace of one window.
#[derive(Debug)]
pub(super) struct Pacing {
    source: Source,
    period_ns: u64,
    covered: bool,
    /// A refresh of the clock, which the others lie a whole number of periods from.
    anchor: Option<Time>,
    /// The frame on its way: when it was presented, and when waiting for it ends.
    flight: Option<(Time, Time)>,
}

impl Pacing {
    /// `period_ns` from refresh to refresh.
    pub(super) fn new(source: Source, period_ns: u64) -> Self {
        Self { source, period_ns: period_ns.max(1), covered: false, anchor: None, flight: None }
    }

    /// The host's rate changed; the refreshes are counted anew.
    pub(super) fn set_period_ns(&mut self, period_ns: u64) {
        if self.period_ns != period_ns.max(1) {
            self.period_ns = period_ns.max(1);
            self.anchor = None;
        }
    }

    /// The host says that nothing of the window is seen, or that something is.
    pub(super) fn set_covered(&mut self, covered: bool, now: Time) {
        self.covered = covered;
        if let Some((since, due)) = &mut self.flight
            && !covered
            && self.source == Source::Clock
        {
            // It is seen again: no need to wait out the slow pace.
            *due = (*due).min(since.plus_ns(self.period_ns).max(now));
        }
    }

    /// A frame was given to the host.
    pub(super) fn present(&mut self, now: Time) {
        let due = if self.source == Source::Callback || self.covered {
            now.plus_ns(PATIENCE_NS)
        } else {
            let anchor = self.anchor.unwrap_or(now);
            let whole = now.since_ns(anchor) / self.period_ns;
            let due = anchor.plus_ns((whole + 1).saturating_mul(self.period_ns));
            self.anchor = Some(due);
            due
        };
        self.flight = Some((now, due));
    }

    /// The host called back.
    pub(super) fn called_back(&mut self, now: Time) -> Option<Outcome> {
        (self.source == Source::Callback).then_some(())?;
        self.flight.take().map(|_| Outcome::Shown(now))
    }

    /// When [`Pacing::expire`] has something to say.
    pub(super) fn due(&self) -> Option<Time> {
        self.flight.map(|(_, due)| due)
    }

    /// Waiting ends, if it is time.
    pub(super) fn expire(&mut self, now: Time) -> Option<Outcome> {
        let (_, due) = self.flight.take_if(|(_, due)| *due <= now)?;
        let shown = self.source == Source::Clock && !self.covered;
        Some(if shown { Outcome::Shown(due) } else { Outcome::Discarded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 16_000_000;

    fn at(ns: u64) -> Time {
        Time::from_ns(1_000_000_000 + ns)
    }

    #[test]
    fn frame_on_a_wayland_host_is_shown_when_the_host_calls_back() {
        let mut pacing = Pacing::new(Source::Callback, PERIOD);
        assert_eq!(pacing.called_back(at(0)), None, "nothing on its way");
        pacing.present(at(0));
        assert_eq!(pacing.expire(at(PERIOD * 3)), None, "the host may be slow");
        assert_eq!(pacing.called_back(at(PERIOD * 3)), Some(Outcome::Shown(at(PERIOD * 3))));
        assert_eq!(pacing.called_back(at(PERIOD * 4)), None);
        assert_eq!(pacing.due(), None);
    }

    #[test]
    fn host_that_stops_calling_back_lets_one_frame_a_second_through() {
        let mut pacing = Pacing::new(Source::Callback, PERIOD);
        pacing.present(at(0));
        assert_eq!(pacing.due(), Some(at(PATIENCE_NS)));
        assert_eq!(pacing.expire(at(PATIENCE_NS - 1)), None);
        assert_eq!(pacing.expire(at(PATIENCE_NS)), Some(Outcome::Discarded));
        pacing.present(at(PATIENCE_NS));
        let shown = at(PATIENCE_NS + 5);
        assert_eq!(pacing.called_back(shown), Some(Outcome::Shown(shown)), "the host shows it again");
    }

    #[test]
    fn frames_on_an_x_host_keep_to_one_grid_without_drift() {
        let mut pacing = Pacing::new(Source::Clock, PERIOD);
        let mut now = at(0);
        for n in 1..=1000 {
            pacing.present(now);
            let due = pacing.due().unwrap();
            assert_eq!(due, at(n * PERIOD));
            let late = due.plus_ns(700_000); // a timer is always a little late
            assert_eq!(pacing.expire(late), Some(Outcome::Shown(due)));
            now = late;
        }
        pacing.present(at(5_000 * PERIOD + 1));
        assert_eq!(pacing.due(), Some(at(5_001 * PERIOD)), "after a long rest, too");
    }

    #[test]
    fn covered_window_on_an_x_host_slows_down_until_it_is_seen() {
        let mut pacing = Pacing::new(Source::Clock, PERIOD);
        pacing.set_covered(true, at(0));
        pacing.present(at(0));
        assert_eq!(pacing.due(), Some(at(PATIENCE_NS)));
        pacing.set_covered(false, at(100_000_000));
        assert_eq!(pacing.due(), Some(at(100_000_000)));
        assert_eq!(pacing.expire(at(100_000_000)), Some(Outcome::Shown(at(100_000_000))));
    }

    #[test]
    fn period_of_zero_is_not_divided_by() {
        let mut pacing = Pacing::new(Source::Clock, 0);
        pacing.present(at(0));
        assert_eq!(pacing.expire(at(1)), Some(Outcome::Shown(at(1))));
    }
}
