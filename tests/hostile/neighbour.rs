//! An ordinary client on a thread of its own: a window that shows another colour with every frame callback.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::support::guest::{Guest, fill, memory};
use super::support::process::until;
use super::support::protocol::{XRGB8888, wl_seat};

/// Its window's title.
pub(crate) const TITLE: &str = "neighbour";
/// Its window's width and height.
pub(crate) const SIDE: i32 = 64;

#[derive(Default)]
struct Shared {
    frames: AtomicU64,
    clicks: AtomicU64,
    keys: AtomicU64,
    longest_pause_ms: AtomicU64,
    rest: AtomicBool,
    rests: AtomicBool,
    stop: AtomicBool,
}

/// See the module's docs.
pub(crate) struct Neighbour {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// Moves in; its window is there when this returns.
    pub(crate) fn new(socket: &Path) -> Self {
        let shared = Arc::new(Shared::default());
        let (theirs, socket) = (shared.clone(), socket.to_owned());
        let thread = std::thread::spawn(move || live(&socket, &theirs));
        let neighbour = Self { shared, thread: Some(thread) };
        neighbour.keeps_going(1, "the neighbour");
        neighbour
    }

    /// Waits for so many more frame callbacks of its.
    ///
    /// # Panics
    /// Where they do not come.
    pub(crate) fn keeps_going(&self, frames: u64, beside: &str) {
        let start = self.shared.frames.load(SeqCst);
        until(&format!("{frames} frames of the neighbour, beside {beside}"), || {
            assert!(!self.is_gone(), "the neighbour is gone, beside {beside}");
            (self.shared.frames.load(SeqCst) >= start + frames).then_some(())
        });
    }

    /// Frame callbacks that it got.
    pub(crate) fn frames(&self) -> u64 {
        self.shared.frames.load(SeqCst)
    }

    /// Stops painting, between two frames, until [`Neighbour::resume`]; it goes on listening.
    pub(crate) fn rest(&self) {
        self.shared.rest.store(true, SeqCst);
        until("the neighbour's rest", || self.shared.rests.load(SeqCst).then_some(()));
    }

    pub(crate) fn resume(&self) {
        self.shared.rest.store(false, SeqCst);
    }

    /// wl_pointer.button events that it got.
    pub(crate) fn clicks(&self) -> u64 {
        self.shared.clicks.load(SeqCst)
    }

    /// The longest that it waited for a frame callback since this was last asked.
    pub(crate) fn take_longest_pause(&self) -> Duration {
        Duration::from_millis(self.shared.longest_pause_ms.swap(0, SeqCst))
    }

    fn is_gone(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().expect("the neighbour met no error");
        }
    }
}

fn live(socket: &Path, shared: &Shared) {
    let mut guest = Guest::connect(socket);
    guest.make("wl_seat", wl_seat::GET_POINTER, "wl_pointer", &[]);
    guest.make("wl_seat", wl_seat::GET_KEYBOARD, "wl_keyboard", &[]);
    let window = guest.toplevel(TITLE);
    let bytes = SIDE * SIDE * 4;
    let file = memory(bytes * 2);
    let pool = guest.pool_on(&file, bytes * 2);
    let buffers = [0, bytes].map(|offset| guest.buffer_in(pool, offset, (SIDE, SIDE), SIDE * 4, XRGB8888));
    let mut frame = 0;
    while !shared.stop.load(SeqCst) {
        if shared.rest.load(SeqCst) {
            shared.rests.store(true, SeqCst);
            guest.listen(Instant::now() + Duration::from_millis(20));
        } else {
            shared.rests.store(false, SeqCst);
            let which = frame % 2;
            fill(&file, i64::from(bytes) * which as i64, (SIDE * SIDE) as usize, 0x0000_4000 + frame % 256);
            guest.attach(window.surface, buffers[which as usize]);
            let (start, callback) = (Instant::now(), guest.frame(window.surface));
            guest.commit(window.surface);
            guest.until("the neighbour's frame callback", |seen| seen.done.contains(&callback));
            guest.seen.done.remove(&callback);
            shared.longest_pause_ms.fetch_max(start.elapsed().as_millis() as u64, SeqCst);
            shared.frames.fetch_add(1, SeqCst);
            frame += 1;
        }
        shared.clicks.store(guest.seen.buttons.len() as u64, SeqCst);
        shared.keys.store(guest.seen.keys.len() as u64, SeqCst);
    }
}
