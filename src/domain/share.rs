//! How much of the loop one client may take, judged by what its requests cost.
//!
//! A client takes *turns*. In a turn its bytes are handled in *pieces*, and after each piece the clock is looked at: the
//! turn is over once it took [`SLICE_NS`]. What one piece may cost is kept small from both sides: it gets shorter the
//! more surfaces the client has (a request costs no more than the tree it works on), and shorter again once pieces turn
//! out to be costly, to grow back only after [`CAUTION`] times what they cost. A single request cannot be broken off, so
//! a turn may overrun; the client then rests for as long as the turn took, which leaves the others half of the loop,
//! unless there are no others.
//!
//! Pure: who is served when is `adapters::wayland::turnstile`'s to do.

use super::frame::Time;

/// The longest piece, bytes; all that libwayland ever sends at once.
pub const MAX_PIECE: usize = 4096;
/// The time that turns of all clients together may take before the outputs are looked after.
pub const LOOP_NS: u64 = 3_000_000;
/// The time that one turn may take before another client has one.
pub const SLICE_NS: u64 = 1_000_000;
/// A piece that takes longer is costly.
const PIECE_NS: u64 = SLICE_NS / 4;
/// No piece is made shorter, bytes: below that, handing it over costs more than it saves.
const MIN_PIECE: usize = 64;
/// Surfaces that a client has without being suspected of anything.
const LIGHT_SURFACES: u64 = 256;
/// See the module's docs.
const CAUTION: u64 = 16;
/// A client that had no turn for so long is not there as far as the others are concerned.
const ACTIVE_NS: u64 = 250_000_000;

/// See the module's docs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    piece: usize,
    grows_at: Time,
    spent_ns: u64,
    turned: Option<Time>,
}

impl Default for Share {
    fn default() -> Self {
        Self { piece: MAX_PIECE, grows_at: Time::default(), spent_ns: 0, turned: None }
    }
}

impl Share {
    /// Begins a turn.
    pub fn begin(&mut self) {
        self.spent_ns = 0;
    }

    /// Bytes that may be handled before the clock is looked at again, for a client with so many surfaces.
    pub fn piece(&self, surfaces: u64) -> usize {
        let by_weight = MAX_PIECE as u64 * LIGHT_SURFACES / surfaces.max(LIGHT_SURFACES);
        self.piece.min(by_weight as usize).max(MIN_PIECE)
    }

    /// Notes what a piece of so many bytes cost; false where the turn is over with it.
    pub fn spend(&mut self, bytes: usize, cost_ns: u64, now: Time) -> bool {
        self.spent_ns = self.spent_ns.saturating_add(cost_ns);
        if cost_ns > PIECE_NS {
            let fair = bytes as u64 * PIECE_NS / cost_ns;
            self.piece = (fair as usize).clamp(MIN_PIECE, MAX_PIECE);
            self.grows_at = self.grows_at.max(now.plus_ns(cost_ns.saturating_mul(CAUTION)));
        } else if bytes >= self.piece && now >= self.grows_at {
            self.piece = (self.piece * 2).min(MAX_PIECE);
        }
        self.spent_ns < SLICE_NS
    }

    /// Ends a turn; until when the client rests, where it does. `alone`: no other client [is active](Self::is_active).
    pub fn end(&mut self, now: Time, alone: bool) -> Option<Time> {
        self.turned = Some(now);
        (self.spent_ns > SLICE_NS && !alone).then(|| now.plus_ns(self.spent_ns))
    }

    /// What the present or the last turn took.
    pub fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Whether it had a turn lately.
    pub fn is_active(&self, now: Time) -> bool {
        self.turned.is_some_and(|turned| now.since_ns(turned) < ACTIVE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_ns(ms * MS)
    }

    #[test]
    fn piece_by_surfaces_shrinks_down_to_a_floor() {
        let cases = [(0, 4096), (256, 4096), (512, 2048), (10_000, 104), (16_384, 64), (u64::MAX, 64)];
        for (surfaces, bytes) in cases {
            assert_eq!(Share::default().piece(surfaces), bytes, "{surfaces}");
        }
    }

    #[test]
    fn piece_after_a_costly_one_is_as_long_as_its_time_allows() {
        let cases = [(4096, 10_000, 4096), (4096, MS / 4, 4096), (4096, MS, 1024), (4096, 100 * MS, 64), (64, MS, 64)];
        for (bytes, cost, piece) in cases {
            let mut share = Share::default();
            share.spend(bytes, cost, at(1));
            assert_eq!(share.piece(0), piece, "{bytes} bytes in {cost} ns");
        }
    }

    #[test]
    fn piece_grows_back_only_after_long_good_conduct() {
        let mut share = Share::default();
        share.spend(4096, 10 * MS, at(10));
        let short = share.piece(0);
        assert_eq!(short, 102);
        share.spend(short, 1000, at(169));
        assert_eq!(share.piece(0), short, "16 times 10 ms are not over");
        share.spend(short - 8, 1000, at(171));
        assert_eq!(share.piece(0), short, "it was not filled, so nothing is known of more");
        for piece in [204, 408, 816, 1632, 3264, 4096, 4096] {
            share.spend(share.piece(0), 1000, at(171));
            assert_eq!(share.piece(0), piece);
        }
    }

    #[test]
    fn turn_of_cheap_pieces_goes_on_until_its_slice_is_used() {
        let mut share = Share::default();
        share.begin();
        let pieces = (1..).find(|_| !share.spend(64, 100_000, at(1)));
        assert_eq!(pieces, Some(10));
        share.begin();
        assert!(share.spend(64, 100_000, at(1)), "the next turn has a slice of its own");
    }

    #[test]
    fn rest_after_a_turn_is_as_long_as_it_overran() {
        let cases = [(MS / 2, false, None), (MS, false, None), (3 * MS, false, Some(8)), (900 * MS, true, None)];
        for (cost, alone, until) in cases {
            let mut share = Share::default();
            share.begin();
            share.spend(64, cost, at(5));
            assert_eq!(share.end(at(5), alone), until.map(at), "{cost} ns, alone: {alone}");
        }
    }

    #[test]
    fn client_is_active_for_a_while_after_each_turn() {
        let mut share = Share::default();
        assert!(!share.is_active(at(0)), "it never had one");
        share.end(at(1000), true);
        assert!(share.is_active(at(1249)) && !share.is_active(at(1250)));
    }
}
