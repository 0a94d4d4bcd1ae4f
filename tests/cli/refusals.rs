//! Every way to ask in vain: the reason says what to do next.

use super::support::compositor::{Compositor, Setup};
use super::{directory, refused, transom};

/// Fails as one line that begins with our name and has all of `parts`.
fn says(why: &str, parts: &[&str]) {
    assert_eq!(why.trim_end().lines().count(), 1, "{why}");
    assert!(why.starts_with("transom: "), "{why}");
    parts.iter().for_each(|part| assert!(why.contains(part), "no '{part}': {why}"));
}

#[test]
fn command_lines_that_are_wrong_end_with_status_2_and_the_usage() {
    let home = directory();
    for (words, parts) in [
        (&[][..], &["Usage:", "run", "screenshot", "doctor"][..]),
        (&["fly"], &["'fly'", "Usage:"]),
        (&["msg"], &["outputs", "action"]),
        (&["msg", "explode"], &["'explode'", "Usage:"]),
        (&["msg", "action"], &["WORDS", "Usage:"]),
        (&["screenshot"], &["FILE.png", "Usage:"]),
        (&["screenshot", "--part", "1,2,3", "a.png"], &["X,Y,WIDTH,HEIGHT"]),
        (&["screenshot", "--part", "1,2,0,3", "a.png"], &["at least 1"]),
        (&["run", "--output", "wide"], &["WIDTHxHEIGHT@HERTZ"]),
        (&["run", "--backend", "drm"], &["headless", "nested"]),
        (&["run", "--socket", "../wayland-0"], &["a name, not a path"]),
        (&["run", "--exit-with-child"], &["COMMAND"]),
        (&["doctor", "extra"], &["'extra'"]),
    ] {
        let why = refused(&mut transom(&home, words), 2);
        parts.iter().for_each(|part| assert!(why.contains(part), "{words:?}: no '{part}': {why}"));
    }
}

#[test]
fn question_to_nobody_says_how_to_find_somebody() {
    let home = directory();
    let file = home.path().join("a.png");
    for words in [&["msg", "outputs"][..], &["msg", "--json", "quit"], &["screenshot", file.to_str().unwrap()]] {
        says(&refused(&mut transom(&home, words), 1), &["TRANSOM_SOCKET", "WAYLAND_DISPLAY"]);
        let why = refused(transom(&home, words).env("WAYLAND_DISPLAY", "wayland-none"), 1);
        says(&why, &["no compositor listens on", "transom-wayland-none.sock", "is it running?"]);
        let stale = home.path().join("stale");
        drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
        says(&refused(transom(&home, words).env("TRANSOM_SOCKET", &stale), 1), &["no compositor listens on", "stale"]);
        std::fs::remove_file(stale).unwrap();
    }
    assert!(!file.exists(), "no picture is left behind");
}

#[test]
fn question_that_the_compositor_cannot_answer_says_what_there_is() {
    let compositor = Compositor::start(&Setup { outputs: &["64x48@60"], ..Setup::default() });
    let file = compositor.directory().join("a.png");
    let file = file.to_str().unwrap();
    for (words, parts) in [
        (&["screenshot", "--output", "HEADLESS-9", file][..], &["no output HEADLESS-9", "there are: HEADLESS-1"][..]),
        (&["screenshot", "--part", "0,0,65,1", file], &["64x48"]),
        (&["screenshot", "/nonexistent/a.png"], &["cannot write /nonexistent/a.png", "directory"]),
        (&["screenshot", "/dev/full"], &["cannot write /dev/full", "No space"]),
        (&["screenshot", "--json", "-"], &["name a file"]),
        (&["msg", "action", "explode"], &["no action 'explode'"]),
        (&["msg", "action", "workspace", "many"], &["workspace N"]),
        (&["msg", "action", "close", "999"], &["no window 999"]),
        (&["msg", "action", "toggle-fullscreen"], &["no window has the focus"]),
    ] {
        says(&refused(&mut compositor.command(words), 1), parts);
    }
    assert!(!std::path::Path::new(file).exists(), "no picture is left behind");
    compositor.quit();
}
