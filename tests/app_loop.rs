//! The loop, turn by turn, its clock in the test's hand, on the CPU reference renderer made to fail on demand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::sync::Arc;

#[path = "support/mod.rs"]
mod support;

use support::reference::Reference;
use transom::adapters::output::headless::Headless;
use transom::adapters::wayland::Server;
use transom::adapters::wayland::state::Options;
use transom::app::{Compositor, Exit, NoRenderer, Ready, Setup, child};
use transom::domain::buffer::{BufferId, TextureId};
use transom::domain::config::Config;
use transom::domain::frame::{Counters, FrameSerial, Holdings, Time};
use transom::domain::geometry::{Rect, Size};
use transom::domain::plane::Abilities;
use transom::domain::region::Region;
use transom::domain::scene::Scene;
use transom::ports::input;
use transom::ports::output::{self, Content, Info, Output};
use transom::ports::pool::ShmBuffer;
use transom::ports::renderer::{
    Acquired, BufferUse, Capabilities, CaptureId, Dmabuf, FrameTicket, ImportError, Pixels, RenderError, Renderer,
    TargetId, Window,
};

const MS: u64 = 1_000_000;

/// What goes wrong from now on, shared by every renderer of a rig.
#[derive(Default)]
struct Faults {
    /// What the next renders answer, the first one first.
    renders: Vec<RenderError>,
    /// How many imports find no room from now on.
    imports: u32,
    /// How many renderers cannot be made.
    makes: u32,
    /// Renderers made, renders asked for.
    made: u32,
    rendered: u32,
}

struct Faulty {
    inner: Reference,
    faults: Rc<RefCell<Faults>>,
}

impl Renderer for Faulty {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }
    fn import_shm(&mut self, buffer: &ShmBuffer, id: BufferId) -> Result<(TextureId, BufferUse), ImportError> {
        let mut faults = self.faults.borrow_mut();
        if faults.imports > 0 {
            faults.imports -= 1;
            return Err(ImportError::Exhausted { what: "room", source: None });
        }
        self.inner.import_shm(buffer, id)
    }
    fn update_shm(
        &mut self,
        texture: TextureId,
        buffer: &ShmBuffer,
        id: BufferId,
        damage: &[Rect],
    ) -> Result<BufferUse, ImportError> {
        self.inner.update_shm(texture, buffer, id, damage)
    }
    fn import_dmabuf(&mut self, buffer: &Dmabuf, id: BufferId) -> Result<TextureId, ImportError> {
        self.inner.import_dmabuf(buffer, id)
    }
    fn forget(&mut self, texture: TextureId) {
        self.inner.forget(texture);
    }
    fn create_offscreen(&mut self, size: Size) -> Result<TargetId, RenderError> {
        self.inner.create_offscreen(size)
    }
    fn create_window(&mut self, window: Arc<dyn Window>, size: Size) -> Result<TargetId, RenderError> {
        self.inner.create_window(window, size)
    }
    fn resize_target(&mut self, target: TargetId, size: Size) -> Result<(), RenderError> {
        self.inner.resize_target(target, size)
    }
    fn destroy_target(&mut self, target: TargetId) {
        self.inner.destroy_target(target);
    }
    fn acquire(&mut self, target: TargetId) -> Result<Acquired, RenderError> {
        self.inner.acquire(target)
    }
    fn render(&mut self, target: TargetId, scene: &Scene, damage: &Region) -> Result<FrameTicket, RenderError> {
        let mut faults = self.faults.borrow_mut();
        faults.rendered += 1;
        if !faults.renders.is_empty() {
            return Err(faults.renders.remove(0));
        }
        self.inner.render(target, scene, damage)
    }
    fn completed(&mut self) -> Result<FrameSerial, RenderError> {
        self.inner.completed()
    }
    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    fn drain(&mut self, released: &mut dyn FnMut(BufferId)) -> Result<(), RenderError> {
        self.inner.drain(released)
    }
    fn capture(&mut self, target: TargetId, part: Rect) -> Result<CaptureId, RenderError> {
        self.inner.capture(target, part)
    }
    fn take_capture(&mut self, capture: CaptureId) -> Result<Option<Pixels>, RenderError> {
        self.inner.take_capture(capture)
    }
    fn wait_idle(&mut self, limit_ns: u64) -> Result<(), RenderError> {
        self.inner.wait_idle(limit_ns)
    }
    fn counters(&self) -> Counters {
        self.inner.counters()
    }
    fn holdings(&self) -> Holdings {
        self.inner.holdings()
    }
}

/// An output that does what the test says, told through the shared list.
struct Scripted {
    info: Info,
    tell: Rc<RefCell<Vec<output::Event>>>,
    target: Option<TargetId>,
}

impl Output for Scripted {
    fn info(&self) -> &Info {
        &self.info
    }
    fn acquire(&mut self, renderer: &mut dyn Renderer) -> Result<(TargetId, Acquired), RenderError> {
        let target = self.target.ok_or(RenderError::Unknown)?;
        Ok((target, renderer.acquire(target)?))
    }
    fn present(&mut self, _: Content, _: Time) {}
    fn capture_target(&self) -> Option<TargetId> {
        None
    }
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    fn dispatch(&mut self, _: Time, tell: &mut dyn FnMut(output::Event)) {
        self.tell.borrow_mut().drain(..).for_each(tell);
    }
    fn release(&mut self, renderer: &mut dyn Renderer) {
        if let Some(target) = self.target.take() {
            renderer.destroy_target(target);
        }
    }
    fn attach(&mut self, renderer: &mut dyn Renderer) -> Result<(), RenderError> {
        self.target = Some(renderer.create_offscreen(self.info.mode.size)?);
        Ok(())
    }
}

struct Rig {
    compositor: Compositor,
    faults: Rc<RefCell<Faults>>,
    now: Time,
}

fn headless(name: &str) -> Box<dyn Output> {
    let mode = "64x48@100".parse().unwrap();
    Box::new(Headless::new(name.into(), mode, Abilities::default(), Time::default()))
}

fn scripted(name: &str) -> (Box<dyn Output>, Rc<RefCell<Vec<output::Event>>>) {
    let tell = Rc::default();
    let info = support::client::info(name, Size::new(64, 48));
    (Box::new(Scripted { info, tell: Rc::clone(&tell), target: None }), tell)
}

impl Rig {
    fn new(outputs: Vec<Box<dyn Output>>) -> Self {
        let faults = Rc::new(RefCell::new(Faults::default()));
        let shared = faults.clone();
        let factory = move || {
            let mut faults = shared.borrow_mut();
            if faults.makes > 0 {
                faults.makes -= 1;
                return Err(NoRenderer::from("there is none"));
            }
            faults.made += 1;
            Ok(Box::new(Faulty { inner: Reference::new(), faults: shared.clone() }) as Box<dyn Renderer>)
        };
        let now = Time::from_ns(1_000 * MS);
        let setup = Setup {
            server: Server::unconnected(Options::default()).unwrap(),
            renderer: factory().unwrap(),
            factory: Box::new(factory),
            outputs,
            inputs: Vec::new(),
            config: Config::default(),
            source: None,
            control: None,
            children: child::Children::default(),
            set_log_filter: Box::new(|_| {}),
            started: now,
        };
        Self { compositor: Compositor::new(setup, now).unwrap(), faults, now }
    }

    fn turn(&mut self) {
        self.compositor.turn(Ready::all() - Ready::QUIT, self.now);
    }

    /// Takes turns, each when the compositor asks for it, until `end`; gives back how many.
    fn run_until(&mut self, end: Time) -> u32 {
        let mut turns = 0;
        while let Some(at) = self.compositor.wake_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.turn();
            turns += 1;
            assert!(turns < 1_000, "a busy loop: the next turn is always due");
        }
        self.now = end;
        turns
    }

    fn run_ms(&mut self, ms: u64) -> u32 {
        self.run_until(self.now.plus_ns(ms * MS))
    }

    fn presented(&self) -> u64 {
        self.compositor.stats(self.now).outputs.iter().map(|output| output.presented).sum()
    }

    fn rendered(&self) -> u32 {
        self.faults.borrow().rendered
    }
}

fn lost() -> RenderError {
    RenderError::DeviceLost
}

fn exhausted() -> RenderError {
    RenderError::Exhausted { what: "patience", source: None }
}

#[test]
fn first_frame_of_every_output_is_presented_and_then_nothing_happens() {
    let mut rig = Rig::new(vec![headless("A"), headless("B")]);
    rig.turn();
    assert_eq!(rig.rendered(), 2);
    rig.run_ms(100);
    assert_eq!(rig.presented(), 2);
    let stats = rig.compositor.stats(rig.now);
    assert_eq!(stats.first_frame_ns, Some(10 * MS), "the refresh after the start");
    assert_eq!(rig.compositor.wake_at(), None, "idle: no timer");
    rig.run_ms(10_000);
    assert_eq!((rig.rendered(), rig.presented()), (2, 2));
    assert_eq!(rig.compositor.exit(), None);
}

#[test]
fn frame_that_fails_is_tried_again_ever_later_and_never_in_a_busy_loop() {
    let mut rig = Rig::new(vec![headless("A")]);
    rig.faults.borrow_mut().renders = (0..20).map(|_| exhausted()).collect();
    rig.turn();
    let turns = rig.run_ms(10_000);
    assert!((8..40).contains(&turns), "{turns} turns in ten seconds");
    assert_eq!(rig.presented(), 0);
    rig.run_ms(60_000);
    assert_eq!(rig.presented(), 1, "and shown once it goes");
    assert_eq!(rig.compositor.stats(rig.now).outputs[0].failed, 20);
}

#[test]
fn frame_that_is_not_ready_is_tried_again_with_the_next_refresh() {
    let mut rig = Rig::new(vec![headless("A")]);
    rig.faults.borrow_mut().renders = vec![RenderError::NotReady, RenderError::NotReady];
    rig.turn();
    rig.run_ms(50);
    assert_eq!(rig.presented(), 1);
}

#[test]
fn output_that_is_not_ready_for_long_is_asked_less_often() {
    let mut rig = Rig::new(vec![headless("A")]);
    rig.faults.borrow_mut().renders = (0..60).map(|_| RenderError::NotReady).collect();
    rig.turn();
    let turns = rig.run_ms(10_000);
    assert!((40..60).contains(&turns), "{turns} turns in ten seconds");
    rig.run_ms(10_000);
    assert_eq!(rig.presented(), 1);
}

#[test]
fn upload_that_is_put_off_is_tried_again_without_being_asked_and_not_in_a_busy_loop() {
    let mut rig = Rig::new(vec![headless("A")]);
    rig.turn();
    rig.run_ms(100);
    assert_eq!((rig.rendered(), rig.compositor.wake_at()), (1, None));
    rig.faults.borrow_mut().imports = 7;
    // The pointer's picture has to be uploaded.
    let event = input::Event::PointerPosition { output: "A".into(), x: 0.5, y: 0.5 };
    rig.compositor.server.state.input(rig.now, event);
    rig.turn();
    let turns = rig.run_ms(10_000);
    assert_eq!((rig.faults.borrow().imports, rig.compositor.stats(rig.now).holdings.live_imports), (0, 1));
    assert_eq!(rig.rendered(), 1 + 8, "each time it was painted");
    assert!(turns < 40, "{turns} turns");
    assert_eq!(rig.compositor.wake_at(), None, "and then all is well");
}

#[test]
fn device_that_is_lost_costs_a_late_frame() {
    let mut rig = Rig::new(vec![headless("A"), headless("B")]);
    rig.turn();
    rig.run_ms(100);
    rig.faults.borrow_mut().renders = vec![lost()];
    rig.compositor.server.state.events.push(transom::adapters::wayland::Event::RedrawAll);
    // Nothing differs, so nothing is rendered; a repaint must be asked for by the fault itself.
    rig.turn();
    rig.run_ms(100);
    assert_eq!(rig.faults.borrow().made, 1);

    let mut rig = Rig::new(vec![headless("A"), headless("B")]);
    rig.faults.borrow_mut().renders = vec![lost()];
    rig.turn();
    rig.run_ms(100);
    assert_eq!(rig.faults.borrow().made, 2);
    assert_eq!(rig.presented(), 2);
    let stats = rig.compositor.stats(rig.now);
    assert_eq!((stats.device_losses, stats.holdings.targets), (1, 2));
    assert_eq!(rig.compositor.exit(), None);
}

#[test]
fn device_that_comes_back_late_is_waited_for_with_growing_pauses() {
    let mut rig = Rig::new(vec![headless("A")]);
    rig.faults.borrow_mut().renders = vec![lost()];
    rig.faults.borrow_mut().makes = 4;
    rig.turn();
    let turns = rig.run_ms(5_000);
    assert!(turns < 20, "{turns} turns");
    assert_eq!((rig.presented(), rig.compositor.exit()), (1, None));
}

#[test]
fn device_that_never_comes_back_ends_the_compositor() {
    for never in [true, false] {
        let mut rig = Rig::new(vec![headless("A")]);
        if never {
            rig.faults.borrow_mut().renders = vec![lost()];
            rig.faults.borrow_mut().makes = u32::MAX;
        } else {
            // Every new one is lost with its first frame.
            rig.faults.borrow_mut().renders = (0..100).map(|_| lost()).collect();
        }
        rig.turn();
        while rig.compositor.exit().is_none() && rig.compositor.wake_at().is_some() {
            assert!(rig.run_ms(100) < 20, "a busy loop");
        }
        assert_eq!(rig.compositor.exit(), Some(Exit::NoRenderer), "never {never}");
        assert!(rig.now < Time::from_ns(60_000 * MS));
    }
}

#[test]
fn output_that_closes_is_gone_and_the_last_one_ends_the_compositor() {
    let ((a, tell_a), (b, tell_b)) = (scripted("A"), scripted("B"));
    let mut rig = Rig::new(vec![a, b]);
    rig.turn();
    tell_a.borrow_mut().push(output::Event::Closed);
    rig.turn();
    let stats = rig.compositor.stats(rig.now);
    assert_eq!((stats.outputs.len(), stats.holdings.targets), (1, 1));
    assert_eq!(rig.compositor.exit(), None);
    tell_b.borrow_mut().push(output::Event::Closed);
    rig.turn();
    assert_eq!(rig.compositor.exit(), Some(Exit::Done));
}

#[test]
fn output_whose_host_stops_gets_no_second_frame_until_it_answers() {
    let (output, tell) = scripted("A");
    let mut rig = Rig::new(vec![output]);
    rig.turn();
    assert_eq!(rig.rendered(), 1);
    tell.borrow_mut().push(output::Event::Exposed);
    rig.turn();
    let turns = rig.run_ms(10_000);
    assert!(turns <= 12, "{turns} turns in ten seconds");
    assert_eq!(rig.rendered(), 1);
    tell.borrow_mut().push(output::Event::Discarded);
    rig.turn();
    assert_eq!(rig.rendered(), 2);
    assert_eq!(rig.compositor.stats(rig.now).outputs[0].discarded, 1);
}

#[test]
fn outputs_lie_side_by_side_and_close_the_gap() {
    let ((a, tell), (b, _)) = (scripted("A"), scripted("B"));
    let mut rig = Rig::new(vec![a, b]);
    let places = |rig: &Rig| -> Vec<i32> {
        rig.compositor.server.state.core.outputs.iter().map(|entry| entry.placement.position.x).collect()
    };
    assert_eq!(places(&rig), [0, 64]);
    tell.borrow_mut().push(output::Event::Closed);
    rig.turn();
    assert_eq!(places(&rig), [0]);
}
