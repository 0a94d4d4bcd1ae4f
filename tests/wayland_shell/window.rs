//! xdg_toplevel: from the initial surface commit to the end.

use transom::domain::geometry::Rect;
use wayland_client::Proxy;
use wayland_protocols::xdg::shell::client::xdg_toplevel::State;

use crate::support::desk::{Input, Seat, Window};
use crate::{SCREEN, host};

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
