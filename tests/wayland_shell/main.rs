//! Windows, popups, panels, focus and input as clients see them: clients and a server on one thread.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod hostile;
mod keys;
mod panel;
mod pointing;
mod popup;
#[path = "../support/mod.rs"]
mod support;
mod transfer;

mod window;

use smithay::reexports::wayland_server::Resource;
use support::client::{Client, Host};
use transom::adapters::wayland::latch::Item;
use transom::domain::frame::Time;
use transom::domain::geometry::{Rect, Size};
use transom::domain::scene::{Color, ElementId, Role};
use transom::ports::input::{Event, Press};
use wayland_client::Proxy;
use wayland_client::protocol::wl_surface::WlSurface;

/// The size of the output that [`host`] has, which is at the desktop's origin with scale 1.
pub(crate) const SCREEN: Size = Size::new(800, 600);

pub(crate) const BTN_LEFT: u32 = 0x110;
pub(crate) const BTN_RIGHT: u32 = 0x111;

/// A server with one output, and a client of it.
pub(crate) fn host() -> (Host, Client) {
    let mut host = Host::new();
    host.add_output("TEST-1", SCREEN, 1.0);
    let client = host.connect();
    (host, client)
}

impl Host {
    /// One event of the backend, a millisecond after the one before.
    pub(crate) fn input(&mut self, event: Event) {
        self.now = Time::from_ns(self.now.as_ns() + 1_000_000);
        self.server.state.input(self.now, event);
        self.server.flush(self.now).unwrap();
    }

    /// The pointer is at a logical point of the output.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        let (x, y) = (x / f64::from(SCREEN.w), y / f64::from(SCREEN.h));
        self.input(Event::PointerPosition { output: "TEST-1".into(), x, y });
    }

    pub(crate) fn press(&mut self, code: u32) {
        self.input(Event::PointerButton { code, press: Press::Pressed });
    }

    pub(crate) fn release(&mut self, code: u32) {
        self.input(Event::PointerButton { code, press: Press::Released });
    }

    pub(crate) fn click(&mut self, x: f64, y: f64) {
        self.point(x, y);
        self.press(BTN_LEFT);
        self.release(BTN_LEFT);
    }

    pub(crate) fn key(&mut self, code: u32, press: Press) {
        self.input(Event::Key { code, press });
    }

    pub(crate) fn act(&mut self, action: &str) {
        self.server.state.act(&action.parse().unwrap()).unwrap();
        self.server.flush(self.now).unwrap();
    }

    /// The only window, or the one that was mapped last.
    pub(crate) fn last_window(&self) -> transom::adapters::wayland::shell::toplevel::WindowInfo {
        self.server.state.windows().max_by_key(|window| window.id).unwrap()
    }
}

impl Host {
    /// What the output shows, front to back, without the pointer.
    pub(crate) fn shown(&self) -> Vec<Item> {
        let state = &self.server.state;
        let output = state.core.outputs.by_name("TEST-1").unwrap().id;
        let mut items = Vec::new();
        state.desktop_items(output, &mut items);
        items
    }

    /// A client's surface as [`Host::shown`] has it.
    pub(crate) fn tree(&self, surface: &WlSurface, x: f64, y: f64) -> Item {
        let mut all = self.server.state.core.surfaces.iter();
        let (root, _) = all.find(|(_, s)| s.wl.id().protocol_id() == surface.id().protocol_id()).unwrap();
        Item::Tree { root, x, y, alpha: 1.0, role: Role::Content }
    }

    /// The black around the last window.
    pub(crate) fn black(&self, rect: Rect) -> Item {
        let id = ElementId(1 << 63 | self.last_window().id.0);
        Item::Solid { id, rect: rect.to_f64(), color: Color::BLACK }
    }
}
