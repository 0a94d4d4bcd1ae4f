//! Pools and buffers that are not what their client says.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::unistd::ftruncate;

use super::arena::Arena;
use super::support::guest::{Guest, memory};
use super::support::protocol::*;
use super::support::wire::Arg::I;

/// A misdeed, and the error that it must be answered with: interface and code.
type Lie = (&'static str, &'static str, u32, fn(&mut Guest));

fn pool(guest: &mut Guest) -> u32 {
    guest.pool_on(&memory(4096), 4096)
}

/// A buffer in a pool of 4096 bytes.
fn buffer(guest: &mut Guest, offset: i32, size: (i32, i32), stride: i32, format: u32) {
    let pool = pool(guest);
    guest.buffer_in(pool, offset, size, stride, format);
}

const LAYOUTS: [Lie; 14] = [
    ("no width", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (0, 8), 64, XRGB8888)),
    ("negative height", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (8, -8), 64, XRGB8888)),
    ("stride shorter than a row", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (8, 8), 28, XRGB8888)),
    ("stride of half a texel", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (8, 8), 34, XRGB8888)),
    ("negative stride", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (8, 8), -32, XRGB8888)),
    ("stride of zero", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (8, 8), 0, XRGB8888)),
    ("negative offset", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, -4, (8, 8), 32, XRGB8888)),
    ("least offset", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, i32::MIN, (8, 8), 32, XRGB8888)),
    ("offset past the pool", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 4096, (1, 1), 4, XRGB8888)),
    ("greatest offset", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, i32::MAX, (8, 8), 32, XRGB8888)),
    ("one row too many", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (32, 33), 128, XRGB8888)),
    ("32-bit product zero", "wl_shm_pool", INVALID_STRIDE, |g| buffer(g, 0, (1, 1 << 30), 4, XRGB8888)),
    ("everything greatest", "wl_shm_pool", INVALID_STRIDE, |g| {
        buffer(g, i32::MAX, (i32::MAX / 4, i32::MAX), i32::MAX - 3, XRGB8888);
    }),
    ("format that is none", "wl_shm_pool", INVALID_FORMAT, |g| buffer(g, 0, (8, 8), 32, 0x2020_2020)),
];

const POOLS: [Lie; 11] = [
    ("pool of no bytes", "wl_shm", INVALID_STRIDE, |g| {
        g.pool_on(&memory(64), 0);
    }),
    ("pool of negative bytes", "wl_shm", INVALID_STRIDE, |g| {
        g.pool_on(&memory(64), -1);
    }),
    ("pool longer than its file", "wl_shm", INVALID_FD, |g| {
        g.pool_on(&memory(64), 65);
    }),
    ("pool of a file of no bytes", "wl_shm", INVALID_FD, |g| {
        g.pool_on(&memory(0), 64);
    }),
    ("pool of a pipe", "wl_shm", INVALID_FD, |g| {
        g.pool_on(&nix::unistd::pipe().unwrap().0, 64);
    }),
    ("pool of a socket", "wl_shm", INVALID_FD, |g| {
        g.pool_on(&OwnedFd::from(UnixStream::pair().unwrap().0), 64);
    }),
    ("pool of a device", "wl_shm", INVALID_FD, |g| {
        g.pool_on(&OwnedFd::from(File::options().read(true).write(true).open("/dev/zero").unwrap()), 64);
    }),
    ("pool of a directory", "wl_shm", INVALID_FD, |g| {
        g.pool_on(&OwnedFd::from(File::open("/").unwrap()), 64);
    }),
    ("pool that cannot be written", "wl_shm", INVALID_FD, |g| {
        g.pool_on(&OwnedFd::from(File::open("/proc/self/exe").unwrap()), 64);
    }),
    ("pool made smaller", "wl_shm_pool", INVALID_FD, |g| {
        let pool = pool(g);
        g.wire.request(pool, wl_shm_pool::RESIZE, &[I(4095)]);
    }),
    ("pool made longer than its file", "wl_shm_pool", INVALID_FD, |g| {
        let pool = pool(g);
        g.wire.request(pool, wl_shm_pool::RESIZE, &[I(1 << 30)]);
    }),
];

#[test]
fn pool_or_buffer_that_lies_costs_its_client_the_connection_and_nobody_else() {
    let mut arena = Arena::open();
    for (what, interface, code, lie) in LAYOUTS.into_iter().chain(POOLS) {
        let mut guest = arena.guest();
        lie(&mut guest);
        let fault = guest.fault();
        assert_eq!((fault.interface, fault.code), (interface, code), "{what}: {fault:?}");
    }
    arena.recovers_from("lies about pools and buffers");
    arena.close();
}

#[test]
fn pool_shrunk_after_it_was_checked_costs_its_client_the_connection() {
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.toplevel("shrinks");
    let file = memory(256 * 256 * 4);
    let pool = guest.pool_on(&file, 256 * 256 * 4);
    let buffer = guest.buffer_in(pool, 0, (256, 256), 1024, XRGB8888);
    guest.roundtrip();
    ftruncate(&file, 4096).unwrap();
    guest.attach(window.surface, buffer);
    guest.commit(window.surface);
    let fault = guest.fault();
    assert_eq!((fault.interface, fault.code), ("wl_buffer", INVALID_FD), "{fault:?}");
    drop(guest);
    arena.recovers_from("a pool that shrank");
    arena.close();
}

/// The file's length changes all the time, also between the compositor's look at it and its copy.
#[test]
fn pool_that_shrinks_while_it_is_read_never_ends_the_compositor() {
    const SIDE: i32 = 256;
    let mut arena = Arena::open();
    let file = memory(SIDE * SIDE * 4);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                for len in [0, SIDE * SIDE * 2, SIDE * SIDE * 4] {
                    ftruncate(&file, i64::from(len)).unwrap();
                    std::thread::yield_now();
                }
            }
        });
        let mut thrown_out = 0;
        for _ in 0..40 {
            let mut guest = arena.guest();
            let window = guest.toplevel("flickers");
            let pool = guest.pool_on(&file, SIDE * SIDE * 4);
            let buffer = guest.buffer_in(pool, 0, (SIDE, SIDE), SIDE * 4, XRGB8888);
            for _ in 0..5 {
                guest.attach(window.surface, buffer);
                let callback = guest.frame(window.surface);
                guest.commit(window.surface);
                if guest.comes_or_fault(|seen| seen.done.contains(&callback)).is_some() {
                    thrown_out += 1;
                    break;
                }
            }
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(thrown_out > 0, "the file was never caught short");
    });
    arena.recovers_from("pools that shrink while they are read");
    arena.close();
}
