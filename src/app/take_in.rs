//! Takes in what became ready: clients, input, the control socket, the configuration file, children.

use super::child::exit_code;
use super::{Compositor, Exit, Ready, clock};
use crate::adapters::{config_file, ipc, wayland};
use crate::domain::frame::Time;

/// How long new clients wait after there was no descriptor for one.
const ACCEPT_REST_NS: u64 = 500_000_000;

impl Compositor {
    pub(super) fn take_in(&mut self, now: Time) {
        if self.ready.contains(Ready::QUIT) {
            self.end(Exit::Done);
        }
        self.take_clients(now);
        self.import_dmabufs(now);
        if self.ready.contains(Ready::FENCES) {
            self.server.state.fences_signalled(now);
        }
        if self.ready.contains(Ready::INPUTS) {
            let state = &mut self.server.state;
            for input in &mut self.inputs {
                input.dispatch(now, &mut |time, event| state.input(time, event));
            }
        }
        let control_due = self.control.as_ref().and_then(ipc::server::Server::next_wake).is_some_and(|at| at <= now);
        if control_due || self.ready.contains(Ready::CONTROL) {
            self.take_requests(now);
        }
        let changed =
            self.ready.contains(Ready::CONFIG) && self.config_watch.as_mut().is_some_and(config_file::Watch::changed);
        if changed {
            // Whatever is wrong with the file was logged, and what was in force stays.
            let _ = self.reload();
        }
        if self.ready.contains(Ready::CHILDREN)
            && let Some(status) = self.children.reap()
            && self.children.lives_for_main()
        {
            self.end(Exit::Child(exit_code(status)));
        }
        if self.ready.contains(Ready::PICTURES) {
            self.answer_captures(now);
        }
        self.server.state.tick(now);
        self.server.state.expire_outputs(now);
    }

    fn take_clients(&mut self, now: Time) {
        let rested = self.accept_rest.is_some_and(|until| until <= now);
        if rested {
            self.accept_rest = None;
            self.watch_listener();
        }
        if (rested || self.ready.contains(Ready::LISTEN))
            && self.accept_rest.is_none()
            && let Err(error) = self.server.accept()
        {
            tracing::warn!(%error, "new clients wait");
            self.accept_rest = Some(now.plus_ns(ACCEPT_REST_NS));
            self.watch_listener();
        }
        let due = self.server.next_wake().is_some_and(|at| at <= now);
        if !due && !self.ready.contains(Ready::CLIENTS) {
            return;
        }
        if let Err(error) = self.server.dispatch(now, clock::now) {
            tracing::error!(%error, "clients cannot be served any more");
            self.end(Exit::NoClients);
        }
        self.server.state.settle();
    }

    /// Imports the dma-buf images that clients asked for; they wait while there is no renderer.
    fn import_dmabufs(&mut self, now: Time) {
        let Some(renderer) = self.renderer.as_mut().filter(|_| self.server.state.has_imports()) else { return };
        if let Err(wayland::upload::DeviceLost) = self.server.state.import_dmabufs(&mut **renderer) {
            self.lose_renderer(now);
        }
    }

    /// Does what clients' requests and the desktop asked for.
    pub(super) fn take_events(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        std::mem::swap(&mut events, &mut self.server.state.events);
        for event in events.drain(..) {
            match event {
                wayland::Event::Redraw(output) => {
                    if let Some(screen) = self.screen_of(output) {
                        screen.schedule.queue();
                    }
                }
                wayland::Event::RedrawAll => self.screens.iter_mut().for_each(|screen| screen.schedule.queue()),
                wayland::Event::Spawn(words) => {
                    if let Err(error) = self.children.spawn(&words) {
                        tracing::warn!(%error, ?words, "a program cannot be started");
                    }
                }
                wayland::Event::Reload => {
                    // As above.
                    let _ = self.reload();
                }
                wayland::Event::Quit => self.end(Exit::Done),
            }
        }
        self.events = events;
    }
}
