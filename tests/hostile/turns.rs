//! Clients that want more than their turn, and clients that are thrown out while they talk.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::arena::Arena;
use super::support::guest::memory;
use super::support::process::PATIENCE;
use super::support::protocol::*;
use super::support::wire::Arg::{I, U};
use super::support::wire::DISPLAY;

/// It has always said something more by the time that what it said is handled: the same bytes over and over, which costs
/// it less than reading them costs the compositor.
#[test]
fn client_that_never_stops_talking_starves_nobody() {
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.window("talks", (8, 8), 0x0070_7000);
    (0..10_000).for_each(|n| guest.wire.stack(window.surface, wl_surface::DAMAGE, &[I(n), I(n), I(1), I(1)]));
    let words = guest.wire.take_stack();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(SeqCst) {
                guest.wire.raw(&words);
                guest.wire.flush();
            }
        });
        let beside = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| arena.goes_on_beside("endless talk")));
        stop.store(true, SeqCst);
        beside.unwrap_or_else(|failure| std::panic::resume_unwind(failure));
    });
    drop(guest);
    arena.recovers_from("endless talk");
    arena.close();
}

/// The bound on descriptors that no request takes; wl_display.error.no_memory is what comes of more.
const MAX_FDS: u64 = 512;

#[test]
fn descriptors_ahead_of_any_request_are_kept_up_to_a_bound_and_closed_with_their_sender() {
    const TOGETHER: usize = 28;
    let mut arena = Arena::open();
    let before = arena.compositor.stats().fds;
    let file = memory(4096);
    let fds = [file.as_raw_fd(); TOGETHER];
    let mut guest = arena.guest();
    for _ in 0..MAX_FDS as usize / TOGETHER {
        let callback = guest.wire.id("wl_callback");
        guest.wire.stack(DISPLAY, wl_display::SYNC, &[U(callback)]);
        guest.wire.send_with(&fds);
    }
    guest.roundtrip();
    let kept = arena.compositor.stats().fds - before;
    assert!((500..=MAX_FDS + 8).contains(&kept), "{kept} descriptors are kept");
    arena.goes_on_beside("descriptors kept");
    // Requests that take them are still served, and make room.
    let pools: Vec<_> = (0..64)
        .map(|_| {
            let (shm, pool) = (guest.the("wl_shm"), guest.wire.id("wl_shm_pool"));
            guest.wire.request(shm, wl_shm::CREATE_POOL, &[U(pool), I(4096)]);
            pool
        })
        .collect();
    pools.into_iter().for_each(|pool| guest.wire.request(pool, wl_shm_pool::DESTROY, &[]));
    guest.roundtrip();
    let callback = guest.wire.id("wl_callback");
    guest.wire.stack(DISPLAY, wl_display::SYNC, &[U(callback)]);
    guest.wire.send_with(&fds);
    guest.until("an answer", |seen| seen.done.contains(&callback));
    // The rest of the bound, and more.
    for _ in 0..4 {
        let callback = guest.wire.id("wl_callback");
        guest.wire.stack(DISPLAY, wl_display::SYNC, &[U(callback)]);
        guest.wire.send_with(&fds);
    }
    let fault = guest.fault();
    assert_eq!((fault.interface, fault.code), ("wl_display", 2), "no_memory: {fault:?}");
    drop(guest);
    arena.recovers_from("descriptors ahead of requests");
    arena.close();
}

#[test]
fn client_that_sends_descriptors_with_every_byte_is_thrown_out() {
    let mut arena = Arena::open();
    let file = memory(4096);
    let fds = [file.as_raw_fd(); 28];
    for _ in 0..10 {
        let mut guest = arena.guest();
        for _ in 0..1000 {
            let callback = guest.wire.id("wl_callback");
            guest.wire.stack(DISPLAY, wl_display::SYNC, &[U(callback)]);
            for byte in guest.wire.take_stack() {
                guest.wire.raw(&[byte]);
                guest.wire.send_with(&fds);
            }
            if guest.wire.is_closed() {
                break;
            }
        }
        let fault = guest.fault();
        assert_eq!((fault.interface, fault.code), ("wl_display", 2), "no_memory: {fault:?}");
    }
    arena.recovers_from("descriptors with every byte");
    arena.close();
}

#[test]
fn two_thousand_popups_at_once_are_all_read() {
    const MANY: usize = 2000;
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.window("popups", (64, 64), 0x0040_4040);
    let positioner = guest.make_of("xdg_wm_base", xdg_wm_base::CREATE_POSITIONER, "xdg_positioner");
    guest.wire.request(positioner, xdg_positioner::SET_SIZE, &[I(8), I(8)]);
    guest.wire.request(positioner, xdg_positioner::SET_ANCHOR_RECT, &[I(0), I(0), I(1), I(1)]);
    let mut asked = Vec::new();
    for _ in 0..MANY {
        let surface = guest.surface();
        let xdg_surface = guest.make("xdg_wm_base", xdg_wm_base::GET_XDG_SURFACE, "xdg_surface", &[U(surface)]);
        let popup = guest.wire.id("xdg_popup");
        guest.wire.request(xdg_surface, xdg_surface::GET_POPUP, &[U(popup), U(window.xdg_surface), U(positioner)]);
        guest.commit(surface);
        asked.push(xdg_surface);
    }
    guest.roundtrip();
    assert!(asked.iter().all(|popup| guest.seen.configured.contains_key(popup)), "each is configured");
    arena.goes_on_beside("2,000 popups");
    drop(guest);
    arena.recovers_from("2,000 popups");
    arena.close();
}

/// It writes on without ever reading, more than any socket holds, and reads only then: no write of its may fail, or a
/// client library would take the connection for lost without looking for the reason.
#[test]
fn client_thrown_out_while_it_talks_reads_the_error() {
    let mut arena = Arena::open();
    for turn in 0..100 {
        let mut guest = arena.guest();
        let positioner = guest.make_of("xdg_wm_base", xdg_wm_base::CREATE_POSITIONER, "xdg_positioner");
        guest.wire.stack(positioner, xdg_positioner::SET_SIZE, &[I(0), I(0)]);
        for _ in 0..50_000 {
            let callback = guest.wire.id("wl_callback");
            guest.wire.stack(DISPLAY, wl_display::SYNC, &[U(callback)]);
        }
        let end = Instant::now() + PATIENCE;
        while guest.wire.has_unsent() {
            assert!(Instant::now() < end, "it is not read to the end");
            if guest.wire.send_blindly() == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(!guest.wire.is_closed(), "a write failed before the error was read, turn {turn}");
        let fault = guest.fault();
        assert_eq!((fault.interface, fault.code), ("xdg_positioner", 0), "invalid_input, turn {turn}: {fault:?}");
    }
    arena.recovers_from("clients thrown out while they talk");
    arena.close();
}
