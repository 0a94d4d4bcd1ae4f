//! Surfaces that contradict themselves: buffers gone too early, damage from nowhere, sizes without measure.

use super::arena::Arena;
use super::support::guest::{Guest, fill, memory};
use super::support::picture::rgb;
use super::support::protocol::*;
use super::support::wire::Arg::{I, S, U};
use transom::domain::geometry::Point;

/// The colour in the middle of the window with that title, as a screenshot shows it.
fn colour_of(arena: &Arena, title: &str) -> [u8; 3] {
    let window = arena.compositor.until_window(title, |window| window.title == title);
    let [x, y, w, h] = window.geometry;
    rgb(&arena.compositor.screenshot(), Point::new(x + w / 2, y + h / 2))
}

#[test]
fn buffer_destroyed_after_its_surface_commit_is_still_drawn() {
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.toplevel("gone");
    let file = memory(64 * 64 * 4);
    fill(&file, 0, 64 * 64, 0x00c0_2040);
    let pool = guest.pool_on(&file, 64 * 64 * 4);
    let buffer = guest.buffer_in(pool, 0, (64, 64), 256, XRGB8888);
    guest.attach(window.surface, buffer);
    let callback = guest.frame(window.surface);
    guest.commit(window.surface);
    guest.wire.request(buffer, wl_buffer::DESTROY, &[]);
    guest.wire.request(pool, wl_shm_pool::DESTROY, &[]);
    drop(file);
    guest.until("a frame callback", |seen| seen.done.contains(&callback));
    assert_eq!(colour_of(&arena, "gone"), [0xc0, 0x20, 0x40]);
    drop(guest);
    arena.recovers_from("a buffer destroyed early");
    arena.close();
}

#[test]
fn damage_from_everywhere_is_clipped_and_what_is_inside_is_drawn() {
    let far = [i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX - 1, i32::MAX];
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.window("damaged", (64, 64), 0x0010_1010);
    for (turn, opcode) in [wl_surface::DAMAGE, wl_surface::DAMAGE_BUFFER].into_iter().enumerate() {
        for transform in 0..8 {
            let shade = 0x20 + 0x10 * (turn as u32 * 8 + transform) % 0xd0;
            let buffer = guest.buffer((64, 64), shade << 16 | 0x44);
            guest.wire.request(window.surface, wl_surface::ATTACH, &[U(buffer), I(0), I(0)]);
            guest.wire.request(window.surface, wl_surface::SET_BUFFER_TRANSFORM, &[I(transform as i32)]);
            for x in far {
                for w in far {
                    guest.wire.request(window.surface, opcode, &[I(x), I(w), I(w), I(x)]);
                    guest.wire.request(window.surface, opcode, &[I(x), I(x), I(w), I(w)]);
                }
            }
            guest.show(window.surface);
            guest.wire.request(buffer, wl_buffer::DESTROY, &[]);
            assert_eq!(colour_of(&arena, "damaged"), [shade as u8, 0, 0x44], "{opcode} {transform}");
        }
    }
    drop(guest);
    arena.recovers_from("damage from everywhere");
    arena.close();
}

#[test]
fn damage_of_a_large_buffer_before_a_small_one_is_harmless() {
    let mut arena = Arena::open();
    let mut guest = arena.guest();
    let window = guest.window("shrinks", (400, 300), 0x0030_0000);
    for side in [300, 7, 200, 1, 64] {
        let (large, small) = (guest.buffer((400, 300), 0x0000_3000), guest.buffer((side, side), 0x0020_60a0));
        guest.attach(window.surface, large);
        guest.commit(window.surface);
        guest.attach(window.surface, small);
        guest.wire.request(window.surface, wl_surface::DAMAGE_BUFFER, &[I(390), I(290), I(10), I(10)]);
        guest.show(window.surface);
        assert_eq!(colour_of(&arena, "shrinks"), [0x20, 0x60, 0xa0], "{side}");
        guest.wire.request(large, wl_buffer::DESTROY, &[]);
        guest.wire.request(small, wl_buffer::DESTROY, &[]);
    }
    drop(guest);
    arena.recovers_from("damage of a buffer no longer there");
    arena.close();
}

/// A row of a million texels, a column of as many, and a square past what images may be.
#[test]
fn buffer_larger_than_any_image_never_hurts_a_neighbour() {
    let mut arena = Arena::open();
    for (w, h) in [(1 << 20, 1), (1, 1 << 20), (20_000, 20_000)] {
        let mut guest = arena.guest();
        let window = guest.toplevel("large");
        let bytes = w * h * 4;
        let file = memory(bytes);
        let pool = guest.pool_on(&file, bytes);
        let buffer = guest.buffer_in(pool, 0, (w, h), w * 4, XRGB8888);
        guest.attach(window.surface, buffer);
        let callback = guest.frame(window.surface);
        guest.commit(window.surface);
        // Shown, where the device can; else the client's error. Either way it is answered.
        if let Some(fault) = guest.comes_or_fault(|seen| seen.done.contains(&callback)) {
            assert_eq!((fault.interface, fault.code), ("wl_surface", 2), "invalid_size for {w}x{h}: {fault:?}");
        }
        drop(guest);
        arena.recovers_from(&format!("a buffer of {w}x{h}"));
    }
    arena.close();
}

/// A number that a shell's request is given, and the error that it must be answered with; `None`: it is taken.
type Measure = (&'static str, Option<(&'static str, u32)>, fn(&mut Guest));

const MEASURES: [Measure; 12] = [
    ("a popup of no size", Some(("xdg_positioner", 0)), |g| popup(g, (0, 8), [0, 0, 1, 1], 0)),
    ("a popup of greatest size", None, |g| popup(g, (i32::MAX, i32::MAX), [0, 0, 1, 1], 0)),
    ("a popup anchored far off", None, |g| popup(g, (8, 8), [i32::MAX, i32::MIN, i32::MAX, i32::MAX], i32::MIN)),
    ("a popup anchored far off the other way", None, |g| {
        popup(g, (i32::MAX, 1), [i32::MIN, i32::MAX, i32::MAX, 1], i32::MAX);
    }),
    ("a window geometry of no size", Some(("xdg_surface", 5)), |g| geometry(g, [0, 0, 0, 8])),
    ("a window geometry of negative size", Some(("xdg_surface", 5)), |g| geometry(g, [0, 0, 8, i32::MIN])),
    ("a window geometry far off", None, |g| geometry(g, [i32::MIN, i32::MAX, i32::MAX, i32::MAX])),
    ("a negative least size", Some(("xdg_toplevel", 2)), |g| bounds(g, (-1, 0), (0, 0))),
    ("a negative greatest size", Some(("xdg_toplevel", 2)), |g| bounds(g, (0, 0), (i32::MIN, 0))),
    ("a least size above the greatest", Some(("xdg_toplevel", 2)), |g| bounds(g, (i32::MAX, 8), (4, 8))),
    ("a panel of greatest size", Some(("zwlr_layer_surface_v1", 1)), |g| panel(g, u32::MAX, 0)),
    ("a panel of greatest margins and zone", None, |g| panel(g, 20, i32::MAX)),
];

fn popup(guest: &mut Guest, size: (i32, i32), anchor: [i32; 4], offset: i32) {
    let window = guest.window("parent", (64, 64), 0x0040_4040);
    for (side, gravity) in [(0, 0), (5, 8), (8, 5), (1, 2)] {
        let positioner = guest.make_of("xdg_wm_base", xdg_wm_base::CREATE_POSITIONER, "xdg_positioner");
        guest.wire.request(positioner, xdg_positioner::SET_SIZE, &[I(size.0), I(size.1)]);
        guest.wire.request(positioner, xdg_positioner::SET_ANCHOR_RECT, &anchor.map(I));
        guest.wire.request(positioner, xdg_positioner::SET_ANCHOR, &[U(side)]);
        guest.wire.request(positioner, xdg_positioner::SET_GRAVITY, &[U(gravity)]);
        guest.wire.request(positioner, xdg_positioner::SET_CONSTRAINT_ADJUSTMENT, &[U(0x3f)]);
        guest.wire.request(positioner, xdg_positioner::SET_OFFSET, &[I(offset), I(offset)]);
        let surface = guest.surface();
        let xdg_surface = guest.make("xdg_wm_base", xdg_wm_base::GET_XDG_SURFACE, "xdg_surface", &[U(surface)]);
        let popup = guest.wire.id("xdg_popup");
        guest.wire.request(xdg_surface, xdg_surface::GET_POPUP, &[U(popup), U(window.xdg_surface), U(positioner)]);
        guest.commit(surface);
    }
}

fn geometry(guest: &mut Guest, geometry: [i32; 4]) {
    let window = guest.window("measured", (64, 64), 0x0040_4040);
    guest.wire.request(window.xdg_surface, xdg_surface::SET_WINDOW_GEOMETRY, &geometry.map(I));
    guest.show_or_fault(window.surface);
}

fn bounds(guest: &mut Guest, least: (i32, i32), greatest: (i32, i32)) {
    let window = guest.window("bounded", (64, 64), 0x0040_4040);
    guest.wire.request(window.toplevel, xdg_toplevel::SET_MIN_SIZE, &[I(least.0), I(least.1)]);
    guest.wire.request(window.toplevel, xdg_toplevel::SET_MAX_SIZE, &[I(greatest.0), I(greatest.1)]);
    guest.show_or_fault(window.surface);
}

fn panel(guest: &mut Guest, side: u32, far: i32) {
    let surface = guest.surface();
    let get = zwlr_layer_shell_v1::GET_LAYER_SURFACE;
    let args = [U(surface), U(0), U(2), S("panel")];
    let layer = guest.make("zwlr_layer_shell_v1", get, "zwlr_layer_surface_v1", &args);
    guest.wire.request(layer, zwlr_layer_surface_v1::SET_SIZE, &[U(side), U(side)]);
    guest.wire.request(layer, zwlr_layer_surface_v1::SET_ANCHOR, &[U(1 | 4)]);
    guest.wire.request(layer, zwlr_layer_surface_v1::SET_EXCLUSIVE_ZONE, &[I(far)]);
    guest.wire.request(layer, zwlr_layer_surface_v1::SET_MARGIN, &[I(far), I(far), I(far), I(-far)]);
    guest.commit(surface);
}

#[test]
fn measure_beyond_reason_is_answered_or_taken_and_never_hurts() {
    let mut arena = Arena::open();
    for (what, error, act) in MEASURES {
        let mut guest = arena.guest();
        act(&mut guest);
        let fault = guest.answer_or_fault().map(|fault| (fault.interface, fault.code));
        assert_eq!(fault, error, "{what}");
        drop(guest);
        arena.recovers_from(what);
    }
    arena.close();
}
