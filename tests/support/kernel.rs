//! What tests ask of a real kernel: dma-bufs of memory (udmabuf), and fences that signal when the test says so (vgem).
//!
//! Each is `None` where the kernel lacks it, which the host's usually does and the virtual machine's does not.

use std::ffi::c_char;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use transom::adapters::dmabuf::{Access, export_fence};

/// struct udmabuf_create.
#[repr(C)]
struct UdmabufCreate {
    memfd: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

/// struct drm_version.
#[repr(C)]
struct Version {
    numbers: [i32; 3],
    name_len: usize,
    name: *mut c_char,
    date_len: usize,
    date: *mut c_char,
    desc_len: usize,
    desc: *mut c_char,
}

/// struct drm_mode_create_dumb.
#[repr(C)]
#[derive(Default)]
struct CreateDumb {
    height: u32,
    width: u32,
    bpp: u32,
    flags: u32,
    handle: u32,
    pitch: u32,
    size: u64,
}

/// struct drm_prime_handle.
#[repr(C)]
struct Prime {
    handle: u32,
    flags: u32,
    fd: i32,
}

/// struct drm_vgem_fence_attach.
#[repr(C)]
struct FenceAttach {
    handle: u32,
    flags: u32,
    out_fence: u32,
    pad: u32,
}

/// struct drm_vgem_fence_signal.
#[repr(C)]
struct FenceSignal {
    fence: u32,
    flags: u32,
}

nix::ioctl_write_ptr!(udmabuf_create, b'u', 0x42, UdmabufCreate);
nix::ioctl_readwrite!(drm_version, b'd', 0x00, Version);
nix::ioctl_readwrite!(drm_create_dumb, b'd', 0xb2, CreateDumb);
nix::ioctl_readwrite!(drm_prime_handle_to_fd, b'd', 0x2d, Prime);
nix::ioctl_readwrite!(vgem_fence_attach, b'd', 0x41, FenceAttach);
nix::ioctl_write_ptr!(vgem_fence_signal, b'd', 0x42, FenceSignal);

/// Whether this kernel makes dma-bufs of memory.
pub(crate) fn has_udmabuf() -> bool {
    File::options().read(true).write(true).open("/dev/udmabuf").is_ok()
}

/// The first `bytes` of a memfd that can be sealed, as a dma-buf. `bytes` is a multiple of the page size.
pub(crate) fn udmabuf(memfd: impl AsFd, bytes: u64) -> Option<OwnedFd> {
    let device = File::options().read(true).write(true).open("/dev/udmabuf").ok()?;
    fcntl(memfd.as_fd(), FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK)).expect("a memfd that can be sealed");
    let memfd = memfd.as_fd().as_raw_fd() as u32;
    let wanted = UdmabufCreate { memfd, flags: 1, offset: 0, size: bytes }; // UDMABUF_FLAGS_CLOEXEC
    // SAFETY: the descriptors are open across the call, the structure is the one that this request takes.
    let fd = unsafe { udmabuf_create(device.as_raw_fd(), &wanted) }.expect("a dma-buf of sealed memory");
    // SAFETY: the kernel returned a new descriptor.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The card of a driver.
fn card(driver: &str) -> Option<File> {
    let is_it = |file: &File| {
        let mut name = [0 as c_char; 64];
        let mut version = Version {
            numbers: [0; 3],
            name_len: name.len(),
            name: name.as_mut_ptr(),
            date_len: 0,
            date: std::ptr::null_mut(),
            desc_len: 0,
            desc: std::ptr::null_mut(),
        };
        // SAFETY: the descriptor is open; the structure's one buffer is as long as it says and outlives the call.
        unsafe { drm_version(file.as_raw_fd(), &mut version) }.is_ok()
            && name.iter().map(|&c| c as u8).take_while(|c| *c != 0).eq(driver.bytes())
    };
    let open = |n| File::options().read(true).write(true).open(format!("/dev/dri/card{n}")).ok();
    (0..16).filter_map(open).find(is_it)
}

/// A fence of the kernel that signals when the test says so; left alone, after some 10 seconds.
pub(crate) struct Gate {
    card: File,
    fence: u32,
    sync_file: OwnedFd,
}

impl Gate {
    /// Not signalled; `None` without vgem.
    pub(crate) fn shut() -> Option<Self> {
        let card = card("vgem")?;
        let raw = card.as_raw_fd();
        let mut dumb = CreateDumb { height: 1, width: 1024, bpp: 32, ..CreateDumb::default() };
        // SAFETY: the descriptor is open, the structure is the one that this request takes.
        unsafe { drm_create_dumb(raw, &mut dumb) }.expect("a buffer of vgem's");
        let mut prime =
            Prime { handle: dumb.handle, flags: nix::libc::O_CLOEXEC as u32 | nix::libc::O_RDWR as u32, fd: -1 };
        // SAFETY: as above.
        unsafe { drm_prime_handle_to_fd(raw, &mut prime) }.expect("its dma-buf");
        // SAFETY: the kernel put a new descriptor there.
        let dmabuf = unsafe { OwnedFd::from_raw_fd(prime.fd) };
        let mut attach = FenceAttach { handle: dumb.handle, flags: 1, out_fence: 0, pad: 0 }; // VGEM_FENCE_WRITE
        // SAFETY: as above.
        unsafe { vgem_fence_attach(raw, &mut attach) }.expect("a fence of vgem's");
        let sync_file = export_fence(&dmabuf, Access::Read).expect("a sync_file");
        Some(Self { card, fence: attach.out_fence, sync_file })
    }

    /// The fence.
    pub(crate) fn sync_file(&self) -> &OwnedFd {
        &self.sync_file
    }

    /// Signals it.
    pub(crate) fn signal(&self) {
        let wanted = FenceSignal { fence: self.fence, flags: 0 };
        // SAFETY: the descriptor is open, the structure is the one that this request takes.
        unsafe { vgem_fence_signal(self.card.as_raw_fd(), &wanted) }.expect("a fence that had time to be signalled");
    }
}
