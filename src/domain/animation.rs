//! Pictures shown one after the other, round and round: which is it now, and for how long?
//!
//! Pure: the elapsed time is an argument. Who shows them sleeps until the next one is due; a single picture is never due.

/// A picture is shown at least this long, whatever its file says: no pointer needs more than a hundred a second.
const MIN_NS: u64 = 10_000_000;

/// The pictures' times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Animation {
    /// When each picture ends, nanoseconds from the first one's start. Ascending.
    ends_ns: Vec<u64>,
}

/// See [`Animation::at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Which picture, counted from 0.
    pub index: usize,
    /// How long it is still shown; `None` is for ever.
    pub left_ns: Option<u64>,
}

impl Animation {
    /// Of pictures shown for `delays_ms` each. Where no picture has a time of its own the first one stands still.
    pub fn new(delays_ms: impl IntoIterator<Item = u32>) -> Self {
        let (mut ends_ns, mut timed) = (Vec::new(), false);
        for delay_ms in delays_ms {
            timed |= delay_ms > 0;
            let start = ends_ns.last().copied().unwrap_or(0);
            ends_ns.push(start + (u64::from(delay_ms) * 1_000_000).max(MIN_NS));
        }
        ends_ns.truncate(if timed { usize::MAX } else { 1 });
        Self { ends_ns }
    }

    /// What is shown `elapsed_ns` after the start.
    pub fn at(&self, elapsed_ns: u64) -> Moment {
        let [.., period_ns] = *self.ends_ns else { return Moment { index: 0, left_ns: None } };
        if self.ends_ns.len() == 1 {
            return Moment { index: 0, left_ns: None };
        }
        let into_ns = elapsed_ns % period_ns;
        let index = self.ends_ns.partition_point(|end| *end <= into_ns);
        Moment { index, left_ns: Some(self.ends_ns[index] - into_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn animation_goes_round_and_says_what_is_left_of_each_picture() {
        let animation = Animation::new([30, 50, 20]);
        for (elapsed_ms, index, left_ms) in [
            (0, 0, 30),
            (29, 0, 1),
            (30, 1, 50),
            (79, 1, 1),
            (80, 2, 20),
            (99, 2, 1),
            (100, 0, 30),
            (1_234_567_831, 1, 49),
        ] {
            let moment = animation.at(elapsed_ms * 1_000_000);
            assert_eq!(moment, Moment { index, left_ns: Some(left_ms * 1_000_000) }, "{elapsed_ms}");
        }
        assert!(animation.at(u64::MAX).index < 3);
    }

    #[test]
    fn animation_of_hasty_pictures_keeps_to_a_hundred_a_second() {
        let animation = Animation::new([0, 1, 0]);
        assert_eq!(animation.at(0), Moment { index: 0, left_ns: Some(MIN_NS) });
        assert_eq!(animation.at(2 * MIN_NS), Moment { index: 2, left_ns: Some(MIN_NS) });
    }

    #[test]
    fn animation_of_one_picture_or_without_times_stands_still() {
        for delays in [&[][..], &[50], &[0, 0, 0]] {
            let animation = Animation::new(delays.iter().copied());
            for elapsed in [0, 1, u64::MAX] {
                assert_eq!(animation.at(elapsed), Moment { index: 0, left_ns: None }, "{delays:?}");
            }
        }
    }
}
