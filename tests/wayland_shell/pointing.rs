//! The pointer and touch: what they are on, buttons, scrolling, constraints, images, virtual pointers.

use transom::adapters::wayland::latch::Item;
use transom::domain::geometry::Size;
use transom::domain::scene::Role;
use transom::ports::input::{Event, ScrollAxis, ScrollSource};
use wayland_client::Proxy;
use wayland_client::protocol::{wl_compositor, wl_pointer, wl_subcompositor};
use wayland_protocols::wp::cursor_shape::v1::client::{wp_cursor_shape_device_v1, wp_cursor_shape_manager_v1};
use wayland_protocols::wp::pointer_constraints::zv1::client::zwp_pointer_constraints_v1::{
    self, Lifetime, ZwpPointerConstraintsV1,
};
use wayland_protocols::wp::relative_pointer::zv1::client::zwp_relative_pointer_manager_v1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1;

use crate::support::client::{Client, Host};
use crate::support::desk::{Input, Seat, Window};
use crate::{BTN_LEFT, BTN_RIGHT, host};

/// A client with a seat and a window of 200×100 at 300,250, its events so far taken.
fn window() -> (Host, Client, Seat, Window) {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    client.take_input();
    (host, client, seat, window)
}

fn moved(dx: f64, dy: f64) -> Event {
    Event::PointerMotion { dx, dy, raw_dx: dx, raw_dy: dy }
}

#[test]
fn pointer_enters_moves_clicks_and_leaves() {
    let (mut host, mut client, _seat, window) = window();
    host.point(310.5, 260.0);
    host.input(moved(5.0, 6.0));
    host.press(BTN_RIGHT);
    host.release(BTN_RIGHT);
    host.input(Event::PointerLeft);
    client.roundtrip(&mut host);
    let id = window.surface.id();
    let expected = [
        Input::Enter(id.clone(), 10.5, 10.0),
        Input::Motion(15.5, 16.0),
        Input::Button(BTN_RIGHT, true),
        Input::Button(BTN_RIGHT, false),
        Input::Leave(id),
    ];
    assert_eq!(client.take_input(), expected);
}

#[test]
fn pointer_with_a_button_held_stays_on_its_surface() {
    let (mut host, mut client, _seat, window) = window();
    host.point(310.0, 260.0);
    host.press(BTN_LEFT);
    host.point(0.0, 0.0);
    host.release(BTN_LEFT);
    client.roundtrip(&mut host);
    let input = client.take_input();
    let tail = [Input::Motion(-300.0, -250.0), Input::Button(BTN_LEFT, false), Input::Leave(window.surface.id())];
    assert_eq!(input[2..], tail);
}

#[test]
fn pointer_over_a_hole_in_the_input_region_is_on_what_is_beneath() {
    let (mut host, mut client, _seat, back) = window();
    let front = Window::mapped(&mut host, &mut client, 200, 100);
    host.act("move 300 250");
    let region = client.bind::<wl_compositor::WlCompositor>().create_region(&client.handle, ());
    region.add(0, 0, 200, 100);
    region.subtract(0, 0, 50, 50);
    front.surface.set_input_region(Some(&region));
    front.surface.commit();
    client.roundtrip(&mut host);
    client.take_input();
    host.point(310.0, 260.0);
    host.point(400.0, 320.0);
    client.roundtrip(&mut host);
    let expected = [
        Input::Enter(back.surface.id(), 10.0, 10.0),
        Input::Leave(back.surface.id()),
        Input::Enter(front.surface.id(), 100.0, 70.0),
    ];
    assert_eq!(client.take_input(), expected);
}

#[test]
fn pointer_on_a_sub_surface_is_told_its_place_there() {
    let (mut host, mut client, _seat, window) = window();
    let child = client.surface();
    let subsurface =
        client.bind::<wl_subcompositor::WlSubcompositor>().get_subsurface(&child, &window.surface, &client.handle, ());
    subsurface.set_position(150, 80);
    child.attach(Some(&client.buffer(100, 100, 0)), 0, 0);
    child.commit();
    window.surface.commit();
    client.roundtrip(&mut host);
    host.point(500.0, 345.0); // outside the window's own surface
    client.roundtrip(&mut host);
    assert_eq!(client.take_input(), [Input::Enter(child.id(), 50.0, 15.0)]);
}

#[test]
fn pointer_learns_of_what_appears_and_goes_under_it() {
    let (mut host, mut client, _seat, window) = window();
    host.point(400.0, 300.0);
    client.roundtrip(&mut host);
    client.take_input();
    let front = Window::mapped(&mut host, &mut client, 200, 100); // at 332,282
    let input = client.take_input();
    assert!(input.contains(&Input::Enter(front.surface.id(), 68.0, 18.0)), "{input:?}");
    front.toplevel.destroy();
    client.roundtrip(&mut host);
    client.roundtrip(&mut host);
    let input = client.take_input();
    assert!(input.contains(&Input::Enter(window.surface.id(), 100.0, 50.0)), "{input:?}");
}

#[test]
fn pointer_stays_on_the_outputs() {
    let (mut host, _client, _seat, _window) = window();
    host.input(moved(-10_000.0, 10_000.0));
    let (x, y) = host.server.state.pointer_place();
    assert!(x == 0.0 && (599.0..600.0).contains(&y), "{x},{y}");
    host.input(moved(f64::NAN, 0.0));
    assert_eq!(host.server.state.pointer_place(), (x, y));
    host.add_output("TEST-2", Size::new(100, 100), 1.0);
    let first = host.server.state.core.outputs.by_name("TEST-1").unwrap().id;
    host.server.state.remove_output(first);
    let (x, y) = host.server.state.pointer_place();
    assert!((0.0..100.0).contains(&x) && (0.0..100.0).contains(&y), "{x},{y}");
}

#[test]
fn scroll_comes_with_its_source_and_detents() {
    let (mut host, mut client, _seat, _window) = window();
    host.point(310.0, 260.0);
    client.roundtrip(&mut host);
    client.take_input();
    let vertical = ScrollAxis { distance: 15.0, v120: 120, stop: false };
    host.input(Event::Scroll { source: ScrollSource::Wheel, horizontal: ScrollAxis::default(), vertical });
    client.roundtrip(&mut host);
    assert_eq!(client.take_input(), [Input::V120(0, 120), Input::Axis(0.0, 15.0)]);
    let mut config = transom::domain::config::Config::default();
    config.input.pointer.natural_scroll = true;
    config.input.pointer.scroll_factor = 2.0;
    host.server.state.set_config(&config).unwrap();
    host.input(Event::Scroll { source: ScrollSource::Finger, horizontal: vertical, vertical: ScrollAxis::default() });
    client.roundtrip(&mut host);
    assert_eq!(client.take_input(), [Input::V120(-240, 0), Input::Axis(-30.0, 0.0)]);
}

#[test]
fn touch_goes_to_the_surface_it_came_down_on_and_focuses_it() {
    let (mut host, mut client, _seat, window) = window();
    let at = |slot, x: f64, y: f64| (slot, "TEST-1".to_owned(), x / 800.0, y / 600.0);
    let (slot, output, x, y) = at(0, 310.0, 260.0);
    host.input(Event::TouchDown { slot, output, x, y });
    host.input(Event::TouchFrame);
    let (slot, output, x, y) = at(0, 0.0, 0.0);
    host.input(Event::TouchMotion { slot, output, x, y });
    host.input(Event::TouchUp { slot: 0 });
    host.input(Event::TouchFrame);
    // Slots without a finger, and absurd ones.
    host.input(Event::TouchUp { slot: 9 });
    host.input(Event::TouchDown { slot: u32::MAX, output: "TEST-1".into(), x: 0.5, y: 0.5 });
    host.input(Event::TouchDown { slot: 1, output: "NONE".into(), x: 0.5, y: 0.5 });
    client.roundtrip(&mut host);
    let expected = [
        Input::TouchDown(window.surface.id(), 0, 10.0, 10.0),
        Input::TouchMotion(0, -300.0, -250.0),
        Input::TouchUp(0),
    ];
    assert_eq!(client.take_input(), expected);
}

#[test]
fn touch_that_moves_a_window_is_cancelled_for_its_client() {
    let (mut host, mut client, seat, window) = window();
    let down = |x: f64, y: f64| Event::TouchDown { slot: 0, output: "TEST-1".into(), x: x / 800.0, y: y / 600.0 };
    host.input(down(310.0, 260.0));
    client.roundtrip(&mut host);
    window.toplevel._move(&seat.seat, client.events.desk.press_serial);
    client.roundtrip(&mut host);
    host.input(Event::TouchMotion { slot: 0, output: "TEST-1".into(), x: 110.0 / 800.0, y: 60.0 / 600.0 });
    host.input(Event::TouchUp { slot: 0 });
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::TouchCancel));
    assert_eq!(host.last_window().geometry.origin(), transom::domain::geometry::Point::new(100, 50));
}

#[test]
fn locked_pointer_stays_and_only_relative_motion_comes_until_the_focus_goes() {
    let (mut host, mut client, seat, window) = window();
    client.bind::<zwp_relative_pointer_manager_v1::ZwpRelativePointerManagerV1>().get_relative_pointer(
        &seat.pointer,
        &client.handle,
        (),
    );
    let constraints: ZwpPointerConstraintsV1 = client.bind();
    let lock = constraints.lock_pointer(&window.surface, &seat.pointer, None, Lifetime::Persistent, &client.handle, ());
    host.point(310.0, 260.0);
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::Locked));
    host.input(moved(50.0, 7.0));
    client.roundtrip(&mut host);
    assert_eq!(client.take_input(), [Input::Relative(50.0, 7.0)]);
    assert_eq!(host.server.state.pointer_place(), (310.0, 260.0));
    lock.set_cursor_position_hint(100.0, 50.0);
    window.surface.commit();
    host.act("minimise");
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::Unlocked));
    host.input(moved(1.0, 0.0));
    assert_eq!(host.server.state.pointer_place().1, 260.0, "the hint of a hidden window counts for nothing");
    host.act("restore");
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::Locked));
    window.surface.commit();
    lock.set_cursor_position_hint(100.0, 50.0);
    window.surface.commit();
    lock.destroy();
    client.roundtrip(&mut host);
    assert_eq!(host.server.state.pointer_place(), (400.0, 300.0));
}

#[test]
fn confined_pointer_stays_in_its_region() {
    let (mut host, mut client, seat, window) = window();
    let region = client.bind::<wl_compositor::WlCompositor>().create_region(&client.handle, ());
    region.add(10, 10, 50, 50);
    let constraints: ZwpPointerConstraintsV1 = client.bind();
    let _confined = constraints.confine_pointer(
        &window.surface,
        &seat.pointer,
        Some(&region),
        Lifetime::Persistent,
        &client.handle,
        (),
    );
    host.point(305.0, 255.0);
    client.roundtrip(&mut host);
    assert!(!client.take_input().contains(&Input::Confined), "not outside the region");
    host.point(320.0, 270.0);
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::Confined));
    host.input(moved(1000.0, 5.0));
    let (x, y) = host.server.state.pointer_place();
    assert!((359.0..360.0).contains(&x) && y == 275.0, "{x},{y}");
    let mut twice = || {
        constraints.lock_pointer(&window.surface, &seat.pointer, None, Lifetime::Oneshot, &client.handle, ());
        client.expect_error(&mut host).1
    };
    assert_eq!(twice(), zwp_pointer_constraints_v1::Error::AlreadyConstrained as u32);
}

fn cursor(host: &mut Host) -> Vec<Item> {
    use transom::domain::damage::Tracker;
    use transom::domain::scene::{Color, Scene};
    let state = &mut host.server.state;
    let output = state.core.outputs.iter().next().unwrap().id;
    state.latch(output, &Tracker::default(), Color::BLACK, &mut Scene::new());
    let mut items = Vec::new();
    state.seat_items(output, &mut items);
    items
}

#[test]
fn cursor_is_the_themes_the_clients_or_none() {
    let (mut host, mut client, seat, window) = window();
    host.point(100.0, 100.0);
    let [Item::Image { rect, role: Role::Cursor, image: arrow, .. }] = cursor(&mut host)[..] else { panic!() };
    assert!(rect.x <= 100.0 && rect.y <= 100.0 && rect.x + rect.w > 100.0 && rect.y + rect.h > 100.0);
    host.point(310.0, 260.0);
    client.roundtrip(&mut host);
    let own = client.surface();
    seat.pointer.set_cursor(client.events.desk.enter_serial, Some(&own), 3, 4);
    own.attach(Some(&client.buffer(16, 16, 0)), 0, 0);
    own.commit();
    client.roundtrip(&mut host);
    let Item::Tree { root, .. } = host.tree(&own, 0.0, 0.0) else { panic!() };
    let shown = |x, y| [Item::Tree { root, x, y, alpha: 1.0, role: Role::Cursor }];
    assert_eq!(cursor(&mut host), shown(307.0, 256.0));
    own.offset(1, 2);
    own.commit();
    client.roundtrip(&mut host);
    assert_eq!(cursor(&mut host), shown(308.0, 258.0), "the hotspot moved against the content");
    seat.pointer.set_cursor(client.events.desk.enter_serial, None, 0, 0);
    client.roundtrip(&mut host);
    assert_eq!(cursor(&mut host), []);
    let device = client.bind::<wp_cursor_shape_manager_v1::WpCursorShapeManagerV1>().get_pointer(
        &seat.pointer,
        &client.handle,
        (),
    );
    device.set_shape(client.events.desk.enter_serial, wp_cursor_shape_device_v1::Shape::Text);
    client.roundtrip(&mut host);
    let [Item::Image { .. }] = cursor(&mut host)[..] else { panic!() };
    device.set_shape(client.events.desk.enter_serial - 1, wp_cursor_shape_device_v1::Shape::Wait);
    host.point(100.0, 100.0);
    client.roundtrip(&mut host);
    let [Item::Image { image, .. }] = cursor(&mut host)[..] else { panic!() };
    assert_eq!(image, arrow, "off the window it is ours again");
    drop(window);
}

#[test]
fn cursor_of_a_surface_with_another_role_is_an_error() {
    let (mut host, mut client, seat, window) = window();
    host.point(310.0, 260.0);
    client.roundtrip(&mut host);
    seat.pointer.set_cursor(client.events.desk.enter_serial, Some(&window.surface), 0, 0);
    let error = client.expect_error(&mut host);
    assert_eq!(error, ("wl_pointer".into(), wl_pointer::Error::Role as u32));
}

#[test]
fn virtual_pointer_points_clicks_and_scrolls() {
    let (mut host, mut client, _seat, window) = window();
    let mut tool = host.connect();
    let manager: zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1 = tool.bind();
    let pointer = manager.create_virtual_pointer(None, &tool.handle, ());
    pointer.motion_absolute(0, 310, 260, 800, 600);
    pointer.motion_absolute(0, 5, 5, 0, 0); // no extent: no place
    pointer.frame();
    pointer.button(0, BTN_LEFT, wl_pointer::ButtonState::Pressed);
    pointer.button(0, BTN_LEFT, wl_pointer::ButtonState::Released);
    pointer.frame();
    pointer.motion(0, 2.0, 3.0);
    pointer.axis_source(wl_pointer::AxisSource::Wheel);
    pointer.axis_discrete(0, wl_pointer::Axis::VerticalScroll, 15.0, 1);
    pointer.frame();
    tool.roundtrip(&mut host);
    client.roundtrip(&mut host);
    let expected = [
        Input::Enter(window.surface.id(), 10.0, 10.0),
        Input::Button(BTN_LEFT, true),
        Input::Button(BTN_LEFT, false),
        Input::Motion(12.0, 13.0),
        Input::V120(0, 120),
        Input::Axis(0.0, 15.0),
    ];
    assert_eq!(client.take_input(), expected);
}

#[test]
fn virtual_pointer_that_goes_lets_go_of_its_buttons() {
    let (mut host, mut client, _seat, _window) = window();
    let mut tool = host.connect();
    let manager: zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1 = tool.bind();
    let pointer = manager.create_virtual_pointer(None, &tool.handle, ());
    pointer.motion_absolute(0, 310, 260, 800, 600);
    pointer.button(0, BTN_LEFT, wl_pointer::ButtonState::Pressed);
    pointer.button(0, u32::MAX, wl_pointer::ButtonState::Pressed);
    tool.roundtrip(&mut host);
    drop(tool);
    host.dispatch();
    client.roundtrip(&mut host);
    assert_eq!(client.take_input()[1..], [Input::Button(BTN_LEFT, true), Input::Button(BTN_LEFT, false)]);
}

#[test]
fn focus_by_the_pointer_follows_it_without_raising() {
    let (mut host, mut client, _seat, back) = window();
    let front = Window::mapped(&mut host, &mut client, 100, 100);
    host.act("move 450 250");
    let mut config = transom::domain::config::Config::default();
    config.windows.focus = transom::domain::config::Focus::Pointer;
    host.server.state.set_config(&config).unwrap();
    host.point(500.0, 300.0);
    client.take_input();
    host.point(310.0, 260.0);
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::KeyEnter(back.surface.id())));
    assert_eq!(host.shown()[0], host.tree(&front.surface, 450.0, 250.0));
    host.point(10.0, 10.0);
    client.roundtrip(&mut host);
    let input = client.take_input();
    assert!(!input.iter().any(|input| matches!(input, Input::KeyLeave(_))), "nothing there to focus: {input:?}");
}
