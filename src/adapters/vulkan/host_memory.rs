//! The host memory that the driver asks for, counted: VkAllocationCallbacks over the C allocator.
//!
//! The C allocator, not Rust's, so that a counting global allocator sees this house's own allocations alone. Owned by
//! `instance`, which outlives every object made with the callbacks. Drivers call from any thread.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ash::vk;
use nix::libc;

/// What the C allocator aligns to by itself: alignof(max_align_t) on every 64-bit Linux.
const C_ALIGNMENT: usize = 16;

/// The count, at an address that does not move while the callbacks are in use.
#[derive(Debug, Default)]
pub(super) struct HostMemory {
    allocations: AtomicU64,
}

impl HostMemory {
    /// Allocations and reallocations asked for since start.
    pub(super) fn allocations(&self) -> u64 {
        self.allocations.load(Relaxed)
    }

    /// Callbacks that count here. The caller keeps `self` at its address for as long as any object lives that was made
    /// with them (`instance` boxes it and drops it last).
    pub(super) fn callbacks(&self) -> vk::AllocationCallbacks<'static> {
        vk::AllocationCallbacks {
            p_user_data: ptr::from_ref(self).cast_mut().cast(),
            pfn_allocation: Some(allocate),
            pfn_reallocation: Some(reallocate),
            pfn_free: Some(free),
            ..Default::default()
        }
    }
}

/// PFN_vkAllocationFunction.
unsafe extern "system" fn allocate(
    user: *mut c_void,
    size: usize,
    alignment: usize,
    _scope: vk::SystemAllocationScope,
) -> *mut c_void {
    // SAFETY: `user` is the `HostMemory` that `callbacks` was called on, alive by that function's contract; it is only
    // shared, its field is atomic.
    let host = unsafe { &*user.cast::<HostMemory>() };
    host.allocations.fetch_add(1, Relaxed);
    // Mesa before 23 copies a command's empty arrays with allocations of nothing, and takes null for an exhausted host:
    // without the layers (which leave such arrays out) no frame could be recorded on Debian 12's lavapipe.
    let size = size.max(1);
    if alignment <= C_ALIGNMENT {
        // SAFETY: any size may be asked of malloc.
        return unsafe { libc::malloc(size) };
    }
    let mut out = ptr::null_mut();
    // SAFETY: the alignment is a power of two (VkAllocationCallbacks requires it) above 16, so a multiple of the size
    // of a pointer; `out` is written on success only, and stays null otherwise.
    unsafe { libc::posix_memalign(&raw mut out, alignment, size) };
    out
}

/// PFN_vkReallocationFunction.
unsafe extern "system" fn reallocate(
    user: *mut c_void,
    original: *mut c_void,
    size: usize,
    alignment: usize,
    scope: vk::SystemAllocationScope,
) -> *mut c_void {
    if original.is_null() {
        // SAFETY: the arguments are the driver's, passed on unchanged.
        return unsafe { allocate(user, size, alignment, scope) };
    }
    if size == 0 {
        // SAFETY: `original` came from these callbacks and is given up here.
        unsafe { libc::free(original) };
        return ptr::null_mut();
    }
    // SAFETY: the arguments are the driver's, passed on unchanged.
    let new = unsafe { allocate(user, size, alignment, scope) };
    if !new.is_null() {
        // SAFETY: `original` came from malloc or posix_memalign; malloc_usable_size bytes of it may be read, `size`
        // bytes of `new` written, and they are distinct. On failure `original` stays valid, as the specification wants.
        unsafe {
            let bytes = size.min(libc::malloc_usable_size(original));
            ptr::copy_nonoverlapping(original.cast::<u8>(), new.cast::<u8>(), bytes);
            libc::free(original);
        }
    }
    new
}

/// PFN_vkFreeFunction.
unsafe extern "system" fn free(_user: *mut c_void, memory: *mut c_void) {
    // SAFETY: null, or from `allocate` or `reallocate`, and not freed before (VkAllocationCallbacks).
    unsafe { libc::free(memory) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: vk::SystemAllocationScope = vk::SystemAllocationScope::OBJECT;

    #[test]
    fn allocation_of_nothing_is_no_failure() {
        let host = Box::new(HostMemory::default());
        let calls = host.callbacks();
        // SAFETY: as below.
        unsafe {
            let nothing = allocate(calls.p_user_data, 0, 8, SCOPE);
            assert!(!nothing.is_null());
            free(calls.p_user_data, nothing);
        }
    }

    #[test]
    fn reallocation_keeps_content_and_alignment() {
        let host = Box::new(HostMemory::default());
        let calls = host.callbacks();
        for alignment in [1, 16, 256] {
            // SAFETY: the callbacks' contract is kept: power-of-two alignment, each block freed once, `host` alive.
            unsafe {
                let a = allocate(calls.p_user_data, 64, alignment, SCOPE).cast::<u8>();
                assert_eq!(a as usize % alignment, 0);
                a.write_bytes(0x5a, 64);
                let b = reallocate(calls.p_user_data, a.cast(), 4096, alignment, SCOPE).cast::<u8>();
                assert_eq!(b as usize % alignment, 0);
                assert!((0..64).all(|i| *b.add(i) == 0x5a));
                let c = reallocate(calls.p_user_data, b.cast(), 0, alignment, SCOPE);
                assert!(c.is_null());
            }
        }
        assert_eq!(host.allocations(), 6);
        // SAFETY: freeing null is allowed.
        unsafe { free(calls.p_user_data, ptr::null_mut()) };
    }
}
