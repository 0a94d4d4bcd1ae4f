//! The globals on offer, as wayland-info lists them.

use std::collections::BTreeSet;
use std::path::Path;

use super::scene::Scene;

#[test]
fn globals_on_offer_are_those_written_down() {
    let Some(scene) = Scene::open("globals_on_offer", &["wayland-info"]) else { return };
    let answer = scene.compositor.client("wayland-info").output().unwrap();
    assert!(answer.status.success(), "wayland-info: {}", String::from_utf8_lossy(&answer.stderr));
    let listed: BTreeSet<String> = String::from_utf8(answer.stdout).unwrap().lines().filter_map(global).collect();
    let listed = listed.into_iter().map(|line| line + "\n").collect::<String>();
    scene.quit();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/globals.txt");
    if std::env::var_os("TRANSOM_BLESS").is_some_and(|bless| bless == "1") {
        return std::fs::write(path, listed).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(listed, written, "TRANSOM_BLESS=1 cargo test --test clients globals writes them down");
}

/// Interface and version of a line such as `interface: 'wl_shm',  version:  2, name:  3`.
fn global(line: &str) -> Option<String> {
    let (interface, rest) = line.strip_prefix("interface: '")?.split_once('\'')?;
    let version = rest.split_once("version:")?.1.split(',').next()?.trim();
    Some(format!("{interface} {version}"))
}

#[test]
fn output_is_told_as_it_is() {
    let config = "outputs.HEADLESS-1.scale = 1.5";
    let Some(scene) = Scene::configured("output_is_told", &["wayland-info"], config) else { return };
    let answer = scene.compositor.client("wayland-info").output().unwrap();
    let text = String::from_utf8(answer.stdout).unwrap();
    let has = |words: &str| assert!(text.contains(words), "no '{words}' in {text}");
    has("width: 1024 px, height: 768 px, refresh: 60.000 Hz");
    has("name: HEADLESS-1");
    has("make: 'Transom'");
    has("scale: 2"); // the whole number above
    has("logical_width: 683, logical_height: 512");
    scene.quit();
}
