//! When an output is redrawn and when its clients are told that a frame went by: one state machine per output.
//!
//! ```text
//!            queue                 redrawn(Submitted)
//!   Idle ───────────▶ Queued ────────────────────────▶ Waiting ◀─┐ queue: redraw after it
//!    ▲                 │  ▲ ▲                            │  │  └──┘ stalled: callbacks once a second
//!    │                 │  │ └────────────────────────────┘  │
//!    │ at, none queued │  │ at, or queued for the first     │ presented, none queued
//!    │                 │  │ time before it                  │
//!    │   NoDamage,     ▼  │                                 │
//!    └─────────────── Estimated                             │
//!    └──────────────────────────────────────────────────────┘
//! ```
//!
//! Invariants: a frame is submitted only in *Queued*, so never while another waits to be presented; what was queued is
//! never forgotten; callbacks are due at most once a refresh ([`Schedule::wake`], [`Schedule::presented`]), whether the
//! frame had damage or not, and at least once a second while something waits for a host that stopped presenting; a
//! client that surface commits without damage as fast as it can costs two looks a refresh, not more. *Idle* needs no
//! timer. Owner: the application, one beside each `ports::output::Output`. Who needs redrawing is
//! [`super::damage`]'s to say.

use super::frame::Time;

/// A presentation this many periods late counts as stalled.
const STALLED_AFTER_PERIODS: u64 = 4;
/// Nor before this, whatever the period: hosts hiccup.
const STALLED_AFTER_NS: u64 = 200_000_000;
/// Between callbacks while the presentation is stalled.
const STALLED_CALLBACKS_NS: u64 = 1_000_000_000;

/// See the module's docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing to do.
    Idle,
    /// To be redrawn now.
    Queued {
        /// Set where an estimated refresh is still ahead: a redraw without damage goes on waiting for it.
        estimate: Option<Time>,
    },
    /// A frame was submitted and not yet presented.
    Waiting {
        /// To be redrawn once it is.
        queued: bool,
        /// When it counts as stalled, and then when callbacks are due again.
        deadline: Time,
    },
    /// The last redraw submitted nothing; callbacks are due at the refresh that would have shown it.
    Estimated {
        /// That refresh.
        at: Time,
        /// To be redrawn then.
        queued: bool,
        /// One redraw more is allowed before `at`.
        may_hurry: bool,
    },
    /// The output is gone.
    Lost,
}

/// How a redraw ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redrawn {
    /// A frame was handed to the output.
    Submitted,
    /// Nothing had changed: nothing was submitted.
    NoDamage,
    /// It failed, and is to be tried again, not before the time given.
    Failed(Time),
}

/// When to redraw one output. See the module's docs.
#[derive(Clone, Debug)]
pub struct Schedule {
    state: State,
    period_ns: u64,
    /// A refresh that happened or was estimated: the phase of all others.
    phase: Time,
    submitted: u64,
    answered: u64,
}

impl Schedule {
    /// For an output that has shown nothing yet: its first redraw is queued. `period_ns` is not zero.
    pub fn new(now: Time, period_ns: u64) -> Self {
        let state = State::Queued { estimate: None };
        Self { state, period_ns: period_ns.max(1), phase: now, submitted: 0, answered: 0 }
    }

    /// The output has another rate.
    pub fn set_period_ns(&mut self, period_ns: u64) {
        self.period_ns = period_ns.max(1);
    }

    /// Something that the output shows changed.
    pub fn queue(&mut self) {
        self.state = match self.state {
            State::Idle => State::Queued { estimate: None },
            State::Waiting { deadline, .. } => State::Waiting { queued: true, deadline },
            State::Estimated { at, may_hurry: true, .. } => State::Queued { estimate: Some(at) },
            State::Estimated { at, .. } => State::Estimated { at, queued: true, may_hurry: false },
            same @ (State::Queued { .. } | State::Lost) => same,
        };
        self.check_invariants();
    }

    /// Whether to redraw now, and then call [`Schedule::redrawn`].
    pub fn is_queued(&self) -> bool {
        matches!(self.state, State::Queued { .. })
    }

    /// Whether a frame was submitted and not yet answered.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting { .. })
    }

    /// How the redraw that [`Schedule::is_queued`] asked for ended. Ignored where none was asked for.
    pub fn redrawn(&mut self, now: Time, how: Redrawn) {
        let State::Queued { estimate } = self.state else { return };
        self.state = match how {
            Redrawn::Submitted => {
                self.submitted += 1;
                let late = STALLED_AFTER_NS.max(self.period_ns.saturating_mul(STALLED_AFTER_PERIODS));
                State::Waiting { queued: false, deadline: now.plus_ns(late) }
            }
            Redrawn::NoDamage => {
                let at = estimate.unwrap_or_else(|| self.next_refresh(now));
                State::Estimated { at, queued: false, may_hurry: estimate.is_none() }
            }
            Redrawn::Failed(retry) => {
                State::Estimated { at: retry.max(now.plus_ns(1)), queued: true, may_hurry: false }
            }
        };
        self.check_invariants();
    }

    /// The submitted frame reached the screen at `time`. True where one was awaited: callbacks are due.
    pub fn presented(&mut self, time: Time) -> bool {
        let answered = self.answer(false);
        if answered {
            self.phase = time;
        }
        answered
    }

    /// The submitted frame will never be shown: it is redrawn. True where one was awaited.
    pub fn discarded(&mut self) -> bool {
        self.answer(true)
    }

    fn answer(&mut self, again: bool) -> bool {
        let State::Waiting { queued, .. } = self.state else { return false };
        self.answered += 1;
        self.state = if queued || again { State::Queued { estimate: None } } else { State::Idle };
        self.check_invariants();
        true
    }

    /// When [`Schedule::wake`] has something to do; `None` while it has not.
    pub fn wake_at(&self) -> Option<Time> {
        match self.state {
            State::Estimated { at, .. } => Some(at),
            State::Waiting { deadline, .. } => Some(deadline),
            State::Idle | State::Queued { .. } | State::Lost => None,
        }
    }

    /// Lets time pass. True where callbacks are due: an estimated refresh went by, or the output stalls.
    pub fn wake(&mut self, now: Time) -> bool {
        let due = self.wake_at().is_some_and(|at| at <= now);
        if due {
            self.state = match self.state {
                State::Estimated { at, queued, .. } => {
                    self.phase = at;
                    if queued { State::Queued { estimate: None } } else { State::Idle }
                }
                State::Waiting { queued, .. } => State::Waiting { queued, deadline: now.plus_ns(STALLED_CALLBACKS_NS) },
                same => same,
            };
        }
        self.check_invariants();
        due
    }

    /// The output is gone, with whatever was on its way.
    pub fn lose(&mut self) {
        self.state = State::Lost;
        self.answered = self.submitted;
    }

    /// The first refresh after `now`, in step with those before.
    fn next_refresh(&self, now: Time) -> Time {
        let since = now.since_ns(self.phase);
        let whole = since / self.period_ns + 1;
        self.phase.plus_ns(whole.saturating_mul(self.period_ns))
    }

    /// Debug builds: at most one frame is on its way, exactly while the machine waits for it.
    fn check_invariants(&self) {
        let on_its_way = self.submitted - self.answered;
        debug_assert_eq!(on_its_way, u64::from(self.is_waiting()), "frames on their way in {self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 10_000_000;

    fn at(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    /// Idle, its last frame presented at 0.
    fn idle() -> Schedule {
        let mut schedule = Schedule::new(at(0), PERIOD);
        schedule.redrawn(at(0), Redrawn::Submitted);
        assert!(schedule.presented(at(0)));
        assert_eq!(schedule.state, State::Idle);
        schedule
    }

    #[test]
    fn schedule_that_is_new_draws_first() {
        assert!(Schedule::new(at(5), PERIOD).is_queued());
    }

    #[test]
    fn idle_output_needs_no_timer() {
        let mut schedule = idle();
        assert_eq!(schedule.wake_at(), None);
        assert!(!schedule.wake(at(100_000)));
        assert!(!schedule.is_queued());
    }

    #[test]
    fn damage_while_waiting_is_drawn_after_the_presentation_and_not_before() {
        let mut schedule = idle();
        schedule.queue();
        schedule.redrawn(at(1), Redrawn::Submitted);
        schedule.queue();
        assert!(!schedule.is_queued(), "no double present");
        assert!(schedule.presented(at(10)));
        assert!(schedule.is_queued());
    }

    #[test]
    fn presentation_that_nobody_awaits_changes_nothing() {
        let mut schedule = idle();
        assert!(!schedule.presented(at(10)));
        schedule.queue();
        assert!(!schedule.presented(at(10)) && !schedule.discarded());
        assert!(schedule.is_queued());
        schedule.redrawn(at(11), Redrawn::Submitted);
        assert!(schedule.presented(at(20)) && !schedule.presented(at(20)));
    }

    #[test]
    fn redraw_without_damage_gives_callbacks_at_the_next_refresh_in_phase() {
        let mut schedule = idle();
        schedule.queue();
        schedule.redrawn(at(23), Redrawn::NoDamage);
        assert_eq!(schedule.wake_at(), Some(at(30)));
        assert!(!schedule.wake(at(29)));
        assert!(schedule.wake(at(30)), "callbacks");
        assert!(!schedule.wake(at(30)), "once");
        assert_eq!(schedule.state, State::Idle);
    }

    #[test]
    fn damage_after_a_redraw_without_damage_is_drawn_at_once() {
        let mut schedule = idle();
        schedule.queue();
        schedule.redrawn(at(3), Redrawn::NoDamage);
        schedule.queue();
        assert!(schedule.is_queued());
        schedule.redrawn(at(4), Redrawn::Submitted);
        assert!(!schedule.wake(at(10)), "the presentation brings the callbacks");
        assert!(schedule.presented(at(10)));
    }

    #[test]
    fn client_that_commits_without_damage_in_a_loop_costs_two_looks_a_refresh() {
        let mut schedule = idle();
        let (mut looks, mut callbacks) = (0, 0);
        for us in 0..100_000u64 {
            let now = Time::from_ns(us * 1000);
            callbacks += u32::from(schedule.wake(now));
            schedule.queue();
            if schedule.is_queued() {
                looks += 1;
                schedule.redrawn(now, Redrawn::NoDamage);
            }
        }
        // 100 ms of refreshes of 10 ms.
        assert_eq!((looks, callbacks), (20, 9));
    }

    #[test]
    fn host_that_stops_presenting_gets_no_second_frame_and_its_clients_a_callback_a_second() {
        let mut schedule = idle();
        schedule.queue();
        schedule.redrawn(at(0), Redrawn::Submitted);
        schedule.queue();
        assert!(!schedule.wake(at(199)));
        assert!(schedule.wake(at(200)), "stalled");
        assert!(!schedule.wake(at(1199)));
        assert!(schedule.wake(at(1200)));
        assert!(!schedule.is_queued(), "no double present");
        assert!(schedule.presented(at(5000)), "the host is back");
        assert!(schedule.is_queued(), "and what was queued is drawn");
    }

    #[test]
    fn slow_output_is_not_taken_for_a_stalled_one() {
        let mut schedule = Schedule::new(at(0), 1_000_000_000);
        schedule.redrawn(at(0), Redrawn::Submitted);
        assert_eq!(schedule.wake_at(), Some(at(4000)));
    }

    #[test]
    fn frame_that_is_discarded_is_drawn_again() {
        let mut schedule = idle();
        schedule.queue();
        schedule.redrawn(at(1), Redrawn::Submitted);
        assert!(schedule.discarded());
        assert!(schedule.is_queued());
    }

    #[test]
    fn redraw_that_failed_is_tried_again_only_when_its_time_comes() {
        let mut schedule = idle();
        schedule.queue();
        schedule.redrawn(at(1), Redrawn::Failed(at(17)));
        schedule.queue();
        assert!(!schedule.is_queued() && schedule.wake_at() == Some(at(17)));
        assert!(schedule.wake(at(17)));
        assert!(schedule.is_queued());
        schedule.redrawn(at(17), Redrawn::Failed(at(0)));
        assert!(schedule.wake_at() > Some(at(17)), "a retry in the past is no busy loop");
    }

    #[test]
    fn output_that_is_lost_does_nothing_more() {
        for before in 0..3 {
            let mut schedule = idle();
            schedule.queue();
            match before {
                0 => {}
                1 => schedule.redrawn(at(1), Redrawn::Submitted),
                _ => schedule.redrawn(at(1), Redrawn::NoDamage),
            }
            schedule.lose();
            schedule.queue();
            assert!(!schedule.is_queued() && !schedule.presented(at(10)) && !schedule.wake(at(10_000)));
            assert_eq!(schedule.wake_at(), None);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_sequence_keeps_the_invariants_and_forgets_no_redraw(steps in proptest::collection::vec(0u8..7, 1..200)) {
            let mut schedule = Schedule::new(at(0), PERIOD);
            let mut now = at(0);
            for step in steps {
                now = now.plus_ns(PERIOD / 3);
                match step {
                    0 | 1 => schedule.queue(),
                    2 => schedule.redrawn(now, Redrawn::Submitted),
                    3 => schedule.redrawn(now, Redrawn::NoDamage),
                    4 => schedule.redrawn(now, Redrawn::Failed(now)),
                    5 => drop(schedule.presented(now)),
                    _ => drop(schedule.wake(now)),
                }
            }
            // Whatever happened, a change is drawn once the output answers and time passes.
            schedule.queue();
            schedule.presented(now);
            schedule.wake(now.plus_ns(10 * PERIOD));
            proptest::prop_assert!(schedule.is_queued());
        }
    }
}
