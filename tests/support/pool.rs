//! A client's pool for tests: a memfd, written by the test as the client would, read as `ports::pool` promises.

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use nix::sys::memfd::{MFdFlags, memfd_create};
use transom::domain::buffer::ShmLayout;
use transom::domain::format::Fourcc;
use transom::domain::geometry::Size;
use transom::ports::pool::{Pool, PoolError, ShmBuffer};

/// See the module's docs. No mapping: readers get a copy, so nothing here can fault.
#[derive(Debug)]
pub(crate) struct Memfd {
    file: File,
    size: usize,
}

impl Memfd {
    /// A pool that holds `bytes`.
    pub(crate) fn new(bytes: &[u8]) -> Arc<Self> {
        Self::declaring(bytes, bytes.len())
    }

    /// A pool whose client says that it has `size` bytes, though the file holds `bytes` alone.
    pub(crate) fn declaring(bytes: &[u8], size: usize) -> Arc<Self> {
        let file = File::from(memfd_create("transom-test", MFdFlags::MFD_CLOEXEC).expect("a memfd"));
        file.write_all_at(bytes, 0).expect("a memfd takes bytes");
        Arc::new(Self { file, size })
    }

    /// Writes as the client.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        self.file.write_all_at(bytes, at as u64).expect("a memfd takes bytes");
    }

    /// Makes the file end here, whatever was declared.
    pub(crate) fn truncate(&self, length: usize) {
        self.file.set_len(length as u64).expect("an unsealed memfd takes any length");
    }

    /// An image in it.
    pub(crate) fn buffer(self: &Arc<Self>, offset: i32, size: Size, stride: i32, format: Fourcc) -> ShmBuffer {
        let layout = ShmLayout::new(self.size, offset, size, stride, format).expect("a layout inside the pool");
        ShmBuffer { pool: self.clone(), layout }
    }
}

impl Pool for Memfd {
    fn size(&self) -> usize {
        self.size
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn read(&self, range: Range<usize>, reader: &mut dyn FnMut(*const u8)) -> Result<(), PoolError> {
        if range.start > range.end || range.end > self.size {
            return Err(PoolError::OutOfRange { start: range.start, end: range.end });
        }
        let mut bytes = vec![0; range.len()];
        let there = (0..)
            .scan(0, |done, _| {
                let n = self.file.read_at(&mut bytes[*done..], (range.start + *done) as u64).expect("a memfd is read");
                *done += n;
                (n > 0).then_some(*done)
            })
            .last()
            .unwrap_or(0);
        reader(bytes.as_ptr());
        if there < range.len() { Err(PoolError::Truncated) } else { Ok(()) }
    }
}
