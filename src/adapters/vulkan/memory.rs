//! Device memory: large images have their own, small ones share blocks.
//!
//! Devices limit the number of allocations (maxMemoryAllocationCount, often 4096), clients do not limit the number of
//! their surfaces. A block goes back to the driver with its last image, except the last one of its kind, which is kept
//! so that a client which resizes does not make the driver map and unmap memory all the time. One such block is made
//! at the start: the baseline is the same before the first client and after the last.
//!
//! Invariant: an [`Allocation`]'s range belongs to nobody else until it is dropped.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use arrayvec::ArrayVec;
use ash::vk;

use super::device::Device;
use super::error::CallError;
use super::owned::Owned;
use crate::domain::dmabuf::MAX_PLANES;

const BLOCK_BYTES: u64 = 16 << 20;
/// From here on an image has memory of its own.
const LARGE_BYTES: u64 = BLOCK_BYTES / 4;

/// Where images live.
pub(super) struct Memory {
    device: Arc<Device>,
    blocks: RefCell<Vec<Option<Block>>>,
}

struct Block {
    memory: Owned<vk::DeviceMemory>,
    kind: u32,
    ranges: Ranges,
}

/// A piece of device memory.
pub(super) struct Allocation {
    raw: vk::DeviceMemory,
    offset: u64,
    bytes: u64,
    home: Home,
}

/// A client's memory, one piece for each of its image's bindings.
#[derive(Default)]
pub(super) struct Imported {
    pieces: ArrayVec<Owned<vk::DeviceMemory>, MAX_PLANES>,
    bytes: u64,
}

impl Imported {
    /// Takes one more piece of `bytes`.
    pub(super) fn push(&mut self, memory: Owned<vk::DeviceMemory>, bytes: u64) {
        self.bytes += bytes;
        self.pieces.push(memory);
    }

    /// The pieces, not owned.
    pub(super) fn raw(&self) -> impl Iterator<Item = vk::DeviceMemory> {
        self.pieces.iter().map(Owned::raw)
    }

    /// Bytes of all pieces.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

enum Home {
    Own { _memory: Owned<vk::DeviceMemory> },
    Block { pool: Rc<Memory>, index: usize },
}

impl Memory {
    /// With one block of the kind that images use.
    ///
    /// # Errors
    /// The failing call.
    pub(super) fn new(device: &Arc<Device>) -> Result<Rc<Self>, CallError> {
        let this = Rc::new(Self { device: Arc::clone(device), blocks: RefCell::default() });
        if let Some(kind) = this.kind(u32::MAX, vk::MemoryPropertyFlags::DEVICE_LOCAL) {
            let block = this.create_block(kind)?;
            this.blocks.borrow_mut().push(Some(block));
        }
        Ok(this)
    }

    /// The first memory type among `allowed` with all of `flags`, or else the first allowed.
    fn kind(&self, allowed: u32, flags: vk::MemoryPropertyFlags) -> Option<u32> {
        kind(&self.device, allowed, flags).or_else(|| kind(&self.device, allowed, vk::MemoryPropertyFlags::empty()))
    }

    /// Memory for `image`, which is of optimal tiling and not yet bound.
    ///
    /// # Errors
    /// The failing call; nothing stays allocated.
    pub(super) fn allocate(self: &Rc<Self>, image: vk::Image) -> Result<Allocation, CallError> {
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut requirements = vk::MemoryRequirements2::default().push_next(&mut dedicated);
        let query = vk::ImageMemoryRequirementsInfo2::default().image(image);
        // SAFETY: the image is this device's and alive.
        unsafe { self.device.raw().get_image_memory_requirements2(&query, &mut requirements) };
        let need = requirements.memory_requirements;
        let kind = self.kind(need.memory_type_bits, vk::MemoryPropertyFlags::DEVICE_LOCAL).unwrap_or(0);
        let own = dedicated.requires_dedicated_allocation | dedicated.prefers_dedicated_allocation == vk::TRUE;
        if own || need.size >= LARGE_BYTES {
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().image(image);
            let memory = allocate(&self.device, need.size, kind, Some(&mut dedicated))?.named("image");
            return Ok(Allocation {
                raw: memory.raw(),
                offset: 0,
                bytes: need.size,
                home: Home::Own { _memory: memory },
            });
        }
        self.allocate_shared(need, kind)
    }

    fn allocate_shared(self: &Rc<Self>, need: vk::MemoryRequirements, kind: u32) -> Result<Allocation, CallError> {
        let mut blocks = self.blocks.borrow_mut();
        let found = blocks.iter_mut().enumerate().find_map(|(index, slot)| {
            let block = slot.as_mut().filter(|block| block.kind == kind)?;
            let offset = block.ranges.take(need.size, need.alignment)?;
            Some((index, block.memory.raw(), offset))
        });
        let (index, raw, offset) = match found {
            Some(found) => found,
            None => {
                let mut block = self.create_block(kind)?;
                // The block is empty, larger than any request that gets here, and aligned for any of them.
                let offset = block.ranges.take(need.size, need.alignment).unwrap_or(0);
                let raw = block.memory.raw();
                let index = blocks.iter().position(Option::is_none).unwrap_or(blocks.len());
                match blocks.get_mut(index) {
                    Some(slot) => *slot = Some(block),
                    None => blocks.push(Some(block)),
                }
                (index, raw, offset)
            }
        };
        Ok(Allocation { raw, offset, bytes: need.size, home: Home::Block { pool: Rc::clone(self), index } })
    }

    fn create_block(&self, kind: u32) -> Result<Block, CallError> {
        let memory = allocate(&self.device, BLOCK_BYTES, kind, None)?.named("block of images");
        Ok(Block { memory, kind, ranges: Ranges::new(BLOCK_BYTES) })
    }

    fn give(&self, index: usize, offset: u64, bytes: u64) {
        let mut blocks = self.blocks.borrow_mut();
        let Some(block) = blocks.get_mut(index).and_then(Option::as_mut) else { return };
        block.ranges.give(offset, bytes);
        let kind = block.kind;
        if block.ranges.is_whole(BLOCK_BYTES) {
            let others = blocks.iter().flatten().filter(|b| b.kind == kind).count();
            if others > 1 {
                blocks[index] = None;
            }
        }
    }
}

impl Allocation {
    /// The memory, not owned.
    pub(super) fn raw(&self) -> vk::DeviceMemory {
        self.raw
    }

    /// Where in the memory it starts, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Home::Block { pool, index } = &self.home {
            pool.give(*index, self.offset, self.bytes);
        }
    }
}

/// The first memory type among `allowed` with all of `flags`.
pub(super) fn kind(device: &Device, allowed: u32, flags: vk::MemoryPropertyFlags) -> Option<u32> {
    let types = device.gpu().memory.memory_types_as_slice();
    (0..types.len() as u32).find(|&i| allowed & 1 << i != 0 && types[i as usize].property_flags.contains(flags))
}

/// Calls vkAllocateMemory.
pub(super) fn allocate(
    device: &Arc<Device>,
    bytes: u64,
    kind: u32,
    dedicated: Option<&mut vk::MemoryDedicatedAllocateInfo<'_>>,
) -> Result<Owned<vk::DeviceMemory>, CallError> {
    let mut info = vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(kind);
    if let Some(dedicated) = dedicated {
        info = info.push_next(dedicated);
    }
    // SAFETY: the type is one of the device's; a dedicated image is alive and unbound.
    let made = unsafe { device.raw().allocate_memory(&info, Some(device.callbacks())) };
    Owned::new(device, "vkAllocateMemory", made)
}

/// The free parts of a block: sorted, none touching its neighbour.
struct Ranges {
    free: Vec<(u64, u64)>,
}

impl Ranges {
    fn new(bytes: u64) -> Self {
        Self { free: vec![(0, bytes)] }
    }

    fn is_whole(&self, bytes: u64) -> bool {
        self.free == [(0, bytes)]
    }

    /// The start of `bytes` at a multiple of `alignment` (a power of two), the lowest there is.
    fn take(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        let (at, start) = self.free.iter().enumerate().find_map(|(at, &(from, len))| {
            let start = from.next_multiple_of(alignment.max(1));
            (start + bytes <= from + len).then_some((at, start))
        })?;
        let (from, len) = self.free.remove(at);
        let end = from + len;
        if start + bytes < end {
            self.free.insert(at, (start + bytes, end - start - bytes));
        }
        if from < start {
            self.free.insert(at, (from, start - from));
        }
        Some(start)
    }

    /// Gives back what [`Ranges::take`] gave.
    fn give(&mut self, mut start: u64, bytes: u64) {
        let mut end = start + bytes;
        let at = self.free.partition_point(|&(from, _)| from < start);
        if let Some(&(from, len)) = self.free.get(at).filter(|&&(from, _)| from == end) {
            end = from + len;
            self.free.remove(at);
        }
        match at.checked_sub(1).map(|before| (before, self.free[before])) {
            Some((before, (from, len))) if from + len == start => {
                start = from;
                self.free[before] = (start, end - start);
            }
            _ => self.free.insert(at, (start, end - start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_taken_in_any_order_are_disjoint_aligned_and_all_come_back(
            steps in prop::collection::vec((1u64..200, 0u32..6, any::<bool>()), 1..60)
        ) {
            let mut ranges = Ranges::new(4096);
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (bytes, shift, give) in steps {
                if give && !held.is_empty() {
                    let (start, bytes) = held.swap_remove(bytes as usize % held.len());
                    ranges.give(start, bytes);
                } else if let Some(start) = ranges.take(bytes, 1 << shift) {
                    prop_assert_eq!(start % (1 << shift), 0);
                    prop_assert!(start + bytes <= 4096);
                    prop_assert!(held.iter().all(|&(s, b)| start + bytes <= s || s + b <= start));
                    held.push((start, bytes));
                }
                let free: u64 = ranges.free.iter().map(|r| r.1).sum();
                let taken: u64 = held.iter().map(|r| r.1).sum();
                prop_assert_eq!(free + taken, 4096);
            }
            for (start, bytes) in held.drain(..) {
                ranges.give(start, bytes);
            }
            prop_assert!(ranges.is_whole(4096));
        }
    }
}
