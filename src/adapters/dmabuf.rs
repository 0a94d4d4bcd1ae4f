//! dma-bufs and the fences inside them, as the kernel knows them (linux/dma-buf.h, linux/sync_file.h).
//!
//! A dma-buf carries fences of those who still write it and of those who still read it. [`export_fence`] gathers what an
//! access has to wait for into one sync_file; [`import_fence`] adds one. Both came with Linux 5.20; where they are not
//! known, [`ErrorKind::Unsupported`] is returned and the descriptor itself can be polled: readable once nobody writes.
//!
//! Nothing here waits. Usable by itself: knows no renderer and no protocol.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::statfs::{FsType, fstatfs};
use nix::unistd::{Whence, lseek};

/// What fstatfs says of a dma-buf (linux/magic.h).
const MAGIC: FsType = FsType(0x444d_4142);

/// What somebody does with a dma-buf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it: waits for those who write, holds back those who will.
    Read,
    /// Writes it: waits for everybody, holds back everybody.
    Write,
}

impl Access {
    /// DMA_BUF_SYNC_READ or DMA_BUF_SYNC_WRITE.
    const fn flags(self) -> u32 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
        }
    }
}

/// struct dma_buf_export_sync_file and struct dma_buf_import_sync_file: they are alike.
#[repr(C)]
struct SyncFile {
    flags: u32,
    fd: i32,
}

/// struct sync_merge_data.
#[repr(C)]
struct Merge {
    name: [u8; 32],
    fd2: i32,
    fence: i32,
    flags: u32,
    pad: u32,
}

/// struct sync_set_deadline.
#[repr(C)]
struct Deadline {
    ns: u64,
    pad: u64,
}

/// The requests themselves.
mod request {
    use super::{Deadline, Merge, SyncFile};

    nix::ioctl_readwrite! {
        /// DMA_BUF_IOCTL_EXPORT_SYNC_FILE
        export_sync_file, b'b', 2, SyncFile
    }
    nix::ioctl_write_ptr! {
        /// DMA_BUF_IOCTL_IMPORT_SYNC_FILE
        import_sync_file, b'b', 3, SyncFile
    }
    nix::ioctl_readwrite! {
        /// SYNC_IOC_MERGE
        merge, b'>', 3, Merge
    }
    nix::ioctl_write_ptr! {
        /// SYNC_IOC_SET_DEADLINE
        set_deadline, b'>', 5, Deadline
    }
}

/// Bytes of a dma-buf; `None` where the descriptor is none. Its size cannot change.
pub fn size(fd: impl AsFd) -> Option<u64> {
    let is_dmabuf = fstatfs(&fd).is_ok_and(|stat| stat.filesystem_type() == MAGIC);
    let bytes = is_dmabuf.then(|| lseek(fd.as_fd(), 0, Whence::SeekEnd).ok()).flatten()?;
    u64::try_from(bytes).ok()
}

/// What `access` has to wait for, as one sync_file. There is always one; it may have signalled already.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where the kernel does not know how; others as the kernel says, e.g. out of descriptors.
pub fn export_fence(dmabuf: impl AsFd, access: Access) -> io::Result<OwnedFd> {
    let mut wanted = SyncFile { flags: access.flags(), fd: -1 };
    // SAFETY: the descriptor is open across the call, the structure is the one that this request takes.
    unsafe { request::export_sync_file(dmabuf.as_fd().as_raw_fd(), &mut wanted) }.map_err(known)?;
    // SAFETY: on success the kernel put a new descriptor there, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(wanted.fd) })
}

/// Has others wait for `fence` as for somebody who has `access`.
///
/// # Errors
/// As [`export_fence`].
pub fn import_fence(dmabuf: impl AsFd, fence: impl AsFd, access: Access) -> io::Result<()> {
    let wanted = SyncFile { flags: access.flags(), fd: fence.as_fd().as_raw_fd() };
    // SAFETY: both descriptors are open across the call, the structure is the one that this request takes.
    unsafe { request::import_sync_file(dmabuf.as_fd().as_raw_fd(), &wanted) }.map_err(known)?;
    Ok(())
}

/// A fence that signals once both have.
///
/// # Errors
/// As the kernel says, e.g. out of descriptors.
pub fn merge(one: impl AsFd, other: impl AsFd) -> io::Result<OwnedFd> {
    let mut wanted = Merge { name: [0; 32], fd2: other.as_fd().as_raw_fd(), fence: -1, flags: 0, pad: 0 };
    // SAFETY: both descriptors are open across the call, the structure is the one that this request takes.
    unsafe { request::merge(one.as_fd().as_raw_fd(), &mut wanted) }?;
    // SAFETY: on success the kernel put a new descriptor there, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(wanted.fence) })
}

/// Whether a fence has signalled, or nobody writes a dma-buf any more. What cannot be asked has not.
pub fn is_signalled(fence: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(fence, PollFlags::POLLIN)];
    let asked = poll(&mut fds, PollTimeout::ZERO);
    asked.is_ok() && fds[0].revents().is_some_and(|events| events.intersects(PollFlags::POLLIN | PollFlags::POLLERR))
}

/// Tells whoever is to signal `fence` until when (CLOCK_MONOTONIC, ns) it matters (SYNC_IOC_SET_DEADLINE). A hint: a
/// kernel that does not know it is told nothing.
pub fn set_deadline(fence: impl AsFd, ns: u64) {
    let deadline = Deadline { ns, pad: 0 };
    // SAFETY: the descriptor is open across the call, the structure is the one that this request takes.
    let told = unsafe { request::set_deadline(fence.as_fd().as_raw_fd(), &deadline) };
    if let Err(error) = told {
        tracing::trace!(%error, "a fence takes no deadline");
    }
}

fn known(error: Errno) -> io::Error {
    match error {
        Errno::ENOTTY | Errno::ENOSYS | Errno::EINVAL => io::Error::new(ErrorKind::Unsupported, error),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn descriptor_that_is_no_dmabuf_has_no_size_and_no_fence() {
        let file = File::open("/dev/zero").unwrap();
        assert_eq!(size(&file), None);
        assert_eq!(export_fence(&file, Access::Read).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(import_fence(&file, &file, Access::Read).unwrap_err().kind(), ErrorKind::Unsupported);
        set_deadline(&file, 1);
    }

    #[test]
    fn descriptor_that_is_readable_has_signalled() {
        let (reader, writer) = nix::unistd::pipe().unwrap();
        assert!(!is_signalled(reader.as_fd()));
        nix::unistd::write(&writer, &[1]).unwrap();
        assert!(is_signalled(reader.as_fd()));
    }
}
