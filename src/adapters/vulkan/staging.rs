//! The staging ring: client bytes on their way to the device.
//!
//! ```text
//! positions grow for ever; a byte lies at position % size
//! ──tail────────mark 7────────mark 8──────head──────tail + size
//!    read by frame 7  by frame 8    not yet   free
//! ```
//!
//! A submission marks the head with its serial; once it is complete the tail moves there. When an upload does not fit,
//! the ring is replaced by one of twice the size, up to [`MAX_BYTES`]; past that the caller submits what is staged and
//! the client waits. It goes back to [`START_BYTES`] once the textures left are small beside it.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

use ash::vk;

use super::buffer::{Buffer, Direction};
use super::device::Device;
use super::error::CallError;
use crate::domain::frame::FrameSerial;

/// The ring's size at the start.
pub(super) const START_BYTES: u64 = 4 << 20;
/// Its greatest size. Greater uploads have a buffer of their own.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// Room for one upload.
pub(super) struct Room {
    /// The buffer, not owned; lives until the next submission is complete.
    pub(super) buffer: vk::Buffer,
    /// Where in the buffer.
    pub(super) offset: u64,
    /// The same place as the CPU sees it.
    pub(super) address: NonNull<u8>,
}

/// The ring.
pub(super) struct Staging {
    device: Arc<Device>,
    buffer: Buffer,
    ring: Ring,
    marks: VecDeque<(FrameSerial, u64)>,
}

impl Staging {
    /// A ring of [`START_BYTES`].
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn new(device: &Arc<Device>) -> Result<Self, CallError> {
        let buffer = create(device, START_BYTES)?;
        let ring = Ring::new(START_BYTES);
        Ok(Self { device: Arc::clone(device), buffer, ring, marks: VecDeque::with_capacity(16) })
    }

    /// Bytes of the ring.
    pub(super) fn bytes(&self) -> u64 {
        self.buffer.bytes()
    }

    /// Whether bytes are staged that no submission was marked for.
    pub(super) fn has_unmarked(&self) -> bool {
        self.marks.back().map_or(self.ring.tail, |mark| mark.1) != self.ring.head
    }

    /// Room for `bytes` at a multiple of `alignment`, if there is now.
    pub(super) fn reserve(&mut self, bytes: u64, alignment: u64) -> Option<Room> {
        let offset = self.ring.reserve(bytes, alignment)?;
        // SAFETY: `Ring` gives offsets whose `bytes` end inside the buffer, so the address is inside the mapping.
        let address = unsafe { self.buffer.address().add(offset as usize) };
        Some(Room { buffer: self.buffer.raw(), offset, address })
    }

    /// Where the next upload would start; for [`Staging::rewind`].
    pub(super) fn head(&self) -> u64 {
        self.ring.head
    }

    /// Takes back everything reserved in `buffer` since `head`, none of which was used; nothing where the buffer is not
    /// the ring's.
    pub(super) fn rewind(&mut self, buffer: vk::Buffer, head: u64) {
        if buffer == self.buffer.raw() && self.ring.tail <= head {
            self.ring.head = head;
        }
    }

    /// A ring at least twice as large that has room for `bytes`; the old buffer is returned, for retirement after the
    /// next submission. `None` at the limit.
    ///
    /// # Errors
    /// The failing call; the ring stays as it is.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<Option<Buffer>, CallError> {
        let wanted = bytes.saturating_mul(2).max(self.bytes() * 2).checked_next_power_of_two();
        match wanted.filter(|&size| size <= MAX_BYTES) {
            Some(size) => self.replace(size).map(Some),
            None => Ok(None),
        }
    }

    /// A ring of [`START_BYTES`] again; the old buffer as from [`Staging::grow`].
    ///
    /// # Errors
    /// The failing call; the ring stays as it is.
    pub(super) fn replace(&mut self, size: u64) -> Result<Buffer, CallError> {
        let buffer = create(&self.device, size)?;
        tracing::debug!("the staging ring has {} KiB now", size >> 10);
        self.ring = Ring::new(size);
        self.marks.clear();
        Ok(std::mem::replace(&mut self.buffer, buffer))
    }

    /// Everything staged so far is read by the submission `serial`.
    pub(super) fn mark(&mut self, serial: FrameSerial) {
        if self.has_unmarked() {
            self.marks.push_back((serial, self.ring.head));
        }
    }

    /// Submissions up to `completed` are complete.
    pub(super) fn reclaim(&mut self, completed: FrameSerial) {
        while let Some(&(serial, head)) = self.marks.front().filter(|mark| mark.0 <= completed) {
            debug_assert!(serial <= completed);
            self.ring.tail = head;
            self.marks.pop_front();
        }
    }
}

/// A buffer to stage in.
pub(super) fn create(device: &Arc<Device>, bytes: u64) -> Result<Buffer, CallError> {
    Buffer::new(device, bytes, vk::BufferUsageFlags::TRANSFER_SRC, Direction::Up, "staging")
}

/// The arithmetic of the ring. Invariant: `tail <= head <= tail + size`.
#[derive(Debug)]
struct Ring {
    size: u64,
    head: u64,
    tail: u64,
}

impl Ring {
    const fn new(size: u64) -> Self {
        Self { size, head: 0, tail: 0 }
    }

    /// An offset at a multiple of `alignment` with `bytes` behind it in one piece.
    fn reserve(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        if self.head == self.tail {
            // Nothing in use: begin at the start, where the most fits.
            self.head = self.head.next_multiple_of(self.size);
            self.tail = self.head;
        }
        let turn = self.head - self.head % self.size;
        let offset = (self.head - turn).next_multiple_of(alignment);
        let (turn, offset) = if offset + bytes <= self.size { (turn, offset) } else { (turn + self.size, 0) };
        let head = turn + offset + bytes;
        if bytes > self.size || head > self.tail + self.size {
            return None;
        }
        self.head = head;
        Some(offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn room_of_any_uploads_never_overlaps_what_is_in_flight(
            steps in prop::collection::vec((1u64..400, prop::sample::select(vec![16u64, 48]), 0usize..4), 1..200)
        ) {
            let mut ring = Ring::new(1024);
            let mut held: VecDeque<(u64, u64, u64)> = VecDeque::new();
            for (bytes, alignment, done) in steps {
                for _ in 0..done {
                    if let Some((_, _, head)) = held.pop_front() { ring.tail = head; }
                }
                if let Some(offset) = ring.reserve(bytes, alignment) {
                    prop_assert_eq!(offset % alignment, 0);
                    prop_assert!(offset + bytes <= 1024);
                    prop_assert!(held.iter().all(|&(o, b, _)| offset + bytes <= o || o + b <= offset));
                    held.push_back((offset, bytes, ring.head));
                } else {
                    prop_assert!(!held.is_empty(), "an empty ring refuses {} bytes", bytes);
                }
                prop_assert!(ring.tail <= ring.head && ring.head <= ring.tail + 1024);
            }
        }
    }

    #[test]
    fn room_greater_than_the_ring_is_refused() {
        let mut ring = Ring::new(1024);
        assert_eq!(ring.reserve(1025, 16), None);
        assert_eq!(ring.reserve(1024, 16), Some(0));
        assert_eq!(ring.reserve(1, 1), None);
    }
}
