//! One client's way through: its own socket outside, the display's inside, and what is under way between them.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use smithay::reexports::wayland_protocols::wp::primary_selection::zv1::server::zwp_primary_selection_offer_v1::ZwpPrimarySelectionOfferV1;
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_data_offer::WlDataOffer;
use smithay::reexports::wayland_server::{Display, DisplayHandle, Resource};

use super::Context;
use super::chunk::{Chunk, Filled};
use super::framing::Framing;
use crate::adapters::wayland::client::{ClientState, refuse};
use crate::adapters::wayland::state::State;
use crate::domain::frame::Time;
use crate::domain::share::Share;

/// Descriptors that a client may have sent ahead of the requests that take them. libwayland sends at most 28 with a
/// message, and all that one full buffer of requests takes are some 340.
const MAX_FDS_AHEAD: u64 = 512;
/// Objects from here on are made by the server: offers of selections and of drags among them.
const SERVER_OBJECTS: u32 = 0xff00_0000;
/// wl_data_offer.receive and zwp_primary_selection_offer_v1.receive.
const RECEIVE: u16 = 1;
const PRIMARY_RECEIVE: u16 = 0;
/// How long a client that was thrown out may take to read why.
const LINGER_NS: u64 = 5_000_000_000;
/// Bytes that it may go on saying meanwhile, unheard.
const LINGER_BYTES: usize = 4 << 20;
/// Events passed on at once after which the display may have more that did not fit.
const BULK: usize = 1 << 16;
/// Before another attempt where the kernel lacks what it takes to pass descriptors on.
const RETRY_NS: u64 = 10_000_000;

/// What came of a client's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It said nothing more.
    Drained,
    /// There may be more.
    More,
    /// The connection is over.
    Over,
}

/// A client that was thrown out, and may read why.
#[derive(Debug)]
struct Linger {
    until: Time,
    bytes: usize,
}

/// See the module's docs.
#[derive(Debug)]
pub(super) struct Connection {
    client: ClientId,
    data: Arc<ClientState>,
    outside: UnixStream,
    /// `None` once the display hung up and all that it said was passed on.
    inside: Option<UnixStream>,
    up: Chunk,
    down: Chunk,
    framing: Framing,
    /// Descriptors handed to the display since the connection began.
    fds: u64,
    pub(super) share: Share,
    /// The last read stopped where there may be more.
    unread: bool,
    /// The client takes no more for now.
    blocked: bool,
    /// The client takes nothing any more.
    deaf: bool,
    /// It has no turn before.
    rests_until: Option<Time>,
    /// It is told nothing before.
    retry_at: Option<Time>,
    linger: Option<Linger>,
}

impl Connection {
    pub(super) fn new(client: ClientId, data: Arc<ClientState>, outside: UnixStream, inside: UnixStream) -> Self {
        Self {
            client,
            data,
            outside,
            inside: Some(inside),
            up: Chunk::new(),
            down: Chunk::new(),
            framing: Framing::default(),
            fds: 0,
            share: Share::default(),
            unread: false,
            blocked: false,
            deaf: false,
            rests_until: None,
            retry_at: None,
            linger: None,
        }
    }

    pub(super) fn client(&self) -> &ClientId {
        &self.client
    }

    pub(super) fn outside(&self) -> &UnixStream {
        &self.outside
    }

    pub(super) fn inside(&self) -> Option<&UnixStream> {
        self.inside.as_ref()
    }

    /// Whether it is listened to.
    pub(super) fn may_speak(&self) -> bool {
        self.rests_until.is_none()
    }

    /// Whether it is waited for until it takes more.
    pub(super) fn is_waited_for(&self) -> bool {
        self.blocked && self.retry_at.is_none()
    }

    /// Whether more may be passed on to it.
    pub(super) fn may_be_told(&self) -> bool {
        !self.blocked
    }

    pub(super) fn is_lingering(&self) -> bool {
        self.linger.is_some()
    }

    /// When something is due though neither side says anything.
    pub(super) fn wake_at(&self) -> Option<Time> {
        [self.rests_until, self.retry_at, self.linger.as_ref().map(|linger| linger.until)].into_iter().flatten().min()
    }

    /// Has no turn before `until`.
    pub(super) fn rest(&mut self, until: Time) {
        self.rests_until = Some(until);
    }

    /// Ends a rest that is over; true where it was.
    pub(super) fn wakes(&mut self, now: Time) -> bool {
        let over = self.rests_until.is_some_and(|until| until <= now);
        if over {
            self.rests_until = None;
        }
        over
    }

    /// Whether another attempt is due to tell it something; the attempt is the caller's.
    pub(super) fn retries(&mut self, now: Time) -> bool {
        let due = self.retry_at.is_some_and(|at| at <= now);
        if due {
            self.retry_at = None;
        }
        due
    }

    /// Whether it had long enough to read why it was thrown out.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        self.linger.as_ref().is_some_and(|linger| linger.until <= now)
    }

    /// The client closed its socket: it takes nothing any more, what it said is still there to be read.
    pub(super) fn deafen(&mut self) {
        (self.deaf, self.blocked, self.retry_at) = (true, false, None);
        self.down.clear();
    }

    /// Hears the client: a read at most, handled piece by piece.
    pub(super) fn turn(&mut self, context: &mut Context<'_>) -> Turn {
        self.share.begin();
        if self.linger.is_some() {
            return self.ignore();
        }
        if self.up.is_empty() {
            match self.up.fill(&self.outside) {
                Ok(Filled { bytes: 0, .. }) => return self.hang_up(context),
                Ok(filled) => {
                    self.unread = filled.may_be_more();
                    context.counts.bytes_in += filled.bytes as u64;
                    if !self.admit(filled, &context.display.handle()) {
                        context.handle(&self.client);
                        return self.throw_out(context.now());
                    }
                }
                Err(Errno::AGAIN) => return Turn::Drained,
                Err(_) => return self.hang_up(context),
            }
        }
        let mut began = context.now();
        while let Some(inside) = &self.inside {
            let limit = self.share.piece(self.data.surfaces.load(Ordering::Relaxed));
            match self.up.drain(inside, limit) {
                Ok(sent) => {
                    let lives = context.handle(&self.client);
                    let now = context.now();
                    let goes_on = self.share.spend(sent, now.since_ns(began), now);
                    began = now;
                    match (lives, self.up.is_empty()) {
                        (false, _) => return self.throw_out(now),
                        (true, true) => return if self.unread { Turn::More } else { Turn::Drained },
                        (true, false) if !goes_on => return Turn::More,
                        (true, false) => {}
                    }
                }
                Err(Errno::AGAIN | Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM) => {
                    self.rest(context.now().plus_ns(RETRY_NS));
                    return Turn::More;
                }
                // The display hung up.
                Err(_) => break,
            }
        }
        self.throw_out(context.now())
    }

    /// Counts the descriptors of what was just read; false where there are too many, and the client was told.
    fn admit(&mut self, filled: Filled, display: &DisplayHandle) -> bool {
        let (client, taken) = (&self.client, &self.data.fds_taken);
        self.framing.follow(self.up.bytes(), |object, opcode| {
            if object >= SERVER_OBJECTS && takes_descriptor(display, client, object, opcode) {
                taken.fetch_add(1, Ordering::Relaxed);
            }
        });
        self.fds += filled.fds as u64;
        let why = if filled.lost_fds {
            "no room for descriptors"
        } else if self.fds.saturating_sub(taken.load(Ordering::Relaxed)) > MAX_FDS_AHEAD {
            "too many descriptors that no request takes"
        } else {
            return true;
        };
        refuse(client, display, why);
        false
    }

    /// The client hung up: the display is told, and the client all that it may still want to read.
    fn hang_up(&mut self, context: &mut Context<'_>) -> Turn {
        if let Some(inside) = &self.inside {
            // It fails only for a display that hung up as well.
            let _ = shutdown(inside, Shutdown::Write);
        }
        context.handle(&self.client);
        if !self.blocked {
            self.tell(context.display, context.now(), true);
        }
        Turn::Over
    }

    /// The display hung up: what the client says is not heard any more.
    fn throw_out(&mut self, now: Time) -> Turn {
        self.up.clear();
        self.rests_until = None;
        self.linger.get_or_insert(Linger { until: now.plus_ns(LINGER_NS), bytes: LINGER_BYTES });
        Turn::More
    }

    fn ignore(&mut self) -> Turn {
        self.up.clear();
        let filled = self.up.fill(&self.outside);
        self.up.clear();
        match (filled, &mut self.linger) {
            (Ok(filled), Some(linger)) if filled.bytes > 0 && filled.bytes <= linger.bytes => {
                linger.bytes -= filled.bytes;
                if filled.may_be_more() { Turn::More } else { Turn::Drained }
            }
            (Err(Errno::AGAIN), _) => Turn::Drained,
            _ => Turn::Over,
        }
    }

    /// Passes on what the display said, as much as the client takes; how many bytes it took. `closed`: the display hung
    /// up behind it.
    pub(super) fn tell(&mut self, display: &mut Display<State>, now: Time, closed: bool) -> usize {
        let mut told = 0;
        // What did not fit before the client was waited for may fit now.
        let mut since_flush = if std::mem::take(&mut self.blocked) { BULK } else { 0 };
        let mut unread = true;
        loop {
            match self.empty_down(now) {
                Some(sent) => (told, since_flush) = (told + sent, since_flush + sent),
                None => {
                    self.blocked = true;
                    return told;
                }
            }
            if !unread {
                if since_flush < BULK {
                    return told;
                }
                since_flush = 0;
                // What it cannot send it keeps.
                let _ = display.backend().flush(Some(self.client.clone()));
            }
            let Some(inside) = &self.inside else { return told };
            match self.down.fill(inside) {
                Ok(filled) if filled.bytes > 0 => unread = closed || filled.may_be_more(),
                Err(Errno::AGAIN) => unread = false,
                Ok(_) | Err(_) => {
                    self.inside = None;
                    // It fails only for a client that hung up as well.
                    let _ = shutdown(&self.outside, Shutdown::Write);
                    self.throw_out(now);
                    return told;
                }
            }
        }
    }

    /// Sends what was read from the display; `None` where the client does not take all of it now.
    fn empty_down(&mut self, now: Time) -> Option<usize> {
        let mut sent = 0;
        while !self.down.is_empty() {
            if self.deaf {
                self.down.clear();
                break;
            }
            match self.down.drain(&self.outside, usize::MAX) {
                Ok(count) => sent += count,
                Err(Errno::AGAIN) => return None,
                Err(Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM) => {
                    self.retry_at = Some(now.plus_ns(RETRY_NS));
                    return None;
                }
                Err(_) => self.deafen(),
            }
        }
        Some(sent)
    }
}

/// Whether this request to an object of the server's making takes a descriptor. Others count theirs themselves
/// ([`ClientState::fds_taken`]); these are answered inside smithay. The object was there before its id was known, so it
/// is there now.
fn takes_descriptor(display: &DisplayHandle, client: &ClientId, object: u32, opcode: u16) -> bool {
    let interface = match opcode {
        RECEIVE => WlDataOffer::interface(),
        PRIMARY_RECEIVE => ZwpPrimarySelectionOfferV1::interface(),
        _ => return false,
    };
    display.backend_handle().object_for_protocol_id(client.clone(), interface, object).is_ok()
}
