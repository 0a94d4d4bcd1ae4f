//! The turnstile that every client passes on its way to the display, so that none takes more than its share.
//!
//! The display's own way of reading is to go on until a client's socket is empty: one that writes as fast as it is read
//! would be read for ever, and may send any number of descriptors along. So the display never sees a client's socket:
//!
//! ```text
//!            outside                up: a piece, then the display handles it         inside
//!   client ◀────────▶ [ Connection: one chunk each way, 4096 bytes and 253 fds ] ◀────────────▶ display
//!            epoll `ups`            down: all there is, as the client takes it      epoll `downs`
//! ```
//!
//! Up ([`Turnstile::dispatch`]): clients that said something wait in one queue. Each in turn is read from once, and what
//! was read is handed over in pieces, the clock looked at after each; [`domain::share`](crate::domain::share) says how
//! long a piece and a turn are, and how long a client rests that overran. All turns together end in time for the
//! outputs. The inside socket is empty after each piece, so the display's one read too many finds nothing.
//!
//! Down ([`Turnstile::flush`]): after the display sent what it has, all of it is passed on. A client that takes no more
//! is waited for with EPOLLOUT, and its events stay where they were: in the inside socket, then in the display's buffer,
//! whose bound ends the connection. `downs` is looked at here only and wakes nobody, since only we make it readable.
//!
//! Descriptors: what a client sent is counted, and what its requests took (`ClientState::fds_taken`: **a request that
//! takes a descriptor must count it**); one that is too far ahead is thrown out.
//!
//! Ends: a client that hung up is read to the end first. One that the display threw out is told all that was said,
//! the error last, and then read and not heard for a bounded while: were its socket closed with something unread in it,
//! its next write would fail before it read the error.
//!
//! Steady state: no allocation, no epoll_ctl; one read and one write more each way than without. Owner: the server.

mod chunk;
mod connection;
mod framing;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{Timespec, epoll};
use smithay::reexports::wayland_server::Display;
use smithay::reexports::wayland_server::backend::ClientId;

use super::client::ClientState;
use super::state::State;
use crate::domain::frame::Time;
use crate::domain::share::{LOOP_NS, SLICE_NS};
use connection::{Connection, Turn};

/// Events taken from an epoll at once.
const EVENTS: usize = 64;
/// Turns of each client in one dispatch, whatever the clock says.
const MAX_ROUNDS: usize = 64;
/// Clients that were thrown out and may read why at the same time; of more, the first goes.
const MAX_LINGERING: usize = 64;
/// The client is there to be read from, or gone.
const READABLE: epoll::EventFlags = epoll::EventFlags::IN.union(CLOSED);
const CLOSED: epoll::EventFlags = epoll::EventFlags::HUP.union(epoll::EventFlags::ERR);

/// What passed, since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Turns of clients.
    pub turns: u64,
    /// Of those, turns that a rest followed.
    pub rests: u64,
    /// Bytes of requests.
    pub bytes_in: u64,
    /// Bytes of events.
    pub bytes_out: u64,
}

/// What a turn works with.
struct Context<'a> {
    display: &'a mut Display<State>,
    state: &'a mut State,
    counts: &'a mut Traffic,
    /// When this dispatch began, for all but the clock.
    start: Time,
    /// What the clock said then.
    began: Time,
    clock: &'a dyn Fn() -> Time,
}

impl Context<'_> {
    fn now(&self) -> Time {
        self.start.plus_ns((self.clock)().since_ns(self.began))
    }

    /// Lets the display handle what was handed over; false where it hung up.
    fn handle(&mut self, client: &ClientId) -> bool {
        match self.display.backend().dispatch_single_client(self.state, client.clone()) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// A connection's place.
#[derive(Debug)]
struct Place {
    connection: Connection,
    /// What `ups` watches of its outside; empty: it is not in there.
    watched: epoll::EventFlags,
    /// Whether `downs` watches its inside.
    listened: bool,
    /// Whether it is in `queue`.
    queued: bool,
    /// Whether it is in `timed`.
    timed: bool,
}

/// See the module's docs.
pub(super) struct Turnstile {
    ups: OwnedFd,
    downs: OwnedFd,
    /// A place's number is its token in both epolls. None is taken again while events are being handled.
    places: Vec<Option<Place>>,
    /// Who is to have a turn; what is not there any more is passed over.
    queue: VecDeque<usize>,
    /// Who has something due by time, the first lingering first.
    timed: Vec<usize>,
    events: Vec<epoll::Event>,
    /// Clients whose place is gone and whose display is not told yet.
    orphans: Vec<ClientId>,
    counts: Traffic,
}

impl std::fmt::Debug for Turnstile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turnstile").field("places", &self.places).field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Turnstile {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = || epoll::create(epoll::CreateFlags::CLOEXEC);
        Ok(Self {
            ups: epoll()?,
            downs: epoll()?,
            places: Vec::new(),
            queue: VecDeque::new(),
            timed: Vec::new(),
            events: Vec::with_capacity(EVENTS),
            orphans: Vec::new(),
            counts: Traffic::default(),
        })
    }

    /// Readable when some client said something or takes more.
    pub(super) fn poll_fd(&self) -> BorrowedFd<'_> {
        self.ups.as_fd()
    }

    pub(super) fn counts(&self) -> Traffic {
        self.counts
    }

    /// Lets a client in whose display's side is connected to `inside`.
    pub(super) fn insert(
        &mut self,
        client: ClientId,
        data: Arc<ClientState>,
        outside: UnixStream,
        inside: UnixStream,
    ) -> io::Result<()> {
        let index = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        let token = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.ups, &outside, token, epoll::EventFlags::IN)?;
        epoll::add(&self.downs, &inside, token, epoll::EventFlags::IN)?;
        let connection = Connection::new(client, data, outside, inside);
        let place = Place { connection, watched: epoll::EventFlags::IN, listened: true, queued: false, timed: false };
        match self.places.get_mut(index) {
            Some(free) => *free = Some(place),
            None => self.places.push(Some(place)),
        }
        Ok(())
    }

    /// When clients are to be dispatched though none said anything; the past where some wait for a turn.
    pub(super) fn next_wake(&self) -> Option<Time> {
        if !(self.queue.is_empty() && self.orphans.is_empty()) {
            return Some(Time::default());
        }
        self.timed.iter().filter_map(|&index| self.places.get(index)?.as_ref()?.connection.wake_at()).min()
    }

    /// Gives every client that said something its turns, until all is handled or the outputs are to be looked after.
    /// `clock` is asked for differences only.
    ///
    /// # Errors
    /// From epoll_wait(2).
    pub(super) fn dispatch(
        &mut self,
        display: &mut Display<State>,
        state: &mut State,
        now: Time,
        clock: &dyn Fn() -> Time,
    ) -> io::Result<()> {
        self.wake(display, now);
        self.collect(display, now)?;
        let mut counts = self.counts;
        let mut context = Context { display, state, counts: &mut counts, start: now, began: clock(), clock };
        for client in self.orphans.drain(..) {
            context.handle(&client);
        }
        for _ in 0..MAX_ROUNDS {
            for _ in 0..self.queue.len() {
                let Some(index) = self.queue.pop_front() else { break };
                self.turn(index, &mut context);
                if context.now().since_ns(now) >= LOOP_NS {
                    self.counts = counts;
                    return Ok(());
                }
            }
            if self.queue.is_empty() {
                break;
            }
        }
        self.counts = counts;
        Ok(())
    }

    /// Does what is due by time.
    fn wake(&mut self, display: &mut Display<State>, now: Time) {
        let mut timed = std::mem::take(&mut self.timed);
        timed.retain(|&index| {
            let Some(Some(place)) = self.places.get_mut(index) else { return false };
            let connection = &mut place.connection;
            if connection.is_overdue(now) {
                self.places[index] = None;
                return false;
            }
            if connection.retries(now) {
                self.counts.bytes_out += connection.tell(display, now, false) as u64;
            }
            if connection.wakes(now) && !std::mem::replace(&mut place.queued, true) {
                self.queue.push_back(index);
            }
            true
        });
        // Nobody was listed meanwhile.
        self.timed = timed;
        for at in 0..self.timed.len() {
            self.arrange(self.timed[at]);
        }
        self.timed.retain(|&index| {
            let Some(Some(place)) = self.places.get_mut(index) else { return false };
            place.timed = place.connection.wake_at().is_some();
            place.timed
        });
    }

    /// Queues who said something, and tells more to who takes more.
    fn collect(&mut self, display: &mut Display<State>, now: Time) -> io::Result<()> {
        let mut events = std::mem::take(&mut self.events);
        let result = wait(&self.ups, &mut events);
        for event in events.drain(..) {
            let (index, flags) = (event.data.u64() as usize, event.flags);
            let Some(Some(place)) = self.places.get_mut(index) else { continue };
            if flags.contains(epoll::EventFlags::OUT) {
                self.counts.bytes_out += place.connection.tell(display, now, false) as u64;
            }
            if flags.intersects(READABLE) && place.connection.may_speak() {
                if !std::mem::replace(&mut place.queued, true) {
                    self.queue.push_back(index);
                }
            } else if flags.intersects(CLOSED) {
                place.connection.deafen();
            }
            self.arrange(index);
        }
        self.events = events;
        result
    }

    fn turn(&mut self, index: usize, context: &mut Context<'_>) {
        let Some(Some(place)) = self.places.get_mut(index) else { return };
        place.queued = false;
        if !place.connection.may_speak() {
            return;
        }
        let turn = place.connection.turn(context);
        context.counts.turns += 1;
        let now = context.now();
        let overran = place.connection.share.spent_ns() > SLICE_NS;
        let alone = overran && !self.is_anyone_beside(index, now);
        let Some(Some(place)) = self.places.get_mut(index) else { return };
        if let Some(until) = place.connection.share.end(now, alone)
            && !place.connection.is_lingering()
        {
            context.counts.rests += 1;
            place.connection.rest(until);
        }
        match turn {
            Turn::Over => {
                self.places[index] = None;
                return;
            }
            Turn::More if place.connection.may_speak() => {
                place.queued = true;
                self.queue.push_back(index);
            }
            Turn::More | Turn::Drained => {}
        }
        self.arrange(index);
    }

    fn is_anyone_beside(&self, index: usize, now: Time) -> bool {
        let mut others = self.places.iter().enumerate().filter(|(other, _)| *other != index);
        others.any(|(_, place)| place.as_ref().is_some_and(|place| place.connection.share.is_active(now)))
    }

    /// Passes on what the display sent.
    ///
    /// # Errors
    /// From epoll_wait(2).
    pub(super) fn flush(&mut self, display: &mut Display<State>, now: Time) -> io::Result<()> {
        let mut events = std::mem::take(&mut self.events);
        let result = loop {
            let result = wait(&self.downs, &mut events);
            let last = events.len() < EVENTS;
            for event in events.drain(..) {
                let (index, flags) = (event.data.u64() as usize, event.flags);
                let Some(Some(place)) = self.places.get_mut(index) else { continue };
                let closed = flags.intersects(CLOSED);
                self.counts.bytes_out += place.connection.tell(display, now, closed) as u64;
                self.arrange(index);
            }
            if last || result.is_err() {
                break result;
            }
        };
        self.events = events;
        result
    }

    /// Has both epolls watch what matters of a connection, and lists it where something is due by time. Changes nothing
    /// where nothing changed.
    fn arrange(&mut self, index: usize) {
        let Some(Some(place)) = self.places.get_mut(index) else { return };
        let (connection, token) = (&place.connection, epoll::EventData::new_u64(index as u64));
        let mut wanted = epoll::EventFlags::empty();
        wanted.set(epoll::EventFlags::IN, connection.may_speak());
        wanted.set(epoll::EventFlags::OUT, connection.is_waited_for());
        let mut failed = Ok(());
        if wanted != place.watched {
            // Not in there at all rather than with nothing to watch, since a hang-up is told always.
            failed = failed.and(match (place.watched.is_empty(), wanted.is_empty()) {
                (true, _) => epoll::add(&self.ups, connection.outside(), token, wanted),
                (false, true) => epoll::delete(&self.ups, connection.outside()),
                (false, false) => epoll::modify(&self.ups, connection.outside(), token, wanted),
            });
            place.watched = wanted;
        }
        let listened = connection.may_be_told() && connection.inside().is_some();
        if let Some(inside) = connection.inside().filter(|_| listened != place.listened) {
            failed = failed.and(match listened {
                true => epoll::add(&self.downs, inside, token, epoll::EventFlags::IN),
                false => epoll::delete(&self.downs, inside),
            });
        }
        place.listened = listened;
        if let Err(error) = failed {
            // A client that cannot be watched would hang: it goes.
            tracing::warn!(%error, client = ?connection.client(), "a client cannot be watched");
            self.orphans.push(connection.client().clone());
            self.places[index] = None;
            return;
        }
        if connection.wake_at().is_some() && !std::mem::replace(&mut place.timed, true) {
            self.timed.push(index);
            self.limit_lingering();
        }
    }

    fn limit_lingering(&mut self) {
        let lingers = |index: &&usize| {
            self.places.get(**index).and_then(Option::as_ref).is_some_and(|place| place.connection.is_lingering())
        };
        let mut lingering = self.timed.iter().filter(lingers);
        if let Some(&first) = lingering.next()
            && lingering.count() >= MAX_LINGERING
        {
            self.places[first] = None;
        }
    }

    /// Has the display look after a client that did not say anything: one that cannot be let in, or that was thrown out
    /// for what it was to be told.
    pub(super) fn look_after(&mut self, client: ClientId) {
        self.orphans.push(client);
    }
}

fn wait(epoll: &OwnedFd, events: &mut Vec<epoll::Event>) -> io::Result<()> {
    let wait = || epoll::wait(epoll, rustix::buffer::spare_capacity(events), Some(&Timespec::default()));
    Ok(rustix::io::retry_on_intr(wait).map(drop)?)
}
