//! Copy and paste between programs (wl-clipboard).

use std::io::Write;
use std::process::Stdio;

use super::scene::Scene;
use super::support::process::until;

/// Copies with one program and pastes with another, in both selections.
#[test]
fn text_copied_by_one_program_is_pasted_by_another() {
    let Some(scene) = Scene::open("clipboard", &["wl-copy", "wl-paste"]) else { return };
    let compositor = &scene.compositor;
    for primary in [false, true] {
        let selection: &[&str] = if primary { &["--primary"] } else { &[] };
        let text = format!("copied, primary: {primary}, \u{e9}\u{1F600}\n").repeat(5000);
        let mut copy = compositor.client("wl-copy");
        copy.args(selection).args(["--foreground", "--paste-once", "--type", "text/plain;charset=utf-8"]);
        let mut copy = copy.stdin(Stdio::piped()).spawn().unwrap();
        copy.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let pasted = until("the text", || {
            let paste = compositor.client("wl-paste").args(selection).arg("--no-newline").output().unwrap();
            paste.status.success().then_some(paste.stdout)
        });
        assert_eq!(String::from_utf8(pasted).unwrap(), text);
        assert!(copy.wait().unwrap().success());
    }
    scene.quit();
}
