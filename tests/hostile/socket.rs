//! Bytes that are no protocol, and sockets that are no conversation.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use super::arena::Arena;
use super::support::guest::{Guest, memory};
use super::support::protocol::*;
use super::support::wire::Arg::{I, S, U};
use super::support::wire::{DISPLAY, Wire};

/// A request's head: object, size in bytes, opcode.
fn head(object: u32, size: u32, opcode: u32) -> Vec<u8> {
    [object.to_ne_bytes(), (size << 16 | opcode).to_ne_bytes()].concat()
}

/// Bytes that look random and are the same every time.
fn noise(len: usize, mut seed: u64) -> Vec<u8> {
    let mut next = || {
        // Knuth's MMIX generator; its high bits are the good ones.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn noise_ends_its_own_connection_alone() {
    let mut arena = Arena::open();
    for seed in 0..64 {
        let mut wire = Wire::connect(&arena.socket());
        wire.raw(&noise(1 << 14, seed));
        wire.flush();
        let end = Instant::now() + Duration::from_millis(if seed == 0 { 30_000 } else { 50 });
        while wire.event(end).is_some() {}
    }
    arena.recovers_from("noise");
    arena.close();
}

/// What ends a conversation that was going well.
type Breach = (&'static str, fn(&mut Guest));

const BREACHES: [Breach; 14] = [
    ("an object that never was", |g| g.wire.request(0x7777, 0, &[])),
    ("no object", |g| g.wire.request(0, 0, &[])),
    ("a server's object", |g| g.wire.request(0xff00_0001, 0, &[])),
    ("an opcode that is none", |g| {
        let surface = g.surface();
        g.wire.request(surface, 999, &[]);
    }),
    ("a size below a head's", |g| g.wire.raw(&head(DISPLAY, 4, 0))),
    ("a size of nothing", |g| g.wire.raw(&head(DISPLAY, 0, 0))),
    ("a request without its arguments", |g| g.wire.raw(&head(DISPLAY, 8, 0))),
    ("a new object that is there", |g| {
        let surface = g.surface();
        let compositor = g.the("wl_compositor");
        g.wire.request(compositor, wl_compositor::CREATE_SURFACE, &[U(surface)]);
    }),
    ("a new object out of turn", |g| {
        let compositor = g.the("wl_compositor");
        g.wire.request(compositor, wl_compositor::CREATE_SURFACE, &[U(0x00ff_ffff)]);
    }),
    ("a new object in the server's range", |g| {
        let compositor = g.the("wl_compositor");
        g.wire.request(compositor, wl_compositor::CREATE_SURFACE, &[U(0xff00_0005)]);
    }),
    ("an argument of another kind", |g| {
        let (surface, region) = (g.surface(), g.the("wl_compositor"));
        g.wire.request(surface, wl_surface::ATTACH, &[U(region), I(0), I(0)]);
    }),
    ("a descriptor that does not come", |g| {
        let shm = g.the("wl_shm");
        let pool = g.wire.id("wl_shm_pool");
        g.wire.request(shm, wl_shm::CREATE_POOL, &[U(pool), I(4096)]);
    }),
    ("a string that does not end", |g| {
        let window = g.bare_toplevel("fine");
        g.wire
            .raw(&[head(window.toplevel, 16, u32::from(xdg_toplevel::SET_TITLE)), b"\x04\0\0\0abcd".to_vec()].concat());
    }),
    ("a string longer than its request", |g| {
        let window = g.bare_toplevel("fine");
        let lie = b"\xff\xff\xff\xffabc\0".to_vec();
        g.wire.raw(&[head(window.toplevel, 16, u32::from(xdg_toplevel::SET_TITLE)), lie].concat());
    }),
];

#[test]
fn breach_of_the_protocol_ends_its_own_connection_alone() {
    let mut arena = Arena::open();
    for (what, breach) in BREACHES {
        let mut guest = arena.guest();
        guest.window("breaches", (16, 16), 0x0060_0060);
        breach(&mut guest);
        // A message that is not complete is waited for: what comes now takes the rest's place, and never fits.
        for _ in 0..1000 {
            let callback = guest.wire.id("wl_callback");
            guest.wire.request(DISPLAY, wl_display::SYNC, &[U(callback)]);
        }
        assert!(guest.is_thrown_out(), "{what} was let pass");
    }
    arena.recovers_from("breaches of the protocol");
    arena.close();
}

#[test]
fn half_a_message_is_waited_for_and_then_understood() {
    let mut arena = Arena::open();
    let mut guests: Vec<_> = (0..16).map(|_| arena.guest()).collect();
    for (n, guest) in guests.iter_mut().enumerate() {
        let callback = guest.wire.id("wl_callback");
        let whole = [head(DISPLAY, 12, u32::from(wl_display::SYNC)), callback.to_ne_bytes().to_vec()].concat();
        guest.wire.raw(&whole[..1 + n % 11]);
        guest.wire.flush();
        arena.goes_on_beside("half a message");
        assert!(!guest.seen.done.contains(&callback));
        guest.wire.raw(&whole[1 + n % 11..]);
        guest.until("an answer to the whole", |seen| seen.done.contains(&callback));
    }
    drop(guests);
    arena.recovers_from("half messages");
    arena.close();
}

#[test]
fn descriptors_that_no_request_asks_for_are_closed() {
    let mut arena = Arena::open();
    let file = memory(4096);
    for _ in 0..20 {
        let guest = arena.guest();
        let mut stream = UnixStream::connect(arena.socket()).unwrap();
        for _ in 0..8 {
            let fds = [file.as_raw_fd(); 28];
            let bytes = head(DISPLAY, 12, u32::from(wl_display::SYNC));
            let rights = [ControlMessage::ScmRights(&fds)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            if sendmsg::<()>(stream.as_raw_fd(), &[std::io::IoSlice::new(&bytes)], &rights, flags, None).is_err() {
                break; // it had enough
            }
            let _ = stream.write_all(&2_u32.to_ne_bytes());
        }
        drop(guest);
    }
    arena.recovers_from("descriptors that nobody asked for");
    arena.close();
}

#[test]
fn connections_that_say_nothing_cost_nobody_a_frame() {
    let mut arena = Arena::open();
    let silent: Vec<_> = (0..200).map(|_| UnixStream::connect(arena.socket()).unwrap()).collect();
    arena.goes_on_beside("200 silent connections");
    let mut guest = arena.guest();
    guest.window("heard", (16, 16), 0x0000_6060);
    drop((silent, guest));
    arena.recovers_from("silent connections");
    arena.close();
}

/// It asks and asks and never reads an answer: its answers must not pile up.
#[test]
fn client_that_never_reads_is_bounded_in_what_it_costs() {
    const BOUND: u64 = 16 << 20;
    let mut arena = Arena::open();
    let before = arena.compositor.resident_bytes();
    let mut wire = Wire::connect(&arena.socket());
    let registry = wire.id("wl_registry");
    wire.request(DISPLAY, wl_display::GET_REGISTRY, &[U(registry)]);
    let mut said = 0;
    let mut refused = 0;
    while !wire.is_closed() && said < 64 << 20 && refused < 100 {
        for _ in 0..1000 {
            let callback = wire.id("wl_callback");
            wire.stack(DISPLAY, wl_display::SYNC, &[U(callback)]);
        }
        let sent = wire.send_blindly();
        said += sent;
        if sent == 0 {
            refused += 1;
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    assert!(wire.is_closed() || refused == 100, "{said} bytes of requests were taken without an answer being read");
    arena.goes_on_beside("a client that never reads");
    let after = arena.compositor.resident_bytes();
    assert!(after < before + BOUND, "{before} bytes of memory became {after}");
    drop(wire);
    arena.recovers_from("a client that never reads");
    arena.close();
}

#[test]
fn strings_of_any_kind_are_carried_through() {
    let mut arena = Arena::open();
    let long = "x".repeat(4000);
    for text in ["", "\u{1F600} \u{202e}right to left", "\"quoted\\\" \u{7} \n <b>&amp;", &long] {
        let mut guest = arena.guest();
        let window = guest.bare_toplevel("first");
        guest.wire.request(window.toplevel, xdg_toplevel::SET_TITLE, &[S(text)]);
        guest.wire.request(window.toplevel, xdg_toplevel::SET_APP_ID, &[S(text)]);
        guest.commit(window.surface);
        guest.acknowledge(window.xdg_surface);
        let buffer = guest.buffer((16, 16), 0x0060_6000);
        guest.attach(window.surface, buffer);
        guest.show(window.surface);
        let told = arena.compositor.until_window(text, |window| window.title == text);
        assert_eq!(told.app_id, text);
    }
    arena.recovers_from("strings of any kind");
    arena.close();
}
