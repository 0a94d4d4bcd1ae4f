//! A frame's identity, the time it is judged by, and what it is counted in.

/// A point of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time(u64);

impl Time {
    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// In nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// In milliseconds, wrapping at 32 bits, as wl_callback.done and input events want it.
    pub const fn as_ms_wrapping(self) -> u32 {
        (self.0 / 1_000_000) as u32
    }

    /// `ns` later (saturating).
    #[must_use]
    pub const fn plus_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Nanoseconds since `earlier`, zero where it is not.
    pub const fn since_ns(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The place of a submission on its renderer's timeline: 1 is the first; the timeline reads `n` once all up to `n` are
/// complete. Zero stands for "nothing submitted".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameSerial(pub u64);

/// What one frame, or all since start, cost a renderer. Counts, not times; sums wrap never in practice (64 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `vkQueueSubmit2` calls.
    pub submits: u64,
    /// `vkCmdPipelineBarrier2` calls in frames.
    pub barrier_calls: u64,
    /// Of those, calls that only a frame with new images or targets makes (initial layouts).
    pub setup_barrier_calls: u64,
    /// Draw calls.
    pub draws: u64,
    /// Copies from a client's image, or its staged bytes, straight to the target in the place of a draw.
    pub transfers: u64,
    /// Descriptors written.
    pub descriptor_writes: u64,
    /// Vulkan objects created or allocated.
    pub objects_created: u64,
    /// Vulkan objects destroyed or freed.
    pub objects_destroyed: u64,
    /// Client bytes the CPU copied into staging memory (tier `staging`).
    pub staging_cpu_bytes: u64,
    /// Bytes the GPU copied out of staging memory (tier `staging`).
    pub staging_gpu_bytes: u64,
    /// Client bytes the CPU wrote into images (tier `host-copy`).
    pub host_copy_cpu_bytes: u64,
    /// Fences that frames were made to wait for.
    pub fences_imported: u64,
    /// Fences that frames carried.
    pub fences_exported: u64,
    /// Fences of frames left in clients' dma-bufs.
    pub fences_attached: u64,
    /// Semaphores made for fences.
    pub semaphores_created: u64,
    /// Of those, destroyed.
    pub semaphores_destroyed: u64,
    /// How often one came back to its pool, its frame complete.
    pub semaphores_returned: u64,
    /// Allocations that the driver asked of the host (VkAllocationCallbacks).
    pub driver_host_allocations: u64,
    /// What the validation layers complained about; nothing where they are off.
    pub validation_messages: u64,
}

impl Counters {
    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            submits: self.submits + other.submits,
            barrier_calls: self.barrier_calls + other.barrier_calls,
            setup_barrier_calls: self.setup_barrier_calls + other.setup_barrier_calls,
            draws: self.draws + other.draws,
            transfers: self.transfers + other.transfers,
            descriptor_writes: self.descriptor_writes + other.descriptor_writes,
            objects_created: self.objects_created + other.objects_created,
            objects_destroyed: self.objects_destroyed + other.objects_destroyed,
            staging_cpu_bytes: self.staging_cpu_bytes + other.staging_cpu_bytes,
            staging_gpu_bytes: self.staging_gpu_bytes + other.staging_gpu_bytes,
            host_copy_cpu_bytes: self.host_copy_cpu_bytes + other.host_copy_cpu_bytes,
            fences_imported: self.fences_imported + other.fences_imported,
            fences_exported: self.fences_exported + other.fences_exported,
            fences_attached: self.fences_attached + other.fences_attached,
            semaphores_created: self.semaphores_created + other.semaphores_created,
            semaphores_destroyed: self.semaphores_destroyed + other.semaphores_destroyed,
            semaphores_returned: self.semaphores_returned + other.semaphores_returned,
            driver_host_allocations: self.driver_host_allocations + other.driver_host_allocations,
            validation_messages: self.validation_messages + other.validation_messages,
        }
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            submits: self.submits - earlier.submits,
            barrier_calls: self.barrier_calls - earlier.barrier_calls,
            setup_barrier_calls: self.setup_barrier_calls - earlier.setup_barrier_calls,
            draws: self.draws - earlier.draws,
            transfers: self.transfers - earlier.transfers,
            descriptor_writes: self.descriptor_writes - earlier.descriptor_writes,
            objects_created: self.objects_created - earlier.objects_created,
            objects_destroyed: self.objects_destroyed - earlier.objects_destroyed,
            staging_cpu_bytes: self.staging_cpu_bytes - earlier.staging_cpu_bytes,
            staging_gpu_bytes: self.staging_gpu_bytes - earlier.staging_gpu_bytes,
            host_copy_cpu_bytes: self.host_copy_cpu_bytes - earlier.host_copy_cpu_bytes,
            fences_imported: self.fences_imported - earlier.fences_imported,
            fences_exported: self.fences_exported - earlier.fences_exported,
            fences_attached: self.fences_attached - earlier.fences_attached,
            semaphores_created: self.semaphores_created - earlier.semaphores_created,
            semaphores_destroyed: self.semaphores_destroyed - earlier.semaphores_destroyed,
            semaphores_returned: self.semaphores_returned - earlier.semaphores_returned,
            driver_host_allocations: self.driver_host_allocations - earlier.driver_host_allocations,
            validation_messages: self.validation_messages - earlier.validation_messages,
        }
    }
}

/// What a renderer holds right now; back at its baseline once the clients are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Textures not yet forgotten.
    pub textures: u64,
    /// Their bytes of device memory.
    pub texture_bytes: u64,
    /// Textures forgotten but still read by a frame in flight.
    pub retired_textures: u64,
    /// Their bytes of device memory.
    pub retired_bytes: u64,
    /// Entries of the deferred list, of every kind.
    pub deferred_entries: u64,
    /// Targets.
    pub targets: u64,
    /// Bytes of staging memory.
    pub staging_bytes: u64,
    /// Semaphores for fences, waited for or idle.
    pub semaphores: u64,
    /// Of those, the ones that a frame waits for or is about to.
    pub semaphores_in_use: u64,
    /// Vulkan objects alive, of every kind.
    pub vulkan_objects: u64,
}
