//! compositor.toml: broken at start, broken later, right again, and changed by editors of either kind.

use std::fs::{self, File};
use std::io::Write;

use transom::domain::geometry::Point;

use super::support::compositor::{Compositor, Setup};
use super::support::picture::rgb;
use super::support::process::until;
use super::{directory, refused, transom};

/// Files with a mistake: what is reported of it, after the file's name.
const BROKEN: [(&str, &str); 8] = [
    ("[desktop]\nbackground = \"red\"\n", ":2:14: field 'desktop.background': 'red' is not a colour"),
    ("\n[desktop]\ncolour = 1\n", ":3:1: field 'desktop': unknown field `colour`"),
    ("[bindings]\n\"Super+Retrun\" = \"quit\"\n", ":2:1: field 'bindings.Super+Retrun': there is no key 'Retrun'"),
    ("[bindings]\n\"Super+x\" = \"explode\"\n", ":2:13: field 'bindings.Super+x': no action 'explode'"),
    ("[bindings]\n\"Super+\\u0000\" = \"quit\"\n", ":2:1: field 'bindings.Super+\\0': there is no key '\\0'"),
    (
        "[input.keyboard]\nlayout = \"klingon\"\n",
        ":2:10: field 'input.keyboard.layout': there is no keymap with layout",
    ),
    ("[input.keyboard]\noptions = \"a\\u0000\"\n", ":2:11: field 'input.keyboard.options': there is no keymap with"),
    ("desktop = {\n", ":1:"),
];

#[test]
fn file_that_is_broken_at_start_is_reported_with_line_and_field() {
    let home = directory();
    let file = home.path().join("my.toml");
    let name = file.to_str().unwrap();
    for (text, place) in BROKEN {
        fs::write(&file, text).unwrap();
        for why in [
            refused(&mut transom(&home, &["run", "--backend", "headless", "--config", name]), 1),
            refused(transom(&home, &["run", "--backend", "headless"]).env("TRANSOM_CONFIG", name), 1),
        ] {
            assert!(why.starts_with(&format!("transom: {name}{place}")), "{text}: {why}");
        }
    }
    let why = refused(&mut transom(&home, &["run", "--config", "/nonexistent.toml"]), 1);
    assert!(why.contains("/nonexistent.toml: cannot be read: No such file"), "{why}");
}

fn background(compositor: &Compositor) -> [u8; 3] {
    rgb(&compositor.screenshot(), Point::new(5, 5))
}

fn until_background(compositor: &Compositor, what: &str, color: [u8; 3]) {
    until(what, || (background(compositor) == color).then_some(()));
}

#[test]
fn file_that_is_broken_later_leaves_what_was_in_force_until_it_is_right_again() {
    let before = "desktop.background = \"#0a0b0c\"";
    let compositor = Compositor::start(&Setup { outputs: &["64x48@60"], config: before, ..Setup::default() });
    let file = compositor.config();
    assert_eq!(background(&compositor), [0x0a, 0x0b, 0x0c]);
    for (text, place) in BROKEN {
        fs::write(&file, text).unwrap();
        let why = refused(&mut compositor.command(&["msg", "reload"]), 1);
        assert!(why.starts_with(&format!("transom: {}{place}", file.display())), "{text}: {why}");
        assert_eq!(background(&compositor), [0x0a, 0x0b, 0x0c], "{text}");
    }
    let after = Setup { config: "desktop.background = \"#c0b0a0\"", ..Setup::default() };
    fs::write(&file, after.file()).unwrap();
    compositor.run(&["msg", "reload"]);
    assert_eq!(background(&compositor), [0xc0, 0xb0, 0xa0]);
    compositor.quit();
}

#[test]
fn file_that_an_editor_saves_in_its_own_way_is_taken_without_a_word() {
    let compositor = Compositor::start(&Setup { outputs: &["64x48@60"], ..Setup::default() });
    let file = compositor.config();
    let text = |color: &str| {
        let config = format!("desktop.background = \"{color}\"");
        Setup { config: &config, ..Setup::default() }.file()
    };
    // As vim and most others: a new file takes the old one's name. Twice, since a watch could stay with the first.
    for (color, rgb) in [("#010203", [1, 2, 3]), ("#040506", [4, 5, 6])] {
        let new = file.with_extension("new");
        fs::write(&new, text(color)).unwrap();
        fs::rename(&new, &file).unwrap();
        until_background(&compositor, "a file renamed over it", rgb);
    }
    // As nano and shells: the file is emptied and written, in pieces. What is in between is nobody's wish.
    let whole = text("#070809");
    let (first, second) = whole.split_at(whole.len() / 2);
    let mut open = File::create(&file).unwrap();
    open.write_all(first.as_bytes()).unwrap();
    assert_eq!(background(&compositor), [4, 5, 6]);
    open.write_all(second.as_bytes()).unwrap();
    drop(open);
    until_background(&compositor, "a file written anew", [7, 8, 9]);
    // As others: the old one is moved away first.
    fs::rename(&file, file.with_extension("toml~")).unwrap();
    fs::write(&file, text("#0a0b0c")).unwrap();
    until_background(&compositor, "a file made anew", [10, 11, 12]);
    compositor.quit();
}
