//! Terminals, typed into with wtype (virtual-keyboard): what is typed reaches the program inside, and is seen.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::scene::{Scene, colours};
use super::support::process::until;

/// What is typed: cases, digits and signs.
const TEXT: &str = "Transom 0123 [q@z] ~/x=y;";

/// A shell for a terminal: writes one line that is typed to a file, and ends.
fn shell(directory: &std::path::Path) -> (PathBuf, PathBuf) {
    let (script, typed) = (directory.join("shell"), directory.join("typed"));
    // What is not typed yet cannot be lost: the terminal says first that it listens.
    let text = format!(
        "#!/bin/sh\nprintf 'type: '\n: >{0}/listens\nIFS= read -r line\nprintf %s \"$line\" >{1}.new\nmv {1}.new {1}\nread -r end\n",
        directory.display(),
        typed.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (script, typed)
}

/// Types into a terminal whose shell is started by `arguments` and its path; looks at every step.
fn types_into(subject: &str, program: &str, arguments: impl Fn(&str) -> String) {
    let Some(scene) = Scene::open(subject, &[program, "wtype"]) else { return };
    let (script, typed) = shell(scene.compositor.directory());
    let listens = scene.compositor.directory().join("listens");
    let mut terminal = scene.start(program, &[&arguments(script.to_str().unwrap())]);
    let window = scene.window(&mut terminal);
    until("a shell that listens", || listens.exists().then_some(()));
    let window = scene.compositor.until_window("the keyboard", |now| now.id == window.id && now.focused);
    let before = scene.picture_of(&window);

    let wtype = |arguments: &[&str]| {
        let said = scene.compositor.client("wtype").args(arguments).output().unwrap();
        assert!(said.status.success(), "wtype: {}", String::from_utf8_lossy(&said.stderr));
    };
    let letters = |picture: &_| colours(picture, window.geometry).len();
    wtype(&["-d", "5", TEXT]);
    let after = scene.change(&before, "the text is seen");
    assert!(letters(&after) > 2, "no letter is seen");
    wtype(&["-k", "Return"]);
    let text = until("the typed line", || std::fs::read_to_string(&typed).ok());
    assert_eq!(text, TEXT);
    wtype(&["-k", "Return"]); // its shell ends, and it with that
    scene.end(terminal);
    scene.quit();
}

#[test]
fn foot_typed_into_hands_every_key_to_its_shell() {
    types_into("foot", "foot", str::to_owned);
}

#[test]
fn weston_terminal_typed_into_hands_every_key_to_its_shell() {
    types_into("weston_terminal", "weston-terminal", |script| format!("--shell={script}"));
}
