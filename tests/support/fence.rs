//! Fences for tests: a real sync_file needs a driver that makes one, so an eventfd stands in where the driver waits for
//! anything that poll(2) takes, as the software driver does. Others give it back, and the test takes the fallback.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// A fence that the test signals.
pub(crate) struct Gate(EventFd);

impl Gate {
    /// Not signalled.
    pub(crate) fn shut() -> Self {
        Self(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).expect("an eventfd"))
    }

    /// Signalled.
    pub(crate) fn open() -> Self {
        let gate = Self::shut();
        gate.signal();
        gate
    }

    /// Signals it, for good.
    pub(crate) fn signal(&self) {
        self.0.write(1).expect("an eventfd takes a one");
    }

    /// The fence, one of any number.
    pub(crate) fn fence(&self) -> OwnedFd {
        self.0.as_fd().try_clone_to_owned().expect("another descriptor")
    }
}

/// Whether a fence has signalled.
pub(crate) fn has_signalled(fence: BorrowedFd<'_>) -> bool {
    let limit_ms = 0u16;
    poll(&mut [PollFd::new(fence, PollFlags::POLLIN)], limit_ms).expect("a descriptor to poll") == 1
}
