//! Bytes and file descriptors on their way from one socket to another, in storage of a fixed size.
//!
//! Descriptors never come later than the bytes that they were sent with, and keep their order among themselves: a
//! receiver takes them from a queue, so coming earlier is as good.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use arrayvec::ArrayVec;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, send, sendmsg,
};

use crate::domain::share::MAX_PIECE;

/// Descriptors that one message may carry: the kernel's SCM_MAX_FD.
const MAX_FDS: usize = 253;
/// Room for them.
const CONTROL: usize = rustix::cmsg_space!(ScmRights(MAX_FDS));

/// What one read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filled {
    /// Nothing means that the other side hung up.
    pub(super) bytes: usize,
    pub(super) fds: usize,
    /// Descriptors came for which this process had no room, and are lost.
    pub(super) lost_fds: bool,
}

impl Filled {
    /// Whether there may be more to read: a read stops short only where there is not, or behind descriptors.
    pub(super) fn may_be_more(self) -> bool {
        self.bytes == MAX_PIECE || self.fds > 0
    }
}

/// See the module's docs.
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: Box<[u8; MAX_PIECE]>,
    start: usize,
    end: usize,
    fds: ArrayVec<OwnedFd, MAX_FDS>,
}

impl Chunk {
    pub(super) fn new() -> Self {
        Self { bytes: Box::new([0; MAX_PIECE]), start: 0, end: 0, fds: ArrayVec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// What is still to be sent.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Forgets what is still to be sent, and closes its descriptors.
    pub(super) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
        self.fds.clear();
    }

    /// Reads once, into a chunk that is empty, without waiting.
    pub(super) fn fill(&mut self, from: impl AsFd) -> Result<Filled, Errno> {
        debug_assert!(self.is_empty() && self.fds.is_empty(), "what was read last is lost");
        self.clear();
        let mut space = [MaybeUninit::uninit(); CONTROL];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let from = from.as_fd();
        let message = retry_on_intr(|| {
            let mut parts = [std::io::IoSliceMut::new(&mut self.bytes[..])];
            recvmsg(from, &mut parts, &mut control, flags)
        })?;
        for control in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = control {
                self.fds.extend(fds.take(self.fds.remaining_capacity()));
            }
        }
        self.end = message.bytes;
        let lost_fds = message.flags.contains(ReturnFlags::CTRUNC);
        Ok(Filled { bytes: message.bytes, fds: self.fds.len(), lost_fds })
    }

    /// Sends once, at most `limit` bytes and all descriptors with them, without waiting; how many bytes were taken.
    pub(super) fn drain(&mut self, to: impl AsFd, limit: usize) -> Result<usize, Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let (to, end) = (to.as_fd(), self.end.min(self.start.saturating_add(limit)));
        let bytes = &self.bytes[self.start..end];
        let sent = if self.fds.is_empty() {
            retry_on_intr(|| send(to, bytes, flags))?
        } else {
            let fds: ArrayVec<BorrowedFd<'_>, MAX_FDS> = self.fds.iter().map(AsFd::as_fd).collect();
            let mut space = [MaybeUninit::uninit(); CONTROL];
            let mut control = SendAncillaryBuffer::new(&mut space);
            control.push(SendAncillaryMessage::ScmRights(&fds));
            retry_on_intr(|| sendmsg(to, &[std::io::IoSlice::new(bytes)], &mut control, flags))?
        };
        // They went with the first byte.
        self.fds.clear();
        self.start += sent;
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// A file that says who it is.
    fn marked(mark: u8) -> OwnedFd {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[mark]).unwrap();
        file.into()
    }

    fn mark_of(fd: OwnedFd) -> u8 {
        let (mut file, mut mark) = (File::from(fd), [0]);
        file.rewind().unwrap();
        file.read_exact(&mut mark).unwrap();
        mark[0]
    }

    #[test]
    fn bytes_and_descriptors_in_pieces_arrive_in_order_and_none_late() {
        let (near, near_end) = UnixStream::pair().unwrap();
        let (far_end, far) = UnixStream::pair().unwrap();
        let mut sender = Chunk::new();
        for (mark, count) in [(0, 0), (1, 1), (2, 253), (3, 0)] {
            sender.bytes[..100].fill(mark);
            (sender.start, sender.end) = (0, 100);
            sender.fds.extend((0..count).map(|_| marked(mark)));
            assert_eq!(sender.drain(&near, usize::MAX), Ok(100));
        }
        let (mut relay, mut receiver) = (Chunk::new(), Chunk::new());
        let (mut bytes, mut marks) = (Vec::new(), Vec::new());
        while bytes.len() < 400 {
            let filled = relay.fill(&near_end).unwrap();
            assert!(!filled.lost_fds);
            while !relay.is_empty() {
                let sent = relay.drain(&far_end, 7).unwrap();
                let came = receiver.fill(&far).unwrap();
                assert_eq!(came.bytes, sent);
                bytes.extend_from_slice(receiver.bytes());
                marks.extend(std::mem::take(&mut receiver.fds).into_iter().map(mark_of));
                receiver.clear();
                let due = bytes.contains(&1);
                assert!(!due || marks.first() == Some(&1), "a descriptor came after its bytes");
            }
        }
        assert_eq!(bytes.chunks(100).map(|part| part[0]).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(marks.len(), 254);
        assert!(marks[1..].iter().all(|mark| *mark == 2) && marks[0] == 1);
    }

    #[test]
    fn socket_without_anything_is_told_from_one_hung_up() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut chunk = Chunk::new();
        assert_eq!(chunk.fill(&far), Err(Errno::AGAIN));
        drop(near);
        assert_eq!(chunk.fill(&far).map(|filled| filled.bytes), Ok(0));
    }
}
