//! What is kept of the measured time, and how it is summed up.

use std::collections::HashSet;

use serde_json::{Value, json};

/// Collected between start and end.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// When the first frame callback or presentation came, CLOCK_MONOTONIC; kept from before the start.
    pub(crate) first_frame_ns: Option<u64>,
    /// Measured time.
    pub(crate) seconds: f64,
    /// This process's own cost in that time.
    pub(crate) client_cpu_ns: u64,
    /// Surface commits with content.
    pub(crate) commits: u64,
    /// Distinct times of wp_presentation: frames that reached the screen.
    pub(crate) presented_ns: HashSet<u64>,
    /// Distinct times of frame callbacks, for compositors without wp_presentation.
    pub(crate) callbacks_ms: HashSet<u32>,
    /// Feedbacks that said "never shown".
    pub(crate) discarded: u64,
    /// Frame callbacks that found every buffer still held.
    pub(crate) starved: u64,
    /// From frame callback to frame callback of one surface.
    pub(crate) intervals_ns: Vec<u64>,
    /// From surface commit to wl_buffer.release.
    pub(crate) releases_ns: Vec<u64>,
    /// From surface commit to the time it was presented at.
    pub(crate) latencies_ns: Vec<u64>,
}

impl Samples {
    /// All of it, times in milliseconds.
    pub(crate) fn summary(&mut self) -> Value {
        json!({
            "event": "result",
            "seconds": self.seconds,
            "client_cpu_ms": self.client_cpu_ns as f64 / 1e6,
            "commits": self.commits,
            "presented": self.presented_ns.len(),
            "callbacks": self.callbacks_ms.len(),
            "discarded": self.discarded,
            "starved": self.starved,
            "interval_ms": quantiles(&mut self.intervals_ns),
            "release_ms": quantiles(&mut self.releases_ns),
            "latency_ms": quantiles(&mut self.latencies_ns),
        })
    }
}

/// Nearest ranks of a set of nanoseconds, in milliseconds; null for none.
fn quantiles(set: &mut [u64]) -> Value {
    if set.is_empty() {
        return Value::Null;
    }
    set.sort_unstable();
    let at = |percent: usize| set[(set.len() * percent).div_ceil(100).clamp(1, set.len()) - 1] as f64 / 1e6;
    json!({ "n": set.len(), "p50": at(50), "p95": at(95), "p99": at(99), "max": at(100) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_hundred_are_the_nearest_ranks() {
        let mut set: Vec<u64> = (1..=100).rev().map(|n| n * 1_000_000).collect();
        assert_eq!(quantiles(&mut set), json!({ "n": 100, "p50": 50.0, "p95": 95.0, "p99": 99.0, "max": 100.0 }));
        assert_eq!(quantiles(&mut [7_000_000])["p99"], 7.0);
        assert_eq!(quantiles(&mut []), Value::Null);
    }
}
