//! The whole way of a frame, from latch to present, in the real compositor on a headless output with a client in
//! process: a hundred steady frames allocate nothing and make nothing.
//!
//! A turn of the loop is taken in its three parts, and what the middle one ([`Compositor::redraw`]) allocates is counted.
//! The parts around it speak with clients, for which the Wayland library allocates; that is counted and told beside.

use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use transom::adapters::ipc::protocol::Stats;
use transom::adapters::output::headless::Headless;
use transom::adapters::vulkan::Vulkan;
use transom::adapters::wayland::Server;
use transom::adapters::wayland::state::Options;
use transom::app::{Compositor, NoRenderer, Ready, Setup, child};
use transom::domain::action::Action;
use transom::domain::config::Config;
use transom::domain::frame::{FrameSerial, Time};
use transom::domain::plane::Abilities;
use transom::ports::input;
use transom::ports::output::{Content, Event, Info, Output};
use transom::ports::renderer::{Acquired, RenderError, Renderer, TargetId};
use wayland_client::protocol::{wl_buffer, wl_shm, wl_subcompositor, wl_surface};

use super::support::allocation::allocations;
use super::support::client::{Client, Peer};
use super::support::desk::Window;
use super::{FRAMES, WARM_UP, modes};

/// Longest wait for a frame, far past what the slowest driver takes.
const PATIENCE: Duration = Duration::from_secs(60);
const PERIOD_NS: u64 = 16_666_667;

/// A headless output whose content is lost when the test says so, which has all of it painted anew.
struct Exposing {
    inner: Headless,
    exposed: Rc<Cell<bool>>,
}

impl Output for Exposing {
    fn info(&self) -> &Info {
        self.inner.info()
    }
    fn acquire(&mut self, renderer: &mut dyn Renderer) -> Result<(TargetId, Acquired), RenderError> {
        self.inner.acquire(renderer)
    }
    fn present(&mut self, content: Content, now: Time) {
        self.inner.present(content, now);
    }
    fn rendered(&mut self, until: FrameSerial, now: Time) {
        self.inner.rendered(until, now);
    }
    fn capture_target(&self) -> Option<TargetId> {
        self.inner.capture_target()
    }
    fn next_wake(&self) -> Option<Time> {
        self.inner.next_wake()
    }
    fn wake_fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }
    fn dispatch(&mut self, now: Time, tell: &mut dyn FnMut(Event)) {
        self.inner.dispatch(now, tell);
        if self.exposed.take() {
            tell(Event::Exposed);
        }
    }
    fn release(&mut self, renderer: &mut dyn Renderer) {
        self.inner.release(renderer);
    }
    fn attach(&mut self, renderer: &mut dyn Renderer) -> Result<(), RenderError> {
        self.inner.attach(renderer)
    }
}

/// The compositor, its clock in the test's hand.
struct Stage {
    compositor: Compositor,
    exposed: Rc<Cell<bool>>,
    /// Readable when the renderer completed something.
    completion: OwnedFd,
    now: Time,
    /// What the parts of turns around frames allocated.
    beside: u64,
}

impl Peer for Stage {
    fn dispatch(&mut self) {
        self.compositor.turn(Ready::CLIENTS, self.now);
    }
}

impl Stage {
    fn new(vulkan: Vulkan) -> Self {
        let now = Time::from_ns(1_000_000_000);
        let exposed = Rc::default();
        let mode = "640x480@60".parse().expect("a mode");
        let inner = Headless::new("TEST-1".into(), mode, Abilities::default(), now);
        let output = Exposing { inner, exposed: Rc::clone(&exposed) };
        let completion = vulkan.completion_fd().expect("the adapter wakes the loop").try_clone_to_owned();
        let setup = Setup {
            server: Server::unconnected(Options::default()).expect("a display without a socket"),
            factory: Box::new(|| Err(NoRenderer::from("there is one"))),
            renderer: Box::new(vulkan),
            outputs: vec![Box::new(output)],
            inputs: Vec::new(),
            config: Config::default(),
            source: None,
            control: None,
            children: child::Children::default(),
            set_log_filter: Box::new(|_| {}),
            started: now,
        };
        let compositor = Compositor::new(setup, now).expect("a compositor");
        Self { compositor, exposed, completion: completion.expect("a descriptor"), now, beside: 0 }
    }

    fn connect(&mut self) -> Client {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        self.compositor.server.insert_client(theirs).expect("the server takes a client");
        let mut client = Client::new(ours);
        client.roundtrip(self);
        client
    }

    fn stats(&self) -> Stats {
        self.compositor.stats(self.now)
    }

    fn presented(&self) -> u64 {
        self.stats().outputs[0].presented
    }

    fn attend(&mut self, ready: Ready) {
        let now = self.now;
        self.beside += allocations(|| self.compositor.attend(ready, now));
    }

    /// One frame of what clients said and the desktop did, until it is on screen. Tells what the frame allocated.
    fn frame(&mut self) -> u64 {
        self.attend(Ready::CLIENTS | Ready::OUTPUTS);
        let before = self.presented();
        let now = self.now;
        let allocated = allocations(|| self.compositor.redraw(now));
        self.beside += allocations(|| self.compositor.conclude(now));
        let start = Instant::now();
        while self.presented() == before {
            assert!(start.elapsed() < PATIENCE, "a frame does not reach the screen");
            let limit_ms = 50u16;
            poll(&mut [PollFd::new(self.completion.as_fd(), PollFlags::POLLIN)], limit_ms).expect("a wait");
            self.attend(Ready::RENDERER);
            let soon = self.now.plus_ns(PERIOD_NS + 1);
            self.now = self.compositor.wake_at().filter(|at| *at <= soon).map_or(self.now, |at| self.now.max(at));
            self.attend(Ready::OUTPUTS);
        }
        allocated
    }
}

/// What a client shows, with two buffers for what it updates.
struct Shown {
    windows: Vec<Window>,
    children: Vec<wl_surface::WlSurface>,
    buffers: [wl_buffer::WlBuffer; 2],
}

const BUFFER: (i32, i32) = (64, 48);

fn show(stage: &mut Stage, client: &mut Client, windows: usize, children: usize) -> Shown {
    let windows: Vec<_> = (0..windows).map(|_| Window::mapped(stage, client, BUFFER.0, BUFFER.1)).collect();
    let (w, h) = BUFFER;
    let pool = client.pool(2 * w * h * 4);
    let buffers = [0, 1].map(|n| pool.buffer(client, n * w * h * 4, w, h, w * 4, wl_shm::Format::Argb8888));
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let children = (0..children).map(|n| {
        let child = client.surface();
        let role = subcompositor.get_subsurface(&child, &windows[0].surface, &client.handle, ());
        role.set_desync();
        role.set_position(n as i32 * 9, n as i32 * 5);
        child.attach(Some(&buffers[0]), 0, 0);
        child.commit();
        child
    });
    let children = children.collect();
    windows.iter().for_each(|window| window.surface.commit());
    client.roundtrip(stage);
    Shown { windows, children, buffers }
}

/// Runs a scene in each mode: `step` is what happens before the `n`th frame.
fn steady(what: &str, (windows, children): (usize, usize), mut step: impl FnMut(&mut Stage, &mut Client, &Shown, u64)) {
    for (mode, vulkan) in modes() {
        let messages = vulkan.messages();
        let mut stage = Stage::new(vulkan);
        let mut client = stage.connect();
        let shown = show(&mut stage, &mut client, windows, children);
        let mut frame = |stage: &mut Stage, n: u64| {
            step(stage, &mut client, &shown, n);
            let _ = client.connection.flush();
            let allocated = stage.frame();
            client.exchange(&mut Quiet); // keeps its side empty
            allocated
        };
        (0..WARM_UP).for_each(|n| {
            frame(&mut stage, n);
        });
        let before = stage.stats();
        stage.beside = 0;
        let allocated: u64 = (WARM_UP..WARM_UP + FRAMES).map(|n| frame(&mut stage, n)).sum();
        let after = stage.stats();
        let beside = stage.beside;
        eprintln!("{what}; {mode}: {beside} allocations in {FRAMES} turns around the frames");
        assert_eq!(allocated, 0, "{what}; {mode}: Rust allocations in {FRAMES} frames");
        let new = |count: fn(&Stats) -> u64| count(&after) - count(&before);
        assert_eq!(new(|stats| stats.outputs[0].presented), FRAMES, "{what}; {mode}: presented");
        assert_eq!(new(|stats| stats.outputs[0].failed), 0, "{what}; {mode}: failed");
        assert_eq!(new(|stats| stats.total.submits), FRAMES, "{what}; {mode}: one submit a frame");
        assert!(new(|stats| stats.total.draws + stats.total.transfers) >= FRAMES, "{what}; {mode}: painted");
        assert_eq!(new(|stats| stats.total.objects_created), 0, "{what}; {mode}: Vulkan objects made");
        assert_eq!(new(|stats| stats.total.objects_destroyed), 0, "{what}; {mode}: Vulkan objects unmade");
        assert_eq!(new(|stats| stats.total.descriptor_writes), 0, "{what}; {mode}: descriptors written");
        drop(stage);
        assert_eq!(messages.texts(), Vec::<String>::new(), "{what}; {mode}: the validation layers speak");
    }
}

/// A peer that does nothing, for a client that only reads.
struct Quiet;

impl Peer for Quiet {
    fn dispatch(&mut self) {}
}

/// Shows the other buffer on a surface, a part of it changed.
fn update(surface: &wl_surface::WlSurface, shown: &Shown, n: u64) {
    surface.attach(Some(&shown.buffers[n as usize % 2]), 0, 0);
    surface.damage_buffer(n as i32 % 30, 3, 20, 9);
    surface.damage_buffer(40, 20 + n as i32 % 7, 7, 7);
    surface.commit();
}

#[test]
fn still_desktop_repainted_allocates_and_makes_nothing() {
    steady("a still desktop", (10, 0), |stage, _, _, _| stage.exposed.set(true));
}

#[test]
fn one_updating_window_of_a_hundred_on_a_desktop_allocates_and_makes_nothing() {
    // The last one is on top of the others.
    steady("100 windows, one updating", (100, 0), |_, _, shown, n| update(&shown.windows[99].surface, shown, n));
}

#[test]
fn windows_that_move_over_a_desktop_allocate_and_make_nothing() {
    steady("moving windows", (20, 0), |stage, _, _, n| {
        for window in 1..=20 {
            let (x, y) = ((window as i32 * 53 + n as i32 * 7) % 600, (window as i32 * 29) % 420);
            stage.compositor.server.state.act(&Action::Move { x, y, window: Some(window) }).expect("a window");
        }
    });
}

#[test]
fn cursor_that_moves_over_a_desktop_allocates_and_makes_nothing() {
    steady("a moving cursor", (4, 0), |stage, _, _, n| {
        let dx = if n / 40 % 2 == 0 { 5.0 } else { -5.0 };
        let motion = input::Event::PointerMotion { dx, dy: 1.0, raw_dx: dx, raw_dy: 1.0 };
        stage.compositor.server.state.input(stage.now, motion);
    });
}

#[test]
fn subsurfaces_with_damage_on_a_desktop_allocate_and_make_nothing() {
    steady("damaged subsurfaces", (3, 4), |_, _, shown, n| {
        shown.children.iter().for_each(|child| update(child, shown, n));
    });
}
