//! Sleeping between turns: calloop, with a source for each descriptor that can wake the compositor.
//!
//! Sources only note what is ready; everything happens in [`Compositor::turn`]. All are level-triggered, so what a turn
//! leaves unread wakes it again. Timers are the sleep's own limit ([`Compositor::wake_at`]).

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use calloop::generic::Generic;
use calloop::signals::{Signal, Signals};
use calloop::{EventLoop, Interest, LoopHandle, Mode, PostAction, RegistrationToken};

use super::{Compositor, Exit, Ready, clock};

/// Why the loop could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// epoll, signalfd or a copy of a descriptor failed.
    #[error("the event loop cannot go on")]
    Loop(#[from] calloop::Error),
}

/// Keeps the signals that [`run`] handles from ending the process, in this thread and those it starts later. To be
/// called first of all, before any thread is started.
///
/// # Errors
/// From signalfd(2).
pub fn block_signals() -> Result<Signals, RunError> {
    Ok(Signals::new(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD])?)
}

/// Takes turns until the compositor ends.
///
/// # Errors
/// [`RunError`].
pub fn run(compositor: &mut Compositor, signals: Signals) -> Result<Exit, RunError> {
    let mut event_loop: EventLoop<'static, Slot> = EventLoop::try_new()?;
    let on_signal = |event: calloop::signals::Event, _: &mut (), slot: &mut Slot| {
        slot.ready |= match event.signal() {
            Signal::SIGCHLD => Ready::CHILDREN,
            _ => Ready::QUIT,
        };
    };
    event_loop.handle().insert_source(signals, on_signal).map_err(|error| error.error)?;
    compositor.loop_watch = Some(LoopWatch { handle: event_loop.handle(), sources: Vec::new() });
    compositor.watch_all();
    let mut slot = Slot { ready: Ready::all() - Ready::QUIT };
    let exit = loop {
        compositor.turn(slot.ready, clock::now());
        slot.ready = Ready::empty();
        if let Some(exit) = compositor.exit() {
            break exit;
        }
        let limit = compositor.wake_at().map(|at| Duration::from_nanos(at.since_ns(clock::now())));
        event_loop.dispatch(limit, &mut slot)?;
    };
    compositor.loop_watch = None;
    Ok(exit)
}

/// What the sources of the loop noted since the last turn.
pub(super) struct Slot {
    ready: Ready,
}

/// The compositor's side of the loop: which descriptors wake it.
pub(super) struct LoopWatch {
    handle: LoopHandle<'static, Slot>,
    sources: Vec<(Ready, RegistrationToken)>,
}

impl LoopWatch {
    /// Lets exactly `fds` wake the loop for `ready`.
    fn set<'a>(&mut self, ready: Ready, fds: impl IntoIterator<Item = BorrowedFd<'a>>) {
        for (_, token) in self.sources.extract_if(.., |(kind, _)| *kind == ready) {
            self.handle.remove(token);
        }
        for fd in fds {
            match self.insert(ready, fd) {
                Ok(token) => self.sources.push((ready, token)),
                Err(error) => tracing::error!(?ready, %error, "a descriptor cannot be watched"),
            }
        }
    }

    /// Watches a copy, which is the source's own: what it leads to may go before the source does.
    fn insert(&self, ready: Ready, fd: BorrowedFd<'_>) -> io::Result<RegistrationToken> {
        let copy: OwnedFd = fd.try_clone_to_owned()?;
        let source = Generic::new(copy, Interest::READ, Mode::Level);
        let note = move |_: calloop::Readiness, _: &mut calloop::generic::NoIoDrop<OwnedFd>, slot: &mut Slot| {
            slot.ready |= ready;
            Ok(PostAction::Continue)
        };
        self.handle.insert_source(source, note).map_err(|error| io::Error::other(error.error))
    }
}

impl Compositor {
    fn watch_all(&mut self) {
        self.watch_listener();
        self.watch_renderer();
        self.watch_outputs();
        self.watch_pictures();
        let Some(watch) = &mut self.loop_watch else { return };
        watch.set(Ready::CLIENTS, [self.server.poll_fd()]);
        watch.set(Ready::FENCES, self.server.state.core.fences.poll_fd());
        watch.set(Ready::INPUTS, self.inputs.iter().filter_map(|input| input.wake_fd()));
        watch.set(Ready::CONTROL, self.control.as_ref().map(|control| control.poll_fd()));
        watch.set(Ready::CONFIG, self.config_watch.as_ref().map(std::os::fd::AsFd::as_fd));
    }

    /// Unless it rests.
    pub(super) fn watch_listener(&mut self) {
        let Some(watch) = &mut self.loop_watch else { return };
        watch.set(Ready::LISTEN, self.server.listen_fd().filter(|_| self.accept_rest.is_none()));
    }

    pub(super) fn watch_renderer(&mut self) {
        let Some(watch) = &mut self.loop_watch else { return };
        watch.set(Ready::RENDERER, self.renderer.as_ref().and_then(|renderer| renderer.completion_fd()));
    }

    pub(super) fn watch_outputs(&mut self) {
        let Some(watch) = &mut self.loop_watch else { return };
        watch.set(Ready::OUTPUTS, self.screens.iter().filter_map(|screen| screen.output.wake_fd()));
    }

    pub(super) fn watch_pictures(&mut self) {
        let Some(watch) = &mut self.loop_watch else { return };
        watch.set(Ready::PICTURES, self.captures.bell());
    }
}
