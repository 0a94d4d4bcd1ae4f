//! zwlr_layer_surface_v1: place, claim, keyboard, end.

use transom::domain::geometry::{Rect, Size};
use wayland_client::Proxy;
use wayland_client::protocol::wl_surface;
use wayland_protocols_wlr::layer_shell::v1::client::{zwlr_layer_shell_v1, zwlr_layer_surface_v1};
use zwlr_layer_shell_v1::Layer;
use zwlr_layer_surface_v1::{Anchor, KeyboardInteractivity};

use crate::support::client::{Client, Host};
use crate::support::desk::{Input, PanelTold, Seat, Window};
use crate::{SCREEN, host};

struct Panel {
    surface: wl_surface::WlSurface,
    panel: zwlr_layer_surface_v1::ZwlrLayerSurfaceV1,
}

impl Panel {
    fn new(client: &Client, layer: Layer) -> Self {
        let surface = client.surface();
        let shell = client.bind::<zwlr_layer_shell_v1::ZwlrLayerShellV1>();
        let panel = shell.get_layer_surface(&surface, None, layer, "test".into(), &client.handle, ());
        Self { surface, panel }
    }

    /// A bar of this height along the top edge, which it claims.
    fn bar(client: &Client, layer: Layer, height: u32) -> Self {
        let bar = Self::new(client, layer);
        bar.panel.set_anchor(Anchor::Top | Anchor::Left | Anchor::Right);
        bar.panel.set_size(0, height);
        bar.panel.set_exclusive_zone(height as i32);
        bar
    }

    fn map(&self, host: &mut Host, client: &mut Client) {
        self.surface.commit();
        client.roundtrip(host);
        let told = self.told(client);
        self.panel.ack_configure(told.serial);
        self.surface.attach(Some(&client.buffer(told.size.0 as i32, told.size.1 as i32, 0)), 0, 0);
        self.surface.commit();
        client.roundtrip(host);
    }

    fn told(&self, client: &Client) -> PanelTold {
        client.events.desk.panels.get(&self.panel.id()).cloned().unwrap_or_default()
    }
}

#[test]
fn bar_with_a_claim_shrinks_maximised_windows_and_gives_the_space_back() {
    let (mut host, mut client) = host();
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    window.toplevel.set_maximized();
    window.answer(&mut host, &mut client, SCREEN.w, SCREEN.h);
    let bar = Panel::bar(&client, Layer::Top, 30);
    bar.map(&mut host, &mut client);
    assert_eq!(bar.told(&client).size, (800, 30));
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (800, 570));
    window.answer(&mut host, &mut client, 800, 570);
    assert_eq!(host.last_window().geometry, Rect::new(0, 30, 800, 570));
    assert_eq!(host.shown(), [host.tree(&bar.surface, 0.0, 0.0), host.tree(&window.surface, 0.0, 30.0)]);
    bar.panel.destroy();
    client.roundtrip(&mut host);
    client.roundtrip(&mut host);
    assert_eq!(window.told(&client).size, (800, 600));
}

#[test]
fn layers_are_stacked_around_windows_and_top_is_beneath_a_fullscreen_one() {
    let (mut host, mut client) = host();
    let layers = [Layer::Background, Layer::Bottom, Layer::Top, Layer::Overlay].map(|layer| {
        let panel = Panel::new(&client, layer);
        panel.panel.set_size(50, 50);
        panel.map(&mut host, &mut client);
        panel
    });
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let at = |host: &Host, panel: &Panel| host.tree(&panel.surface, 375.0, 275.0);
    let [background, bottom, top, overlay] = &layers;
    let expected = [
        at(&host, overlay),
        at(&host, top),
        host.tree(&window.surface, 300.0, 250.0),
        at(&host, bottom),
        at(&host, background),
    ];
    assert_eq!(host.shown(), expected);
    host.act("toggle-fullscreen");
    window.answer(&mut host, &mut client, 800, 600);
    let black = host.black(Rect::from_size(SCREEN));
    assert_eq!(host.shown(), [at(&host, overlay), host.tree(&window.surface, 0.0, 0.0), black]);
}

#[test]
fn panel_that_demands_the_keyboard_has_it_until_it_goes() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let lock = Panel::new(&client, Layer::Overlay);
    lock.panel.set_size(50, 50);
    lock.panel.set_keyboard_interactivity(KeyboardInteractivity::Exclusive);
    client.take_input();
    lock.map(&mut host, &mut client);
    assert!(client.take_input().contains(&Input::KeyEnter(lock.surface.id())));
    host.click(310.0, 260.0);
    client.roundtrip(&mut host);
    let input = client.take_input();
    assert!(!input.iter().any(|input| matches!(input, Input::KeyEnter(_))), "a click does not take it: {input:?}");
    lock.panel.destroy();
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::KeyEnter(window.surface.id())));
}

#[test]
fn panel_that_takes_the_keyboard_on_demand_gets_it_by_a_click() {
    let (mut host, mut client) = host();
    let _seat = Seat::new(&client);
    let window = Window::mapped(&mut host, &mut client, 200, 100);
    let search = Panel::bar(&client, Layer::Top, 30);
    search.panel.set_keyboard_interactivity(KeyboardInteractivity::OnDemand);
    search.map(&mut host, &mut client);
    client.take_input();
    host.click(10.0, 10.0);
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::KeyEnter(search.surface.id())));
    host.click(310.0, 300.0);
    client.roundtrip(&mut host);
    assert!(client.take_input().contains(&Input::KeyEnter(window.surface.id())));
}

#[test]
fn panel_goes_with_its_output() {
    let (mut host, mut client) = host();
    let bar = Panel::bar(&client, Layer::Top, 30);
    bar.map(&mut host, &mut client);
    let id = host.server.state.core.outputs.by_name("TEST-1").unwrap().id;
    host.server.state.remove_output(id);
    client.roundtrip(&mut host);
    assert!(bar.told(&client).closed);
    host.add_output("TEST-1", SCREEN, 1.0);
    assert_eq!(host.shown(), []);
    bar.surface.commit();
    bar.panel.destroy();
    client.roundtrip(&mut host);
}

#[test]
fn panel_without_any_output_is_closed_at_once() {
    let mut host = Host::new();
    let mut client = host.connect();
    let panel = Panel::new(&client, Layer::Top);
    panel.panel.set_size(10, 10);
    panel.surface.commit();
    client.roundtrip(&mut host);
    assert!(panel.told(&client).closed);
}

#[test]
fn panel_of_an_impossible_size_is_an_error() {
    for size in [(0, 10), (10, 0), (u32::MAX, 10)] {
        let (mut host, mut client) = host();
        let panel = Panel::new(&client, Layer::Top);
        panel.panel.set_size(size.0, size.1);
        panel.surface.commit();
        let code = zwlr_layer_surface_v1::Error::InvalidSize as u32;
        assert_eq!(client.expect_error(&mut host), ("zwlr_layer_surface_v1".into(), code));
    }
}

#[test]
fn panel_that_changes_without_answering_costs_a_bounded_number_of_configures() {
    let (mut host, mut client) = host();
    let bar = Panel::bar(&client, Layer::Top, 30);
    bar.map(&mut host, &mut client);
    for height in 1..=500 {
        bar.panel.set_size(0, height);
        bar.surface.commit();
    }
    client.roundtrip(&mut host);
    assert!(bar.told(&client).size.1 <= 17, "it was told the first ones only: {:?}", bar.told(&client));
    bar.panel.ack_configure(bar.told(&client).serial);
    client.roundtrip(&mut host);
    assert_eq!(bar.told(&client).size, (800, 500), "and the last one once it answers");
    assert_eq!(host.server.state.shell.desktop.screens()[0].usable, Rect::new(0, 30, 800, 570));
}

#[test]
fn output_that_changes_its_size_arranges_panels_anew() {
    let (mut host, mut client) = host();
    let bar = Panel::bar(&client, Layer::Top, 30);
    bar.map(&mut host, &mut client);
    let id = host.server.state.core.outputs.by_name("TEST-1").unwrap().id;
    let info = crate::support::client::info("TEST-1", Size::new(1000, 500));
    host.server.state.change_output(id, &info, Default::default(), Default::default(), Default::default());
    client.roundtrip(&mut host);
    assert_eq!(bar.told(&client).size, (1000, 30));
}
