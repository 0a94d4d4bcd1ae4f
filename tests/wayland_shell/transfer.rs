//! Clipboard, primary selection, drag and drop, activation.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use transom::adapters::wayland::latch::Item;
use wayland_client::protocol::{wl_data_device, wl_data_device_manager, wl_data_offer, wl_data_source};
use wayland_client::{Connection, Proxy};
use wayland_protocols::wp::primary_selection::zv1::client::zwp_primary_selection_device_manager_v1;
use wayland_protocols::xdg::activation::v1::client::xdg_activation_v1;
use wl_data_device_manager::DndAction;

use crate::support::client::{Client, Host};
use crate::support::desk::{Input, Seat, Window};
use crate::{BTN_LEFT, host};

const TEXT: &str = "text/plain;charset=utf-8";

struct Devices {
    manager: wl_data_device_manager::WlDataDeviceManager,
    device: wl_data_device::WlDataDevice,
}

fn devices(client: &Client, seat: &Seat) -> Devices {
    let manager: wl_data_device_manager::WlDataDeviceManager = client.bind();
    let device = manager.get_data_device(&seat.seat, &client.handle, ());
    Devices { manager, device }
}

fn text_source(client: &Client, devices: &Devices) -> wl_data_source::WlDataSource {
    let source = devices.manager.create_data_source(&client.handle, ());
    source.offer(TEXT.into());
    source
}

/// The receiving client asked into one end of a pipe: the source's client answers, and this is what arrives.
fn transferred(host: &mut Host, from: &mut Client, to: &mut Client, receive: impl FnOnce(&OwnedFd)) -> String {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let writer = OwnedFd::from(writer);
    receive(&writer);
    to.roundtrip(host);
    drop(writer);
    from.roundtrip(host);
    for (mime, fd) in from.events.desk.sends.drain(..) {
        nix::unistd::write(fd, format!("as {mime}").as_bytes()).unwrap();
    }
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

/// Two clients side by side, at 0,0 and at 400,0, both 100×100, the first focused and clicked.
fn pair() -> (Host, [(Client, Seat, Devices, Window); 2]) {
    let (mut host, first) = host();
    let second = host.connect();
    let mut at = 400;
    let mut sides = [second, first].map(|mut client| {
        let seat = Seat::new(&client);
        let devices = devices(&client, &seat);
        let window = Window::mapped(&mut host, &mut client, 100, 100);
        host.act(&format!("move {at} 0"));
        at = 0;
        (client, seat, devices, window)
    });
    sides.reverse();
    host.click(10.0, 10.0);
    for (client, ..) in &mut sides {
        client.roundtrip(&mut host);
        client.take_input();
    }
    (host, sides)
}

#[test]
fn clipboard_text_goes_to_the_client_that_is_focused_next() {
    let (mut host, [(mut from, _, devices, _), (mut to, ..)]) = pair();
    let source = text_source(&from, &devices);
    devices.device.set_selection(Some(&source), from.events.desk.press_serial);
    from.roundtrip(&mut host);
    to.roundtrip(&mut host);
    assert!(to.events.desk.offer.is_none(), "not before it has the keyboard");
    host.click(410.0, 10.0);
    to.roundtrip(&mut host);
    let offer = to.events.desk.offer.clone().unwrap();
    assert_eq!(to.events.desk.mimes, [TEXT]);
    let text = transferred(&mut host, &mut from, &mut to, |fd| offer.receive(TEXT.into(), fd.as_fd()));
    assert_eq!(text, format!("as {TEXT}"));
    drop(from);
    host.dispatch();
    to.roundtrip(&mut host);
    assert!(to.events.desk.offer.is_none(), "the source is gone");
}

#[test]
fn clipboard_of_a_client_without_the_keyboard_is_refused() {
    let (mut host, [(mut from, ..), (mut thief, _, devices, _)]) = pair();
    let source = text_source(&thief, &devices);
    devices.device.set_selection(Some(&source), 1);
    thief.roundtrip(&mut host);
    from.roundtrip(&mut host);
    assert!(from.events.desk.offer.is_none());
}

#[test]
fn primary_selection_text_goes_the_same_way() {
    let (mut host, [(mut from, from_seat, ..), (mut to, to_seat, ..)]) = pair();
    let device = |client: &Client, seat: &Seat| {
        let manager: zwp_primary_selection_device_manager_v1::ZwpPrimarySelectionDeviceManagerV1 = client.bind();
        (manager.get_device(&seat.seat, &client.handle, ()), manager)
    };
    let (own, manager) = device(&from, &from_seat);
    let (_other, _) = device(&to, &to_seat);
    let source = manager.create_source(&from.handle, ());
    source.offer(TEXT.into());
    own.set_selection(Some(&source), from.events.desk.press_serial);
    from.roundtrip(&mut host);
    to.roundtrip(&mut host);
    host.click(410.0, 10.0);
    to.roundtrip(&mut host);
    let offer = to.events.desk.primary.clone().unwrap();
    let text = transferred(&mut host, &mut from, &mut to, |fd| offer.receive(TEXT.into(), fd.as_fd()));
    assert_eq!(text, format!("as {TEXT}"));
}

/// The first of the pair drags text, with an icon of 20×20.
fn dragging(host: &mut Host, side: &mut (Client, Seat, Devices, Window)) -> wl_data_source::WlDataSource {
    let (client, _, devices, window) = side;
    host.point(10.0, 10.0);
    host.press(BTN_LEFT);
    client.roundtrip(host);
    let source = text_source(client, devices);
    source.set_actions(DndAction::Copy | DndAction::Move);
    let icon = client.surface();
    devices.device.start_drag(Some(&source), &window.surface, Some(&icon), client.events.desk.press_serial);
    icon.attach(Some(&client.buffer(20, 20, 0)), 0, 0);
    icon.offset(-5, -6);
    icon.commit();
    client.roundtrip(host);
    source
}

fn icon_places(host: &Host) -> Vec<(f64, f64)> {
    let output = host.server.state.core.outputs.by_name("TEST-1").unwrap().id;
    let mut items = Vec::new();
    host.server.state.seat_items(output, &mut items);
    let place = |item: &Item| match item {
        Item::Tree { x, y, .. } => Some((*x, *y)),
        _ => None,
    };
    items.iter().filter_map(place).collect()
}

#[test]
fn drag_with_an_icon_drops_text_on_another_client() {
    let (mut host, [mut from, (mut to, ..)]) = pair();
    let _source = dragging(&mut host, &mut from);
    let (mut from, ..) = from;
    assert_eq!(icon_places(&host), [(5.0, 4.0)]);
    host.point(420.0, 30.0);
    assert_eq!(icon_places(&host), [(415.0, 24.0)]);
    to.roundtrip(&mut host);
    let offer = to.events.desk.dragged.clone().unwrap();
    offer.accept(to.events.desk.drag_serial, Some(TEXT.into()));
    offer.set_actions(DndAction::Copy, DndAction::Copy);
    to.roundtrip(&mut host);
    host.release(BTN_LEFT);
    to.roundtrip(&mut host);
    assert!(to.events.desk.dropped);
    let text = transferred(&mut host, &mut from, &mut to, |fd| offer.receive(TEXT.into(), fd.as_fd()));
    assert_eq!(text, format!("as {TEXT}"));
    offer.finish();
    to.roundtrip(&mut host);
    from.roundtrip(&mut host);
    assert_eq!((from.events.desk.finished, from.events.desk.cancelled), (1, 0));
    assert_eq!(icon_places(&host), []);
    let input = to.take_input();
    assert!(matches!(input[..], [Input::Enter(..)]), "only the drop's end puts the pointer on it: {input:?}");
}

#[test]
fn drag_dropped_on_nothing_is_cancelled() {
    let (mut host, [mut from, _to]) = pair();
    let _source = dragging(&mut host, &mut from);
    host.point(700.0, 500.0);
    host.release(BTN_LEFT);
    from.0.roundtrip(&mut host);
    assert_eq!(from.0.events.desk.cancelled, 1);
    assert_eq!(icon_places(&host), []);
}

#[test]
fn drag_whose_client_or_target_dies_ends_and_leaves_nothing() {
    for source_dies in [true, false] {
        let (mut host, [mut from, mut to]) = pair();
        let _source = dragging(&mut host, &mut from);
        host.point(420.0, 30.0);
        to.0.roundtrip(&mut host);
        let survivor = if source_dies {
            drop(from);
            to
        } else {
            drop(to);
            from
        };
        host.dispatch();
        host.point(430.0, 30.0);
        host.release(BTN_LEFT);
        let (mut client, ..) = survivor;
        client.roundtrip(&mut host);
        assert_eq!(icon_places(&host), []);
        let (x, y) = if source_dies { (420.0, 20.0) } else { (20.0, 20.0) };
        client.take_input();
        host.click(x, y);
        client.roundtrip(&mut host);
        assert!(client.take_input().contains(&Input::Button(BTN_LEFT, true)), "the pointer works");
    }
}

#[test]
fn drag_without_the_button_does_not_begin() {
    let (mut host, [(mut client, _, devices, window), _]) = pair();
    let source = text_source(&client, &devices);
    devices.device.start_drag(Some(&source), &window.surface, None, 99);
    host.point(20.0, 20.0);
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::Motion(20.0, 20.0)));
}

#[test]
fn drop_finished_before_it_was_dropped_is_an_error() {
    let (mut host, [mut from, (mut to, ..)]) = pair();
    let _source = dragging(&mut host, &mut from);
    host.point(420.0, 30.0);
    to.roundtrip(&mut host);
    to.events.desk.dragged.clone().unwrap().finish();
    let error = to.expect_error(&mut host);
    assert_eq!(error, ("wl_data_offer".into(), wl_data_offer::Error::InvalidFinish as u32));
}

fn token(host: &mut Host, client: &mut Client, seat: &Seat, serial: u32) -> String {
    let activation: xdg_activation_v1::XdgActivationV1 = client.bind();
    let token = activation.get_activation_token(&client.handle, ());
    token.set_serial(serial, &seat.seat);
    token.commit();
    client.roundtrip(host);
    client.events.desk.token.take().unwrap()
}

#[test]
fn activation_token_from_a_click_focuses_another_clients_window_once() {
    let (mut host, [(mut from, from_seat, ..), (mut to, _, _, target)]) = pair();
    let serial = from.events.desk.press_serial;
    let good = token(&mut host, &mut from, &from_seat, serial);
    to.bind::<xdg_activation_v1::XdgActivationV1>().activate(good.clone(), &target.surface);
    to.roundtrip(&mut host);
    assert!(to.take_input().contains(&Input::KeyEnter(target.surface.id())));
    host.click(10.0, 10.0);
    to.roundtrip(&mut host);
    to.take_input();
    to.bind::<xdg_activation_v1::XdgActivationV1>().activate(good, &target.surface);
    to.roundtrip(&mut host);
    assert_eq!(to.take_input(), [], "a token is good once");
}

#[test]
fn activation_token_from_nothing_or_from_anothers_click_is_no_good() {
    let (mut host, [(from, ..), (mut to, to_seat, _, target)]) = pair();
    for serial in [1, from.events.desk.press_serial] {
        let bad = token(&mut host, &mut to, &to_seat, serial);
        to.bind::<xdg_activation_v1::XdgActivationV1>().activate(bad, &target.surface);
        to.bind::<xdg_activation_v1::XdgActivationV1>().activate("made up".into(), &target.surface);
        to.roundtrip(&mut host);
        assert_eq!(to.take_input(), []);
    }
    let _: &Connection = &from.connection;
}
