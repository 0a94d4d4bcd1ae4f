//! xdg_popup: its place, its grab, its end.

use transom::domain::geometry::Rect;
use wayland_client::Proxy;
use wayland_client::protocol::wl_surface;
use wayland_protocols::xdg::shell::client::{xdg_popup, xdg_positioner, xdg_surface, xdg_wm_base};

use crate::host;
use crate::support::client::{Client, Host};
use crate::support::desk::{Input, PopupTold, Seat, Window};

const MENU: Rect = Rect::new(0, 0, 100, 150);

struct Popup {
    surface: wl_surface::WlSurface,
    xdg: xdg_surface::XdgSurface,
    popup: xdg_popup::XdgPopup,
}

/// Opens downwards and to the right from the lower left corner of `anchor`.
fn positioner(client: &Client, anchor: Rect, size: Rect) -> xdg_positioner::XdgPositioner {
    let positioner = client.bind::<xdg_wm_base::XdgWmBase>().create_positioner(&client.handle, ());
    positioner.set_size(size.w, size.h);
    positioner.set_anchor_rect(anchor.x, anchor.y, anchor.w, anchor.h);
    positioner.set_anchor(xdg_positioner::Anchor::BottomLeft);
    positioner.set_gravity(xdg_positioner::Gravity::BottomRight);
    positioner.set_constraint_adjustment(
        xdg_positioner::ConstraintAdjustment::FlipY | xdg_positioner::ConstraintAdjustment::SlideX,
    );
    positioner
}

impl Popup {
    fn new(client: &Client, parent: Option<&xdg_surface::XdgSurface>, anchor: Rect) -> Self {
        let surface = client.surface();
        let xdg = client.bind::<xdg_wm_base::XdgWmBase>().get_xdg_surface(&surface, &client.handle, ());
        let positioner = positioner(client, anchor, MENU);
        let popup = xdg.get_popup(parent, &positioner, &client.handle, ());
        Self { surface, xdg, popup }
    }

    fn map(&self, host: &mut Host, client: &mut Client) {
        self.surface.commit();
        client.roundtrip(host);
        if let Some(serial) = client.events.desk.serials.remove(&self.xdg.id()) {
            self.xdg.ack_configure(serial);
        }
        let told = self.told(client);
        if !told.done {
            self.surface.attach(Some(&client.buffer(told.place.w, told.place.h, 0)), 0, 0);
            self.surface.commit();
        }
        client.roundtrip(host);
    }

    fn mapped(host: &mut Host, client: &mut Client, parent: &xdg_surface::XdgSurface, anchor: Rect) -> Self {
        let popup = Self::new(client, Some(parent), anchor);
        popup.map(host, client);
        popup
    }

    fn told(&self, client: &Client) -> PopupTold {
        client.events.desk.popups.get(&self.popup.id()).cloned().unwrap_or_default()
    }
}

#[test]
fn popup_inside_the_output_goes_where_it_asks_and_else_flips_and_slides() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100); // at 300,250
    for (anchor, expected) in [
        (Rect::new(10, 20, 30, 10), Rect::new(10, 30, 100, 150)),
        // 250 + 95 + 5 + 150 is still inside 600; 250 + 350 is not.
        (Rect::new(10, 290, 30, 10), Rect::new(10, 140, 100, 150)),
        // 300 + 450 + 100 is past 800.
        (Rect::new(450, 20, 30, 10), Rect::new(400, 30, 100, 150)),
    ] {
        let popup = Popup::mapped(&mut host, &mut client, &window.xdg, anchor);
        assert_eq!(popup.told(&client).place, expected, "{anchor:?}");
        let (x, y) = (f64::from(300 + expected.x), f64::from(250 + expected.y));
        assert_eq!(host.shown()[0], host.tree(&popup.surface, x, y));
        popup.popup.destroy();
        client.roundtrip(&mut host);
        assert_eq!(host.shown().len(), 1);
    }
}

#[test]
fn popup_on_a_popup_is_placed_from_its_parent_and_gets_the_pointer() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let menu = Popup::mapped(&mut host, &mut client, &window.xdg, Rect::new(10, 20, 30, 10));
    let submenu = Popup::mapped(&mut host, &mut client, &menu.xdg, Rect::new(80, 0, 20, 20));
    assert_eq!(submenu.told(&client).place, Rect::new(80, 20, 100, 150));
    let (x, y) = (300.0 + 10.0 + 80.0, 250.0 + 30.0 + 20.0);
    assert_eq!(host.shown()[0], host.tree(&submenu.surface, x, y));
    client.take_input();
    host.point(x + 5.0, y + 6.0);
    client.roundtrip(&mut host);
    assert_eq!(client.take_input(), [Input::Enter(submenu.surface.id(), 5.0, 6.0)]);
}

#[test]
fn popup_repositioned_tells_its_token_and_moves_when_answered() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let popup = Popup::mapped(&mut host, &mut client, &window.xdg, Rect::new(10, 20, 30, 10));
    let other = positioner(&client, Rect::new(50, 50, 10, 10), MENU);
    popup.popup.reposition(&other, 77);
    client.roundtrip(&mut host);
    let told = popup.told(&client);
    assert_eq!((told.repositioned, told.place), (vec![77], Rect::new(50, 60, 100, 150)));
    assert_eq!(host.shown()[0], host.tree(&popup.surface, 310.0, 280.0), "not before it is answered");
    popup.xdg.ack_configure(client.events.desk.serials[&popup.xdg.id()]);
    popup.surface.commit();
    client.roundtrip(&mut host);
    assert_eq!(host.shown()[0], host.tree(&popup.surface, 350.0, 310.0));
}

#[test]
fn reactive_popup_follows_its_window_back_into_the_output() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let surface = client.surface();
    let xdg = client.bind::<xdg_wm_base::XdgWmBase>().get_xdg_surface(&surface, &client.handle, ());
    let positioner = positioner(&client, Rect::new(10, 20, 30, 10), MENU);
    positioner.set_reactive();
    let popup = Popup { popup: xdg.get_popup(Some(&window.xdg), &positioner, &client.handle, ()), surface, xdg };
    popup.map(&mut host, &mut client);
    assert_eq!(popup.told(&client).place.y, 30);
    host.act("move 300 500");
    client.roundtrip(&mut host);
    assert_eq!(popup.told(&client).place.y, 20 - 150, "flipped above its anchor");
}

fn grabbed(host: &mut Host, client: &mut Client, seat: &Seat) -> (Window, Popup) {
    let window = Window::mapped(host, client, 200, 100);
    host.act("move 300 250");
    host.click(310.0, 260.0);
    client.roundtrip(host);
    let popup = Popup::new(client, Some(&window.xdg), Rect::new(10, 20, 30, 10));
    popup.popup.grab(&seat.seat, client.events.desk.press_serial);
    popup.map(host, client);
    (window, popup)
}

#[test]
fn grab_gives_the_popup_the_keyboard_and_a_click_elsewhere_dismisses_it() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let mut other = host.connect();
    let _other_seat = Seat::new(&other);
    let behind = Window::mapped(&mut host, &mut other, 700, 500);
    let (window, popup) = grabbed(&mut host, &mut client, &seat);
    let input = client.take_input();
    assert!(input.contains(&Input::KeyEnter(popup.surface.id())), "{input:?}");
    other.take_input();
    host.click(60.0, 60.0);
    other.roundtrip(&mut host);
    client.roundtrip(&mut host);
    assert!(popup.told(&client).done);
    let stray = other.take_input();
    assert!(!stray.iter().any(|input| matches!(input, Input::Button(..))), "the click is spent: {stray:?}");
    let input = client.take_input();
    assert!(input.contains(&Input::KeyEnter(window.surface.id())), "{input:?}");
    assert_eq!(host.shown().len(), 2);
    host.click(60.0, 60.0);
    other.roundtrip(&mut host);
    assert!(other.take_input().contains(&Input::KeyEnter(behind.surface.id())));
}

#[test]
fn grab_keeps_the_pointer_for_its_client_and_a_click_on_it_does_not_dismiss() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let (window, popup) = grabbed(&mut host, &mut client, &seat);
    host.click(490.0, 340.0);
    client.roundtrip(&mut host);
    assert!(!popup.told(&client).done);
    let _ = window;
    assert!(client.take_input().contains(&Input::Motion(190.0, 90.0)));
}

#[test]
fn grab_without_an_event_of_the_user_is_dismissed() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let popup = Popup::new(&client, Some(&window.xdg), Rect::new(10, 20, 30, 10));
    popup.popup.grab(&seat.seat, 4242);
    popup.map(&mut host, &mut client);
    assert!(popup.told(&client).done);
    assert_eq!(host.shown().len(), 1);
}

#[test]
fn nested_grab_returns_the_keyboard_to_the_popup_beneath() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let (_window, menu) = grabbed(&mut host, &mut client, &seat);
    let submenu = Popup::new(&client, Some(&menu.xdg), Rect::new(80, 0, 20, 20));
    submenu.popup.grab(&seat.seat, client.events.desk.press_serial);
    submenu.map(&mut host, &mut client);
    assert!(client.take_input().contains(&Input::KeyEnter(submenu.surface.id())));
    submenu.popup.destroy();
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::KeyEnter(menu.surface.id())));
}

#[test]
fn grab_of_a_mapped_popup_and_of_one_beneath_the_topmost_are_errors() {
    let (mut host, mut client) = host();
    let seat = Seat::new(&client);
    let (_window, menu) = grabbed(&mut host, &mut client, &seat);
    menu.popup.grab(&seat.seat, client.events.desk.press_serial);
    let error = client.expect_error(&mut host);
    assert_eq!(error, ("xdg_popup".into(), xdg_popup::Error::InvalidGrab as u32));

    let mut client = host.connect();
    let seat = Seat::new(&client);
    let (_window, menu) = grabbed(&mut host, &mut client, &seat);
    let _top = Popup::mapped(&mut host, &mut client, &menu.xdg, Rect::new(80, 0, 20, 20));
    menu.popup.destroy();
    assert_eq!(client.expect_error(&mut host).1, xdg_wm_base::Error::NotTheTopmostPopup as u32);
}

#[test]
fn popups_go_when_their_window_goes_or_is_hidden() {
    type Act = fn(&mut Host, &Window);
    let acts: [Act; 3] = [
        |_, window| window.toplevel.destroy(),
        |_, window| {
            window.surface.attach(None, 0, 0);
            window.surface.commit();
        },
        |host, _| host.act("minimise"),
    ];
    for act in acts {
        let (mut host, mut client) = host();
        let window = Window::mapped(&mut host, &mut client, 200, 100);
        let menu = Popup::mapped(&mut host, &mut client, &window.xdg, Rect::new(10, 20, 30, 10));
        let submenu = Popup::mapped(&mut host, &mut client, &menu.xdg, Rect::new(80, 0, 20, 20));
        act(&mut host, &window);
        client.roundtrip(&mut host);
        client.roundtrip(&mut host);
        assert!(menu.told(&client).done && submenu.told(&client).done);
        assert_eq!(host.shown(), []);
    }
}

#[test]
fn popup_with_a_positioner_that_says_too_little_is_an_error() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let base = client.bind::<xdg_wm_base::XdgWmBase>();
    let positioner = base.create_positioner(&client.handle, ());
    let surface = client.surface();
    let xdg = base.get_xdg_surface(&surface, &client.handle, ());
    xdg.get_popup(Some(&window.xdg), &positioner, &client.handle, ());
    assert_eq!(client.expect_error(&mut host).1, xdg_wm_base::Error::InvalidPositioner as u32);
}

#[test]
fn popups_that_are_each_others_parents_are_refused() {
    let (mut host, mut client) = host();
    let base = client.bind::<xdg_wm_base::XdgWmBase>();
    let (one, two) = (client.surface(), client.surface());
    let (one, two) = (base.get_xdg_surface(&one, &client.handle, ()), base.get_xdg_surface(&two, &client.handle, ()));
    let positioner = positioner(&client, Rect::new(0, 0, 1, 1), MENU);
    one.get_popup(Some(&two), &positioner, &client.handle, ());
    two.get_popup(Some(&one), &positioner, &client.handle, ());
    assert_eq!(client.expect_error(&mut host).1, xdg_wm_base::Error::InvalidPopupParent as u32);
}

#[test]
fn popups_nested_without_end_are_dismissed_at_a_depth() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let mut parent = window.xdg.clone();
    let popups: Vec<_> = (0..400)
        .map(|_| {
            let popup = Popup::new(&client, Some(&parent), Rect::new(0, 0, 1, 1));
            parent = popup.xdg.clone();
            popup
        })
        .collect();
    client.roundtrip(&mut host);
    let done = popups.iter().filter(|popup| popup.told(&client).done).count();
    assert!((300..400).contains(&done), "{done} of 400");
}
