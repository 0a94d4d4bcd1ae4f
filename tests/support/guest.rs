//! A client that keeps to the protocol, over [`Wire`], until a test makes it do otherwise.
//!
//! It binds a global when it first needs it, answers pings, and keeps in [`Seen`] what tests ask about. Every wait is
//! bounded ([`PATIENCE`]) and ends at once where the compositor ends the connection.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::ftruncate;

use super::process::PATIENCE;
use super::protocol::{self, *};
use super::wire::Arg::{I, S, U};
use super::wire::{Arg, DISPLAY, Event, Fault, Id, Wire};

/// What came.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Callbacks that were called.
    pub(crate) done: HashSet<Id>,
    /// The last serial that each xdg_surface or layer surface was configured with and that is not acknowledged.
    pub(crate) configured: HashMap<Id, u32>,
    /// The size that each toplevel or layer surface was last told.
    pub(crate) sizes: HashMap<Id, (i32, i32)>,
    /// wl_buffer.release events.
    pub(crate) releases: u64,
    /// Serials of wl_pointer.button events.
    pub(crate) buttons: Vec<u32>,
    /// Serial and surface of the last wl_pointer.enter; `None` after a leave.
    pub(crate) pointed: Option<(u32, Id)>,
    /// Serial and surface of the last wl_keyboard.enter; `None` after a leave.
    pub(crate) focused: Option<(u32, Id)>,
    /// wl_keyboard.key events: key and state.
    pub(crate) keys: Vec<(u32, u32)>,
    /// Toplevels asked to close.
    pub(crate) closes: HashSet<Id>,
    /// The last activation token.
    pub(crate) token: Option<String>,
}

/// A window's three objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Toplevel {
    pub(crate) surface: Id,
    pub(crate) xdg_surface: Id,
    pub(crate) toplevel: Id,
}

/// See the module's docs.
pub(crate) struct Guest {
    pub(crate) wire: Wire,
    pub(crate) seen: Seen,
    registry: Id,
    globals: HashMap<String, (u32, u32)>,
    bound: HashMap<&'static str, Id>,
}

impl Guest {
    /// Connects and learns what globals there are.
    pub(crate) fn connect(socket: &Path) -> Self {
        let mut wire = Wire::connect(socket);
        let registry = wire.id("wl_registry");
        wire.request(DISPLAY, wl_display::GET_REGISTRY, &[U(registry)]);
        let (globals, bound) = (HashMap::new(), HashMap::new());
        let mut guest = Self { wire, seen: Seen::default(), registry, globals, bound };
        guest.roundtrip();
        guest
    }

    /// The one object of a global, bound now where it was not.
    pub(crate) fn the(&mut self, interface: &'static str) -> Id {
        if let Some(&id) = self.bound.get(interface) {
            return id;
        }
        let &(name, version) = self.globals.get(interface).unwrap_or_else(|| panic!("no global {interface}"));
        let spoken = protocol::VERSIONS.iter().find(|spoken| spoken.0 == interface).expect("a version of it").1;
        let id = self.wire.id(interface);
        let args = [U(name), S(interface), U(version.min(spoken)), U(id)];
        self.wire.request(self.registry, wl_registry::BIND, &args);
        self.bound.insert(interface, id);
        id
    }

    /// Makes an object of a global's: `args` follow the new object's id.
    pub(crate) fn make(&mut self, global: &'static str, opcode: u16, interface: &'static str, args: &[Arg<'_>]) -> Id {
        let global = self.the(global);
        let id = self.wire.id(interface);
        let args: Vec<_> = [U(id)].into_iter().chain(args.iter().copied()).collect();
        self.wire.request(global, opcode, &args);
        id
    }

    /// Makes an object of a global's by a request that has nothing else to say.
    pub(crate) fn make_of(&mut self, global: &'static str, opcode: u16, interface: &'static str) -> Id {
        self.make(global, opcode, interface, &[])
    }

    pub(crate) fn surface(&mut self) -> Id {
        self.make("wl_compositor", wl_compositor::CREATE_SURFACE, "wl_surface", &[])
    }

    pub(crate) fn subsurface(&mut self, surface: Id, parent: Id) -> Id {
        let args = [U(surface), U(parent)];
        self.make("wl_subcompositor", wl_subcompositor::GET_SUBSURFACE, "wl_subsurface", &args)
    }

    /// A pool of `len` bytes said, on `file`.
    pub(crate) fn pool_on(&mut self, file: &OwnedFd, len: i32) -> Id {
        let shm = self.the("wl_shm");
        let pool = self.wire.id("wl_shm_pool");
        self.wire.request_with(shm, wl_shm::CREATE_POOL, &[U(pool), I(len)], file.as_fd());
        pool
    }

    /// A buffer at `offset` of a pool.
    pub(crate) fn buffer_in(&mut self, pool: Id, offset: i32, (w, h): (i32, i32), stride: i32, format: u32) -> Id {
        let buffer = self.wire.id("wl_buffer");
        let args = [U(buffer), I(offset), I(w), I(h), I(stride), U(format)];
        self.wire.request(pool, wl_shm_pool::CREATE_BUFFER, &args);
        buffer
    }

    /// An opaque buffer of one colour (0xRRGGBB), the only one of its pool.
    pub(crate) fn buffer(&mut self, (w, h): (i32, i32), rgb: u32) -> Id {
        let file = memory(w * h * 4);
        fill(&file, 0, (w * h) as usize, rgb);
        let pool = self.pool_on(&file, w * h * 4);
        let buffer = self.buffer_in(pool, 0, (w, h), w * 4, XRGB8888);
        self.wire.request(pool, wl_shm_pool::DESTROY, &[]);
        buffer
    }

    /// Attaches a buffer, all of it damaged.
    pub(crate) fn attach(&mut self, surface: Id, buffer: Id) {
        self.wire.request(surface, wl_surface::ATTACH, &[U(buffer), I(0), I(0)]);
        self.wire.request(surface, wl_surface::DAMAGE, &[I(0), I(0), I(i32::MAX), I(i32::MAX)]);
    }

    pub(crate) fn commit(&mut self, surface: Id) {
        self.wire.request(surface, wl_surface::COMMIT, &[]);
    }

    /// Asks for a frame callback.
    pub(crate) fn frame(&mut self, surface: Id) -> Id {
        let callback = self.wire.id("wl_callback");
        self.wire.request(surface, wl_surface::FRAME, &[U(callback)]);
        callback
    }

    /// A window that is yet without content, nothing committed.
    pub(crate) fn bare_toplevel(&mut self, title: &str) -> Toplevel {
        let surface = self.surface();
        let xdg_surface = self.make("xdg_wm_base", xdg_wm_base::GET_XDG_SURFACE, "xdg_surface", &[U(surface)]);
        let toplevel = self.wire.id("xdg_toplevel");
        self.wire.request(xdg_surface, xdg_surface::GET_TOPLEVEL, &[U(toplevel)]);
        self.wire.request(toplevel, xdg_toplevel::SET_TITLE, &[S(title)]);
        Toplevel { surface, xdg_surface, toplevel }
    }

    /// A window, configured, acknowledged and without content.
    pub(crate) fn toplevel(&mut self, title: &str) -> Toplevel {
        let window = self.bare_toplevel(title);
        self.commit(window.surface);
        self.acknowledge(window.xdg_surface);
        window
    }

    /// A window of one colour on screen.
    pub(crate) fn window(&mut self, title: &str, size: (i32, i32), rgb: u32) -> Toplevel {
        let window = self.toplevel(title);
        let buffer = self.buffer(size, rgb);
        self.attach(window.surface, buffer);
        self.show(window.surface);
        window
    }

    /// Waits until an xdg_surface was configured, and acknowledges that.
    pub(crate) fn acknowledge(&mut self, xdg_surface: Id) {
        self.until("a configure event", |seen| seen.configured.contains_key(&xdg_surface));
        let serial = self.seen.configured.remove(&xdg_surface).expect("it came");
        self.wire.request(xdg_surface, xdg_surface::ACK_CONFIGURE, &[U(serial)]);
    }

    /// Commits a surface and waits until that is on screen.
    pub(crate) fn show(&mut self, surface: Id) {
        let callback = self.frame(surface);
        self.commit(surface);
        self.until("a frame callback", |seen| seen.done.contains(&callback));
    }

    /// Everything said so far is handled, and everything that it caused has come.
    ///
    /// # Panics
    /// Where the connection ends before.
    pub(crate) fn roundtrip(&mut self) {
        let callback = self.wire.id("wl_callback");
        self.wire.request(DISPLAY, wl_display::SYNC, &[U(callback)]);
        self.until("an answer", |seen| seen.done.contains(&callback));
    }

    /// Takes in what comes until `there`.
    ///
    /// # Panics
    /// Where it does not come, or the connection ends before.
    pub(crate) fn until(&mut self, what: &str, there: impl Fn(&Seen) -> bool) {
        self.wire.flush();
        let end = Instant::now() + PATIENCE;
        while !there(&self.seen) {
            match self.wire.event(end) {
                Some(event) => self.take(&event),
                None => panic!("{what} did not come; closed: {}, {:?}", self.wire.is_closed(), self.wire.fault()),
            }
        }
    }

    /// Takes in what comes until `end`, or until the connection ends.
    pub(crate) fn listen(&mut self, end: Instant) {
        self.wire.flush();
        while let Some(event) = self.wire.event(end) {
            self.take(&event);
        }
    }

    /// Takes in what comes until `there`, or until the connection ends: the error that ended it.
    ///
    /// # Panics
    /// Where neither comes, or it ends without an error.
    pub(crate) fn comes_or_fault(&mut self, there: impl Fn(&Seen) -> bool) -> Option<Fault> {
        self.wire.flush();
        let end = Instant::now() + PATIENCE;
        while !there(&self.seen) {
            match self.wire.event(end) {
                Some(event) => self.take(&event),
                None => return Some(self.fault()),
            }
        }
        None
    }

    /// As [`Guest::show`], for a surface commit that may end the connection.
    pub(crate) fn show_or_fault(&mut self, surface: Id) {
        let callback = self.frame(surface);
        self.commit(surface);
        self.comes_or_fault(|seen| seen.done.contains(&callback));
    }

    /// As [`Guest::roundtrip`], for what may end the connection: the error that ended it.
    pub(crate) fn answer_or_fault(&mut self) -> Option<Fault> {
        let callback = self.wire.id("wl_callback");
        self.wire.request(DISPLAY, wl_display::SYNC, &[U(callback)]);
        self.comes_or_fault(|seen| seen.done.contains(&callback))
    }

    /// Whether the connection is ended by the other side, with or without an error.
    pub(crate) fn is_thrown_out(&mut self) -> bool {
        self.listen(Instant::now() + PATIENCE);
        self.wire.is_closed()
    }

    /// Waits for the error that ends the connection.
    ///
    /// # Panics
    /// Where there is none.
    pub(crate) fn fault(&mut self) -> Fault {
        let end = Instant::now() + PATIENCE;
        self.wire.flush();
        while self.wire.fault().is_none() {
            match self.wire.event(end) {
                Some(event) => self.take(&event),
                None => break,
            }
        }
        self.wire.fault().unwrap_or_else(|| panic!("no error came; closed: {}", self.wire.is_closed())).clone()
    }

    fn take(&mut self, event: &Event) {
        let seen = &mut self.seen;
        match (self.wire.interface(event.object), event.opcode) {
            ("wl_registry", wl_registry::GLOBAL_EVENT) => {
                let (interface, at) = event.string(1);
                self.globals.insert(interface, (event.word(0), event.word(at)));
            }
            ("wl_callback", wl_callback::DONE_EVENT) => {
                seen.done.insert(event.object);
            }
            ("xdg_wm_base", xdg_wm_base::PING_EVENT) => {
                self.wire.request(event.object, xdg_wm_base::PONG, &[U(event.word(0))]);
                self.wire.flush();
            }
            ("xdg_surface", xdg_surface::CONFIGURE_EVENT) => {
                seen.configured.insert(event.object, event.word(0));
            }
            ("xdg_toplevel", xdg_toplevel::CONFIGURE_EVENT) => {
                seen.sizes.insert(event.object, (event.word(0) as i32, event.word(1) as i32));
            }
            ("zwlr_layer_surface_v1", zwlr_layer_surface_v1::CONFIGURE_EVENT) => {
                seen.configured.insert(event.object, event.word(0));
                seen.sizes.insert(event.object, (event.word(1) as i32, event.word(2) as i32));
            }
            ("xdg_toplevel", xdg_toplevel::CLOSE_EVENT) => {
                seen.closes.insert(event.object);
            }
            ("wl_buffer", wl_buffer::RELEASE_EVENT) => seen.releases += 1,
            ("wl_pointer", wl_pointer::ENTER_EVENT) => seen.pointed = Some((event.word(0), event.word(1))),
            ("wl_pointer", wl_pointer::LEAVE_EVENT) => seen.pointed = None,
            ("wl_pointer", wl_pointer::BUTTON_EVENT) => seen.buttons.push(event.word(0)),
            ("wl_keyboard", wl_keyboard::ENTER_EVENT) => seen.focused = Some((event.word(0), event.word(1))),
            ("wl_keyboard", wl_keyboard::LEAVE_EVENT) => seen.focused = None,
            ("wl_keyboard", wl_keyboard::KEY_EVENT) => seen.keys.push((event.word(2), event.word(3))),
            ("xdg_activation_token_v1", xdg_activation_token_v1::DONE_EVENT) => seen.token = Some(event.string(0).0),
            _ => {}
        }
    }
}

/// A pointer of the test's own, at work in a compositor (wlr-virtual-pointer).
pub(crate) struct Hand {
    guest: Guest,
    pointer: Id,
    size: (u32, u32),
    time_ms: u32,
}

impl Hand {
    /// At work on a desktop of `size` logical pixels.
    pub(crate) fn new(socket: &Path, size: (u32, u32)) -> Self {
        let mut guest = Guest::connect(socket);
        let seat = guest.the("wl_seat");
        let manager = guest.the("zwlr_virtual_pointer_manager_v1");
        let pointer = guest.wire.id("zwlr_virtual_pointer_v1");
        let args = [U(seat), U(pointer)];
        guest.wire.request(manager, zwlr_virtual_pointer_manager_v1::CREATE_VIRTUAL_POINTER, &args);
        guest.roundtrip();
        Self { guest, pointer, size, time_ms: 0 }
    }

    /// Moves there, logical pixels.
    pub(crate) fn point(&mut self, x: i32, y: i32) {
        let (w, h) = self.size;
        let args = [U(self.time()), U(x as u32), U(y as u32), U(w), U(h)];
        self.say(zwlr_virtual_pointer_v1::MOTION_ABSOLUTE, &args);
    }

    /// Presses or releases a button.
    pub(crate) fn button(&mut self, button: u32, down: bool) {
        let args = [U(self.time()), U(button), U(u32::from(down))];
        self.say(zwlr_virtual_pointer_v1::BUTTON, &args);
    }

    /// Points there and clicks the left button.
    pub(crate) fn click(&mut self, x: i32, y: i32) {
        self.point(x, y);
        self.button(LEFT, true);
        self.button(LEFT, false);
    }

    fn time(&mut self) -> u32 {
        self.time_ms += 10;
        self.time_ms
    }

    fn say(&mut self, opcode: u16, args: &[Arg<'_>]) {
        self.guest.wire.request(self.pointer, opcode, args);
        self.guest.wire.request(self.pointer, zwlr_virtual_pointer_v1::FRAME, &[]);
        self.guest.roundtrip();
    }
}

/// A file in memory.
pub(crate) fn memory(len: i32) -> OwnedFd {
    let file = memfd_create(c"guest", MFdFlags::MFD_CLOEXEC).unwrap();
    ftruncate(&file, i64::from(len)).unwrap();
    file
}

/// Writes `count` texels of a colour (0xRRGGBB) from byte `offset` on, alpha full.
pub(crate) fn fill(file: &OwnedFd, offset: i64, count: usize, rgb: u32) {
    let bytes = (rgb | 0xff00_0000).to_le_bytes().repeat(count);
    nix::sys::uio::pwrite(file, &bytes, offset).unwrap();
}
