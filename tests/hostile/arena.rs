//! Where misdeeds happen: one compositor, one neighbour, and what must be true afterwards.

use std::path::PathBuf;
use std::time::Duration;

use super::deaths::{drag, resize};
use super::neighbour::{Neighbour, SIDE, TITLE};
use super::support::compositor::{Compositor, Live, Setup};
use super::support::guest::{Guest, Hand};
use super::support::process::until;
use super::support::protocol::LEFT;

/// The desktop, logical and physical pixels.
pub(crate) const DESKTOP: (u32, u32) = (640, 480);
/// The neighbour's corner, away from where windows open.
const HOME: (i32, i32) = (560, 400);
/// Frames that the neighbour must get to count as going on.
const FRAMES: u64 = 20;
/// A pause of the neighbour that is a stall and not a busy machine.
const STALL: Duration = Duration::from_secs(5);

/// See the module's docs.
pub(crate) struct Arena {
    // Before the compositor: it leaves before that ends.
    pub(crate) neighbour: Neighbour,
    pub(crate) compositor: Compositor,
    hand: Hand,
    baseline: Live,
}

impl Arena {
    /// Starts the compositor and lets the neighbour in. Whatever is made once for all clients (a keymap, the pictures of
    /// the cursor at rest, resizing and dragging) is there afterwards.
    pub(crate) fn open() -> Self {
        let mode = format!("{}x{}@60", DESKTOP.0, DESKTOP.1);
        let compositor = Compositor::start(&Setup { outputs: &[&mode], ..Setup::default() });
        let neighbour = Neighbour::new(&compositor.wayland());
        let id = compositor.until_window("the neighbour's window", |window| window.title == TITLE).id;
        compositor.action(&format!("move {} {} {id}", HOME.0, HOME.1));
        let hand = Hand::new(&compositor.wayland(), DESKTOP);
        let baseline = compositor.live();
        let mut arena = Self { neighbour, compositor, hand, baseline };
        for rehearse in [resize, drag] {
            let mut guest = arena.guest();
            rehearse(&mut arena, &mut guest);
            arena.neighbour.keeps_going(FRAMES, "a cursor of its own kind");
            drop(guest);
            arena.hand.button(LEFT, false);
            until("the guest's end", || (arena.compositor.live().clients() == 2).then_some(()));
        }
        arena.hand.click(HOME.0 + SIDE / 2, HOME.1 + SIDE / 2);
        arena.settle();
        arena
    }

    /// Takes what is alive now, with the neighbour alone and at rest, for what must be alive after each misdeed.
    fn settle(&mut self) {
        self.neighbour.keeps_going(FRAMES, "nobody");
        self.neighbour.rest();
        self.compositor.screenshot();
        until("rest", || {
            let before = std::mem::replace(&mut self.baseline, self.compositor.live());
            (before == self.baseline).then_some(())
        });
        self.neighbour.resume();
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.compositor.wayland()
    }

    /// Another client.
    pub(crate) fn guest(&self) -> Guest {
        Guest::connect(&self.socket())
    }

    /// A pointer, to click into windows with.
    pub(crate) fn hand(&mut self) -> &mut Hand {
        &mut self.hand
    }

    /// The neighbour goes on while the offender is there.
    pub(crate) fn goes_on_beside(&self, what: &str) {
        self.neighbour.keeps_going(FRAMES, what);
    }

    /// After the offender is gone: the neighbour goes on and never stalled, gets the clicks meant for it, and nothing
    /// is left behind.
    pub(crate) fn recovers_from(&mut self, what: &str) {
        self.compositor.check_alive();
        self.neighbour.keeps_going(FRAMES, what);
        let pause = self.neighbour.take_longest_pause();
        assert!(pause < STALL, "the neighbour stalled for {pause:?}, beside {what}");
        let clicks = self.neighbour.clicks();
        self.hand.click(HOME.0 + SIDE / 2, HOME.1 + SIDE / 2);
        until(&format!("the neighbour's click, after {what}"), || {
            (self.neighbour.clicks() >= clicks + 2).then_some(())
        });
        self.neighbour.rest();
        self.compositor.until_live(what, self.baseline);
        let windows = self.compositor.windows();
        let [window] = &windows[..] else { panic!("windows left behind by {what}: {windows:#?}") };
        assert!(window.title == TITLE && window.focused, "{what} took the keyboard along: {window:#?}");
        self.neighbour.resume();
    }

    /// Ends all, and checks that the compositor had nothing to complain about of itself.
    pub(crate) fn close(self) {
        drop(self.neighbour);
        drop(self.hand);
        self.compositor.quit();
    }
}
