//! How it starts, what it starts, and how it ends: nothing of it is left.

use std::path::Path;

use nix::sys::signal::Signal;

use super::support::compositor::{Compositor, Setup};
use super::support::process::{Process, until};
use super::{directory, refused, transom};

const SMALL: Setup<'_> = Setup { backend: "headless", host: &[], outputs: &["64x48@60"], config: "" };

/// Sockets and locks in a directory.
fn sockets(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("wayland-") || name.ends_with(".sock")).collect();
    names.sort();
    names
}

#[test]
fn signal_of_any_kind_ends_it_as_a_wish_to_quit_does() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let compositor = Compositor::start(&SMALL);
        let there = sockets(compositor.directory());
        assert_eq!(there, ["transom-wayland-test.sock", "wayland-test", "wayland-test.lock"], "{signal}");
        compositor.quit_by(|compositor| compositor.signal(signal)); // it looks whether they are gone
    }
}

#[test]
fn second_one_of_the_same_name_is_refused_and_the_first_lives_on() {
    let compositor = Compositor::start(&SMALL);
    let words = ["run", "--backend", "headless", "--output", "64x48@60", "--socket", "wayland-test"];
    let mut second = super::support::rig::transom();
    second.args(words);
    let why = refused(super::support::compositor::at_home(&mut second, compositor.directory()), 1);
    assert!(why.contains("the socket's name free"), "{why}");
    assert_eq!(compositor.outputs().len(), 1, "it answers, and clients still find it");
    super::support::guest::Guest::connect(&compositor.wayland()).window("here", (10, 10), 0);
    compositor.quit();
}

#[test]
fn runtime_directory_that_cannot_be_used_is_said_so() {
    let home = directory();
    for (value, part) in [(None, "is not set"), (Some("relative"), "relative"), (Some("/nonexistent"), "/nonexistent")]
    {
        let mut command = transom(&home, &["run", "--backend", "headless", "--output", "64x48@60"]);
        match value {
            Some(value) => command.env("XDG_RUNTIME_DIR", value),
            None => command.env_remove("XDG_RUNTIME_DIR"),
        };
        let why = refused(&mut command, 1);
        assert!(why.contains("XDG_RUNTIME_DIR") && why.contains(part), "{why}");
    }
}

/// `transom run` with a shell command as its child.
fn with_child(home: &tempfile::TempDir, options: &[&str], script: &str) -> Process {
    let fixed = ["run", "--backend", "headless", "--output", "64x48@60", "--socket", "wayland-mine"];
    let words = [&fixed, options, &["--", "sh", "-c", script]].concat();
    Process::start("transom with a child", &mut transom(home, &words))
}

#[test]
fn command_finds_the_display_and_its_end_is_the_compositors() {
    let home = directory();
    let script = "echo \"display $WAYLAND_DISPLAY socket $TRANSOM_SOCKET\"; exit 7";
    let mut process = with_child(&home, &["--exit-with-child"], script);
    let said = process.line(|line| line.strip_prefix("display ").map(str::to_owned));
    assert_eq!(said, format!("wayland-mine socket {}/transom-wayland-mine.sock", home.path().display()));
    assert_eq!(process.end().code(), Some(7));
    assert_eq!(sockets(home.path()), [] as [String; 0]);
    let mut process = with_child(&home, &["--exit-with-child"], "kill -TERM $$");
    assert_eq!(process.end().code(), Some(128 + 15), "as a shell tells a signal");
}

#[test]
fn command_that_ends_leaves_the_compositor_unless_it_is_told_otherwise() {
    let home = directory();
    let ended = home.path().join("ended");
    let script = format!("trap 'echo asked >{}; exit' TERM; echo ready; while :; do sleep 0.05; done", ended.display());
    let mut process = with_child(&home, &[], &script);
    process.line(|line| (line == "ready").then_some(()));
    process.signal(Signal::SIGTERM);
    assert!(process.end().success());
    until("a command that is asked to end with it", || ended.exists().then_some(()));
    let mut process = with_child(&home, &[], "echo over");
    process.line(|line| (line == "over").then_some(()));
    let ask = || transom(&home, &["msg", "quit"]).env("WAYLAND_DISPLAY", "wayland-mine").output().unwrap();
    until("its answer", || ask().status.success().then_some(()));
    assert!(process.end().success());
}

#[test]
fn command_that_is_not_there_ends_it_with_nothing_left() {
    let home = directory();
    let words = ["run", "--backend", "headless", "--output", "64x48@60", "--", "/nonexistent/program"];
    let why = refused(&mut transom(&home, &words), 1);
    assert!(why.contains("/nonexistent/program cannot be started"), "{why}");
    assert_eq!(sockets(home.path()), [] as [String; 0]);
}
