//! What the device may still touch, until the frame that touched it last is complete.
//!
//! A queue of typed entries, ordered by frame: no closure, no box on any path that a frame takes. Draining takes from
//! the front and stops at the first entry whose frame is not complete, so it costs what it frees. Storage is kept: a
//! frame that retires as much as the one before allocates nothing. [`Queue`] and [`Pool`] know nothing of Vulkan and
//! are tested without a device; [`DeferredFree`] says what the entries are.
//!
//! Drained at every `Renderer::drain`, frames or not, so nothing piles up while an output is off.

use std::collections::VecDeque;

use ash::vk;

use super::buffer::Buffer;
use super::descriptor::Slot;
use super::image::Image;
use super::owned::Owned;
use super::swapchain::Swapchain;
use crate::domain::buffer::BufferId;
use crate::domain::frame::FrameSerial;

/// What is waiting for its frame.
pub(super) enum DeferredFree {
    /// Waited for by the frame; goes back to its pool.
    Semaphore(Owned<vk::Semaphore>),
    /// Signalled, or to be, and waited for by nothing; destroyed.
    Signalled(Owned<vk::Semaphore>),
    /// A texture's image and its place among the descriptors.
    Texture {
        /// Image, view and memory.
        image: Image,
        /// Given back to `descriptor`.
        slot: Slot,
    },
    /// A client's buffer that the frame read; its owner is told.
    ClientBuffer(BufferId),
    /// A target's image.
    Target(Image),
    /// Staging or instance memory that became too small.
    Buffer(Buffer),
    /// A window's images, their semaphores, and the window where it has no other swapchain.
    Swapchain(Box<Swapchain>),
}

/// Entries in the order of their frames.
#[derive(Debug)]
pub struct Queue<T> {
    entries: VecDeque<(FrameSerial, T)>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Queue<T> {
    /// Nothing retired, no storage.
    pub const fn new() -> Self {
        Self { entries: VecDeque::new() }
    }

    /// Nothing retired, storage for `n` entries.
    pub fn with_capacity(n: usize) -> Self {
        Self { entries: VecDeque::with_capacity(n) }
    }

    /// Keeps `entry` until the frame `last_use` is complete, and those of all entries before it.
    pub fn retire(&mut self, last_use: FrameSerial, entry: T) {
        let frame = self.entries.back().map_or(last_use, |back| last_use.max(back.0));
        self.entries.push_back((frame, entry));
    }

    /// Takes the oldest entry if its frame is among those up to `completed`.
    pub fn drain_one(&mut self, completed: FrameSerial) -> Option<T> {
        let due = self.entries.front().is_some_and(|(frame, _)| *frame <= completed);
        if due { self.entries.pop_front().map(|(_, entry)| entry) } else { None }
    }

    /// Entries waiting.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is waiting.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that fit without allocating.
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }
}

/// Things that are made once and used again.
#[derive(Debug)]
pub struct Pool<T> {
    idle: Vec<T>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Pool<T> {
    /// Nothing made yet.
    pub const fn new() -> Self {
        Self { idle: Vec::new() }
    }

    /// One that is idle, or a new one.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn take<E>(&mut self, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match self.idle.pop() {
            Some(one) => Ok(one),
            None => make(),
        }
    }

    /// Takes one back.
    pub fn give(&mut self, one: T) {
        self.idle.push(one);
    }

    /// How many are idle.
    pub fn len(&self) -> usize {
        self.idle.len()
    }

    /// Whether none is idle.
    pub fn is_empty(&self) -> bool {
        self.idle.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_is_drained_once_its_frame_is_complete_and_not_before() {
        let mut queue = Queue::new();
        queue.retire(FrameSerial(2), 'a');
        queue.retire(FrameSerial(3), 'b');
        assert_eq!(queue.drain_one(FrameSerial(1)), None);
        assert_eq!(queue.drain_one(FrameSerial(2)), Some('a'));
        assert_eq!(queue.drain_one(FrameSerial(2)), None);
        assert_eq!((queue.drain_one(FrameSerial(9)), queue.is_empty()), (Some('b'), true));
    }

    #[test]
    fn entry_of_an_older_frame_waits_for_those_before_it() {
        let mut queue = Queue::new();
        queue.retire(FrameSerial(5), 'a');
        queue.retire(FrameSerial(1), 'b');
        assert_eq!(queue.drain_one(FrameSerial(4)), None);
        assert_eq!(queue.drain_one(FrameSerial(5)), Some('a'));
        assert_eq!(queue.drain_one(FrameSerial(5)), Some('b'));
    }

    #[test]
    fn semaphore_retired_and_drained_each_frame_keeps_one_object_and_the_storage() {
        let (mut queue, mut pool, mut made) = (Queue::new(), Pool::new(), 0u32);
        let mut frame = |n: u64| {
            while let Some(semaphore) = queue.drain_one(FrameSerial(n.saturating_sub(2))) {
                pool.give(semaphore);
            }
            let semaphore: u32 = pool
                .take(|| {
                    made += 1;
                    Ok::<_, ()>(made)
                })
                .unwrap();
            queue.retire(FrameSerial(n), semaphore);
            (queue.capacity(), queue.len())
        };
        let (capacity, _) = (1..=8).map(&mut frame).last().unwrap();
        for n in 9..1000 {
            assert_eq!(frame(n), (capacity, 2));
        }
        assert_eq!(made, 2);
        while queue.drain_one(FrameSerial(1000)).is_some() {}
        assert!(queue.is_empty());
    }
}
