//! A buffer and its pixels: one memfd for each, mapped here, sealed against shrinking as good clients do.
//!
//! Next: `session`.

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use anyhow::Context;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// Side of the square that the mode `small` repaints, pixels.
pub(crate) const SQUARE: i32 = 64;

/// XRGB8888 pixels in memory shared with the compositor.
pub(crate) struct Pixels {
    fd: OwnedFd,
    start: NonNull<u32>,
    bytes: NonZeroUsize,
    width: i32,
    height: i32,
}

impl Pixels {
    /// Opaque black.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn new(width: i32, height: i32) -> anyhow::Result<Self> {
        let stride_px = usize::try_from(Self::stride(width) / 4)?;
        let bytes = NonZeroUsize::new(stride_px * usize::try_from(height)? * 4).context("an empty buffer")?;
        let fd = memfd_create(c"load", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
        nix::unistd::ftruncate(&fd, i64::try_from(bytes.get())?)?;
        fcntl(&fd, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK))?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping of a file of this size, which the seal keeps from shrinking.
        let start = unsafe { mmap(None, bytes, protection, MapFlags::MAP_SHARED, &fd, 0) }?.cast();
        let mut pixels = Self { fd, start, bytes, width, height };
        pixels.fill(0);
        Ok(pixels)
    }

    /// Bytes from row to row: the next multiple of 256, which every driver takes.
    pub(crate) const fn stride(width: i32) -> i32 {
        (width * 4 + 255) / 256 * 256
    }

    /// Whole bytes, and the file they are in.
    pub(crate) fn storage(&self) -> (BorrowedFd<'_>, usize) {
        (self.fd.as_fd(), self.bytes.get())
    }

    fn texels(&mut self) -> &mut [u32] {
        // SAFETY: the mapping lives as long as self, is page-aligned and holds this many texels; the compositor only
        // reads it, and only while this side does not write.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes.get() / 4) }
    }

    /// Paints everything in the colour of that step.
    pub(crate) fn fill(&mut self, step: u32) {
        self.texels().fill(colour(step));
    }

    /// Paints a square whose place moves with the step, and says where: x, y.
    pub(crate) fn fill_square(&mut self, step: u32) -> (i32, i32) {
        let place = |speed: u32, room: i32| (step.wrapping_mul(speed) % room.max(1).unsigned_abs()).cast_signed();
        let (x, y) = (place(8, self.width - SQUARE), place(4, self.height - SQUARE));
        let (right, bottom) = ((x + SQUARE).min(self.width), (y + SQUARE).min(self.height));
        let stride_px = Self::stride(self.width) / 4;
        for row in y..bottom {
            let at = |column: i32| usize::try_from(row * stride_px + column).unwrap_or(0);
            self.texels()[at(x)..at(right)].fill(colour(step));
        }
        (x, y)
    }
}

impl Drop for Pixels {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, not used after.
        let unmapped = unsafe { munmap(self.start.cast(), self.bytes.get()) };
        debug_assert!(unmapped.is_ok());
    }
}

/// A different opaque colour each step.
fn colour(step: u32) -> u32 {
    0xff00_0000 | step.wrapping_mul(0x0003_0507) & 0x00ff_ffff
}
