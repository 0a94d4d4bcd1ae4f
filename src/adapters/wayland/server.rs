//! The display: its listening socket, its connections, and the state they act on.
//!
//! Owned by the application, which calls [`Server::dispatch`] when [`Server::poll_fd`] is readable or [`Server::next_wake`]
//! has come, [`Server::accept`] when [`Server::listen_fd`] is readable, and [`Server::flush`] before it sleeps. Clients
//! reach the display through a [`turnstile`](super::turnstile) alone.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use smithay::reexports::wayland_server::{Client, Display, ListeningSocket};

use super::client::{ClientState, Credentials};
use super::state::State;
use super::turnstile::{Traffic, Turnstile};
use crate::domain::frame::Time;

/// Socket names tried are `wayland-1` up to, not including, `wayland-64`; `wayland-0` is left to a host.
const SOCKET_NUMBERS: std::ops::Range<usize> = 1..64;

/// Events kept for a client that does not read them, past which its connection ends: enough for one that is busy or
/// stopped for a while under a fast mouse, little enough that many such clients do no harm.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The display could not be made.
    #[error("cannot make a Wayland display")]
    Display(#[from] smithay::reexports::wayland_server::backend::InitError),
    /// No socket could be bound.
    #[error("cannot listen for Wayland clients")]
    Socket(#[from] smithay::reexports::wayland_server::BindError),
    /// No epoll could be made.
    #[error("cannot watch Wayland clients")]
    Io(#[from] io::Error),
}

/// See the module's docs.
#[derive(Debug)]
pub struct Server {
    /// Everything that requests act on.
    pub state: State,
    display: Display<State>,
    turnstile: Turnstile,
    socket: Option<ListeningSocket>,
}

impl Server {
    /// A display that listens on `name` in `$XDG_RUNTIME_DIR`, without a name on the first free `wayland-N`.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn listen(options: super::state::Options, name: Option<&str>) -> Result<Self, ServerError> {
        let mut server = Self::unconnected(options)?;
        server.socket = Some(match name {
            Some(name) => ListeningSocket::bind(name)?,
            None => ListeningSocket::bind_auto("wayland", SOCKET_NUMBERS)?,
        });
        Ok(server)
    }

    /// A display without a socket: clients come through [`Server::insert_client`].
    ///
    /// # Errors
    /// [`ServerError::Display`], [`ServerError::Io`].
    pub fn unconnected(options: super::state::Options) -> Result<Self, ServerError> {
        let display = Display::new()?;
        display.handle().set_default_max_buffer_size(MAX_UNREAD_BYTES);
        let state = State::new(&display.handle(), options);
        Ok(Self { state, display, turnstile: Turnstile::new()?, socket: None })
    }

    /// The value for `WAYLAND_DISPLAY`, where it listens.
    pub fn socket_name(&self) -> Option<&OsStr> {
        self.socket.as_ref()?.socket_name()
    }

    /// Readable when a client wants in; `None` where it does not listen.
    pub fn listen_fd(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Readable when a client said something.
    pub fn poll_fd(&self) -> BorrowedFd<'_> {
        self.turnstile.poll_fd()
    }

    /// When to dispatch though no client says anything: some wait for their next turn.
    pub fn next_wake(&self) -> Option<Time> {
        if self.state.core.clients.has_departed() {
            return Some(Time::default());
        }
        self.turnstile.next_wake()
    }

    /// What passed between clients and the display.
    pub fn traffic(&self) -> Traffic {
        self.turnstile.counts()
    }

    /// Takes in every client that waits.
    ///
    /// # Errors
    /// From accept(2), e.g. out of descriptors: try again once some are free.
    pub fn accept(&mut self) -> io::Result<()> {
        while let Some(stream) = self.socket.as_ref().map(ListeningSocket::accept).transpose()?.flatten() {
            self.insert_client(stream)?;
        }
        Ok(())
    }

    /// Takes in one client by its connected socket.
    ///
    /// # Errors
    /// Out of descriptors or of memory for them.
    pub fn insert_client(&mut self, stream: UnixStream) -> io::Result<Client> {
        let data = Arc::new(ClientState::new(self.state.core.clients.clone(), Credentials::of(&stream)));
        let (inside, display_side) = UnixStream::pair()?;
        let client = self.display.handle().insert_client(display_side, data.clone())?;
        let inserted = self.turnstile.insert(client.id(), data, stream, inside);
        if inserted.is_err() {
            // The display finds its side hung up.
            self.turnstile.look_after(client.id());
        }
        inserted.map(|()| client)
    }

    /// Handles what clients said until now, as far as time allows ([`Server::next_wake`] tells whether there is more);
    /// then the events in `state.events` are the application's to drain. `clock` measures what clients cost; it need not
    /// be the clock that `now` is of.
    ///
    /// # Errors
    /// From epoll_wait(2); a client's own failure ends that client alone.
    pub fn dispatch(&mut self, now: Time, clock: impl Fn() -> Time) -> io::Result<()> {
        self.state.core.now = now;
        for client in self.state.core.clients.take_departed() {
            self.turnstile.look_after(client);
        }
        let result = self.turnstile.dispatch(&mut self.display, &mut self.state, now, &clock);
        // The display looked after these at once.
        drop(self.state.core.clients.take_departed());
        self.state.settle_fences();
        self.state.settle();
        result
    }

    /// Sends what waits to be sent. A client that does not read loses its connection once its buffer is full.
    ///
    /// # Errors
    /// From epoll_wait(2); a client's own failure ends that client alone.
    pub fn flush(&mut self, now: Time) -> io::Result<()> {
        self.display.flush_clients()?;
        self.turnstile.flush(&mut self.display, now)
    }
}
