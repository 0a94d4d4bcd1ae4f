//! What time it is: the one place that asks.

use nix::time::{ClockId, clock_gettime};

use crate::domain::frame::Time;

/// CLOCK_MONOTONIC.
pub fn now() -> Time {
    // It fails for clocks that do not exist only; this one always does.
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap_or(nix::sys::time::TimeSpec::new(0, 0));
    Time::from_ns(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
