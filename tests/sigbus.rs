//! The SIGBUS handler and whoever was there before it. A process of its own: signal handlers belong to all of it.

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use nix::unistd::ftruncate;

mod support;

use support::client::Host;
use support::recorder::Recorder;
use transom::adapters::wayland::latch::Item;
use transom::domain::damage::Tracker;
use transom::domain::geometry::Size;
use transom::domain::scene::{Color, Role, Scene};
use wayland_client::protocol::wl_shm;

const PAGE: usize = 4096;

static OURS: AtomicUsize = AtomicUsize::new(0);
static CALLED: AtomicBool = AtomicBool::new(false);

/// The handler of some other part of the process: it mends its own mapping.
extern "C" fn mend_ours(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let ours = OURS.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a valid siginfo; SIGBUS has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    if address & !(PAGE - 1) != ours {
        std::process::abort();
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: replaces the one page that `vanishing` mapped.
    unsafe { libc::mmap(ptr::without_provenance_mut(ours), PAGE, libc::PROT_READ, flags, -1, 0) };
    CALLED.store(true, Ordering::Relaxed);
}

fn file(len: usize) -> OwnedFd {
    let fd = memfd_create(c"sigbus", MFdFlags::empty()).expect("a file in memory");
    ftruncate(&fd, len as i64).expect("room in memory");
    fd
}

/// A mapping whose file is gone: the next read faults.
fn vanishing() -> NonNull<u8> {
    let fd = file(PAGE);
    let len = NonZeroUsize::new(PAGE).expect("not zero");
    // SAFETY: a new mapping at an address of the kernel's choice.
    let start =
        unsafe { mmap(None, len, ProtFlags::PROT_READ, MapFlags::MAP_SHARED, fd.as_fd(), 0) }.expect("a mapping");
    ftruncate(&fd, 0).expect("a file can shrink");
    start.cast()
}

#[test]
fn fault_outside_every_pool_goes_to_the_handler_that_was_there_before() {
    // SAFETY: all-zero is a valid action to fill in.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = mend_ours;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: a valid action whose handler calls mmap and atomics alone.
    assert_eq!(unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) }, 0);

    // A client's pool shrinks: read without harm, which puts the compositor's handler in place.
    let mut host = Host::new();
    let output = host.add_output("TEST-1", Size::new(64, 64), 1.0);
    let mut client = host.connect();
    let surface = client.surface();
    let pool = client.pool(2 * PAGE as i32);
    let buffer = pool.buffer(&client, 0, 32, 64, 128, wl_shm::Format::Xrgb8888);
    surface.attach(Some(&buffer), 0, 0);
    surface.commit();
    client.roundtrip(&mut host);
    ftruncate(pool.file(), 0).unwrap();
    let state = &mut host.server.state;
    let root = state.core.surfaces.iter().next().unwrap().0;
    let tree = Item::Tree { root, x: 0.0, y: 0.0, alpha: 1.0, role: Role::Content };
    let mut scene = Scene::new();
    state.core.latch(output, &[tree], &Tracker::new(), Color::BLACK, &mut scene);
    state.upload(output, &mut Recorder::default(), &mut scene).unwrap();
    assert_eq!(client.expect_error(&mut host).0, "wl_buffer");
    assert!(!CALLED.load(Ordering::Relaxed), "a pool's fault is nobody else's");

    let ours = vanishing();
    OURS.store(ours.as_ptr() as usize, Ordering::Relaxed);
    // SAFETY: the page is mapped; its missing file is what this test is about.
    assert_eq!(unsafe { ours.read_volatile() }, 0);
    assert!(CALLED.load(Ordering::Relaxed));
}
