//! An X server without a screen: its picture, and a keyboard and a pointer to play with (XTEST).

use std::process::Command;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, ClientMessageEvent, ConfigureWindowAux, ConnectionExt, EventMask, ImageFormat, InputFocus, MapState,
    Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use transom::domain::geometry::Size;
use transom::ports::renderer::Pixels;

use crate::support::process::{Process, clean, until};

/// The kinds of event that XTEST makes (xproto: KeyPress, KeyRelease, ButtonPress, ButtonRelease, MotionNotify).
const KEY_PRESS: u8 = 2;
const KEY_RELEASE: u8 = 3;
const BUTTON_PRESS: u8 = 4;
const BUTTON_RELEASE: u8 = 5;
const MOTION: u8 = 6;

/// See the module's docs.
pub(crate) struct Xvfb {
    pub(crate) display: String,
    connection: RustConnection,
    root: Window,
    /// After the connection: it is dropped first.
    pub(crate) process: Process,
}

impl Xvfb {
    /// Starts it with a screen of 1024×768.
    pub(crate) fn start() -> Self {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp", "-noreset"]);
        let mut process = Process::start("Xvfb", clean(&mut command));
        let number: u32 = process.line(|line| line.trim().parse().ok());
        let display = format!(":{number}");
        let (connection, screen) = until("the X server", || RustConnection::connect(Some(&display)).ok());
        let root = connection.setup().roots[screen].root;
        Self { display, connection, root, process }
    }

    /// What is on its screen.
    pub(crate) fn picture(&self) -> Pixels {
        let geometry = self.connection.get_geometry(self.root).unwrap().reply().unwrap();
        let (width, height) = (geometry.width, geometry.height);
        let image = self.connection.get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, width, height, !0);
        let image = image.unwrap().reply().unwrap();
        assert_eq!(image.data.len(), usize::from(width) * usize::from(height) * 4, "32 bits a pixel");
        let bytes = image.data.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2], 255]).collect();
        Pixels { size: Size::new(width.into(), height.into()), bytes }
    }

    /// The window with that title, once it is mapped.
    pub(crate) fn window(&self, title: &str) -> Window {
        until("the window on the X host", || {
            let windows = self.connection.query_tree(self.root).ok()?.reply().ok()?.children;
            windows.into_iter().find(|window| self.is_titled(*window, title) && self.is_mapped(*window))
        })
    }

    fn is_titled(&self, window: Window, title: &str) -> bool {
        let name = self.connection.get_property(false, window, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 64);
        name.unwrap().reply().is_ok_and(|name| name.value == title.as_bytes())
    }

    fn is_mapped(&self, window: Window) -> bool {
        let attributes = self.connection.get_window_attributes(window).unwrap().reply();
        attributes.is_ok_and(|attributes| attributes.map_state == MapState::VIEWABLE)
    }

    /// Gives it the keyboard.
    pub(crate) fn focus(&self, window: Window) {
        let request = self.connection.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME);
        request.unwrap().check().unwrap();
    }

    /// Takes the keyboard from every window.
    pub(crate) fn focus_nothing(&self) {
        let request = self.connection.set_input_focus(InputFocus::NONE, x11rb::NONE, x11rb::CURRENT_TIME);
        request.unwrap().check().unwrap();
    }

    /// The one window that there is.
    pub(crate) fn only_window(&self) -> Window {
        until("the only window", || {
            let tree = self.connection.query_tree(self.root).unwrap().reply().unwrap();
            tree.children.into_iter().find(|child| self.is_mapped(*child))
        })
    }

    /// Gives it another size.
    pub(crate) fn resize(&self, window: Window, width: u32, height: u32) {
        let aux = ConfigureWindowAux::new().width(width).height(height);
        self.connection.configure_window(window, &aux).unwrap().check().unwrap();
    }

    /// Takes it off the screen.
    pub(crate) fn unmap(&self, window: Window) {
        self.connection.unmap_window(window).unwrap().check().unwrap();
    }

    /// Puts it on the screen.
    pub(crate) fn map(&self, window: Window) {
        self.connection.map_window(window).unwrap().check().unwrap();
    }

    /// Asks it to close, as a window manager's button does.
    pub(crate) fn close(&self, window: Window) {
        let atom = |name: &str| self.connection.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom;
        let data = [atom("WM_DELETE_WINDOW"), x11rb::CURRENT_TIME, 0, 0, 0];
        let event = ClientMessageEvent::new(32, window, atom("WM_PROTOCOLS"), data);
        self.connection.send_event(false, window, EventMask::NO_EVENT, event).unwrap().check().unwrap();
    }

    /// Presses or releases a key by its evdev code.
    pub(crate) fn key(&self, code: u32, down: bool) {
        self.fake(if down { KEY_PRESS } else { KEY_RELEASE }, u8::try_from(code + 8).unwrap(), 0, 0);
    }

    /// Presses or releases a button by its X number.
    pub(crate) fn button(&self, number: u8, down: bool) {
        self.fake(if down { BUTTON_PRESS } else { BUTTON_RELEASE }, number, 0, 0);
    }

    /// Moves the pointer there, screen pixels.
    pub(crate) fn point(&self, x: i32, y: i32) {
        self.fake(MOTION, 0, x as i16, y as i16);
    }

    fn fake(&self, kind: u8, detail: u8, x: i16, y: i16) {
        let request = self.connection.xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, self.root, x, y, 0);
        request.unwrap().check().unwrap();
    }
}
