//! A buffer in memory that the CPU sees, mapped for its whole life: instances, staging, captured pixels.

use std::ptr::NonNull;
use std::sync::Arc;

use ash::vk;
use vk::MemoryPropertyFlags as Flags;

use super::device::Device;
use super::error::CallError;
use super::memory;
use super::owned::Owned;

/// Which way most bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The CPU writes, the device reads.
    Up,
    /// The device writes, the CPU reads.
    Down,
}

/// A mapped, coherent buffer.
pub(super) struct Buffer {
    raw: Owned<vk::Buffer>,
    address: NonNull<u8>,
    bytes: u64,
    // Freed after the buffer; freeing unmaps.
    _memory: Owned<vk::DeviceMemory>,
}

impl Buffer {
    /// A buffer of `bytes`, content undefined.
    ///
    /// # Errors
    /// The failing call; nothing stays allocated.
    pub(super) fn new(
        device: &Arc<Device>,
        bytes: u64,
        usage: vk::BufferUsageFlags,
        direction: Direction,
        name: &str,
    ) -> Result<Self, CallError> {
        let info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        // SAFETY: the size is not zero (every caller asks for at least a texel), the usage one of transfer or vertices.
        let made = unsafe { device.raw().create_buffer(&info, Some(device.callbacks())) };
        let raw = Owned::new(device, "vkCreateBuffer", made)?.named(name);
        // SAFETY: the buffer is alive.
        let need = unsafe { device.raw().get_buffer_memory_requirements(raw.raw()) };
        let must = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
        let better = match direction {
            Direction::Up => must,
            Direction::Down => must | Flags::HOST_CACHED,
        };
        // Every device has a coherent type for buffers (VkMemoryPropertyFlagBits, the guarantees at its end).
        let kind = memory::kind(device, need.memory_type_bits, better)
            .or_else(|| memory::kind(device, need.memory_type_bits, must))
            .ok_or(CallError { call: "vkGetBufferMemoryRequirements", result: vk::Result::ERROR_OUT_OF_HOST_MEMORY })?;
        let memory = memory::allocate(device, need.size, kind, None)?.named(name);
        // SAFETY: both are alive and unbound, the offset 0 fits any alignment, the type is among those allowed.
        let bound = unsafe { device.raw().bind_buffer_memory(raw.raw(), memory.raw(), 0) };
        device.check("vkBindBufferMemory", bound)?;
        // SAFETY: the memory is host-visible and not mapped.
        let mapped = unsafe { device.raw().map_memory(memory.raw(), 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) };
        let address = NonNull::new(device.check("vkMapMemory", mapped)?.cast())
            .ok_or(CallError { call: "vkMapMemory", result: vk::Result::ERROR_MEMORY_MAP_FAILED })?;
        Ok(Self { raw, address, bytes, _memory: memory })
    }

    /// The handle, not owned.
    pub(super) fn raw(&self) -> vk::Buffer {
        self.raw.raw()
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where its first byte is mapped; valid for [`Buffer::bytes`] while the buffer lives, shared with the device.
    pub(super) fn address(&self) -> NonNull<u8> {
        self.address
    }
}
