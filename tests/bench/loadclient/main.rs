//! A Wayland client that is nothing but load: surfaces that commit on every frame callback for a fixed time, and one
//! JSON object a line about what came of it. Sleeps between events, so an idle compositor costs it nothing.
//!
//! `{"event":"ready","first_frame_ns":N}`: every surface was shown once, the first at N of CLOCK_MONOTONIC.
//! `{"event":"start"}` and `{"event":"end"}` bound the measured time; the observer reads its own counters there.
//! `{"event":"result",…}`: see `samples`.
//!
//! Walk: here → `session` (what is on the screen) → `buffer` (its pixels) → `samples` (what is kept).

mod buffer;
mod samples;
mod session;

use std::io::Write;

use anyhow::{Context, bail, ensure};
use clap::{Parser, ValueEnum};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{ClockId, clock_gettime};
use wayland_client::{Connection, EventQueue};

use session::{Phase, Session};

/// What a surface does on each frame callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Repaints and damages everything
    Full,
    /// Repaints and damages a moving square of 64x64
    Small,
    /// Asks for the next frame callback alone
    Still,
}

/// A Wayland client that is nothing but load, on $WAYLAND_DISPLAY.
#[derive(Debug, Parser)]
struct Options {
    #[arg(long, value_enum, default_value = "full")]
    mode: Mode,
    /// How many surfaces
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    surfaces: u16,
    /// Size of each surface in pixels
    #[arg(long, value_name = "WxH", default_value = "1920x1080", value_parser = size)]
    size: (i32, i32),
    /// The surfaces are desynchronised subsurfaces, in a grid, of one still window of this size
    #[arg(long, value_name = "WxH", value_parser = size)]
    within: Option<(i32, i32)>,
    /// The window asks to fill the output
    #[arg(long)]
    fullscreen: bool,
    /// Buffers of each surface
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=8))]
    buffers: u8,
    /// Seconds between the first frame and the measured time
    #[arg(long, default_value_t = 2.0)]
    warmup: f64,
    /// Seconds measured
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds to wait for the first frame
    #[arg(long, default_value_t = 20.0)]
    patience: f64,
}

fn size(text: &str) -> Result<(i32, i32), String> {
    let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    sides
        .filter(|&(w, h)| (1..=16384).contains(&w) && (1..=16384).contains(&h))
        .ok_or("sizes are WxH, 1 to 16384".into())
}

/// Now, in nanoseconds of that clock.
fn now_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec());
    u64::try_from(now).unwrap_or(0)
}

fn monotonic_ns() -> u64 {
    now_ns(ClockId::CLOCK_MONOTONIC)
}

fn say(line: &serde_json::Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Handles events for `seconds`, or until `done`.
fn pump(
    queue: &mut EventQueue<Session>,
    session: &mut Session,
    seconds: f64,
    done: impl Fn(&Session) -> bool,
) -> anyhow::Result<()> {
    let until_ns = monotonic_ns() + (seconds * 1e9) as u64;
    loop {
        queue.dispatch_pending(session)?;
        let now_ns = monotonic_ns();
        if now_ns >= until_ns || done(session) {
            return Ok(());
        }
        queue.flush()?;
        let Some(guard) = queue.prepare_read() else { continue };
        let left_ms = u16::try_from((until_ns - now_ns) / 1_000_000 + 1).unwrap_or(u16::MAX);
        let ready = {
            let mut fds = [PollFd::new(guard.connection_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::from(left_ms))?
        };
        if ready > 0 {
            guard.read()?;
        }
    }
}

/// Connects; a compositor that starts has a socket's name a moment before anybody listens.
fn connect(patience: f64) -> anyhow::Result<Connection> {
    let until_ns = monotonic_ns() + (patience * 1e9) as u64;
    loop {
        match Connection::connect_to_env() {
            Ok(connection) => return Ok(connection),
            Err(error) if monotonic_ns() > until_ns => return Err(error).context("no compositor to load"),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let (warmup, seconds, patience) = (options.warmup, options.seconds, options.patience);
    let connection = connect(patience)?;
    let mut queue = connection.new_event_queue();
    let mut session = Session::open(&connection, &queue, options)?;

    pump(&mut queue, &mut session, patience, |session| session.closed || session.all_shown())?;
    let Some(first_frame_ns) = session.samples.first_frame_ns else { bail!("no frame within {patience} s") };
    say(&serde_json::json!({ "event": "ready", "first_frame_ns": first_frame_ns, "all": session.all_shown() }))?;
    pump(&mut queue, &mut session, warmup, |session| session.closed)?;

    let (start_ns, start_cpu_ns) = (monotonic_ns(), now_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID));
    session.enter(Phase::Measure);
    say(&serde_json::json!({ "event": "start" }))?;
    pump(&mut queue, &mut session, seconds, |session| session.closed)?;
    session.samples.seconds = (monotonic_ns() - start_ns) as f64 / 1e9;
    session.samples.client_cpu_ns = now_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ns;
    session.enter(Phase::Done);
    say(&serde_json::json!({ "event": "end" }))?;
    // Nothing more is committed; the surfaces stay a moment for the observer to look at.
    pump(&mut queue, &mut session, 0.5, |_| false)?;
    ensure!(!session.closed, "the compositor closed the window");
    say(&session.result())
}
