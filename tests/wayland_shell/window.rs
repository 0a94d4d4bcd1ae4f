//! xdg_toplevel: from the initial surface commit to the end.

use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::window::Mode;
use wayland_client::Proxy;
use wayland_protocols::xdg::decoration::zv1::client::{zxdg_decoration_manager_v1, zxdg_toplevel_decoration_v1};
use wayland_protocols::xdg::shell::client::xdg_toplevel::{self, State};
use wayland_protocols::xdg::shell::client::{xdg_surface, xdg_wm_base};

use crate::support::desk::{Input, Seat, Window};
use crate::{BTN_LEFT, SCREEN, host};

#[test]
fn window_new_is_configured_before_it_maps_and_then_focused() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    let window = Window::new(&client);
    window.surface.commit();
    client.roundtrip(&mut host);
    let told = window.told(&client);
    assert_eq!((told.size, told.bounds, told.configures), ((0, 0), (SCREEN.w, SCREEN.h), 1));
    assert_eq!(told.capabilities.len(), 3, "maximise, fullscreen, minimise");
    assert_eq!(host.server.state.windows().count(), 0);
    window.answer(&mut host, &mut client, 200, 100);
    let info = host.last_window();
    assert_eq!((info.geometry, info.focused), (Rect::new(300, 250, 200, 100), true));
    client.roundtrip(&mut host);
    assert!(window.told(&client).is(State::Activated));
    assert_eq!(client.take_input()[0], Input::KeyEnter(window.surface.id()));
}

#[test]
fn content_before_the_first_configure_is_an_error() {
    let (mut host, mut client) = host();
    let window = Window::new(&client);
    window.show(&client, 10, 10);
    let error = client.expect_error(&mut host);
    assert_eq!(error, ("xdg_surface".into(), xdg_surface::Error::UnconfiguredBuffer as u32));
}

#[test]
fn ack_of_a_serial_that_was_never_sent_is_an_error() {
    let (mut host, mut client) = host();
    let window = Window::new(&client);
    window.surface.commit();
    client.roundtrip(&mut host);
    window.xdg.ack_configure(0xdead_beef);
    let (_, code) = client.expect_error(&mut host);
    // xdg_surface.error.invalid_serial and xdg_wm_base.error.invalid_surface_state have one number.
    assert_eq!(code, xdg_surface::Error::InvalidSerial as u32);
}

#[test]
fn window_geometry_and_limits_that_cannot_be_are_errors() {
    type Act = fn(&Window);
    let acts: [(Act, u32); 3] = [
        (|w| w.xdg.set_window_geometry(0, 0, 0, 5), xdg_surface::Error::InvalidSize as u32),
        (|w| w.toplevel.set_min_size(-1, 5), xdg_toplevel::Error::InvalidSize as u32),
        (
            |w| {
                w.toplevel.set_min_size(100, 100);
                w.toplevel.set_max_size(50, 50);
            },
            xdg_toplevel::Error::InvalidSize as u32,
        ),
    ];
    for (act, code) in acts {
        let (mut host, mut client) = host();
        let window = Window::mapped(&mut host, &mut client, 200, 100);
        act(&window);
        window.surface.commit();
        assert_eq!(client.expect_error(&mut host).1, code);
        host.dispatch();
        assert_eq!(host.server.state.windows().count(), 0);
    }
}

#[test]
fn surface_with_content_cannot_become_a_window() {
    let (mut host, mut client) = host();
    let surface = client.surface();
    surface.attach(Some(&client.buffer(4, 4, 0)), 0, 0);
    surface.commit();
    client.roundtrip(&mut host);
    client.bind::<xdg_wm_base::XdgWmBase>().get_xdg_surface(&surface, &client.handle, ());
    let error = client.expect_error(&mut host);
    assert_eq!(error, ("xdg_wm_base".into(), xdg_wm_base::Error::InvalidSurfaceState as u32));
}

#[test]
fn maximise_takes_place_when_answered_and_undone_gives_the_old_place_back() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let before = host.last_window().geometry;
    window.toplevel.set_maximized();
    client.roundtrip(&mut host);
    let told = window.told(&client);
    assert_eq!((told.size, told.is(State::Maximized)), ((SCREEN.w, SCREEN.h), true));
    assert_eq!(host.last_window().geometry, before, "not before the client has drawn it");
    window.answer(&mut host, &mut client, SCREEN.w, SCREEN.h);
    assert_eq!(host.last_window().geometry, Rect::from_size(SCREEN));
    window.toplevel.unset_maximized();
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (200, 100));
    assert!(!window.told(&client).is(State::Maximized));
    window.answer(&mut host, &mut client, 200, 100);
    assert_eq!(host.last_window().geometry, before);
}

#[test]
fn maximise_of_a_maximised_window_is_answered_all_the_same() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    window.toplevel.set_maximized();
    window.answer(&mut host, &mut client, SCREEN.w, SCREEN.h);
    let before = window.told(&client).configures;
    window.toplevel.set_maximized();
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).configures, before + 1);
}

#[test]
fn fullscreen_before_the_window_maps_is_its_first_state() {
    let (mut host, mut client) = host();
    let window = Window::new(&client);
    window.toplevel.set_fullscreen(None);
    window.surface.commit();
    client.roundtrip(&mut host);
    let told = window.told(&client);
    assert_eq!((told.size, told.is(State::Fullscreen)), ((SCREEN.w, SCREEN.h), true));
    window.answer(&mut host, &mut client, SCREEN.w, SCREEN.h);
    assert_eq!(host.last_window().mode, Mode::Fullscreen);
}

#[test]
fn fullscreen_hides_what_is_behind_it_and_shows_black_around_a_small_client() {
    let (mut host, mut client) = host();
    let behind = Window::mapped(&mut host, &mut client, 200, 100);
    let front = Window::mapped(&mut host, &mut client, 200, 100);
    front.toplevel.set_fullscreen(None);
    front.answer(&mut host, &mut client, 200, 100);
    let shown = host.shown();
    assert_eq!(shown, [host.tree(&front.surface, 300.0, 250.0), host.black(Rect::from_size(SCREEN))]);
    host.click(10.0, 10.0);
    assert!(host.last_window().focused, "the black is the window's own");
    host.act("toggle-fullscreen");
    front.answer(&mut host, &mut client, 200, 100);
    assert_eq!(host.shown().len(), 2);
    drop(behind);
}

#[test]
fn minimise_hides_suspends_and_focuses_the_next_until_restored() {
    let (mut host, mut client) = host();
    let one = Window::mapped(&mut host, &mut client, 200, 100);
    let two = Window::mapped(&mut host, &mut client, 200, 100);
    two.toplevel.set_minimized();
    client.roundtrip(&mut host);
    client.roundtrip(&mut host);
    assert!(host.last_window().minimised);
    assert!(one.told(&client).is(State::Activated));
    assert!(two.told(&client).is(State::Suspended) && !two.told(&client).is(State::Activated));
    assert_eq!(host.shown().len(), 1);
    host.act("restore");
    client.roundtrip(&mut host);
    assert!(two.told(&client).is(State::Activated) && !two.told(&client).is(State::Suspended));
    assert!(!host.last_window().minimised);
}

#[test]
fn unmapped_window_starts_over() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    window.toplevel.set_maximized();
    window.answer(&mut host, &mut client, SCREEN.w, SCREEN.h);
    window.surface.attach(None, 0, 0);
    window.surface.commit();
    client.roundtrip(&mut host);
    assert_eq!(host.server.state.windows().count(), 0);
    let before = window.told(&client).configures;
    window.surface.commit();
    client.roundtrip(&mut host);
    let told = window.told(&client);
    assert_eq!((told.size, told.is(State::Maximized), told.configures), ((0, 0), false, before + 1));
    window.answer(&mut host, &mut client, 100, 50);
    assert_eq!(host.last_window().geometry, Rect::new(350, 275, 100, 50));
}

#[test]
fn resize_from_the_left_keeps_the_right_edge_whatever_the_client_commits() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    host.point(301.0, 300.0);
    host.press(BTN_LEFT);
    client.roundtrip(&mut host);
    window.toplevel.resize(&seat.seat, client.events.desk.press_serial, xdg_toplevel::ResizeEdge::Left);
    window.answer(&mut host, &mut client, 200, 100);
    host.point(251.0, 300.0);
    client.roundtrip(&mut host);
    let told = window.told(&client);
    assert_eq!((told.size, told.is(State::Resizing)), ((250, 100), true));
    // Draws only whole cells of 16.
    window.answer(&mut host, &mut client, 240, 96);
    assert_eq!(host.last_window().geometry, Rect::new(260, 250, 240, 96));
    host.release(BTN_LEFT);
    client.roundtrip(&mut host);
    assert!(!window.told(&client).is(State::Resizing));
    window.answer(&mut host, &mut client, 224, 96);
    assert_eq!(host.last_window().geometry, Rect::new(276, 250, 224, 96));
    window.show(&client, 300, 96);
    client.roundtrip(&mut host);
    assert_eq!(host.last_window().geometry.x, 276, "its own doing grows to the right");
}

#[test]
fn resize_that_the_client_does_not_answer_sends_one_configure_and_no_more() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    host.point(499.0, 300.0);
    host.press(BTN_LEFT);
    client.roundtrip(&mut host);
    window.answer(&mut host, &mut client, 200, 100);
    window.toplevel.resize(&seat.seat, client.events.desk.press_serial, xdg_toplevel::ResizeEdge::Right);
    client.roundtrip(&mut host);
    let before = window.told(&client).configures;
    for step in 1..100 {
        host.point(499.0 + f64::from(step), 300.0);
    }
    client.roundtrip(&mut host);
    assert!(window.told(&client).configures <= before + 1);
    window.answer(&mut host, &mut client, 201, 100);
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (299, 100), "and then the newest size");
}

#[test]
fn requests_without_answers_cost_a_bounded_number_of_configures() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let before = window.told(&client).configures;
    for _ in 0..500 {
        window.toplevel.set_maximized();
        window.toplevel.unset_maximized();
    }
    client.roundtrip(&mut host);
    assert!(window.told(&client).configures - before <= 16);
    window.answer(&mut host, &mut client, 200, 100);
    client.roundtrip(&mut host);
    assert!(!window.told(&client).is(State::Maximized), "the last word reaches it");
}

#[test]
fn move_by_a_client_without_the_button_is_ignored_and_with_it_moves_the_window() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    window.toplevel._move(&seat.seat, 12345);
    client.roundtrip(&mut host);
    host.point(310.0, 260.0);
    let before = host.last_window().geometry;
    assert_eq!(before.origin(), Point::new(300, 250));
    host.press(BTN_LEFT);
    client.roundtrip(&mut host);
    window.toplevel._move(&seat.seat, client.events.desk.press_serial);
    client.roundtrip(&mut host);
    client.take_input();
    host.point(410.0, 200.0);
    host.release(BTN_LEFT);
    assert_eq!(host.last_window().geometry.origin(), Point::new(400, 190));
    client.roundtrip(&mut host);
    let input = client.take_input();
    let leaves = |input: &Input| matches!(input, Input::Button(..) | Input::Motion(..));
    assert!(!input.iter().any(leaves), "the press ended when the drag began: {input:?}");
    assert!(matches!(input.last(), Some(Input::Enter(..))), "{input:?}");
}

#[test]
fn drag_with_the_modifier_held_moves_and_resizes_without_the_client() {
    use transom::ports::input::Press;
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    client.take_input();
    const KEY_LEFTMETA: u32 = 125;
    host.key(KEY_LEFTMETA, Press::Pressed);
    host.point(400.0, 300.0);
    host.press(BTN_LEFT);
    host.point(450.0, 350.0);
    host.release(BTN_LEFT);
    assert_eq!(host.last_window().geometry, Rect::new(350, 300, 200, 100));
    host.point(549.0, 399.0);
    host.press(crate::BTN_RIGHT);
    window.answer(&mut host, &mut client, 200, 100);
    host.point(559.0, 409.0);
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (210, 110));
    host.release(crate::BTN_RIGHT);
    host.key(KEY_LEFTMETA, Press::Released);
    client.roundtrip(&mut host);
    let input = client.take_input();
    assert!(!input.iter().any(|input| matches!(input, Input::Button(..))), "{input:?}");
}

#[test]
fn dialogue_is_centred_on_its_parent_and_stays_in_front_of_it() {
    let (mut host, mut client) = host();
    let parent = Window::mapped(&mut host, &mut client, 400, 400);
    host.act("move 0 0");
    let dialogue = Window::new(&client);
    dialogue.toplevel.set_parent(Some(&parent.toplevel));
    dialogue.map(&mut host, &mut client, 100, 100);
    assert_eq!(host.last_window().geometry, Rect::new(150, 150, 100, 100));
    host.click(10.0, 10.0);
    assert_eq!(host.shown()[0], host.tree(&dialogue.surface, 150.0, 150.0));
    parent.toplevel.set_parent(Some(&dialogue.toplevel));
    let error = client.expect_error(&mut host);
    assert_eq!(error, ("xdg_toplevel".into(), xdg_toplevel::Error::InvalidParent as u32));
}

#[test]
fn parent_that_unmaps_hands_its_child_on_and_may_become_its_child() {
    let (mut host, mut client) = host();
    let first = Window::mapped(&mut host, &mut client, 200, 100);
    let second = Window::mapped(&mut host, &mut client, 200, 100);
    let third = Window::mapped(&mut host, &mut client, 200, 100);
    second.toplevel.set_parent(Some(&first.toplevel));
    third.toplevel.set_parent(Some(&second.toplevel));
    second.surface.attach(None, 0, 0);
    second.surface.commit();
    client.roundtrip(&mut host);
    let parents = |host: &crate::support::client::Host| {
        host.server.state.shell.desktop.windows().map(|w| (w.id().0, w.parent().map(|p| p.0))).collect::<Vec<_>>()
    };
    assert!(parents(&host).contains(&(3, Some(1))), "{:?}", parents(&host));
    second.toplevel.set_parent(Some(&third.toplevel));
    client.roundtrip(&mut host);
    assert!(parents(&host).contains(&(2, Some(3))), "no loop: {:?}", parents(&host));
}

#[test]
fn window_geometry_leaves_the_shadow_out() {
    let (mut host, mut client) = host();
    let window = Window::new(&client);
    window.surface.commit();
    client.roundtrip(&mut host);
    window.xdg.set_window_geometry(20, 30, 200, 100);
    window.answer(&mut host, &mut client, 240, 160);
    assert_eq!(host.last_window().geometry, Rect::new(300, 250, 200, 100));
    assert_eq!(host.shown(), [host.tree(&window.surface, 280.0, 220.0)]);
    window.toplevel.set_maximized();
    window.answer(&mut host, &mut client, 240, 160);
    assert_eq!(host.shown(), [host.tree(&window.surface, -20.0, -30.0)]);
}

#[test]
fn decorations_are_the_clients_unless_it_wants_none() {
    let (mut host, mut client) = host();
    let manager: zxdg_decoration_manager_v1::ZxdgDecorationManagerV1 = client.bind();
    let window = Window::new(&client);
    let decoration = manager.get_toplevel_decoration(&window.toplevel, &client.handle, ());
    window.map(&mut host, &mut client, 200, 100);
    let mode = |m: zxdg_toplevel_decoration_v1::Mode| Some(u32::from(m));
    assert_eq!(client.events.desk.decoration, mode(zxdg_toplevel_decoration_v1::Mode::ClientSide));
    decoration.set_mode(zxdg_toplevel_decoration_v1::Mode::ServerSide);
    client.roundtrip(&mut host);
    assert_eq!(client.events.desk.decoration, mode(zxdg_toplevel_decoration_v1::Mode::ServerSide));
}

#[test]
fn close_and_a_client_that_does_not_answer_pings_is_told_hung() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    client.events.desk.hung = true;
    host.act("close");
    client.roundtrip(&mut host);
    assert!(window.told(&client).closed);
    assert!(host.last_window().responding);
    host.now = host.now.plus_ns(6_000_000_000);
    host.dispatch();
    assert!(!host.last_window().responding);
}

#[test]
fn windows_of_a_removed_output_move_and_come_back() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    window.toplevel.set_maximized();
    window.answer(&mut host, &mut client, SCREEN.w, SCREEN.h);
    let first = host.server.state.core.outputs.by_name("TEST-1").unwrap().id;
    host.server.state.remove_output(first);
    client.roundtrip(&mut host);
    assert_eq!(host.last_window().output, "");
    assert!(window.told(&client).is(State::Suspended));
    host.add_output("TEST-2", Size::new(640, 480), 1.0);
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (640, 480));
    host.server.state.remove_output(host.server.state.core.outputs.by_name("TEST-2").unwrap().id);
    host.add_output("TEST-1", SCREEN, 1.0);
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (SCREEN.w, SCREEN.h));
    assert_eq!(host.last_window().output, "TEST-1");
}

#[test]
fn workspace_shown_hides_the_others_windows_and_moves_the_keyboard() {
    let (mut host, mut client) = host();
    let one = Window::mapped(&mut host, &mut client, 200, 100);
    host.act("workspace 2");
    let two = Window::mapped(&mut host, &mut client, 200, 100);
    assert_eq!(host.shown(), [host.tree(&two.surface, 300.0, 250.0)]);
    host.act("move-to-workspace 1");
    assert_eq!(host.shown(), []);
    host.act("workspace-previous");
    assert_eq!(host.shown().len(), 2);
    client.roundtrip(&mut host);
    assert!(two.told(&client).is(State::Activated) && !one.told(&client).is(State::Activated));
}

#[test]
fn window_sent_to_the_next_output_keeps_its_place_there_and_its_size() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    let info = crate::support::client::info("TEST-2", Size::new(1000, 700));
    let state = &mut host.server.state;
    state.add_output(&info, Point::new(800, 0), Default::default(), Default::default());
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    host.act("move-to-output-next");
    let there = host.last_window();
    assert_eq!((there.output.as_str(), there.geometry), ("TEST-2", Rect::new(1100, 250, 200, 100)));
    host.act("toggle-maximised");
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (1000, 700));
    host.act("output-next");
    client.roundtrip(&mut host);
    assert!(!window.told(&client).is(State::Activated), "nothing is on the output that has the focus");
    assert!(client.take_input().contains(&Input::KeyLeave(window.surface.id())), "nobody has the keyboard");
    let second = Window::mapped(&mut host, &mut client, 200, 100);
    assert_eq!(host.last_window().output, "TEST-1");
    host.act("output-previous");
    client.roundtrip(&mut host);
    assert!(window.told(&client).is(State::Activated));
    assert!(!second.told(&client).is(State::Activated));
}
