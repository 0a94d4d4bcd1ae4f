//! One compositor, and the programs that a test starts in it.

use std::collections::HashMap;

use nix::sys::signal::Signal;
use transom::adapters::ipc::protocol::Window;
use transom::domain::geometry::{Point, Rect, Size};
use transom::ports::renderer::Pixels;

use super::support::compositor::{Compositor, Live, Setup};
use super::support::guest::Hand;
use super::support::picture::{points, rgb};
use super::support::process::{Process, until};
use super::support::rig;

/// The desktop beneath every window; no program here draws in this colour.
pub(crate) const DESKTOP: [u8; 3] = [0x12, 0x34, 0x56];
/// The output, logical and physical pixels.
pub(crate) const SIZE: (u32, u32) = (1024, 768);

/// Where the pointer is left once a test moved it. Not looked at.
const POINTER: Rect = Rect::new(0, 0, 32, 32);

/// See the module's docs.
pub(crate) struct Scene {
    pub(crate) compositor: Compositor,
    baseline: Live,
}

impl Scene {
    /// A compositor for these programs; `None`, said aloud, where one is missing.
    pub(crate) fn open(subject: &str, programs: &[&str]) -> Option<Self> {
        Self::configured(subject, programs, "")
    }

    /// As [`Scene::open`], with further lines of compositor.toml.
    pub(crate) fn configured(subject: &str, programs: &[&str], config: &str) -> Option<Self> {
        if let Some(program) = programs.iter().find(|program| !rig::has_program(program)) {
            rig::missing(subject, program);
            return None;
        }
        let [r, g, b] = DESKTOP;
        let mode = format!("{}x{}@60", SIZE.0, SIZE.1);
        let config = format!("desktop.background = \"#{r:02x}{g:02x}{b:02x}\"\n{config}");
        let compositor = Compositor::start(&Setup { outputs: &[&mode], config: &config, ..Setup::default() });
        let baseline = settled(&compositor);
        Some(Self { compositor, baseline })
    }

    /// Starts a program.
    pub(crate) fn start(&self, program: &str, arguments: &[&str]) -> Process {
        let mut command = self.compositor.client(program);
        // OpenGL and GTK alike compute their pixels themselves.
        command.args(arguments).env("LIBGL_ALWAYS_SOFTWARE", "1").env("GSK_RENDERER", "cairo").env("GTK_A11Y", "none");
        Process::start(&format!("{program} {}", arguments.join(" ")), &mut command)
    }

    /// Its first window, once it is there.
    pub(crate) fn window(&self, of: &mut Process) -> Window {
        until("a window", || {
            assert!(of.ended().is_none(), "the program ended before it showed a window: {}", of.all_said().join("\n"));
            self.compositor.windows().into_iter().next()
        })
    }

    /// A picture that fits, once there is one.
    pub(crate) fn picture(&self, what: &str, fits: impl Fn(&Pixels) -> bool) -> Pixels {
        until(what, || {
            let picture = self.compositor.screenshot();
            fits(&picture).then_some(picture)
        })
    }

    /// A picture in which all of the window is drawn over.
    pub(crate) fn picture_of(&self, window: &Window) -> Pixels {
        self.picture("a window that is drawn", |picture| {
            shown(picture).contains_rect(rect(window)) && !colours(picture, window.geometry).contains_key(&DESKTOP)
        })
    }

    /// Another picture than that.
    pub(crate) fn change(&self, from: &Pixels, what: &str) -> Pixels {
        self.picture(what, |picture| picture.bytes != from.bytes)
    }

    /// A pointer at work here, before any program is: its picture is kept from now on.
    pub(crate) fn hand(&mut self) -> Hand {
        let mut hand = Hand::new(&self.compositor.wayland(), SIZE);
        hand.point(4, 4);
        self.picture("the pointer", |picture| colours(picture, [POINTER.x, POINTER.y, POINTER.w, POINTER.h]).len() > 1);
        drop(hand);
        self.keep();
        Hand::new(&self.compositor.wayland(), SIZE)
    }

    /// Keeps what is loaded now, with no program left: pictures of the pointer stay for the next time.
    pub(crate) fn keep(&mut self) {
        self.baseline = settled(&self.compositor);
    }

    /// Asks a program's window to close, and checks its end.
    pub(crate) fn close(&self, program: Process, window: &Window) {
        self.compositor.action(&format!("close {}", window.id));
        self.end(program);
    }

    /// Interrupts a program that cannot be asked to close, and checks its end.
    pub(crate) fn interrupt(&self, program: Process) {
        program.signal(Signal::SIGINT);
        self.end(program);
    }

    /// A program is about to end: without an error, and without leaving anything behind.
    pub(crate) fn end(&self, mut program: Process) {
        let status = program.end();
        assert!(status.success(), "the program ended with {status}: {}", program.all_said().join("\n"));
        self.compositor.until_live("the program", self.baseline);
        self.picture("nothing on screen", |picture| shown(picture) == Rect::default());
    }

    /// Ends the compositor; nothing is left in it.
    pub(crate) fn quit(self) {
        self.compositor.until_live("the test", self.baseline);
        self.compositor.quit();
    }
}

/// What is alive once a first guest (wayland-info, where it is there) has come and gone and the counts stand still.
fn settled(compositor: &Compositor) -> Live {
    if rig::has_program("wayland-info") {
        compositor.client("wayland-info").output().unwrap();
    }
    let mut live = compositor.live();
    until("rest", || {
        let before = std::mem::replace(&mut live, compositor.live());
        (before == live && live.clients() == 0).then_some(())
    });
    live
}

/// A window's place.
pub(crate) fn rect(window: &Window) -> Rect {
    let [x, y, w, h] = window.geometry;
    Rect::new(x, y, w, h)
}

/// The smallest rectangle around all that is not the bare desktop.
pub(crate) fn shown(picture: &Pixels) -> Rect {
    spread(picture, |color| color != DESKTOP).0
}

/// The smallest rectangle around the pixels of a kind, and how many there are.
pub(crate) fn spread(picture: &Pixels, is: impl Fn([u8; 3]) -> bool) -> (Rect, usize) {
    let (mut bounds, mut count) = (Rect::default(), 0);
    for at in points(picture.size).filter(|&at| !POINTER.contains(at) && is(rgb(picture, at))) {
        bounds = bounds.hull(Rect::at(at, Size::new(1, 1)));
        count += 1;
    }
    (bounds, count)
}

/// How often each colour is there in a rectangle: x, y, width and height.
pub(crate) fn colours(picture: &Pixels, [x, y, w, h]: [i32; 4]) -> HashMap<[u8; 3], usize> {
    let mut colours = HashMap::new();
    for dy in 0..h {
        for dx in 0..w {
            *colours.entry(rgb(picture, Point::new(x + dx, y + dy))).or_default() += 1;
        }
    }
    colours
}
