//! Transom in a window of another desktop: on an X server (Xvfb), on weston, and on Transom itself, each without a
//! screen. Real clients run inside; what the host shows is looked at, and the host's keyboard and pointer are played
//! with. Transom validates its Vulkan throughout.
#![cfg(feature = "nested")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod spread;
#[path = "../support/mod.rs"]
mod support;
mod weston;
mod xvfb;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use transom::ports::renderer::Pixels;

use spread::{Color, Spread, spread};
use support::compositor::{Compositor, Setup};
use support::process::{Process, until};
use support::rig;
use weston::Weston;
use xvfb::Xvfb;

/// What the nested compositor shows beneath its windows.
const INNER: Color = [0x20, 0x40, 0x90];
/// The client's.
const CLIENT: Color = [0x00, 0xc0, 0x40];
const SIZE: (i32, i32) = (800, 600);
/// An answer that takes longer means that the loop was blocked.
const PROMPT: Duration = Duration::from_secs(3);

const BTN_LEFT: u32 = 0x110;
const BTN_SIDE: u32 = 0x113;

/// One test at a time: each has a compositor or two that draw with the CPU.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the rig has these programs.
fn there(subject: &str, programs: &[&str]) -> bool {
    let lacking = programs.iter().find(|program| !rig::has_program(program));
    if let Some(program) = lacking {
        rig::missing(subject, program);
    }
    lacking.is_none()
}

/// Transom in a window of its first size on the host that the variable leads to.
fn nested(variable: &str, host: &str) -> Compositor {
    let config = format!(
        "nested.size = \"{}x{}\"\ndesktop.background = \"{}\"\nwindows.placement = \"centre\"\n\
         log.filter = \"info,winit=off\"", // it takes the host's end for a fault
        SIZE.0,
        SIZE.1,
        hex("#", INNER)
    );
    Compositor::start(&Setup { backend: "nested", host: &[(variable, host)], outputs: &[], config: &config })
}

fn hex(prefix: &str, color: Color) -> String {
    color.iter().fold(prefix.to_owned(), |text, channel| format!("{text}{channel:02x}"))
}

/// The only window's place, logical pixels: x, y, width, height. Waits for it.
fn place(session: &Compositor) -> [i32; 4] {
    session.until_window("a window", |_| true).geometry
}

/// The only output's size, pixels.
fn size(session: &Compositor) -> (i32, i32) {
    session.outputs().first().map(|output| (output.width, output.height)).unwrap()
}

/// A terminal in one plain colour, which writes the line typed into it to a file, and the file.
fn terminal(session: &Compositor) -> (Process, PathBuf) {
    let typed = session.directory().join("typed");
    let mut command = session.client("foot");
    command.args(["--config=/dev/null", "--window-size-pixels=400x300"]);
    command.args(["-o", &format!("colors.background={}", hex("", CLIENT)), "-o", "csd.preferred=none"]);
    command.args(["sh", "-c", r#"read -r line; echo "$line" >"$0"; exec sleep 600"#]);
    (Process::start("foot", command.arg(&typed)), typed)
}

/// A client that prints the pointer's events.
fn listener(session: &Compositor) -> Process {
    let mut command = session.client("stdbuf");
    command.args(["-oL", "weston-eventdemo", "--width=400", "--height=300"]);
    command.args(["--no-border", "--log-button", "--log-axis", "--log-motion"]);
    Process::start("weston-eventdemo", &mut command)
}

/// Waits until the picture has this colour in so many pixels; where it is.
fn colored(color: Color, least: usize, mut picture: impl FnMut() -> Pixels) -> Spread {
    until(&format!("{least} pixels of {color:?}"), || spread(&picture(), color).filter(|spread| spread.pixels >= least))
}

/// Checks that the terminal is seen at its place of the nested window, which is seen at `inner`.
fn seen(session: &Compositor, inner: Spread, picture: impl FnMut() -> Pixels) {
    let seen = colored(CLIENT, 100_000, picture);
    let [x, y, w, h] = place(session);
    assert_eq!((seen.x - inner.x, seen.y - inner.y, seen.w, seen.h), (x, y, w, h));
}

/// The number behind `name` in a line of the listener.
fn number(line: &str, name: &str) -> Option<f64> {
    let rest = line.split_once(&format!("{name}: "))?.1;
    rest.split(',').next()?.trim().parse().ok()
}

/// Waits for motion to this place of the client's.
fn moved(listener: &mut Process, x: f64, y: f64) {
    listener.line(|line| {
        let near = |name, want: f64| number(line, name).is_some_and(|is| (is - want).abs() < 1.5);
        (line.starts_with("motion") && near("x", x) && near("y", y)).then_some(())
    });
}

/// Waits for the wheel to turn; by how much, logical pixels.
fn turned(listener: &mut Process) -> f64 {
    listener.line(|line| line.starts_with("axis time").then(|| number(line, "value"))?)
}

/// Waits for a button of that code to change.
fn clicked(listener: &mut Process, code: u32, state: &str) {
    listener.line(|line| {
        let is = line.starts_with("button") && number(line, "button") == Some(f64::from(code));
        (is && line.contains(state)).then_some(())
    });
}

#[test]
fn client_inside_a_window_of_x_is_pointed_at_and_clicked() {
    let _alone = alone();
    if !there("nested on X: pointer", &["Xvfb", "stdbuf", "weston-eventdemo"]) {
        return;
    }
    let host = Xvfb::start();
    let session = nested("DISPLAY", &host.display);
    let inner = colored(INNER, 400_000, || host.picture());
    let mut listener = listener(&session);
    let [x, y, ..] = place(&session);
    let (left, top) = (inner.x + x, inner.y + y);

    host.point(left + 60, top + 40);
    moved(&mut listener, 60.0, 40.0);
    host.point(left + 110, top + 70);
    moved(&mut listener, 110.0, 70.0);
    for (number, code) in [(1, BTN_LEFT), (8, BTN_SIDE)] {
        host.button(number, true);
        clicked(&mut listener, code, "pressed");
        host.button(number, false);
        clicked(&mut listener, code, "released");
    }
    host.button(5, true);
    host.button(5, false);
    assert!(turned(&mut listener) > 0.0, "down is positive");
    session.quit();
}

#[test]
fn window_of_x_resized_hidden_and_closed_is_followed() {
    let _alone = alone();
    if !there("nested on X: window", &["Xvfb"]) {
        return;
    }
    let host = Xvfb::start();
    let session = nested("DISPLAY", &host.display);
    let window = host.window("Transom");
    assert_eq!(size(&session), SIZE);

    for (width, height) in [(640, 480), (901, 333), (320, 700)] {
        host.resize(window, width, height);
        until("the new size", || (size(&session) == (width as i32, height as i32)).then_some(()));
        until("a picture of that size", || {
            let inner = spread(&host.picture(), INNER)?;
            ((inner.w, inner.h) == (width as i32, height as i32)).then_some(())
        });
    }
    for step in 0..60 {
        host.resize(window, 400 + step * 5, 300 + step * 3); // as by hand, faster than frames
    }
    until("the last size", || (size(&session) == (695, 477)).then_some(()));

    host.unmap(window);
    until("the window gone", || spread(&host.picture(), INNER).is_none().then_some(()));
    session.stats();
    host.map(window);
    colored(INNER, 300_000, || host.picture());

    session.quit_by(|_| host.close(window));
}

#[test]
fn client_inside_a_window_of_weston_is_seen() {
    let _alone = alone();
    if !there("nested on weston: picture", &["weston", "weston-screenshooter", "foot"]) {
        return;
    }
    let host = Weston::start();
    let session = nested("WAYLAND_DISPLAY", host.socket.to_str().unwrap());
    let inner = colored(INNER, 400_000, || host.picture());
    assert_eq!((inner.w, inner.h), SIZE);
    let _terminal = terminal(&session);
    seen(&session, inner, || host.picture());
    session.quit();
}

#[test]
fn host_that_stops_sending_frames_blocks_nobody_and_is_caught_up_with() {
    let _alone = alone();
    if !there("nested on weston: stopped", &["weston", "weston-simple-shm"]) {
        return;
    }
    let host = Weston::start();
    let session = nested("WAYLAND_DISPLAY", host.socket.to_str().unwrap());
    let _client = Process::start("weston-simple-shm", &mut session.client("weston-simple-shm"));
    place(&session);
    let presented = || session.stats().outputs[0].presented;
    let animated = || {
        let before = presented();
        until("frames shown", || (presented() > before + 10).then_some(()));
    };
    animated();

    host.process.signal(Signal::SIGSTOP);
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        session.windows();
        assert!(start.elapsed() < PROMPT, "answered after {:?}", start.elapsed());
    }
    host.process.signal(Signal::SIGCONT);
    animated();
    // A host that goes for good ends it; nothing is left to show anything on.
    session.quit_by(|_| host.process.signal(Signal::SIGKILL));
}
