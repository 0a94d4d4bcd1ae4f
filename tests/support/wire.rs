//! A Wayland client down to its bytes: it can say what no client library would let it say, and it can stop at any point.
//!
//! Requests are collected and sent by [`Wire::flush`]; [`Wire::turn`] sends and receives whatever can be without waiting
//! for the other side, so that neither a flood of requests nor one of events locks it up. What came is handed out as
//! [`Event`]s in order. Object ids are never used again. See [`super::protocol`] for the words.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use super::process::PATIENCE;

/// An object's id on its connection.
pub(crate) type Id = u32;

/// wl_display's own id.
pub(crate) const DISPLAY: Id = 1;
/// Its event that says what the client did wrong.
const ERROR: u16 = 0;
/// Bytes collected before they are sent without being asked to.
const CHUNK: usize = 1 << 16;

/// One argument of a request, beside file descriptors, which travel beside the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a> {
    /// uint, new_id or object.
    U(u32),
    /// int.
    I(i32),
    /// string.
    S(&'a str),
}

/// What the other side said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) object: Id,
    pub(crate) opcode: u16,
    pub(crate) body: Vec<u8>,
}

impl Event {
    /// The word at a place of the body, counted in words.
    pub(crate) fn word(&self, index: usize) -> u32 {
        u32::from_ne_bytes(self.body[index * 4..][..4].try_into().unwrap())
    }

    /// The string that begins at a word, and the word after it.
    pub(crate) fn string(&self, index: usize) -> (String, usize) {
        let len = self.word(index) as usize;
        let bytes = &self.body[(index + 1) * 4..][..len.saturating_sub(1)];
        (String::from_utf8_lossy(bytes).into_owned(), index + 1 + len.div_ceil(4))
    }
}

/// The error that ended a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) interface: &'static str,
    pub(crate) code: u32,
    pub(crate) message: String,
}

/// See the module's docs.
pub(crate) struct Wire {
    stream: UnixStream,
    out: Vec<u8>,
    incoming: Vec<u8>,
    events: VecDeque<Event>,
    interfaces: HashMap<Id, &'static str>,
    last_id: Id,
    fault: Option<Fault>,
    closed: bool,
}

impl Wire {
    /// Connects and says nothing yet.
    pub(crate) fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap_or_else(|error| panic!("{}: {error}", socket.display()));
        stream.set_nonblocking(true).unwrap();
        Self {
            stream,
            out: Vec::new(),
            incoming: Vec::new(),
            events: VecDeque::new(),
            interfaces: HashMap::from([(DISPLAY, "wl_display")]),
            last_id: DISPLAY,
            fault: None,
            closed: false,
        }
    }

    /// The id of a new object.
    pub(crate) fn id(&mut self, interface: &'static str) -> Id {
        self.last_id += 1;
        self.interfaces.insert(self.last_id, interface);
        self.last_id
    }

    /// The id that the next object will have.
    pub(crate) fn next_id(&self) -> Id {
        self.last_id + 1
    }

    /// What an object was said to be.
    pub(crate) fn interface(&self, object: Id) -> &'static str {
        self.interfaces.get(&object).copied().unwrap_or("unknown")
    }

    /// Says a request.
    pub(crate) fn request(&mut self, object: Id, opcode: u16, args: &[Arg<'_>]) {
        encode(&mut self.out, object, opcode, args);
        if self.out.len() >= CHUNK {
            self.flush();
        }
    }

    /// Collects a request without ever sending by itself.
    pub(crate) fn stack(&mut self, object: Id, opcode: u16, args: &[Arg<'_>]) {
        encode(&mut self.out, object, opcode, args);
    }

    /// Takes what was collected and not sent.
    pub(crate) fn take_stack(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Whether something collected is not sent.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.out.is_empty() && !self.closed
    }

    /// Says a request that a descriptor travels with.
    pub(crate) fn request_with(&mut self, object: Id, opcode: u16, args: &[Arg<'_>], fd: BorrowedFd<'_>) {
        self.flush();
        encode(&mut self.out, object, opcode, args);
        self.send_with(&[fd.as_raw_fd()]);
    }

    /// Sends what was collected, descriptors with its first byte.
    ///
    /// # Panics
    /// After [`PATIENCE`].
    pub(crate) fn send_with(&mut self, fds: &[RawFd]) {
        let end = Instant::now() + PATIENCE;
        while !self.closed {
            let sent = {
                let rights = [ControlMessage::ScmRights(fds)];
                let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
                sendmsg::<()>(self.stream.as_raw_fd(), &[IoSlice::new(&self.out)], &rights, flags, None)
            };
            match sent.map_err(io::Error::from) {
                Ok(count) => {
                    self.out.drain(..count);
                    return;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(end),
                Err(_) => {
                    // The reason may still be there to be read.
                    while self.receive() {}
                    self.hang_up();
                }
            }
        }
    }

    /// Says bytes that need not be requests.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        if self.out.len() >= CHUNK {
            self.flush();
        }
    }

    /// Sends all that was said, taking in what comes meanwhile.
    ///
    /// # Panics
    /// After [`PATIENCE`].
    pub(crate) fn flush(&mut self) {
        let end = Instant::now() + PATIENCE;
        while !self.out.is_empty() && !self.closed {
            if !self.turn() {
                self.wait(end);
            }
        }
    }

    /// Sends as much as is taken without receiving anything; how many bytes that was.
    pub(crate) fn send_blindly(&mut self) -> usize {
        let before = self.out.len();
        while !self.out.is_empty() && !self.closed && self.send() {}
        before - self.out.len()
    }

    /// Sends and receives what can be without waiting; false where nothing could.
    pub(crate) fn turn(&mut self) -> bool {
        let sent = !self.out.is_empty() && self.send();
        let received = self.receive();
        sent || received
    }

    /// The next event, waiting for it until `end`; `None` where there is none by then or ever.
    pub(crate) fn event(&mut self, end: Instant) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.closed || !self.turn() && Instant::now() >= end {
                return self.events.pop_front();
            }
            if self.events.is_empty() && !self.closed {
                self.poll(end.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// The error that ended the connection, as far as it was received.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether the other side hung up.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Waits until the other side can be talked to, or said something.
    fn wait(&mut self, end: Instant) {
        let now = Instant::now();
        assert!(now < end, "the compositor takes nothing from this client for {PATIENCE:?}");
        self.poll(end - now);
        self.receive();
    }

    fn poll(&self, limit: Duration) {
        let wanted = if self.out.is_empty() { PollFlags::POLLIN } else { PollFlags::POLLIN | PollFlags::POLLOUT };
        let limit = PollTimeout::try_from(limit.min(PATIENCE)).unwrap();
        let _ = poll(&mut [PollFd::new(self.stream.as_fd(), wanted)], limit);
    }

    fn hang_up(&mut self) {
        self.closed = true;
        self.out.clear();
    }

    fn send(&mut self) -> bool {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        match sendmsg::<()>(self.stream.as_raw_fd(), &[IoSlice::new(&self.out)], &[], flags, None) {
            Ok(count) => {
                self.out.drain(..count);
                true
            }
            Err(nix::errno::Errno::EAGAIN) => false,
            Err(_) => {
                // The reason may still be there to be read.
                while self.receive() {}
                self.hang_up();
                true
            }
        }
    }

    fn receive(&mut self) -> bool {
        let mut bytes = [0; 1 << 14];
        let mut rights = cmsg_space!([RawFd; 28]);
        let count = {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
            match recvmsg::<()>(self.stream.as_raw_fd(), &mut parts, Some(&mut rights), flags) {
                Ok(message) => {
                    message.cmsgs().expect("room for every descriptor").for_each(close_rights);
                    message.bytes
                }
                Err(nix::errno::Errno::EAGAIN) => return false,
                Err(_) => 0,
            }
        };
        if count == 0 {
            let news = !self.closed;
            self.hang_up();
            return news;
        }
        self.incoming.extend_from_slice(&bytes[..count]);
        self.parse();
        true
    }

    fn parse(&mut self) {
        let mut at = 0;
        while let Some(head) = self.incoming.get(at..at + 8) {
            let object = u32::from_ne_bytes(head[..4].try_into().unwrap());
            let word = u32::from_ne_bytes(head[4..].try_into().unwrap());
            let Some(body) = self.incoming.get(at + 8..at + (word >> 16) as usize) else { break };
            let event = Event { object, opcode: word as u16, body: body.to_vec() };
            at += (word >> 16) as usize;
            if (event.object, event.opcode) == (DISPLAY, ERROR) {
                let interface = self.interface(event.word(0));
                self.fault = Some(Fault { interface, code: event.word(1), message: event.string(2).0 });
            }
            self.events.push_back(event);
        }
        self.incoming.drain(..at);
    }
}

/// Takes received descriptors and closes them: no event's is of interest here.
fn close_rights(message: ControlMessageOwned) {
    if let ControlMessageOwned::ScmRights(fds) = message {
        for fd in fds {
            // SAFETY: the kernel made it for this message, which nobody else looks at.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
}

fn encode(out: &mut Vec<u8>, object: Id, opcode: u16, args: &[Arg<'_>]) {
    let start = out.len();
    out.extend_from_slice(&object.to_ne_bytes());
    out.extend_from_slice(&[0; 4]);
    for arg in args {
        match *arg {
            Arg::U(word) => out.extend_from_slice(&word.to_ne_bytes()),
            Arg::I(word) => out.extend_from_slice(&word.to_ne_bytes()),
            Arg::S(text) => {
                out.extend_from_slice(&(text.len() as u32 + 1).to_ne_bytes());
                out.extend_from_slice(text.as_bytes());
                let padded = text.len() / 4 * 4 + 4;
                out.extend(std::iter::repeat_n(0, padded - text.len()));
            }
        }
    }
    let word = ((out.len() - start) as u32) << 16 | u32::from(opcode);
    out[start + 4..start + 8].copy_from_slice(&word.to_ne_bytes());
}
