//! Keyboard and pointer of a Wayland compositor, moved by a client of it (virtual-keyboard, wlr-virtual-pointer).

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::sys::memfd::{MFdFlags, memfd_create};
use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_keyboard::KeymapFormat;
use wayland_client::protocol::wl_pointer::{Axis, AxisSource, ButtonState};
use wayland_client::protocol::{wl_registry::WlRegistry, wl_seat::WlSeat};
use wayland_client::{Connection, Dispatch, EventQueue, delegate_noop};
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1;
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

/// What any desktop's keyboard has.
const KEYMAP: &str = r#"xkb_keymap {
    xkb_keycodes { include "evdev+aliases(qwerty)" };
    xkb_types { include "complete" };
    xkb_compat { include "complete" };
    xkb_symbols { include "pc+us+inet(evdev)" };
};"#;

struct Nothing;

/// See the module's docs.
pub(crate) struct Hands {
    queue: EventQueue<Nothing>,
    keyboard: ZwpVirtualKeyboardV1,
    pointer: ZwlrVirtualPointerV1,
    /// Milliseconds that the events happen at, one later each.
    time: u32,
}

impl Hands {
    /// On the compositor that listens on `socket`.
    pub(crate) fn new(socket: &Path) -> Self {
        let connection = Connection::from_socket(UnixStream::connect(socket).unwrap()).unwrap();
        let (globals, queue) = registry_queue_init::<Nothing>(&connection).unwrap();
        let handle = queue.handle();
        let seat: WlSeat = globals.bind(&handle, 1..=1, ()).unwrap();
        let keyboards: ZwpVirtualKeyboardManagerV1 = globals.bind(&handle, 1..=1, ()).unwrap();
        let pointers: ZwlrVirtualPointerManagerV1 = globals.bind(&handle, 1..=1, ()).unwrap();
        let keyboard = keyboards.create_virtual_keyboard(&seat, &handle, ());
        let pointer = pointers.create_virtual_pointer(Some(&seat), &handle, ());
        let mut file = std::fs::File::from(memfd_create(c"keymap", MFdFlags::MFD_CLOEXEC).unwrap());
        file.write_all(KEYMAP.as_bytes()).unwrap();
        file.write_all(&[0]).unwrap();
        keyboard.keymap(KeymapFormat::XkbV1.into(), file.as_fd(), KEYMAP.len() as u32 + 1);
        let mut hands = Self { queue, keyboard, pointer, time: 0 };
        hands.done();
        hands
    }

    fn done(&mut self) {
        self.queue.roundtrip(&mut Nothing).unwrap();
        self.time += 1;
    }

    /// Presses or releases a key by its evdev code.
    pub(crate) fn key(&mut self, code: u32, down: bool) {
        self.keyboard.key(self.time, code, u32::from(down));
        self.done();
    }

    /// Presses or releases a button by its evdev code.
    pub(crate) fn button(&mut self, code: u32, down: bool) {
        let state = if down { ButtonState::Pressed } else { ButtonState::Released };
        self.pointer.button(self.time, code, state);
        self.pointer.frame();
        self.done();
    }

    /// Moves the pointer there, of a desktop that is `width` by `height`.
    pub(crate) fn point(&mut self, (x, y): (i32, i32), (width, height): (i32, i32)) {
        self.pointer.motion_absolute(self.time, x as u32, y as u32, width as u32, height as u32);
        self.pointer.frame();
        self.done();
    }

    /// Turns the wheel down by one detent.
    pub(crate) fn wheel(&mut self) {
        self.pointer.axis_source(AxisSource::Wheel);
        self.pointer.axis_discrete(self.time, Axis::VerticalScroll, 15.0, 1);
        self.pointer.frame();
        self.done();
    }
}

impl Dispatch<WlRegistry, GlobalListContents> for Nothing {
    fn event(
        _: &mut Self,
        _: &WlRegistry,
        _: <WlRegistry as wayland_client::Proxy>::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &wayland_client::QueueHandle<Self>,
    ) {
    }
}

delegate_noop!(Nothing: ignore WlSeat);
delegate_noop!(Nothing: ZwpVirtualKeyboardManagerV1);
delegate_noop!(Nothing: ZwpVirtualKeyboardV1);
delegate_noop!(Nothing: ZwlrVirtualPointerManagerV1);
delegate_noop!(Nothing: ZwlrVirtualPointerV1);
