//! The memory behind a wl_shm_pool: its file, its mapping, and what becomes of both.
//!
//! A [`ShmPool`] outlives the protocol objects for as long as somebody reads it. The file is sealed against shrinking
//! where the client left that open (a pool may only grow, so nothing is taken from an honest client); every other
//! file is read under a [`sigbus::Guard`]. Mappings and descriptors are given back on a thread of their own: munmap
//! and close of a large pool can take milliseconds, which no frame has to spare.

use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SealFlag, fcntl};
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::stat::{SFlag, fstat};
use nix::sys::statfs::{FUSE_SUPER_MAGIC, fstatfs};

use super::sigbus;
use crate::ports::pool::{Pool, PoolError};

/// Pools alive and the bytes that clients declared for them.
#[derive(Debug, Default)]
pub struct PoolCount {
    pools: AtomicU64,
    bytes: AtomicU64,
}

impl PoolCount {
    /// Pools alive, whoever holds them.
    pub fn pools(&self) -> u64 {
        self.pools.load(Ordering::Relaxed)
    }

    /// Their bytes, as declared.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// What is wrong with a client's file: all are wl_shm.error.invalid_fd.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// A socket, a pipe, a device, a directory.
    #[error("not a regular file")]
    Kind,
    /// Its pages come from another process, whose silence would stop the compositor.
    #[error("a file of a FUSE file system")]
    Remote,
    /// Opened for reading, or for writing, only.
    #[error("not open for reading and writing")]
    Access,
    /// Shorter than declared.
    #[error("{actual} bytes long, {declared} declared")]
    Short {
        /// Bytes it has.
        actual: i64,
        /// Bytes the client said.
        declared: usize,
    },
    /// A system call refused it.
    #[error("{call}")]
    Call {
        /// Which.
        call: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl FileError {
    fn call(call: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Call { call, source: errno.into() }
    }
}

/// A run of mapped bytes, unmapped by the reaper.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    len: NonZeroUsize,
    /// The file cannot become shorter than the mapping.
    sealed: bool,
}

// SAFETY: the mapping belongs to no thread; it is read through raw pointers only, and unmapped once, by its owner.
unsafe impl Send for Mapping {}
// SAFETY: as above; sharing it shares an address and a length.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `fd` after checking that they are there.
    fn new(fd: BorrowedFd<'_>, len: NonZeroUsize) -> Result<Self, FileError> {
        let sealed = seal(fd);
        let actual = fstat(fd).map_err(FileError::call("fstat"))?.st_size;
        if actual < 0 || (actual as u64) < len.get() as u64 {
            return Err(FileError::Short { actual, declared: len.get() });
        }
        // SAFETY: a new mapping at an address of the kernel's choice; nothing refers to it yet.
        let start = unsafe { mmap(None, len, ProtFlags::PROT_READ, MapFlags::MAP_SHARED, fd, 0) };
        let start = start.map_err(FileError::call("mmap"))?.cast();
        Ok(Self { start, len, sealed })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        reap(Garbage::Mapping(self.start, self.len));
    }
}

/// Makes sure that the file cannot shrink; false where it still can.
fn seal(fd: BorrowedFd<'_>) -> bool {
    let has = || {
        fcntl(fd, FcntlArg::F_GET_SEALS)
            .is_ok_and(|seals| SealFlag::from_bits_truncate(seals).contains(SealFlag::F_SEAL_SHRINK))
    };
    has() || (fcntl(fd, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK)).is_ok() && has())
}

/// See the module's docs.
#[derive(Debug)]
pub(super) struct ShmPool {
    mapping: Mutex<Arc<Mapping>>,
    /// Only `None` while it is dropped.
    fd: Option<OwnedFd>,
    /// Everybody's count and the client's own.
    counts: [Arc<PoolCount>; 2],
}

impl ShmPool {
    /// Takes the first `len` bytes of a client's file, counted in both `counts` for as long as it lives.
    pub(super) fn new(fd: OwnedFd, len: NonZeroUsize, counts: [Arc<PoolCount>; 2]) -> Result<Self, FileError> {
        let stat = fstat(&fd).map_err(FileError::call("fstat"))?;
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            return Err(FileError::Kind);
        }
        let flags = fcntl(&fd, FcntlArg::F_GETFL).map_err(FileError::call("fcntl"))?;
        if flags & libc::O_ACCMODE != OFlag::O_RDWR.bits() {
            return Err(FileError::Access);
        }
        if fstatfs(&fd).is_ok_and(|fs| fs.filesystem_type() == FUSE_SUPER_MAGIC) {
            return Err(FileError::Remote);
        }
        let mapping = Mapping::new(fd.as_fd(), len)?;
        for count in &counts {
            count.pools.fetch_add(1, Ordering::Relaxed);
            count.bytes.fetch_add(len.get() as u64, Ordering::Relaxed);
        }
        Ok(Self { mapping: Mutex::new(Arc::new(mapping)), fd: Some(fd), counts })
    }

    /// Makes it `len` bytes, no fewer than it has; readers under way keep the old mapping until they are done.
    pub(super) fn grow(&self, len: NonZeroUsize) -> Result<(), FileError> {
        let before = self.size();
        let mapping = Arc::new(Mapping::new(self.fd(), len)?);
        *self.lock() = mapping;
        for count in &self.counts {
            count.bytes.fetch_add((len.get() - before) as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Mapping>> {
        self.mapping.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool for ShmPool {
    fn size(&self) -> usize {
        self.lock().len.get()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().expect("pool read while it is dropped").as_fd()
    }

    fn read(&self, range: Range<usize>, reader: &mut dyn FnMut(*const u8)) -> Result<(), PoolError> {
        let mapping = self.lock().clone();
        if range.start > range.end || range.end > mapping.len.get() {
            return Err(PoolError::OutOfRange { start: range.start, end: range.end });
        }
        // SAFETY: `range.start` is at most the mapping's length, so the pointer stays in it or one past its end.
        let address = unsafe { mapping.start.as_ptr().add(range.start) };
        if mapping.sealed {
            reader(address);
            return Ok(());
        }
        let guard = sigbus::Guard::new(mapping.start.as_ptr(), mapping.len.get());
        reader(address);
        if guard.truncated() { Err(PoolError::Truncated) } else { Ok(()) }
    }
}

impl Drop for ShmPool {
    fn drop(&mut self) {
        let size = self.size() as u64;
        for count in &self.counts {
            count.pools.fetch_sub(1, Ordering::Relaxed);
            count.bytes.fetch_sub(size, Ordering::Relaxed);
        }
        if let Some(fd) = self.fd.take() {
            reap(Garbage::File(fd));
        }
    }
}

/// What is given back to the kernel off the loop's thread.
enum Garbage {
    Mapping(NonNull<u8>, NonZeroUsize),
    File(OwnedFd),
}

// SAFETY: as for `Mapping`: an address that nobody else will use again.
unsafe impl Send for Garbage {}

impl Garbage {
    fn dispose(self) {
        match self {
            Self::Mapping(start, len) => {
                // SAFETY: sent by `Mapping`'s drop alone: this exact range is mapped and nothing refers to it.
                if let Err(error) = unsafe { munmap(start.cast(), len.get()) } {
                    tracing::error!(%error, "cannot unmap a pool");
                }
            }
            Self::File(fd) => drop(fd),
        }
    }
}

/// Hands over to the reaper's thread, which starts with the first; where it cannot, does its work here.
fn reap(garbage: Garbage) {
    static REAPER: OnceLock<Option<Sender<Garbage>>> = OnceLock::new();
    let reaper = REAPER.get_or_init(|| {
        let (sender, receiver) = channel::<Garbage>();
        std::thread::Builder::new()
            .name("pool-reaper".into())
            .spawn(move || receiver.into_iter().for_each(Garbage::dispose))
            .map_err(|error| tracing::warn!(%error, "no thread to unmap pools on"))
            .ok()
            .map(|_| sender)
    });
    match reaper {
        Some(sender) => {
            if let Err(refused) = sender.send(garbage) {
                refused.0.dispose();
            }
        }
        None => garbage.dispose(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use nix::sys::memfd::{MFdFlags, memfd_create};
    use nix::unistd::ftruncate;

    use super::*;

    fn memfd(flags: MFdFlags, len: i64) -> OwnedFd {
        let fd = memfd_create(c"pool-test", flags).unwrap();
        ftruncate(&fd, len).unwrap();
        fd
    }

    fn pool(fd: OwnedFd, len: usize) -> Result<ShmPool, FileError> {
        ShmPool::new(fd, NonZeroUsize::new(len).unwrap(), Default::default())
    }

    /// The byte at `at`, as a client's page would be read.
    fn byte(pool: &ShmPool, at: usize) -> (u8, Result<(), PoolError>) {
        let mut value = 0;
        let result = pool.read(at..at + 1, &mut |address| {
            // SAFETY: `read` gives the address of a mapped byte.
            value = unsafe { address.read_volatile() };
        });
        (value, result)
    }

    #[test]
    fn pool_on_a_sealable_file_seals_it_and_needs_no_guard() {
        let fd = memfd(MFdFlags::MFD_ALLOW_SEALING, 4096);
        let twin = fd.try_clone().unwrap();
        let pool = pool(fd, 4096).unwrap();
        assert!(pool.lock().sealed);
        assert_eq!(ftruncate(&twin, 0), Err(Errno::EPERM));
        assert_eq!(byte(&pool, 4095), (0, Ok(())));
    }

    #[test]
    fn pool_shrunk_while_open_reads_zeros_and_says_so() {
        let fd = memfd(MFdFlags::empty(), 3 * 4096);
        let twin = fd.try_clone().unwrap();
        nix::unistd::write(&twin, &[7; 3 * 4096]).unwrap();
        let pool = pool(fd, 3 * 4096).unwrap();
        assert_eq!(byte(&pool, 8192), (7, Ok(())));
        ftruncate(&twin, 4096).unwrap();
        assert_eq!(byte(&pool, 8192), (0, Err(PoolError::Truncated)));
        assert_eq!(byte(&pool, 4095), (7, Ok(())));
    }

    #[test]
    fn pool_read_out_of_range_does_not_call_the_reader() {
        let pool = pool(memfd(MFdFlags::empty(), 4096), 4096).unwrap();
        let mut called = false;
        let result = pool.read(4090..4097, &mut |_| called = true);
        assert_eq!(result, Err(PoolError::OutOfRange { start: 4090, end: 4097 }));
        assert!(!called);
    }

    #[test]
    fn pool_on_a_file_that_lies_is_refused_by_name() {
        assert!(matches!(pool(memfd(MFdFlags::empty(), 0), 4096), Err(FileError::Short { actual: 0, .. })));
        assert!(matches!(pool(memfd(MFdFlags::empty(), 4095), 4096), Err(FileError::Short { .. })));
        assert!(matches!(pool(File::open("/dev/zero").unwrap().into(), 4096), Err(FileError::Kind)));
        let (pipe, _other) = nix::unistd::pipe().unwrap();
        assert!(matches!(pool(pipe, 4096), Err(FileError::Kind)));
        let fd = memfd(MFdFlags::empty(), 4096);
        let read_only = File::open(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap();
        assert!(matches!(pool(read_only.into(), 4096), Err(FileError::Access)));
    }

    #[test]
    fn pool_grown_keeps_its_bytes_and_counts_the_new_ones() {
        let count = Arc::new(PoolCount::default());
        let fd = memfd(MFdFlags::empty(), 4096);
        let twin = fd.try_clone().unwrap();
        nix::unistd::write(&twin, &[9; 4096]).unwrap();
        let pool = ShmPool::new(fd, NonZeroUsize::new(4096).unwrap(), [count.clone(), Arc::default()]).unwrap();
        assert!(matches!(pool.grow(NonZeroUsize::new(8192).unwrap()), Err(FileError::Short { .. })));
        ftruncate(&twin, 8192).unwrap();
        pool.grow(NonZeroUsize::new(8192).unwrap()).unwrap();
        assert_eq!((byte(&pool, 4095).0, byte(&pool, 8191).0, count.bytes()), (9, 0, 8192));
        drop(pool);
        assert_eq!((count.pools(), count.bytes()), (0, 0));
    }
}
