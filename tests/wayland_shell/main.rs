//! Windows, popups, panels, focus and input as clients see them: clients and a server on one thread.

#[path = "../support/mod.rs"]
mod support;
mod window;

use smithay as _;
use support::client::{Client, Host};
use transom::domain::frame::Time;
use transom::domain::geometry::Size;
use transom::ports::input::{Event, Press};

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
        self.server.flush().unwrap();
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
        self.server.flush().unwrap();
    }

    /// The only window, or the one that was mapped last.
    pub(crate) fn last_window(&self) -> transom::adapters::wayland::shell::toplevel::WindowInfo {
        self.server.state.windows().max_by_key(|window| window.id).unwrap()
    }
}
