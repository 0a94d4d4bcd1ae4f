//! Too much of everything.

use super::arena::Arena;
use super::support::guest::Guest;
use super::support::process::until;
use super::support::protocol::*;
use super::support::wire::Arg::{I, U};
use super::support::wire::Id;
use transom::adapters::wayland::upload::MAX_NEW;

/// wl_display.error.no_memory.
const NO_MEMORY: (&str, u32) = ("wl_display", 2);

#[test]
fn ten_thousand_surfaces_of_one_client_slow_nobody_down() {
    const MANY: u64 = 10_000;
    let mut arena = Arena::open();
    let before = arena.compositor.stats().objects.surfaces;
    let mut guest = arena.guest();
    let buffer = guest.buffer((1, 1), 0x0011_2233);
    for _ in 0..MANY {
        let surface = guest.surface();
        guest.attach(surface, buffer);
        guest.frame(surface);
        guest.commit(surface);
    }
    guest.roundtrip();
    assert_eq!(arena.compositor.stats().objects.surfaces, before + MANY);
    arena.goes_on_beside("10,000 surfaces");
    drop(guest);
    arena.recovers_from("10,000 surfaces");
    arena.close();
}

/// Each has a texture of its own, which takes the driver a while to make: a bounded number of them in a frame.
#[test]
fn ten_thousand_subsurfaces_of_one_window_are_shown_within_a_bounded_number_of_frames() {
    const SIDE: i32 = 100;
    const MANY: u64 = (SIDE * SIDE) as u64;
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.window("crowded", (SIDE, SIDE), 0x0000_0020);
    let buffer = guest.buffer((1, 1), 0x00ff_8000);
    // A parent has at most so many: a row each.
    for y in 0..SIDE {
        let row = guest.surface();
        let subsurface = guest.subsurface(row, window.surface);
        guest.wire.request(subsurface, wl_subsurface::SET_POSITION, &[I(0), I(y)]);
        for x in 1..SIDE {
            let surface = guest.surface();
            let subsurface = guest.subsurface(surface, row);
            guest.wire.request(subsurface, wl_subsurface::SET_POSITION, &[I(x), I(0)]);
            guest.attach(surface, buffer);
            guest.commit(surface);
        }
        guest.attach(row, buffer);
        guest.commit(row);
    }
    guest.roundtrip();
    arena.neighbour.keeps_going(1, "a crowd to come");
    let counts = || {
        let stats = arena.compositor.stats();
        (stats.holdings.live_imports, stats.outputs[0].presented)
    };
    let (textures, frames) = counts();
    let of_neighbour = arena.neighbour.frames();
    guest.commit(window.surface);
    guest.wire.flush();
    let mut last = (textures, frames);
    until("all of the crowd", || {
        let (now_textures, now_frames) = counts();
        // One frame may lie between its textures and its presentation, on either side.
        let share = (now_frames - last.1 + 2) * u64::from(MAX_NEW);
        assert!(now_textures <= last.0 + share, "{now_textures} textures after {last:?}, by frame {now_frames}");
        last = (now_textures, now_frames);
        (now_textures >= textures + MANY).then_some(())
    });
    let (painted, due) = (arena.neighbour.frames() - of_neighbour, last.1 - frames);
    // The last answer took a while, in which frames went on; each client may miss one now and then.
    assert!(due <= 3 * MANY / u64::from(MAX_NEW), "{due} frames until all was shown");
    assert!(painted >= due / 2, "the neighbour got {painted} frames of {due}");
    let shown = arena.compositor.until_window("crowded", |window| window.title == "crowded");
    let picture = arena.compositor.screenshot();
    let [x, y, ..] = shown.geometry;
    for (dx, dy) in [(0, 0), (99, 0), (50, 50), (0, 99), (99, 99)] {
        let at = transom::domain::geometry::Point::new(x + dx, y + dy);
        assert_eq!(super::support::picture::rgb(&picture, at), [0xff, 0x80, 0], "{dx} {dy}");
    }
    arena.goes_on_beside("10,000 sub-surfaces");
    drop(guest);
    arena.recovers_from("10,000 sub-surfaces");
    arena.close();
}

#[test]
fn ten_thousand_nested_subsurfaces_are_refused_before_any_stack_is_full() {
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let mut parent = guest.window("deep", (8, 8), 0x0020_0020).surface;
    for _ in 0..10_000 {
        let surface = guest.surface();
        guest.subsurface(surface, parent);
        guest.commit(surface);
        parent = surface;
    }
    let fault = guest.fault();
    assert_eq!((fault.interface, fault.code), ("wl_subcompositor", 0), "bad_surface: {fault:?}");
    // The same tree, built from its leaf: each step puts a root with all beneath it under another.
    let mut guest = arena.guest();
    let mut child = guest.surface();
    for _ in 0..10_000 {
        let surface = guest.surface();
        guest.subsurface(child, surface);
        child = surface;
    }
    let fault = guest.fault();
    assert_eq!((fault.interface, fault.code), ("wl_subcompositor", 0), "bad_surface: {fault:?}");
    drop(guest);
    arena.recovers_from("sub-surfaces 10,000 deep");
    arena.close();
}

#[test]
fn two_million_damage_rectangles_in_one_surface_commit_are_one_frame() {
    const MANY: i32 = 2_000_000;
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.window("spotted", (100, 100), 0x0020_2000);
    let before = arena.compositor.resident_bytes();
    let buffer = guest.buffer((100, 100), 0x0000_80ff);
    guest.wire.request(window.surface, wl_surface::ATTACH, &[U(buffer), I(0), I(0)]);
    for n in 0..MANY {
        let opcode = if n % 2 == 0 { wl_surface::DAMAGE } else { wl_surface::DAMAGE_BUFFER };
        guest.wire.request(window.surface, opcode, &[I(n % 100), I(n / 100 % 100), I(1), I(1)]);
    }
    guest.roundtrip();
    let grown = arena.compositor.resident_bytes().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes of damage are kept");
    guest.show(window.surface);
    drop(guest);
    arena.recovers_from("2,000,000 damage rectangles");
    arena.close();
}

/// Something said again and again, and the error that ends it: interface and code.
type Bounded = (&'static str, (&'static str, u32), fn(&mut Guest));
/// Something said again and again that no error needs to end.
type Unbounded = (&'static str, fn(&mut Arena, &mut Guest));

const BOUNDED: [Bounded; 5] = [
    ("frame callbacks in one surface commit", NO_MEMORY, |g| {
        let window = g.window("calls", (8, 8), 0);
        (0..100_000).for_each(|_| {
            g.frame(window.surface);
        });
    }),
    ("rectangles in one region", NO_MEMORY, |g| {
        let region = g.make("wl_compositor", wl_compositor::CREATE_REGION, "wl_region", &[]);
        (0..100_000).for_each(|n| g.wire.request(region, wl_region::ADD, &[I(n), I(n), I(1), I(1)]));
    }),
    ("surface commits of a sub-surface that wait for the parent's", NO_MEMORY, |g| {
        let window = g.window("parent", (8, 8), 0);
        let (surface, buffer) = (g.surface(), g.buffer((8, 8), 0));
        g.subsurface(surface, window.surface);
        for _ in 0..100_000 {
            g.attach(surface, buffer);
            g.frame(surface);
            g.commit(surface);
        }
    }),
    ("sub-surfaces of one parent", ("wl_subcompositor", 0), |g| {
        let window = g.window("parent", (8, 8), 0);
        for _ in 0..10_000 {
            let surface = g.surface();
            g.subsurface(surface, window.surface);
        }
    }),
    ("pools", ("wl_shm", INVALID_FD), |g| {
        let file = super::support::guest::memory(4096);
        for _ in 0..5_000 {
            if g.wire.is_closed() {
                break;
            }
            g.pool_on(&file, 4096);
        }
    }),
];

#[test]
fn flood_with_a_bound_is_answered_with_an_error() {
    let mut arena = Arena::open();
    for (what, (interface, code), flood) in BOUNDED {
        let mut guest = arena.guest();
        flood(&mut guest);
        let fault = guest.fault();
        assert_eq!((fault.interface, fault.code), (interface, code), "{what}: {fault:?}");
        drop(guest);
        arena.recovers_from(what);
    }
    arena.close();
}

/// A surface under the pointer, and what the pointer's requests need.
fn pointed(arena: &mut Arena, guest: &mut Guest) -> (Id, Id, u32) {
    let pointer = guest.make_of("wl_seat", wl_seat::GET_POINTER, "wl_pointer");
    let window = guest.window("pointed", (64, 64), 0x0050_5050);
    let [x, y, w, h] = arena.compositor.until_window("pointed", |window| window.title == "pointed").geometry;
    arena.hand().point(x + w / 2, y + h / 2);
    guest.until("the pointer", |seen| seen.pointed.is_some());
    let (serial, surface) = guest.seen.pointed.expect("it is there");
    assert_eq!(surface, window.surface);
    (pointer, surface, serial)
}

#[test]
fn floods_without_a_bound_of_their_own_slow_nobody_down() {
    const MANY: i32 = 10_000;
    let mut arena = Arena::open();
    let floods: [Unbounded; 6] = [
        ("cursor surfaces", |arena, g| {
            let (pointer, _, serial) = pointed(arena, g);
            for _ in 0..MANY {
                let surface = g.surface();
                g.wire.request(pointer, wl_pointer::SET_CURSOR, &[U(serial), U(surface), I(i32::MAX), I(i32::MIN)]);
                g.commit(surface);
            }
        }),
        ("pointers and keyboards", |arena, g| {
            pointed(arena, g);
            for _ in 0..MANY / 4 {
                g.make_of("wl_seat", wl_seat::GET_POINTER, "wl_pointer");
                g.make_of("wl_seat", wl_seat::GET_KEYBOARD, "wl_keyboard");
            }
        }),
        ("constraints", |arena, g| {
            let (pointer, _, _) = pointed(arena, g);
            for _ in 0..MANY {
                let surface = g.surface();
                let args = [U(surface), U(pointer), U(0), U(2)];
                g.make(
                    "zwp_pointer_constraints_v1",
                    zwp_pointer_constraints_v1::LOCK_POINTER,
                    "zwp_locked_pointer_v1",
                    &args,
                );
            }
        }),
        ("regions", |_, g| {
            let window = g.window("regions", (8, 8), 0);
            for n in 0..MANY {
                let region = g.make("wl_compositor", wl_compositor::CREATE_REGION, "wl_region", &[]);
                g.wire.request(region, wl_region::ADD, &[I(i32::MIN), I(i32::MIN), I(i32::MAX), I(i32::MAX)]);
                g.wire.request(region, wl_region::SUBTRACT, &[I(n), I(n), I(i32::MAX), I(i32::MAX)]);
                g.wire.request(region, wl_region::ADD, &[I(i32::MAX), I(i32::MAX), I(i32::MAX), I(i32::MAX)]);
                g.wire.request(window.surface, wl_surface::SET_OPAQUE_REGION, &[U(region)]);
                g.wire.request(window.surface, wl_surface::SET_INPUT_REGION, &[U(region)]);
            }
            g.show(window.surface);
        }),
        ("surface commits", |_, g| {
            let window = g.window("commits", (8, 8), 0);
            let buffers = [g.buffer((8, 8), 1), g.buffer((9, 9), 2)];
            for n in 0..10 * MANY {
                g.attach(window.surface, buffers[n as usize % 2]);
                g.commit(window.surface);
            }
            g.show(window.surface);
        }),
        ("windows", |_, g| {
            let buffer = g.buffer((8, 8), 0x0090_0090);
            for _ in 0..500 {
                let window = g.bare_toplevel("one of many");
                g.commit(window.surface);
                g.acknowledge(window.xdg_surface);
                g.attach(window.surface, buffer);
                g.commit(window.surface);
            }
        }),
    ];
    for (what, flood) in floods {
        let mut guest = arena.guest();
        flood(&mut arena, &mut guest);
        guest.roundtrip();
        arena.goes_on_beside(what);
        drop(guest);
        arena.recovers_from(what);
    }
    arena.close();
}
