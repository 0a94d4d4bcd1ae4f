//! Fences of client buffers: looked at when a surface commit arrives, waited for outside of frames or handed into one.
//!
//! ```text
//! surface commit with a dma-buf ─▶ its fences exported, once for each distinct dma-buf
//!   all signalled                ─▶ takes effect at once
//!   not, and the client's word   ─▶ a blocker: the whole tree's surface commit waits, its old content stays; the
//!   is not enough                   loop is woken when the fence signals
//!   not, and the client is       ─▶ takes effect at once; upload gives the fence to the frame that shows it
//!   trusted
//! ```
//!
//! Which of the two is `domain::fence`'s rule; a device whose queue cannot wait for sync_files always takes the former.
//! A kernel that exports none is asked by polling the dma-buf itself. Nothing is ever shown unsynchronised, nothing
//! waits on this thread, and a fence that never signals costs its own surface alone. Next of the walk: [`super::upload`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_surface::WlSurface;
use smithay::reexports::wayland_server::{Client, DisplayHandle, Resource, Weak};
use smithay::wayland::compositor::{Barrier, BufferAssignment, SurfaceAttributes, add_blocker, with_states};

use super::client::{ClientState, refuse};
use super::dmabuf::BufferData;
use super::state::{Event, State};
use crate::adapters::dmabuf::{self, Access};
use crate::domain::buffer::BufferId;
use crate::domain::fence::{Policy, Record, waits_outside};
use crate::domain::frame::Time;

/// Fences of one client that may be unfinished, whoever waits for them.
const MAX_WAITING_OF_ONE: usize = 256;
/// A frame's time where no output tells.
const FRAME_NS: u64 = 16_666_667;

/// How fences are to be waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What happens to a surface commit whose fence has not signalled.
    pub policy: Policy,
    /// The renderer's queue can wait for a sync_file.
    pub queue_waits: bool,
}

/// What became of fences since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Fences exported from dma-bufs.
    pub exported: u64,
    /// Surface commits that waited outside of frames.
    pub waited_outside: u64,
    /// Surface commits that a frame's queue was to wait for.
    pub queue_waits: u64,
    /// Fences of trusted clients that were late.
    pub late: u64,
}

/// A fence that has not signalled when it was looked at.
#[derive(Debug)]
struct Watched {
    /// A sync_file, or a dma-buf.
    fd: OwnedFd,
    client: ClientId,
    /// Whose surface commit it is.
    surface: Weak<WlSurface>,
    since: Time,
    /// What it holds back; `None` where a frame waits for it.
    barrier: Option<Barrier>,
    /// It was late, and that was noted.
    late: bool,
}

/// Everything that waits.
#[derive(Debug)]
pub struct Fences {
    options: Options,
    /// `None` where the kernel gives none: then frames' queues wait, or nothing is shown.
    epoll: Option<Epoll>,
    watched: Vec<Option<Watched>>,
    /// Clients whose surface commits wait for less than before, without a fence that signalled.
    cleared: Vec<ClientId>,
    counts: Counts,
}

/// The fences of one buffer.
enum Found {
    /// Everybody who writes is done.
    Signalled,
    /// One sync_file for all that is not.
    Fence(OwnedFd),
    /// What is readable when they have, a descriptor for each dma-buf; no queue can wait for those.
    Poll(Vec<OwnedFd>),
}

impl Fences {
    pub(super) fn new(options: Options) -> Self {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .inspect_err(|error| tracing::error!(%error, "fences of clients cannot be waited for"));
        Self { options, epoll: epoll.ok(), watched: Vec::new(), cleared: Vec::new(), counts: Counts::default() }
    }

    /// What became of fences.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Fences that are waited for.
    pub fn waiting(&self) -> u64 {
        self.watched.iter().flatten().count() as u64
    }

    fn watch(&mut self, watched: Watched) -> io::Result<()> {
        let Some(epoll) = &self.epoll else { return Err(io::ErrorKind::Unsupported.into()) };
        let free = self.watched.iter().position(Option::is_none);
        let at = free.unwrap_or(self.watched.len());
        epoll.add(&watched.fd, EpollEvent::new(EpollFlags::EPOLLIN, at as u64))?;
        match free {
            Some(at) => self.watched[at] = Some(watched),
            None => self.watched.push(Some(watched)),
        }
        Ok(())
    }

    fn unwatch(&mut self, at: usize) -> Option<Watched> {
        let watched = self.watched.get_mut(at)?.take()?;
        if let Some(epoll) = &self.epoll
            && let Err(error) = epoll.delete(&watched.fd)
        {
            tracing::error!(%error, "a fence that is no longer waited for stays in the set");
        }
        Some(watched)
    }

    /// The descriptor that is readable when a fence that is waited for has signalled.
    pub fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.epoll.as_ref().map(|epoll| epoll.0.as_fd())
    }
}

impl State {
    /// Before a surface commit is handed to smithay: holds it back where the buffer that it brings is not finished and
    /// no frame may wait for that.
    pub(super) fn look_at_fences(&mut self, client: &Client, surface: &WlSurface, display: &DisplayHandle) {
        let Some(id) = pending_image(surface) else { return };
        let Some(state) = client.get_data::<ClientState>() else { return };
        let (now, period_ns) = (self.core.now, self.period_ns());
        let found = self.find(id);
        self.note_late(client.id(), period_ns, now);
        let record = &state.fences;
        if matches!(found, Found::Signalled) {
            return record.update(|record| record.signalled(0, period_ns, now));
        }
        let mine = |watched: &&Watched| watched.client == client.id();
        if self.core.fences.watched.iter().flatten().filter(mine).count() >= MAX_WAITING_OF_ONE {
            return refuse(&client.id(), display, "too many surface commits wait for their buffers");
        }
        let held_back = match found {
            Found::Signalled => return,
            Found::Poll(fds) => fds,
            Found::Fence(fence) => {
                let Options { policy, queue_waits } = self.core.fences.options;
                if !waits_outside(policy, &record.get(), queue_waits, now) && self.let_through(surface, id, &fence, now)
                {
                    return;
                }
                dmabuf::set_deadline(&fence, now.plus_ns(period_ns).as_ns());
                vec![fence]
            }
        };
        self.core.fences.counts.waited_outside += 1;
        for fd in held_back {
            let barrier = Barrier::new(false);
            let (client_id, watched) = (client.id(), Some(barrier.clone()));
            let weak = surface.downgrade();
            let watch = Watched { fd, client: client_id, surface: weak, since: now, barrier: watched, late: false };
            match self.core.fences.watch(watch) {
                Ok(()) => add_blocker(surface, barrier),
                Err(error) => {
                    tracing::warn!(%error, "a fence cannot be waited for");
                    return refuse(&client.id(), display, "no descriptors left to wait for a buffer");
                }
            }
        }
    }

    /// A trusted client's surface commit takes effect; the frame that shows it waits. False where no frame can be told
    /// to, for want of descriptors: it has to wait outside.
    fn let_through(&mut self, surface: &WlSurface, id: BufferId, fence: &OwnedFd, now: Time) -> bool {
        if let Err(error) = self.core.dmabufs.images.add_fence(id, fence) {
            tracing::debug!(%error, "a frame cannot be told to wait for a fence");
            return false;
        }
        self.core.fences.counts.queue_waits += 1;
        let Some(client) = surface.client().map(|client| client.id()) else { return true };
        let weak = surface.downgrade();
        // How long it takes is noted, so that the client keeps or loses its record.
        let watched = fence.try_clone().and_then(|fd| {
            self.core.fences.watch(Watched { fd, client, surface: weak, since: now, barrier: None, late: false })
        });
        if let Err(error) = watched {
            tracing::debug!(%error, "nobody looks when a fence signals");
        }
        true
    }

    /// A surface is being destroyed: what it was to show holds nobody up any more, above all not the tree whose
    /// sub-surface it was.
    pub(super) fn forget_fences_of(&mut self, surface: &WlSurface) {
        if !self.waits_for_fences() {
            return;
        }
        let period_ns = self.period_ns();
        if let Some(client) = surface.client() {
            // A late one stays on the client's record.
            self.note_late(client.id(), period_ns, self.core.now);
        }
        let fences = &mut self.core.fences;
        for at in 0..fences.watched.len() {
            let of_it = fences.watched[at].as_ref().is_some_and(|watched| watched.surface == *surface);
            if let Some(Watched { client, barrier: Some(barrier), .. }) = of_it.then(|| fences.unwatch(at)).flatten() {
                barrier.signal();
                fences.cleared.push(client);
            }
        }
    }

    /// Lets surface commits take effect that wait for nothing any more, and forgets what nobody can show or wait for. At
    /// the end of every dispatch.
    pub(super) fn settle_fences(&mut self) {
        self.forget_fences_of_the_dead();
        let mut cleared = std::mem::take(&mut self.core.fences.cleared);
        cleared.dedup();
        for client in cleared.drain(..) {
            let Some(state) = client_of(&self.core.display, &client) else { continue };
            let display = self.core.display.clone();
            state.compositor.blocker_cleared(self, &display);
        }
        self.core.fences.cleared = cleared;
        self.core.forget_ended();
    }

    /// What has to be waited for before a buffer is read.
    fn find(&mut self, id: BufferId) -> Found {
        let mut fence: Option<OwnedFd> = None;
        let mut poll = Vec::new();
        for fd in self.core.dmabufs.images.distinct_fds(id) {
            self.core.fences.counts.exported += 1;
            match dmabuf::export_fence(fd, Access::Read) {
                Ok(one) if dmabuf::is_signalled(one.as_fd()) => {}
                Ok(one) => {
                    let merged = match &fence {
                        None => Ok(one),
                        Some(other) => dmabuf::merge(&one, other),
                    };
                    match merged {
                        Ok(merged) => fence = Some(merged),
                        Err(_) => poll.extend(fd.as_fd().try_clone_to_owned()),
                    }
                }
                // An old kernel, or no descriptors: the dma-buf itself tells.
                Err(_) if dmabuf::is_signalled(fd.as_fd()) => {}
                Err(_) => poll.extend(fd.as_fd().try_clone_to_owned()),
            }
        }
        if !poll.is_empty() {
            poll.extend(fence);
            return Found::Poll(poll);
        }
        fence.map_or(Found::Signalled, Found::Fence)
    }

    /// Those of a client's fences that frames wait for and that should have signalled by now cost it its record.
    fn note_late(&mut self, client: ClientId, period_ns: u64, now: Time) {
        let Some(state) = client_of(&self.core.display, &client) else { return };
        let fences = &mut self.core.fences;
        let late = |w: &&mut Watched| !w.late && w.client == client && now.since_ns(w.since) > period_ns;
        for watched in fences.watched.iter_mut().flatten().filter(late) {
            watched.late = true;
            fences.counts.late += u64::from(watched.barrier.is_none());
            state.fences.update(|record| record.broke(now));
        }
    }

    /// Whether [`State::fences_signalled`] is to be called: something may wait.
    pub fn waits_for_fences(&self) -> bool {
        self.core.fences.watched.iter().any(Option::is_some)
    }

    /// Lets surface commits whose fences have signalled take effect. To be called when [`Fences::poll_fd`] is readable,
    /// and harmless at any time.
    pub fn fences_signalled(&mut self, now: Time) {
        self.core.now = now;
        let period_ns = self.period_ns();
        let mut events = [EpollEvent::empty(); 64];
        let Some(epoll) = &self.core.fences.epoll else { return };
        let count = epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        for event in &events[..count] {
            let Some(watched) = self.core.fences.unwatch(event.data() as usize) else { continue };
            let Some(state) = client_of(&self.core.display, &watched.client) else { continue };
            if !watched.late {
                let took_ns = now.since_ns(watched.since);
                self.core.fences.counts.late += u64::from(watched.barrier.is_none() && took_ns > period_ns);
                state.fences.update(|record| record.signalled(took_ns, period_ns, now));
            }
            match watched.barrier {
                Some(barrier) => {
                    barrier.signal();
                    let display = self.core.display.clone();
                    state.compositor.blocker_cleared(self, &display);
                }
                // A frame that had to leave it out may show it now.
                None => self.events.push(Event::RedrawAll),
            }
        }
        self.forget_fences_of_the_dead();
    }

    /// A client that is gone waits for nothing.
    pub(super) fn forget_fences_of_the_dead(&mut self) {
        for at in 0..self.core.fences.watched.len() {
            let client = self.core.fences.watched[at].as_ref().map(|watched| watched.client.clone());
            if client.is_some_and(|client| client_of(&self.core.display, &client).is_none()) {
                self.core.fences.unwatch(at);
            }
        }
    }

    fn period_ns(&self) -> u64 {
        self.core.outputs.shortest_period_ns().unwrap_or(FRAME_NS)
    }
}

/// What is kept of a client that is there.
fn client_of(display: &DisplayHandle, client: &ClientId) -> Option<Arc<ClientState>> {
    display.backend_handle().get_client_data(client.clone()).ok()?.downcast_arc().ok()
}

/// The dma-buf image that a surface's next surface commit brings.
fn pending_image(surface: &WlSurface) -> Option<BufferId> {
    with_states(surface, |states| match &states.cached_state.get::<SurfaceAttributes>().pending().buffer {
        Some(BufferAssignment::NewBuffer(buffer)) => buffer.data::<BufferData>().map(|data| data.id),
        _ => None,
    })
}

/// A client's record, which its requests and the fences change.
#[derive(Debug, Default)]
pub(super) struct SharedRecord(Mutex<Record>);

impl SharedRecord {
    fn get(&self) -> Record {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
