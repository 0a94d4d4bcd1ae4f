//! Client memory behind a wl_shm pool, as a renderer may read it.

use std::fmt::Debug;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::domain::buffer::ShmLayout;

/// A client's pool. It outlives the `wl_shm_pool` and `wl_buffer` protocol objects for as long as somebody holds it.
pub trait Pool: Debug + Send + Sync {
    /// Bytes the client declared; it only grows. The file behind may be shorter: see [`Pool::read`].
    fn size(&self) -> usize;

    /// The client's file, for importing it.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Gives `reader` the address of the first byte of `range` while the range is mapped and guarded. The client may
    /// write meanwhile: read it as raw bytes, each once, and trust nothing twice. Must not be nested.
    ///
    /// # Errors
    /// [`PoolError::OutOfRange`] where `range` is not inside the pool (`reader` is not called), and
    /// [`PoolError::Truncated`] where the file proved shorter: `reader` then saw zeros in the missing part.
    fn read(&self, range: Range<usize>, reader: &mut dyn FnMut(*const u8)) -> Result<(), PoolError>;
}

/// Why a pool's bytes are not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The range does not lie inside the pool.
    #[error("bytes {start}..{end} are outside the pool")]
    OutOfRange {
        /// First byte asked for.
        start: usize,
        /// End of the bytes asked for.
        end: usize,
    },
    /// The client's file is shorter than the client said (wl_shm.error.invalid_fd).
    #[error("the pool's file is shorter than its declared size")]
    Truncated,
}

/// An image in a client's pool.
#[derive(Clone, Debug)]
pub struct ShmBuffer {
    /// The memory.
    pub pool: Arc<dyn Pool>,
    /// The place in it, checked against the pool's size.
    pub layout: ShmLayout,
}
