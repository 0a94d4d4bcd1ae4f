//! A client killed at every point of its life.

use super::arena::Arena;
use super::support::guest::{Guest, Toplevel};
use super::support::protocol::*;
use super::support::wire::Arg::{I, S, U};
use super::support::wire::{DISPLAY, Id, Wire};

/// Leads a client up to the point where it is killed.
type Life = (&'static str, fn(&mut Arena, &mut Guest));

const LIVES: [Life; 25] = [
    ("with everything bound", |_, g| {
        VERSIONS.iter().for_each(|(interface, _)| {
            g.the(interface);
        })
    }),
    ("with a surface", |_, g| {
        g.surface();
    }),
    ("with a role", |_, g| {
        g.bare_toplevel("role");
    }),
    ("before its configure event", |_, g| {
        let window = g.bare_toplevel("asks");
        g.commit(window.surface);
        g.wire.flush();
    }),
    ("configured", |_, g| {
        let window = g.bare_toplevel("configured");
        g.commit(window.surface);
        g.until("a configure event", |seen| !seen.configured.is_empty());
    }),
    ("acknowledged", |_, g| {
        g.toplevel("acknowledged");
    }),
    ("with a buffer attached", |_, g| {
        let window = g.toplevel("attached");
        let buffer = g.buffer((64, 64), 0);
        g.attach(window.surface, buffer);
    }),
    ("in its first surface commit", |_, g| {
        let window = g.toplevel("first");
        let buffer = g.buffer((512, 512), 0x00ff_0000);
        g.attach(window.surface, buffer);
        g.frame(window.surface);
        g.commit(window.surface);
        g.wire.flush();
    }),
    ("mapped", |_, g| {
        g.window("mapped", (64, 64), 0x00ff_0000);
    }),
    ("with frame callbacks and feedback due", |_, g| {
        let window = g.window("due", (64, 64), 0x00ff_0000);
        let presentation = g.the("wp_presentation");
        for _ in 0..50 {
            let feedback = g.wire.id("wp_presentation_feedback");
            g.wire.request(presentation, wp_presentation::FEEDBACK, &[U(window.surface), U(feedback)]);
            let buffer = g.buffer((64, 64), 0x0000_ff00);
            g.attach(window.surface, buffer);
            g.frame(window.surface);
            g.commit(window.surface);
        }
        g.wire.flush();
    }),
    ("with a sub-surface that waits for its parent", |_, g| {
        let window = g.window("parent", (64, 64), 0x00ff_0000);
        let (surface, buffer) = (g.surface(), g.buffer((32, 32), 0x0000_00ff));
        g.subsurface(surface, window.surface);
        g.attach(surface, buffer);
        g.commit(surface);
    }),
    ("with sub-surfaces shown", |_, g| {
        let window = g.window("parent", (64, 64), 0x00ff_0000);
        let mut parent = window.surface;
        for _ in 0..8 {
            let (surface, buffer) = (g.surface(), g.buffer((32, 32), 0x0000_00ff));
            let subsurface = g.subsurface(surface, parent);
            g.wire.request(subsurface, wl_subsurface::SET_DESYNC, &[]);
            g.attach(surface, buffer);
            g.commit(surface);
            parent = surface;
        }
        g.show(window.surface);
    }),
    ("with a child window", |_, g| {
        let parent = g.window("parent", (64, 64), 0x00ff_0000);
        let child = g.window("child", (32, 32), 0x0000_ff00);
        g.wire.request(child.toplevel, xdg_toplevel::SET_PARENT, &[U(parent.toplevel)]);
        g.show(child.surface);
    }),
    ("fullscreen", |_, g| {
        let window = g.toplevel("fullscreen");
        g.wire.request(window.toplevel, xdg_toplevel::SET_FULLSCREEN, &[U(0)]);
        g.until("its size", |seen| seen.sizes.get(&window.toplevel) == Some(&(640, 480)));
        g.acknowledge(window.xdg_surface);
        let buffer = g.buffer((640, 480), 0x0000_ffff);
        g.attach(window.surface, buffer);
        g.show(window.surface);
    }),
    ("maximised and minimised", |_, g| {
        let window = g.window("small", (64, 64), 0x00ff_0000);
        g.wire.request(window.toplevel, xdg_toplevel::SET_MAXIMIZED, &[]);
        g.wire.request(window.toplevel, xdg_toplevel::SET_MINIMIZED, &[]);
    }),
    ("with a popup that grabs", |arena, g| {
        let (window, serial) = pressed(arena, g);
        popup(g, window, serial);
    }),
    ("while its window is moved", |arena, g| {
        let (window, serial) = pressed(arena, g);
        let seat = g.the("wl_seat");
        g.wire.request(window.toplevel, xdg_toplevel::MOVE, &[U(seat), U(serial)]);
        g.roundtrip();
        arena.hand().point(200, 200);
    }),
    ("while its window is resized", |arena, g| {
        resize(arena, g);
    }),
    ("while it drags", |arena, g| drag(arena, g)),
    ("with the selection", |arena, g| {
        let (_, serial) = pressed(arena, g);
        let (source, device) = data(g);
        g.wire.request(device, wl_data_device::SET_SELECTION, &[U(source), U(serial)]);
        g.roundtrip();
    }),
    ("with a cursor of its own", |arena, g| {
        let pointer = g.make_of("wl_seat", wl_seat::GET_POINTER, "wl_pointer");
        under_pointer(arena, g);
        let serial = g.seen.pointed.expect("it is there").0;
        let (cursor, buffer) = (g.surface(), g.buffer((24, 24), 0x00ff_ffff));
        g.wire.request(pointer, wl_pointer::SET_CURSOR, &[U(serial), U(cursor), I(4), I(4)]);
        g.attach(cursor, buffer);
        g.commit(cursor);
    }),
    ("with the pointer locked", |arena, g| {
        let pointer = g.make_of("wl_seat", wl_seat::GET_POINTER, "wl_pointer");
        let window = under_pointer(arena, g);
        let args = [U(window.surface), U(pointer), U(0), U(2)];
        g.make("zwp_pointer_constraints_v1", zwp_pointer_constraints_v1::LOCK_POINTER, "zwp_locked_pointer_v1", &args);
        g.commit(window.surface);
    }),
    ("with a panel and the keyboard", |_, g| {
        let surface = g.surface();
        let args = [U(surface), U(0), U(3), S("death")];
        let layer =
            g.make("zwlr_layer_shell_v1", zwlr_layer_shell_v1::GET_LAYER_SURFACE, "zwlr_layer_surface_v1", &args);
        g.wire.request(layer, zwlr_layer_surface_v1::SET_SIZE, &[U(0), U(20)]);
        g.wire.request(layer, zwlr_layer_surface_v1::SET_ANCHOR, &[U(1 | 4 | 8)]);
        g.wire.request(layer, zwlr_layer_surface_v1::SET_EXCLUSIVE_ZONE, &[I(20)]);
        g.wire.request(layer, zwlr_layer_surface_v1::SET_KEYBOARD_INTERACTIVITY, &[U(1)]);
        g.commit(surface);
        g.until("a configure event", |seen| seen.configured.contains_key(&layer));
        let serial = g.seen.configured[&layer];
        g.wire.request(layer, zwlr_layer_surface_v1::ACK_CONFIGURE, &[U(serial)]);
        let buffer = g.buffer((640, 20), 0x0080_8080);
        g.attach(surface, buffer);
        g.show(surface);
    }),
    ("with a button of its own pressed", |_, g| {
        let seat = g.the("wl_seat");
        let manager = g.the("zwlr_virtual_pointer_manager_v1");
        let pointer = g.wire.id("zwlr_virtual_pointer_v1");
        let create = zwlr_virtual_pointer_manager_v1::CREATE_VIRTUAL_POINTER;
        g.wire.request(manager, create, &[U(seat), U(pointer)]);
        g.wire.request(pointer, zwlr_virtual_pointer_v1::MOTION_ABSOLUTE, &[U(1), U(600), U(20), U(640), U(480)]);
        g.wire.request(pointer, zwlr_virtual_pointer_v1::BUTTON, &[U(2), U(LEFT), U(1)]);
        g.wire.request(pointer, zwlr_virtual_pointer_v1::FRAME, &[]);
    }),
    ("with an activation token", |_, g| {
        let window = g.window("active", (64, 64), 0x00ff_0000);
        let token =
            g.make("xdg_activation_v1", xdg_activation_v1::GET_ACTIVATION_TOKEN, "xdg_activation_token_v1", &[]);
        g.wire.request(token, xdg_activation_token_v1::COMMIT, &[]);
        g.until("a token", |seen| seen.token.is_some());
        let (activation, text) = (g.the("xdg_activation_v1"), g.seen.token.clone().expect("it came"));
        g.wire.request(activation, xdg_activation_v1::ACTIVATE, &[S(&text), U(window.surface)]);
    }),
];

#[test]
fn client_killed_at_any_point_of_its_life_leaves_nothing_behind() {
    let mut arena = Arena::open();
    drop(Wire::connect(&arena.socket()));
    let mut wire = Wire::connect(&arena.socket());
    let registry = wire.id("wl_registry");
    wire.request(DISPLAY, wl_display::GET_REGISTRY, &[U(registry)]);
    wire.flush();
    drop(wire);
    arena.recovers_from("a client killed while it connects");
    for (point, live) in LIVES {
        // Once with all it said taken in, once with what it said last unread.
        for settled in [true, false] {
            let mut guest = arena.guest();
            live(&mut arena, &mut guest);
            guest.wire.flush();
            if settled {
                guest.roundtrip();
            }
            drop(guest);
            arena.hand().button(LEFT, false);
            arena.recovers_from(&format!("a client killed {point}"));
        }
    }
    arena.close();
}

#[test]
fn client_that_comes_and_goes_for_long_grows_nothing() {
    let mut arena = Arena::open();
    let round = |arena: &Arena| {
        for n in 1..=20 {
            let mut guest = arena.guest();
            guest.window("passes", (n * 16, n * 8), 0x0033_6699);
        }
    };
    round(&arena);
    arena.recovers_from("20 clients");
    let before = arena.compositor.stats().holdings;
    for _ in 0..5 {
        round(&arena);
    }
    arena.recovers_from("100 clients more");
    let after = arena.compositor.stats().holdings;
    assert_eq!((after.vulkan_objects, after.staging_bytes), (before.vulkan_objects, before.staging_bytes));
    arena.close();
}

/// A window with the pointer over it.
fn under_pointer(arena: &mut Arena, guest: &mut Guest) -> Toplevel {
    let window = guest.window("under", (64, 64), 0x00a0_4000);
    let [x, y, w, h] = arena.compositor.until_window("under", |window| window.title == "under").geometry;
    arena.hand().point(x + w / 2, y + h / 2);
    guest.until("the pointer", |seen| seen.pointed.is_some_and(|pointed| pointed.1 == window.surface));
    window
}

/// A window with a button pressed on it, and that press's serial.
fn pressed(arena: &mut Arena, guest: &mut Guest) -> (Toplevel, u32) {
    guest.make_of("wl_seat", wl_seat::GET_POINTER, "wl_pointer");
    guest.make_of("wl_seat", wl_seat::GET_KEYBOARD, "wl_keyboard");
    let window = under_pointer(arena, guest);
    arena.hand().button(LEFT, true);
    guest.until("a press", |seen| !seen.buttons.is_empty());
    (window, guest.seen.buttons[0])
}

/// Resizes a window by its lower right corner.
pub(crate) fn resize(arena: &mut Arena, guest: &mut Guest) {
    let (window, serial) = pressed(arena, guest);
    let seat = guest.the("wl_seat");
    guest.wire.request(window.toplevel, xdg_toplevel::RESIZE, &[U(seat), U(serial), U(10)]);
    guest.roundtrip();
    arena.hand().point(300, 300);
    guest.roundtrip();
}

fn popup(guest: &mut Guest, parent: Toplevel, serial: u32) {
    let positioner = guest.make("xdg_wm_base", xdg_wm_base::CREATE_POSITIONER, "xdg_positioner", &[]);
    guest.wire.request(positioner, xdg_positioner::SET_SIZE, &[I(40), I(40)]);
    guest.wire.request(positioner, xdg_positioner::SET_ANCHOR_RECT, &[I(0), I(0), I(10), I(10)]);
    let surface = guest.surface();
    let xdg_surface = guest.make("xdg_wm_base", xdg_wm_base::GET_XDG_SURFACE, "xdg_surface", &[U(surface)]);
    let popup = guest.wire.id("xdg_popup");
    guest.wire.request(xdg_surface, xdg_surface::GET_POPUP, &[U(popup), U(parent.xdg_surface), U(positioner)]);
    let seat = guest.the("wl_seat");
    guest.wire.request(popup, xdg_popup::GRAB, &[U(seat), U(serial)]);
    guest.commit(surface);
    guest.acknowledge(xdg_surface);
    let buffer = guest.buffer((40, 40), 0x0000_a040);
    guest.attach(surface, buffer);
    guest.show(surface);
}

/// A data source with a type on offer, and the seat's data device.
fn data(guest: &mut Guest) -> (Id, Id) {
    let seat = guest.the("wl_seat");
    let create = wl_data_device_manager::CREATE_DATA_SOURCE;
    let source = guest.make("wl_data_device_manager", create, "wl_data_source", &[]);
    guest.wire.request(source, wl_data_source::OFFER, &[S("text/plain")]);
    let get = wl_data_device_manager::GET_DATA_DEVICE;
    (source, guest.make("wl_data_device_manager", get, "wl_data_device", &[U(seat)]))
}

/// Drags with an icon, over the neighbour.
pub(crate) fn drag(arena: &mut Arena, guest: &mut Guest) {
    let (window, serial) = pressed(arena, guest);
    let (source, device) = data(guest);
    guest.wire.request(source, wl_data_source::SET_ACTIONS, &[U(1)]);
    let (icon, buffer) = (guest.surface(), guest.buffer((16, 16), 0x0000_00ff));
    let args = [U(source), U(window.surface), U(icon), U(serial)];
    guest.wire.request(device, wl_data_device::START_DRAG, &args);
    guest.attach(icon, buffer);
    guest.commit(icon);
    guest.roundtrip();
    arena.hand().point(580, 420);
    guest.roundtrip();
}
