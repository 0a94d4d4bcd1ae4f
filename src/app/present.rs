//! What outputs tell: frames on screen, estimated refreshes, changes; and what clients are told of it.
//!
//! The next frame may come after each of them. Next of the walk: [`super::retire`].

use super::{Compositor, Ready};
use crate::adapters::wayland::State;
use crate::adapters::wayland::buffer::Holder;
use crate::domain::frame::Time;
use crate::ports::output::{Event, Presented};

use super::screen::Screen;

impl Compositor {
    pub(super) fn present(&mut self, now: Time) {
        let mut index = 0;
        while index < self.screens.len() {
            let screen = &mut self.screens[index];
            let due = screen.output.next_wake().is_some_and(|at| at <= now);
            if due || self.ready.contains(Ready::OUTPUTS) {
                let told = &mut self.told;
                screen.output.dispatch(now, &mut |event| told.push(event));
            }
            if screen.schedule.wake(now) {
                self.server.state.frame_done(screen.id, now);
            }
            if self.hear(index, now) {
                index += 1;
            }
        }
    }

    /// Handles what one output told. False where the output is gone with it.
    fn hear(&mut self, index: usize, now: Time) -> bool {
        let mut told = std::mem::take(&mut self.told);
        let (mut changed, mut closed) = (false, false);
        for event in told.drain(..) {
            let screen = &mut self.screens[index];
            match event {
                Event::Presented(presented) => {
                    if on_screen(screen, &mut self.server.state, &presented, now) {
                        self.first_frame_ns.get_or_insert(now.since_ns(self.started));
                    }
                }
                Event::Discarded => discarded(screen, &mut self.server.state, now),
                Event::Exposed => screen.repaint(),
                Event::Changed => {
                    screen.repaint();
                    changed = true;
                }
                Event::Closed => closed = true,
            }
        }
        self.told = told;
        if closed {
            self.remove_screen(index, now);
        } else if changed {
            self.arrange_screens();
        }
        !closed
    }
}

/// True where a frame was awaited.
fn on_screen(screen: &mut Screen, state: &mut State, presented: &Presented, now: Time) -> bool {
    if !screen.schedule.presented(presented.time) {
        return false;
    }
    screen.tally.presented += 1;
    if let Some(due) = &mut screen.put_off {
        // Clients that waited for this frame answer first, and so get into the one that goes on with the rest.
        *due = (*due).max(now.plus_ns(screen.output.info().mode.period_ns() / 4));
    }
    screen.tally.scanned_out += u64::from(screen.scan_out.coming.is_some());
    if let Some(replaced) = std::mem::replace(&mut screen.scan_out.shown, screen.scan_out.coming.take()) {
        state.core.buffers.end(replaced, Holder::ScanOut);
    }
    state.frame_presented(screen.id, presented);
    state.frame_done(screen.id, now);
    true
}

fn discarded(screen: &mut Screen, state: &mut State, now: Time) {
    if !screen.schedule.discarded() {
        return;
    }
    screen.tally.discarded += 1;
    if let Some(buffer) = screen.scan_out.coming.take() {
        state.core.buffers.end(buffer, Holder::ScanOut);
    }
    // What the screen shows is the frame before, which is no longer known.
    screen.repaint();
    state.frame_discarded(screen.id);
    state.frame_done(screen.id, now);
}
