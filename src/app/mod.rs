//! The loop: what ties clients, renderer and outputs together, one verb a file.
//!
//! [`Compositor`] owns them all. [`Compositor::turn`] is one turn of the loop: it takes in what became ready
//! ([`Ready`]), lets the outputs' schedules decide who is redrawn, redraws, and tells clients. Nothing in it blocks and
//! nothing a client does ends it; a turn with frames of known content allocates nothing. [`run`](run::run) sleeps
//! between turns on calloop; tests take turns by themselves.
//!
//! A frame: [`redraw`] (latch → damage → plane choice → upload → render → present), then [`present`] (on screen:
//! feedback, frame callbacks) and [`retire`] (the renderer is done: buffers released). Beside it: [`screen`] (outputs
//! come, change, go), [`recover`] (the device is lost), [`capture`] (screenshots), [`control`] (the control socket),
//! [`reload`] (the configuration), [`child`] (programs). Absent: any rule of what is shown where; that is
//! `domain::desktop`'s, through `adapters::wayland`.

mod capture;
pub mod child;
pub mod clock;
mod control;
mod picture;
mod present;
mod recover;
mod redraw;
mod reload;
mod retire;
mod run;
mod screen;
mod stats;
mod take_in;

use std::error::Error;

use crate::adapters::config_file::{Source, Watch as ConfigWatch};
use crate::adapters::{ipc, wayland};
use crate::domain::config::Config;
use crate::domain::frame::{Counters, FrameSerial, Time};
use crate::ports::input::Input;
use crate::ports::output::Output;
use crate::ports::renderer::{RenderError, Renderer};

pub use reload::{KEYS, ReloadError};
pub use run::{RunError, block_signals, run};

/// Between looks at a renderer that cannot say when it is done.
const POLL_NS: u64 = 1_000_000;

/// Why there is no renderer, for people.
pub type NoRenderer = Box<dyn Error + Send + Sync>;
/// Makes a renderer: the first, and another after the device was lost.
pub type Factory = Box<dyn FnMut() -> Result<Box<dyn Renderer>, NoRenderer>>;

bitflags::bitflags! {
    /// What has something to read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Ready: u32 {
        /// A client wants in.
        const LISTEN = 1;
        /// A client said something.
        const CLIENTS = 1 << 1;
        /// The renderer completed something.
        const RENDERER = 1 << 2;
        /// An output's descriptor.
        const OUTPUTS = 1 << 3;
        /// An input's descriptor.
        const INPUTS = 1 << 4;
        /// The control socket.
        const CONTROL = 1 << 5;
        /// The configuration file may have changed.
        const CONFIG = 1 << 6;
        /// A child ended.
        const CHILDREN = 1 << 7;
        /// A screenshot is encoded.
        const PICTURES = 1 << 8;
        /// Somebody asks us to end.
        const QUIT = 1 << 9;
        /// A client's fence that something waits for.
        const FENCES = 1 << 10;
    }
}

/// What a compositor is made of; chosen by the command line.
pub struct Setup {
    /// Clients.
    pub server: wayland::Server,
    /// Makes renderers.
    pub factory: Factory,
    /// Made already, so that its formats could be announced.
    pub renderer: Box<dyn Renderer>,
    /// What shows frames; at least one.
    pub outputs: Vec<Box<dyn Output>>,
    /// What is typed and pointed with.
    pub inputs: Vec<Box<dyn Input>>,
    /// In force at start.
    pub config: Config,
    /// Where it is read again from; `None`: it never is.
    pub source: Option<Source>,
    /// Where `transom msg` talks to.
    pub control: Option<ipc::server::Server>,
    /// Starts programs.
    pub children: child::Children,
    /// Puts `log.filter` in force.
    pub set_log_filter: Box<dyn FnMut(&str)>,
    /// When the process started, for the time to the first frame.
    pub started: Time,
}

/// How a compositor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Somebody wanted it to, or the last output went.
    Done,
    /// The child that it lived for ended, with this status.
    Child(u8),
    /// There is no renderer any more.
    NoRenderer,
    /// Clients can no longer be served.
    NoClients,
}

/// See the module's docs.
pub struct Compositor {
    /// Clients and the desktop that they see.
    pub server: wayland::Server,
    /// `None` while the device is lost.
    renderer: Option<Box<dyn Renderer>>,
    factory: Factory,
    recovery: recover::Recovery,
    screens: Vec<screen::Screen>,
    inputs: Vec<Box<dyn Input>>,
    config: Config,
    source: Option<Source>,
    config_watch: Option<ConfigWatch>,
    control: Option<ipc::server::Server>,
    captures: capture::Captures,
    children: child::Children,
    set_log_filter: Box<dyn FnMut(&str)>,
    /// Of the renderers that were lost.
    past_costs: Counters,
    started: Time,
    first_frame_ns: Option<u64>,
    /// New clients wait until then: there was no descriptor for them.
    accept_rest: Option<Time>,
    ready: Ready,
    /// What the renderer in force is known to have completed.
    completed: FrameSerial,
    /// The last turn.
    turned: Time,
    exit: Option<Exit>,
    loop_watch: Option<run::LoopWatch>,
    /// Reused by [`Compositor::turn`].
    told: Vec<crate::ports::output::Event>,
    /// Reused likewise.
    events: Vec<wayland::Event>,
}

impl std::fmt::Debug for Compositor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compositor").field("screens", &self.screens).field("exit", &self.exit).finish_non_exhaustive()
    }
}

impl Compositor {
    /// Puts the parts together and shows clients the outputs.
    ///
    /// # Errors
    /// [`RenderError`] where an output cannot be made in this renderer.
    pub fn new(setup: Setup, now: Time) -> Result<Self, RenderError> {
        let config_watch = setup.source.as_ref().and_then(Source::path).and_then(|path| {
            let failed = |error: &nix::Error| tracing::warn!(%error, "the configuration file is not watched");
            ConfigWatch::new(path).inspect_err(failed).ok()
        });
        let mut compositor = Self {
            server: setup.server,
            renderer: Some(setup.renderer),
            factory: setup.factory,
            recovery: recover::Recovery::default(),
            screens: Vec::new(),
            inputs: setup.inputs,
            config: setup.config,
            source: setup.source,
            config_watch,
            control: setup.control,
            captures: capture::Captures::default(),
            children: setup.children,
            set_log_filter: setup.set_log_filter,
            past_costs: Counters::default(),
            started: setup.started,
            first_frame_ns: None,
            accept_rest: None,
            ready: Ready::all() - Ready::QUIT,
            completed: FrameSerial::default(),
            turned: now,
            exit: None,
            loop_watch: None,
            told: Vec::new(),
            events: Vec::new(),
        };
        if let Err(error) = compositor.configure() {
            tracing::warn!("{error}; the defaults stand in");
        }
        for output in setup.outputs {
            compositor.add_screen(output, now)?;
        }
        Ok(compositor)
    }

    /// One turn of the loop, for what is in `ready` and what is due at `now`.
    pub fn turn(&mut self, ready: Ready, now: Time) {
        self.attend(ready, now);
        self.redraw(now);
        self.conclude(now);
    }

    /// The first part of a turn: takes in what is ready, frees what is complete, tells clients what is on screen.
    pub fn attend(&mut self, ready: Ready, now: Time) {
        self.ready |= ready;
        self.turned = now;
        self.take_in(now);
        self.retire(now);
        self.present(now);
        self.take_events();
    }

    /// The last part of a turn: what was lost is made anew, and clients are told all that there is to tell.
    pub fn conclude(&mut self, now: Time) {
        self.recover(now);
        if let Err(error) = self.server.flush(now) {
            tracing::error!(%error, "clients cannot be told anything");
        }
        self.ready = Ready::empty();
    }

    /// Starts the program that the command line names; with `live_for_it` the compositor ends when it does.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start_main(&mut self, command: &[std::ffi::OsString], live_for_it: bool) -> std::io::Result<()> {
        self.children.start_main(command, live_for_it)
    }

    /// When the next turn is due though nothing is ready; `None`: not before something is.
    pub fn wake_at(&self) -> Option<Time> {
        let screens = self.screens.iter().flat_map(|s| [s.output.next_wake(), s.schedule.wake_at(), s.put_off_due()]);
        let others = [
            self.control.as_ref().and_then(ipc::server::Server::next_wake),
            self.server.state.next_tick(),
            self.server.next_wake(),
            self.accept_rest,
            self.recovery.due(),
            self.poll_renderer_at(),
        ];
        screens.chain(others).flatten().min()
    }

    /// When to ask a renderer that cannot wake us whether its frames are complete.
    fn poll_renderer_at(&self) -> Option<Time> {
        let silent = self.renderer.as_ref().is_some_and(|renderer| renderer.completion_fd().is_none());
        let waits = silent && self.screens.iter().any(|screen| screen.submitted > self.completed);
        waits.then(|| self.turned.plus_ns(POLL_NS))
    }

    /// Set once it is to end.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Ends it with the present turn, unless something else did already.
    pub fn end(&mut self, how: Exit) {
        self.exit.get_or_insert(how);
    }
}

impl Drop for Compositor {
    /// Outputs let go of what they made in the renderer before it goes.
    fn drop(&mut self) {
        self.children.end_main();
        if let Some(renderer) = &mut self.renderer {
            for screen in &mut self.screens {
                screen.output.release(&mut **renderer);
            }
        }
    }
}
