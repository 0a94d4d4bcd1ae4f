//! Transom in a window of another desktop: on an X server (Xvfb), on weston, and on Transom itself, each without a
//! screen. Real clients run inside; what the host shows is looked at, and the host's keyboard and pointer are played
//! with. Transom validates its Vulkan throughout.
#![cfg(feature = "nested")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod hands;
mod hosts;
mod spread;
#[path = "../support/mod.rs"]
mod support;
mod weston;
mod xvfb;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use transom::ports::renderer::Pixels;

use hands::Hands;
use spread::{Color, Spread, spread};
use support::compositor::{Compositor, Setup};
use support::process::{Process, until};
use support::rig;
use weston::Weston;
use xvfb::Xvfb;

/// What the nested compositor shows beneath its windows.
const INNER: Color = [0x20, 0x40, 0x90];
/// What the host shows beneath its own, where that is Transom.
const OUTER: Color = [0x70, 0x30, 0x10];
/// The client's.
const CLIENT: Color = [0x00, 0xc0, 0x40];
const SIZE: (i32, i32) = (800, 600);
/// An answer that takes longer means that the loop was blocked.
const PROMPT: Duration = Duration::from_secs(3);

const KEY_ENTER: u32 = 28;
const KEY_LEFT_SHIFT: u32 = 42;
/// `k`, `e` and `y`.
const KEYS: [u32; 3] = [37, 18, 21];
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
         input.keyboard.repeat-rate = 0\nlog.filter = \"info,winit=off\"", // it takes the host's end for a fault
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

/// Waits until the only output has this size.
fn has_size(session: &Compositor, wanted: (i32, i32)) {
    until(&format!("the size {wanted:?}"), || (size(session) == wanted).then_some(()));
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

/// A client that prints the pointer's events, and what it is told of Wayland.
fn listener(session: &Compositor) -> Process {
    let mut command = session.client("stdbuf");
    command.env("WAYLAND_DEBUG", "client");
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

/// Presses a key and lets it go, `key` being the host's keyboard.
fn stroke(key: &mut impl FnMut(u32, bool), code: u32) {
    key(code, true);
    key(code, false);
}

/// Types what the terminal is to write, and checks that it did.
fn type_into(typed: &Path, mut key: impl FnMut(u32, bool)) {
    KEYS.into_iter().for_each(|code| stroke(&mut key, code));
    key(KEY_LEFT_SHIFT, true);
    KEYS.into_iter().for_each(|code| stroke(&mut key, code));
    key(KEY_LEFT_SHIFT, false);
    stroke(&mut key, KEY_ENTER);
    has_typed(typed);
}

/// Waits until the terminal wrote its line, and checks it.
fn has_typed(typed: &Path) {
    let line = until("the line typed", || std::fs::read_to_string(typed).ok().filter(|line| line.ends_with('\n')));
    assert_eq!(line, "keyKEY\n");
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

/// Waits until the pointer came in at this place of the client's.
fn entered(listener: &mut Process, x: f64, y: f64) {
    listener.line(|line| {
        let (_, rest) = pointer_event(line, "enter")?;
        let mut places = rest.trim_end_matches(')').rsplit(',').map(|word| word.trim().parse::<f64>());
        let (Some(Ok(is_y)), Some(Ok(is_x))) = (places.next(), places.next()) else { return None };
        ((is_x - x).abs() < 1.5 && (is_y - y).abs() < 1.5).then_some(())
    });
}

/// Waits until the pointer went.
fn left(listener: &mut Process) {
    listener.line(|line| pointer_event(line, "leave").map(|_| ()));
}

/// What stands before and behind the name of an event of the pointer's, in a line of WAYLAND_DEBUG.
fn pointer_event<'a>(line: &'a str, event: &str) -> Option<(&'a str, &'a str)> {
    line.split_once(&format!(".{event}(")).filter(|(object, _)| object.contains("wl_pointer"))
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
fn client_inside_a_window_of_x_is_seen_and_typed_into() {
    let _alone = alone();
    if !there("nested on X: keyboard", &["Xvfb", "foot"]) {
        return;
    }
    let host = Xvfb::start();
    let session = nested("DISPLAY", &host.display);
    let window = host.window("Transom");
    let inner = colored(INNER, 400_000, || host.picture());
    assert_eq!((inner.w, inner.h), SIZE);
    let (_foot, typed) = terminal(&session);
    seen(&session, inner, || host.picture());

    host.focus(window);
    host.key(KEY_LEFT_SHIFT, true); // released while somebody else has the keyboard: it must not stay down
    host.focus_nothing();
    host.key(KEY_LEFT_SHIFT, false);

    // It reads that it has the keyboard when half of the line is typed, two keys are down, and the rest is to come.
    let [k, e, y] = KEYS;
    let mut key = |code, down| host.key(code, down);
    session.signal(Signal::SIGSTOP);
    host.focus(window);
    [k, e].into_iter().for_each(|code| stroke(&mut key, code));
    key(y, true);
    key(KEY_LEFT_SHIFT, true);
    session.signal(Signal::SIGCONT);
    (0..2).for_each(|_| drop(session.stats())); // the second answer is of a later turn
    key(y, false);
    KEYS.into_iter().for_each(|code| stroke(&mut key, code));
    key(KEY_LEFT_SHIFT, false);
    stroke(&mut key, KEY_ENTER);
    has_typed(&typed);
    session.quit();
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
    let (left_edge, top_edge) = (inner.x + x, inner.y + y);

    host.point(left_edge + 60, top_edge + 40);
    moved(&mut listener, 60.0, 40.0);
    host.point(left_edge + 110, top_edge + 70);
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
    host.point(inner.x + inner.w + 20, inner.y + inner.h + 20);
    left(&mut listener);
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
        has_size(&session, (width as i32, height as i32));
        until("a picture of that size", || {
            let inner = spread(&host.picture(), INNER)?;
            ((inner.w, inner.h) == (width as i32, height as i32)).then_some(())
        });
    }
    for step in 0..60 {
        host.resize(window, 400 + step * 5, 300 + step * 3); // as by hand, faster than frames
    }
    has_size(&session, (695, 477));

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
    session.quit();
}

#[test]
fn client_inside_a_window_of_transom_is_seen_typed_into_and_clicked() {
    let _alone = alone();
    if !there("nested on Transom", &["foot", "stdbuf", "weston-eventdemo"]) {
        return;
    }
    let outer = Compositor::start(&Setup {
        outputs: &["1024x768@60"],
        config: &format!("desktop.background = \"{}\"\nwindows.placement = \"centre\"", hex("#", OUTER)),
        ..Setup::default()
    });
    let session = nested("WAYLAND_DISPLAY", outer.wayland().to_str().unwrap());
    let inner = colored(INNER, 400_000, || outer.screenshot());
    assert_eq!((inner.w, inner.h), SIZE);
    let mut hands = Hands::new(&outer.wayland());

    let (foot, typed) = terminal(&session);
    seen(&session, inner, || outer.screenshot());
    type_into(&typed, |code, down| hands.key(code, down));
    drop(foot);

    until("the terminal gone", || session.windows().is_empty().then_some(()));
    let mut listener = listener(&session);
    let [x, y, ..] = place(&session);
    let (left_edge, top_edge) = (inner.x + x, inner.y + y);
    hands.point((left_edge + 60, top_edge + 40), size(&outer));
    entered(&mut listener, 60.0, 40.0); // which says where it is: no motion need follow
    hands.point((left_edge + 110, top_edge + 70), size(&outer));
    moved(&mut listener, 110.0, 70.0);
    for code in [BTN_LEFT, BTN_SIDE] {
        hands.button(code, true);
        clicked(&mut listener, code, "pressed");
        hands.button(code, false);
        clicked(&mut listener, code, "released");
    }
    hands.wheel();
    assert!(turned(&mut listener) > 0.0, "down is positive");
    hands.point((inner.x - 20, inner.y - 20), size(&outer));
    left(&mut listener);
    drop(listener);
    session.quit();
    outer.quit();
}
