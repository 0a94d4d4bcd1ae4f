//! Whether a client's fence may hold up a frame: the policies, and what a client's record is worth.
//!
//! A surface commit whose fence has not signalled can wait where it is (its surface keeps its old content, nobody else
//! notices) or go into the frame, whose queue then waits for it: sooner on screen, but a fence that is late makes the
//! whole frame late. [`Policy::Auto`] lets those clients do that whose fences were never late of late.

use serde::{Deserialize, Serialize};

use super::frame::Time;

/// What happens to a surface commit whose fence has not signalled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// As [`Policy::GpuWait`] for clients with a good record, as [`Policy::Ready`] for others.
    #[default]
    Auto,
    /// The surface keeps its content until the fence signals.
    Ready,
    /// The frame's queue waits for the fence.
    GpuWait,
}

/// How many fences in a row must have signalled in time before a client is trusted.
pub const ENOUGH: u8 = 8;
/// How long a client that broke its record is not.
pub const DISTRUST_NS: u64 = 60_000_000_000;

/// How a client's fences did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    in_time: u8,
    distrusted_until: Time,
}

impl Record {
    /// Whether a frame may wait for this client's fences.
    pub fn is_good(&self, now: Time) -> bool {
        self.in_time >= ENOUGH && now >= self.distrusted_until
    }

    /// A fence signalled `took_ns` after its surface commit, on an output of `period_ns`.
    pub fn signalled(&mut self, took_ns: u64, period_ns: u64, now: Time) {
        if took_ns <= period_ns {
            self.in_time = self.in_time.saturating_add(1);
        } else {
            self.broke(now);
        }
    }

    /// A fence was late, or has not signalled when it should have.
    pub fn broke(&mut self, now: Time) {
        self.in_time = 0;
        self.distrusted_until = now.plus_ns(DISTRUST_NS);
    }
}

/// Whether a surface commit waits outside of frames until its fence signals.
pub fn waits_outside(policy: Policy, record: &Record, can_queue_wait: bool, now: Time) -> bool {
    match policy {
        Policy::Ready => true,
        Policy::GpuWait => !can_queue_wait,
        Policy::Auto => !can_queue_wait || !record.is_good(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_NS: u64 = 16_666_667;

    fn after(fences: u8) -> Record {
        let mut record = Record::default();
        (0..fences).for_each(|_| record.signalled(FRAME_NS, FRAME_NS, Time::default()));
        record
    }

    #[test]
    fn record_is_good_after_enough_fences_in_time() {
        assert!(!after(ENOUGH - 1).is_good(Time::default()));
        assert!(after(ENOUGH).is_good(Time::default()));
        assert!(after(u8::MAX).is_good(Time::default()));
    }

    #[test]
    fn record_broken_once_is_bad_for_a_minute_and_begins_anew() {
        let now = Time::from_ns(5);
        let mut record = after(200);
        record.signalled(FRAME_NS + 1, FRAME_NS, now);
        assert!(!record.is_good(now));
        (0..ENOUGH).for_each(|_| record.signalled(0, FRAME_NS, now));
        assert!(!record.is_good(now.plus_ns(DISTRUST_NS - 1)));
        assert!(record.is_good(now.plus_ns(DISTRUST_NS)));
    }

    #[test]
    fn policies_wait_outside_as_their_names_say() {
        let (good, bad, now) = (after(ENOUGH), Record::default(), Time::default());
        #[rustfmt::skip]
        let table = [
            (Policy::Ready, good, true, true),
            (Policy::Ready, bad, true, true),
            (Policy::GpuWait, bad, true, false),
            (Policy::GpuWait, good, false, true),
            (Policy::Auto, good, true, false),
            (Policy::Auto, bad, true, true),
            (Policy::Auto, good, false, true),
        ];
        for (policy, record, can, waits) in table {
            assert_eq!(waits_outside(policy, &record, can, now), waits, "{policy:?} {record:?} {can}");
        }
    }
}
