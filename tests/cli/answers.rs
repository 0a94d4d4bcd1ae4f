//! `transom msg` and `transom screenshot`, answered.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use transom::domain::action::FORMS;
use transom::domain::geometry::{Point, Rect, Size};
use transom::ports::renderer::Pixels;

use super::support::compositor::{Compositor, Setup, at_home};
use super::support::guest::Guest;
use super::support::picture::{points, read_png, rgb};
use super::{directory, transom};

const DESKTOP: [u8; 3] = [0x10, 0x20, 0x30];
const WINDOW: [u8; 3] = [0xff, 0x80, 0x00];

/// Two outputs, and a window of one colour on the first.
fn desk() -> (Compositor, Guest) {
    let setup =
        Setup { outputs: &["320x240@60", "64x48@30"], config: "desktop.background = \"#102030\"", ..Setup::default() };
    let compositor = Compositor::start(&setup);
    let mut guest = Guest::connect(&compositor.wayland());
    guest.window("A \"title\"", (100, 80), 0x00ff_8000);
    compositor.until_window("the window", |window| window.geometry == [110, 80, 100, 80]);
    (compositor, guest)
}

fn words(compositor: &Compositor, words: &[&str]) -> String {
    String::from_utf8(compositor.run(words)).unwrap()
}

fn json(compositor: &Compositor, message: &[&str]) -> Value {
    let said = compositor.run(&[&["msg", "--json"], message].concat());
    serde_json::from_slice(&said).unwrap_or_else(|error| panic!("{message:?}: {error}"))
}

/// Every key of every object in it.
fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            into.insert(key.clone());
            keys(value, into);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

#[test]
fn messages_of_every_kind_are_answered_in_words_and_in_json() {
    let (compositor, guest) = desk();
    let outputs = words(&compositor, &["msg", "outputs"]);
    assert!(outputs.starts_with("HEADLESS-1: 320x240 at 60 Hz"), "{outputs}");
    assert!(outputs.contains("HEADLESS-2: 64x48 at 30 Hz") && outputs.contains("64x48 at 320,0, scale 1"), "{outputs}");
    let windows = words(&compositor, &["msg", "windows"]);
    assert!(windows.contains("A \\\"title\\\"") && windows.contains("100x80 at 110,80"), "{windows}");
    let stats = words(&compositor, &["msg", "stats"]);
    for line in ["device ", "clients           1", "HEADLESS-2: ", "since start"] {
        assert!(stats.lines().any(|said| said.starts_with(line)), "no '{line}': {stats}");
    }

    let outputs = json(&compositor, &["outputs"]);
    assert_eq!((&outputs[1]["name"], &outputs[1]["logical"]), (&"HEADLESS-2".into(), &vec![320, 0, 64, 48].into()));
    let windows = json(&compositor, &["windows"]);
    assert_eq!((&windows[0]["title"], &windows[0]["focused"]), (&"A \"title\"".into(), &true.into()));
    assert_eq!(windows[0]["pid"], std::process::id());
    let stats = json(&compositor, &["stats"]);
    assert_eq!((&stats["clients"], &stats["total"]["validation_messages"]), (&1.into(), &0.into()));
    assert!(stats["outputs"][0]["presented"].as_u64() > Some(0), "{stats}");

    let id = windows[0]["id"].to_string();
    assert_eq!(json(&compositor, &["action", "minimise", &id]), "done");
    assert_eq!(json(&compositor, &["windows"])[0]["minimised"], true);
    assert_eq!(words(&compositor, &["msg", "action", "restore", &id]), "", "words of what is done say nothing");
    assert_eq!(json(&compositor, &["reload"]), "done");
    drop(guest);
    compositor.quit_by(|compositor| assert_eq!(json(compositor, &["quit"]), "done"));
}

#[test]
fn keys_of_every_answer_are_in_the_man_page() {
    let (compositor, guest) = desk();
    let mut found = BTreeSet::new();
    for message in ["outputs", "windows", "stats"] {
        keys(&json(&compositor, &[message]), &mut found);
    }
    drop(guest);
    compositor.quit();
    assert!(found.len() > 60, "{found:?}");
    let page = include_str!("../../resources/man/transom.1").replace("\\-", "-");
    let words: BTreeSet<_> = page.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).collect();
    let missing: Vec<_> = found.iter().filter(|key| !words.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "transom(1) lacks {missing:?}");
}

/// What [`desk`] looks like, without the pointer.
fn expected(at: Point) -> [u8; 3] {
    if Rect::new(110, 80, 100, 80).contains(at) { WINDOW } else { DESKTOP }
}

fn check(picture: &Pixels, size: (i32, i32), offset: (i32, i32)) {
    assert_eq!(picture.size, Size::new(size.0, size.1));
    for at in points(picture.size) {
        let there = Point::new(at.x + offset.0, at.y + offset.1);
        assert_eq!(rgb(picture, at), expected(there), "{at:?} of {size:?} at {offset:?}");
    }
}

#[test]
fn screenshot_of_all_of_one_and_of_a_part_is_what_is_shown() {
    let (compositor, guest) = desk();
    let file = compositor.directory().join("picture.png");
    let name = file.to_str().unwrap();
    let shoot = |arguments: &[&str]| {
        let said = compositor.run(&[&["screenshot"], arguments, &[name]].concat());
        (read_png(&file).unwrap(), String::from_utf8(said).unwrap())
    };
    let (all, said) = shoot(&[]);
    assert_eq!((all.size, said.as_str()), (Size::new(384, 240), ""));
    let left = |at: &Point| at.x < 320;
    for at in points(all.size).filter(left) {
        assert_eq!(rgb(&all, at), expected(at), "{at:?}");
    }
    check(&shoot(&["--output", "HEADLESS-1"]).0, (320, 240), (0, 0));
    check(&shoot(&["--output", "HEADLESS-2"]).0, (64, 48), (320, 0));
    check(&shoot(&["--part", "100,70,30,20"]).0, (30, 20), (100, 70));
    let (picture, said) = shoot(&["--json", "--output", "HEADLESS-2"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["width"], &said["height"]), (&64.into(), &48.into()));
    assert_eq!(said["png_bytes"], std::fs::metadata(&file).unwrap().len());

    let bytes = compositor.run(&["screenshot", "--output", "HEADLESS-2", "-"]);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(read_png(&file).unwrap().bytes, picture.bytes, "the standard output gets the same");
    drop(guest);
    compositor.quit();
}

#[test]
fn doctor_tells_what_there_is_and_what_to_do_about_the_rest() {
    let home = directory();
    let said = transom(&home, &["doctor"]).output().unwrap();
    assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
    let said = String::from_utf8(said.stdout).unwrap();
    let said: Vec<_> = said.lines().collect();
    for start in
        ["    usable; textures to ", "    upload tiers, best first:", "      ok  staging", "    wl_shm formats: "]
    {
        assert!(said.iter().any(|line| line.starts_with(start)), "no '{start}': {said:#?}");
    }
    for check in ["configuration", "runtime directory", "udmabuf", "DRM nodes", "seat"] {
        let at = said.iter().position(|line| line.get(4..).is_some_and(|line| line.starts_with(check)));
        let at = at.unwrap_or_else(|| panic!("no {check}: {said:#?}"));
        assert!(said[at].starts_with("ok  ") || said[at + 1].starts_with("      "), "{check} is bad without advice");
    }
    // Whatever is missing is followed by what it means.
    for (at, _) in said.iter().enumerate().filter(|(_, line)| line.starts_with("      --  ")) {
        assert!(said[at].contains(": lacks ") && said[at + 1].starts_with("          "), "{}", said[at]);
    }
    let json = transom(&home, &["doctor", "--json"]).output().unwrap().stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert!(json["devices"][0]["shm_formats"].as_array().unwrap().contains(&"ARGB8888".into()), "{json}");

    // Where images are taken without a name for how they lie, they are taken so in the two formats that all have.
    let takes = |format: &str| {
        let list = json["devices"][0]["dmabuf_formats"].as_array().unwrap();
        list.iter().any(|taken| taken["format"] == format && !taken["modifiers"].as_array().unwrap().is_empty())
    };
    let has_dmabuf = json["devices"][0]["features"]
        .as_array()
        .unwrap()
        .iter()
        .any(|feature| feature["name"] == "dmabuf" && feature.get("missing").is_none());
    assert_eq!((takes("ARGB8888"), takes("XRGB8888")), (has_dmabuf, has_dmabuf));

    // Without any driver it still has something to say.
    let mut bare = Command::new(env!("CARGO_BIN_EXE_transom"));
    at_home(&mut bare, home.path()).arg("doctor").env("VK_DRIVER_FILES", "/nonexistent.json");
    let said = bare.env("VK_ICD_FILENAMES", "/nonexistent.json").output().unwrap();
    assert!(said.status.success() && String::from_utf8_lossy(&said.stdout).contains("no Vulkan"));
}

#[test]
fn help_of_actions_lists_every_one() {
    let help = transom(&directory(), &["msg", "action", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(FORMS.iter().all(|form| help.lines().any(|line| line.trim() == *form)), "{help}");
}
