//! The compositor's end of the control socket: never blocks, whatever its peers do.
//!
//! All peers hang on one epoll descriptor ([`Server::poll_fd`]). Bounds: [`MAX_PEERS`] peers (the one idle longest
//! makes room), [`MAX_LINE`] bytes of a request, one request and one answer of a peer at a time, and a peer that takes
//! nothing of its answer for [`WRITE_LIMIT_NS`] is hung up on. The application takes requests with
//! [`Server::next_request`] and answers whenever it can; answers to peers that left are dropped.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket};

use super::protocol::{Answer, Request};
use crate::domain::frame::Time;

/// Peers at a time.
pub const MAX_PEERS: usize = 32;
/// Bytes of a request with its newline.
pub const MAX_LINE: usize = 16 << 10;
/// How long a peer may take nothing of its answer.
pub const WRITE_LIMIT_NS: u64 = 20_000_000_000;
/// How long the socket rests after the system could not give a descriptor for a peer.
const ACCEPT_REST_NS: u64 = 1_000_000_000;

/// A peer. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerId(u64);

/// The listening socket's key in the epoll set; peers are counted from 1.
const LISTENER: u64 = 0;

#[derive(Debug)]
struct Peer {
    id: PeerId,
    stream: UnixStream,
    /// Read and not yet handled.
    input: Vec<u8>,
    /// To be sent, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// A request was taken and is not answered.
    asking: bool,
    /// It will say no more.
    ended: bool,
    /// When something last went either way.
    active: Time,
}

impl Peer {
    fn is_sending(&self) -> bool {
        self.sent < self.output.len()
    }

    /// What to wait for; nothing while the application thinks, so that a peer cannot make us read ahead.
    fn interest(&self) -> EpollFlags {
        if self.is_sending() {
            EpollFlags::EPOLLOUT
        } else if self.asking || self.ended {
            EpollFlags::empty()
        } else {
            EpollFlags::EPOLLIN
        }
    }
}

/// See the module's docs.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    listener: UnixListener,
    epoll: Epoll,
    peers: Vec<Peer>,
    last_peer: u64,
    requests: VecDeque<(PeerId, Request)>,
    /// The listener is out of the epoll set until then.
    resting: Option<Time>,
}

impl Server {
    /// Listens on `path`; what is left there of an earlier process is replaced.
    ///
    /// # Errors
    /// From the system, e.g. where the directory does not exist.
    pub fn listen(path: &Path) -> io::Result<Self> {
        let fd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        bind(std::os::fd::AsRawFd::as_raw_fd(&fd), &UnixAddr::new(path)?)?;
        // Nobody can connect before it listens, so nobody slips in before the mode is right.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listen(&fd, Backlog::new(16)?)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&fd, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        Ok(Self {
            path: path.to_owned(),
            listener: fd.into(),
            epoll,
            peers: Vec::new(),
            last_peer: LISTENER,
            requests: VecDeque::new(),
            resting: None,
        })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Readable when [`Server::dispatch`] has something to do.
    pub fn poll_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }

    /// When [`Server::dispatch`] must be called at the latest.
    pub fn next_wake(&self) -> Option<Time> {
        let sending = self.peers.iter().filter(|peer| peer.is_sending());
        sending.map(|peer| peer.active.plus_ns(WRITE_LIMIT_NS)).chain(self.resting).min()
    }

    /// Reads and writes what can be. Does not block.
    pub fn dispatch(&mut self, now: Time) {
        let mut events = [EpollEvent::empty(); 16];
        let ready = self.epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        for event in &events[..ready] {
            match event.data() {
                LISTENER => self.accept(now),
                id => self.serve(PeerId(id), event.events(), now),
            }
        }
        self.peers.retain(|p| !p.is_sending() || now.since_ns(p.active) < WRITE_LIMIT_NS);
        if self.resting.is_some_and(|until| until <= now) {
            self.resting = None;
            self.set_listening(EpollFlags::EPOLLIN);
        }
    }

    /// The oldest request not yet taken; it is to be answered.
    pub fn next_request(&mut self) -> Option<(PeerId, Request)> {
        self.requests.pop_front()
    }

    /// Answers a request, with the bytes that follow its line.
    pub fn answer(&mut self, peer: PeerId, answer: &Answer, bytes: &[u8], now: Time) {
        let Some(index) = self.peers.iter().position(|p| p.id == peer && p.asking) else { return };
        let peer = &mut self.peers[index];
        peer.asking = false;
        peer.active = now;
        peer.output.clear();
        peer.sent = 0;
        if let Err(error) = serde_json::to_writer(&mut peer.output, answer) {
            tracing::error!(%error, "an answer has no JSON form");
            peer.output.clear();
        }
        peer.output.push(b'\n');
        peer.output.extend_from_slice(bytes);
        self.advance(index, now);
    }

    fn accept(&mut self, now: Time) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, "the control socket takes no more peers for a second");
                    self.resting = Some(now.plus_ns(ACCEPT_REST_NS));
                    self.set_listening(EpollFlags::empty());
                    return;
                }
            }
        }
    }

    fn admit(&mut self, stream: UnixStream, now: Time) {
        if self.peers.len() == MAX_PEERS {
            let idlest = self.peers.iter().enumerate().min_by_key(|(_, peer)| peer.active);
            if let Some((index, _)) = idlest {
                self.peers.swap_remove(index);
            }
        }
        self.last_peer += 1;
        let id = PeerId(self.last_peer);
        let added = stream
            .set_nonblocking(true)
            .and_then(|()| Ok(self.epoll.add(&stream, EpollEvent::new(EpollFlags::EPOLLIN, id.0))?));
        if let Err(error) = added {
            tracing::warn!(%error, "a peer of the control socket is turned away");
            return;
        }
        self.peers.push(Peer {
            id,
            stream,
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            asking: false,
            ended: false,
            active: now,
        });
    }

    fn serve(&mut self, id: PeerId, what: EpollFlags, now: Time) {
        let Some(index) = self.peers.iter().position(|peer| peer.id == id) else { return };
        if what.intersects(EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            self.peers.swap_remove(index);
            return;
        }
        self.advance(index, now);
    }

    /// Does all that a peer's state lets it do, and hangs up on it where that is over.
    fn advance(&mut self, index: usize, now: Time) {
        let peer = &mut self.peers[index];
        let alive = loop {
            if peer.is_sending() {
                match send(peer, now) {
                    Ok(true) => continue,
                    Ok(false) => break true,
                    Err(_) => break false,
                }
            }
            if peer.asking {
                break true;
            }
            if let Some(newline) = peer.input.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = peer.input.drain(..=newline).collect();
                match serde_json::from_slice(&line) {
                    Ok(request) => {
                        peer.asking = true;
                        self.requests.push_back((peer.id, request));
                    }
                    Err(error) => refuse(peer, &format!("the request is not understood: {error}")),
                }
            } else if peer.ended {
                break false;
            } else if peer.input.len() >= MAX_LINE {
                peer.ended = true;
                peer.input.clear();
                refuse(peer, &format!("a request is longer than {MAX_LINE} bytes"));
            } else {
                match receive(peer, now) {
                    Ok(true) => {}
                    Ok(false) => break true,
                    Err(_) => break false,
                }
            }
        };
        if !alive || rearm(&self.epoll, peer).is_err() {
            self.peers.swap_remove(index);
        }
    }

    fn set_listening(&self, flags: EpollFlags) {
        if let Err(error) = self.epoll.modify(&self.listener, &mut EpollEvent::new(flags, LISTENER)) {
            tracing::error!(%error, "the control socket cannot be watched");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the control socket was gone already");
        }
    }
}

fn rearm(epoll: &Epoll, peer: &Peer) -> nix::Result<()> {
    epoll.modify(&peer.stream, &mut EpollEvent::new(peer.interest(), peer.id.0))
}

fn refuse(peer: &mut Peer, why: &str) {
    peer.sent = 0;
    peer.output = serde_json::to_vec(&Answer::Error(why.to_owned())).unwrap_or_default();
    peer.output.push(b'\n');
}

/// True where something was sent, false where nothing can be now.
fn send(peer: &mut Peer, now: Time) -> io::Result<bool> {
    match peer.stream.write(&peer.output[peer.sent..]) {
        Ok(sent) => {
            peer.sent += sent;
            peer.active = now;
            if !peer.is_sending() {
                // A picture's storage is not kept for a peer that may never ask again.
                peer.output = Vec::new();
                peer.sent = 0;
            }
            Ok(true)
        }
        Err(error) => none_now(error),
    }
}

/// True where something was read or the end was, false where nothing can be now.
fn receive(peer: &mut Peer, now: Time) -> io::Result<bool> {
    let mut chunk = [0; 4096];
    let room = chunk.len().min(MAX_LINE - peer.input.len());
    match peer.stream.read(&mut chunk[..room]) {
        Ok(got) => {
            peer.ended = got == 0;
            peer.input.extend_from_slice(&chunk[..got]);
            peer.active = now;
            Ok(true)
        }
        Err(error) => none_now(error),
    }
}

fn none_now(error: io::Error) -> io::Result<bool> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::super::protocol::Reply;
    use super::*;

    const NOW: Time = Time::from_ns(1);

    fn rig() -> (tempfile::TempDir, Server) {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::listen(&dir.path().join("s")).unwrap();
        (dir, server)
    }

    fn connect(server: &mut Server) -> UnixStream {
        let stream = UnixStream::connect(server.path()).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        server.dispatch(NOW);
        stream
    }

    fn line(stream: &UnixStream) -> String {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    }

    #[test]
    fn socket_is_its_owners_alone_and_goes_with_the_server() {
        let (dir, server) = rig();
        let path = dir.path().join("s");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(server);
        assert!(!path.exists());
        UnixListener::bind(&path).unwrap();
        assert!(Server::listen(&path).is_ok(), "what an earlier process left is replaced");
    }

    #[test]
    fn request_in_pieces_is_answered_with_line_and_bytes() {
        let (_dir, mut server) = rig();
        let mut stream = connect(&mut server);
        for piece in [&b"{\"request\":"[..], b"\"stats\"}\n"] {
            assert_eq!(server.next_request(), None);
            stream.write_all(piece).unwrap();
            server.dispatch(NOW);
        }
        let (peer, request) = server.next_request().unwrap();
        assert_eq!(request, Request::Stats);
        server.answer(peer, &Answer::Ok(Reply::Done), b"bytes", NOW);
        server.answer(peer, &Answer::Ok(Reply::Done), b"twice", NOW);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        server.dispatch(NOW);
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        assert_eq!(all, "{\"ok\":\"done\"}\nbytes");
        assert!(server.peers.is_empty());
    }

    #[test]
    fn pipelined_requests_are_taken_one_at_a_time_in_order() {
        let (_dir, mut server) = rig();
        let mut stream = connect(&mut server);
        stream.write_all(b"{\"request\":\"outputs\"}\n{\"request\":\"windows\"}\n").unwrap();
        server.dispatch(NOW);
        let (peer, first) = server.next_request().unwrap();
        assert_eq!((first, server.next_request()), (Request::Outputs, None));
        server.answer(peer, &Answer::Ok(Reply::Done), &[], NOW);
        assert_eq!(server.next_request(), Some((peer, Request::Windows)));
    }

    #[test]
    fn peer_that_shuts_its_side_still_gets_its_answer() {
        let (_dir, mut server) = rig();
        let mut stream = connect(&mut server);
        stream.write_all(b"{\"request\":\"quit\"}\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        server.dispatch(NOW);
        let (peer, _) = server.next_request().unwrap();
        server.answer(peer, &Answer::Ok(Reply::Done), &[], NOW);
        assert_eq!(line(&stream), "{\"ok\":\"done\"}\n");
    }

    #[test]
    fn nonsense_is_answered_and_the_peer_may_go_on() {
        let (_dir, mut server) = rig();
        let mut stream = connect(&mut server);
        for nonsense in [&b"\n"[..], b"hello\n", b"{\"request\":\"fly\"}\n", b"\xff\xfe\n"] {
            stream.write_all(nonsense).unwrap();
            server.dispatch(NOW);
            assert!(line(&stream).starts_with("{\"error\":\"the request is not understood"), "{nonsense:?}");
        }
        stream.write_all(b"{\"request\":\"stats\"}\n").unwrap();
        server.dispatch(NOW);
        assert!(server.next_request().is_some());
    }

    #[test]
    fn endless_line_is_refused_and_its_peer_hung_up_on() {
        let (_dir, mut server) = rig();
        let mut stream = connect(&mut server);
        stream.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(n) = stream.write(&[b'x'; 4096]) {
            written += n;
            server.dispatch(NOW);
            assert!(server.peers.iter().all(|p| p.input.len() <= MAX_LINE));
            if written > 4 * MAX_LINE {
                break;
            }
        }
        assert!(written >= MAX_LINE);
        server.dispatch(NOW);
        assert!(server.peers.is_empty());
    }

    #[test]
    fn peer_that_does_not_read_is_hung_up_on_and_holds_up_nobody() {
        let (_dir, mut server) = rig();
        let mut deaf = connect(&mut server);
        deaf.write_all(b"{\"request\":\"stats\"}\n").unwrap();
        server.dispatch(NOW);
        let (peer, _) = server.next_request().unwrap();
        server.answer(peer, &Answer::Ok(Reply::Done), &vec![0; 8 << 20], NOW);
        let mut other = connect(&mut server);
        other.write_all(b"{\"request\":\"stats\"}\n").unwrap();
        server.dispatch(NOW);
        let (peer, _) = server.next_request().unwrap();
        server.answer(peer, &Answer::Ok(Reply::Done), &[], NOW);
        assert_eq!(line(&other), "{\"ok\":\"done\"}\n");
        assert_eq!(server.next_wake(), Some(NOW.plus_ns(WRITE_LIMIT_NS)));
        server.dispatch(NOW.plus_ns(WRITE_LIMIT_NS));
        assert_eq!((server.peers.len(), server.next_wake()), (1, None));
    }

    #[test]
    fn peer_that_left_before_its_answer_is_forgotten() {
        let (_dir, mut server) = rig();
        let mut stream = connect(&mut server);
        stream.write_all(b"{\"request\":\"stats\"}\n").unwrap();
        server.dispatch(NOW);
        let (peer, _) = server.next_request().unwrap();
        drop(stream);
        server.dispatch(NOW);
        assert!(server.peers.is_empty());
        server.answer(peer, &Answer::Ok(Reply::Done), &[], NOW);
    }

    #[test]
    fn crowd_of_idle_peers_makes_room_for_the_next() {
        let (_dir, mut server) = rig();
        let _crowd: Vec<_> = (0..MAX_PEERS + 5).map(|_| connect(&mut server)).collect();
        assert_eq!(server.peers.len(), MAX_PEERS);
        let mut stream = connect(&mut server);
        stream.write_all(b"{\"request\":\"stats\"}\n").unwrap();
        server.dispatch(NOW);
        assert!(server.next_request().is_some());
    }
}
