//! Clients that die anywhere and clients that mean harm: nothing is left of them and nobody else notices.

use transom::domain::config::{Config, Placement};
use transom::domain::geometry::Rect;
use wayland_client::Proxy;
use wayland_client::protocol::{wl_data_device_manager, wl_pointer};
use wayland_protocols::wp::pointer_constraints::zv1::client::zwp_pointer_constraints_v1::{
    Lifetime, ZwpPointerConstraintsV1,
};
use wayland_protocols::xdg::shell::client::{xdg_toplevel, xdg_wm_base};
use wayland_protocols_wlr::layer_shell::v1::client::zwlr_layer_shell_v1;

use crate::support::client::{Client, Host};
use crate::support::desk::{Input, Seat, Window};
use crate::{BTN_LEFT, SCREEN, host};

/// Brings a client to where it dies.
type Bring = fn(&mut Host, &mut Client);

/// What a client can be in the middle of.
const STATES: [(&str, Bring); 13] = [
    ("connected", |_, _| {}),
    ("with a toplevel not committed", |host, client| {
        Window::new(client);
        client.roundtrip(host);
    }),
    ("with a toplevel not acknowledged", |host, client| {
        Window::new(client).surface.commit();
        client.roundtrip(host);
    }),
    ("with a window", |host, client| {
        Window::mapped(host, client, 200, 100);
    }),
    ("being maximised", |host, client| {
        Window::mapped(host, client, 200, 100).toplevel.set_maximized();
        client.roundtrip(host);
    }),
    ("fullscreen", |host, client| {
        let window = Window::mapped(host, client, 200, 100);
        window.toplevel.set_fullscreen(None);
        window.answer(host, client, SCREEN.w, SCREEN.h);
    }),
    ("with a parent and a child", |host, client| {
        let parent = Window::mapped(host, client, 200, 100);
        let child = Window::mapped(host, client, 100, 100);
        child.toplevel.set_parent(Some(&parent.toplevel));
        client.roundtrip(host);
    }),
    ("being moved", |host, client| {
        let seat = Seat::new(client);
        let window = Window::mapped(host, client, 200, 100);
        host.point(310.0, 260.0);
        host.press(BTN_LEFT);
        client.roundtrip(host);
        window.toplevel._move(&seat.seat, client.events.desk.press_serial);
        client.roundtrip(host);
    }),
    ("being resized", |host, client| {
        let seat = Seat::new(client);
        let window = Window::mapped(host, client, 200, 100);
        host.point(310.0, 260.0);
        host.press(BTN_LEFT);
        client.roundtrip(host);
        window.toplevel.resize(&seat.seat, client.events.desk.press_serial, xdg_toplevel::ResizeEdge::Left);
        client.roundtrip(host);
        host.point(290.0, 260.0);
    }),
    ("with a grabbing popup", |host, client| {
        let seat = Seat::new(client);
        let window = Window::mapped(host, client, 200, 100);
        host.click(310.0, 260.0);
        client.roundtrip(host);
        let base = client.bind::<xdg_wm_base::XdgWmBase>();
        let positioner = base.create_positioner(&client.handle, ());
        positioner.set_size(50, 50);
        positioner.set_anchor_rect(0, 0, 10, 10);
        let surface = client.surface();
        let xdg = base.get_xdg_surface(&surface, &client.handle, ());
        let popup = xdg.get_popup(Some(&window.xdg), &positioner, &client.handle, ());
        popup.grab(&seat.seat, client.events.desk.press_serial);
        surface.commit();
        client.roundtrip(host);
        xdg.ack_configure(client.events.desk.serials[&xdg.id()]);
        surface.attach(Some(&client.buffer(50, 50, 0)), 0, 0);
        surface.commit();
        client.roundtrip(host);
    }),
    ("with a panel that has the keyboard", |host, client| {
        let surface = client.surface();
        let shell = client.bind::<zwlr_layer_shell_v1::ZwlrLayerShellV1>();
        let layer = zwlr_layer_shell_v1::Layer::Overlay;
        let panel = shell.get_layer_surface(&surface, None, layer, "x".into(), &client.handle, ());
        panel.set_size(100, 30);
        panel.set_exclusive_zone(30);
        panel.set_anchor(wayland_protocols_wlr::layer_shell::v1::client::zwlr_layer_surface_v1::Anchor::Top);
        panel.set_keyboard_interactivity(
            wayland_protocols_wlr::layer_shell::v1::client::zwlr_layer_surface_v1::KeyboardInteractivity::Exclusive,
        );
        surface.commit();
        client.roundtrip(host);
        panel.ack_configure(client.events.desk.panels[&panel.id()].serial);
        surface.attach(Some(&client.buffer(100, 30, 0)), 0, 0);
        surface.commit();
        client.roundtrip(host);
    }),
    ("with a locked pointer and a cursor of its own", |host, client| {
        let seat = Seat::new(client);
        let window = Window::mapped(host, client, 200, 100);
        host.point(310.0, 260.0);
        client.roundtrip(host);
        let cursor = client.surface();
        seat.pointer.set_cursor(client.events.desk.enter_serial, Some(&cursor), 1, 1);
        cursor.attach(Some(&client.buffer(8, 8, 0)), 0, 0);
        cursor.commit();
        client.bind::<ZwpPointerConstraintsV1>().lock_pointer(
            &window.surface,
            &seat.pointer,
            None,
            Lifetime::Persistent,
            &client.handle,
            (),
        );
        client.roundtrip(host);
    }),
    ("dragging", |host, client| {
        let seat = Seat::new(client);
        let window = Window::mapped(host, client, 200, 100);
        host.point(310.0, 260.0);
        host.press(BTN_LEFT);
        client.roundtrip(host);
        let manager: wl_data_device_manager::WlDataDeviceManager = client.bind();
        let device = manager.get_data_device(&seat.seat, &client.handle, ());
        let (source, icon) = (manager.create_data_source(&client.handle, ()), client.surface());
        device.start_drag(Some(&source), &window.surface, Some(&icon), client.events.desk.press_serial);
        icon.attach(Some(&client.buffer(8, 8, 0)), 0, 0);
        icon.commit();
        client.roundtrip(host);
    }),
];

#[test]
fn client_killed_in_any_state_leaves_nothing_and_the_others_go_on() {
    for (name, bring) in STATES {
        let (mut host, mut other) = host();
        // The victim's windows are where its states expect them, whatever is there already.
        let mut config = Config::default();
        config.windows.placement = Placement::Centre;
        host.server.state.set_config(&config).unwrap();
        let _seat = Seat::new(&other);
        let window = Window::mapped(&mut host, &mut other, 50, 50);
        host.act("move 0 40");
        let mut victim = host.connect();
        bring(&mut host, &mut victim);
        drop(victim);
        host.dispatch();
        let state = &host.server.state;
        assert_eq!(state.core.client_count(), 1, "{name}");
        assert_eq!(state.windows().count(), 1, "{name}");
        assert_eq!(state.core.surfaces.count(), 1, "{name}");
        assert_eq!(state.shell.desktop.windows().count(), 1, "{name}");
        assert_eq!(state.shell.desktop.screens()[0].usable, Rect::from_size(SCREEN), "{name}");
        assert_eq!(host.shown(), [host.tree(&window.surface, 0.0, 40.0)], "{name}");
        host.release(BTN_LEFT);
        other.roundtrip(&mut host);
        other.take_input();
        host.click(20.0, 60.0);
        host.key(30, transom::ports::input::Press::Pressed);
        other.roundtrip(&mut host);
        let input = other.take_input();
        let clicked = [Input::Button(BTN_LEFT, true), Input::Key(30, true)].iter().all(|i| input.contains(i));
        assert!(clicked, "{name}: {input:?}");
    }
}

#[test]
fn surface_destroyed_before_its_role_objects_leaves_nothing() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    window.surface.destroy();
    client.roundtrip(&mut host);
    assert_eq!(host.shown(), []);
    assert_eq!(host.server.state.windows().count(), 0);
    window.toplevel.set_maximized();
    window.toplevel.set_title("still here".into());
    window.toplevel.destroy();
    window.xdg.destroy();
    client.roundtrip(&mut host);
}

#[test]
fn windows_by_the_thousand_come_and_go() {
    let (mut host, mut client) = host();
    let base = client.bind::<xdg_wm_base::XdgWmBase>();
    let mut windows = Vec::new();
    for _ in 0..1000 {
        let surface = client.surface();
        let xdg = base.get_xdg_surface(&surface, &client.handle, ());
        let toplevel = xdg.get_toplevel(&client.handle, ());
        surface.commit();
        windows.push((surface, xdg, toplevel));
        client.roundtrip(&mut host);
    }
    let buffer = client.buffer(4, 4, 0);
    for (surface, xdg, _) in &windows {
        xdg.ack_configure(client.events.desk.serials[&xdg.id()]);
        surface.attach(Some(&buffer), 0, 0);
        surface.commit();
        client.roundtrip(&mut host);
    }
    assert_eq!(host.server.state.windows().count(), 1000);
    drop(client);
    host.dispatch();
    assert_eq!(host.server.state.shell.desktop.windows().count(), 0);
    assert_eq!(host.server.state.core.surfaces.count(), 0);
}

#[test]
fn second_role_of_any_kind_is_an_error() {
    type Act = fn(&Client, &Window);
    let acts: [Act; 3] = [
        |client, window| {
            let base = client.bind::<xdg_wm_base::XdgWmBase>();
            base.get_xdg_surface(&window.surface, &client.handle, ());
        },
        |client, window| {
            window.xdg.get_toplevel(&client.handle, ());
        },
        |client, window| {
            let shell = client.bind::<zwlr_layer_shell_v1::ZwlrLayerShellV1>();
            let layer = zwlr_layer_shell_v1::Layer::Top;
            shell.get_layer_surface(&window.surface, None, layer, "x".into(), &client.handle, ());
        },
    ];
    for act in acts {
        let (mut host, mut client) = host();
        let window = Window::mapped(&mut host, &mut client, 200, 100);
        act(&client, &window);
        client.expect_error(&mut host);
        host.dispatch();
        assert_eq!(host.server.state.shell.desktop.windows().count(), 0);
    }
}

#[test]
fn requests_with_dead_serials_and_seats_are_ignored() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    window.toplevel.show_window_menu(&seat.seat, 0, i32::MIN, i32::MAX);
    window.toplevel._move(&seat.seat, u32::MAX);
    window.toplevel.resize(&seat.seat, 0, xdg_toplevel::ResizeEdge::None);
    seat.pointer.set_cursor(0, None, i32::MIN, i32::MAX);
    window.xdg.set_window_geometry(i32::MIN, i32::MAX, i32::MAX, i32::MAX);
    window.toplevel.set_max_size(i32::MAX, i32::MAX);
    window.surface.commit();
    client.roundtrip(&mut host);
    host.point(310.0, 260.0);
    client.roundtrip(&mut host);
    let cursor = client.surface();
    seat.pointer.set_cursor(client.events.desk.enter_serial, Some(&cursor), i32::MIN, i32::MAX);
    cursor.offset(i32::MAX, i32::MIN);
    cursor.commit();
    client.roundtrip(&mut host);
    assert_eq!(host.server.state.windows().count(), 1);
    let _: &wl_pointer::WlPointer = &seat.pointer;
}
