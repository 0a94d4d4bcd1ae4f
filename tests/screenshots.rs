//! Pictures of many kinds of scene, compared with committed ones (`tests/screenshots/*.png`).
//!
//! Every renderer takes every picture: the CPU reference, so that the committed ones are right, and the Vulkan adapter.
//! Where one differs, what was seen, what should have been and the difference are written to `target/screenshots`,
//! and the failure says the worst channel's error and where it is. `TRANSOM_BLESS=1` writes the committed pictures anew,
//! by the reference; look at them before committing.

mod support;

#[path = "screenshots/art.rs"]
mod art;
#[path = "screenshots/scenes.rs"]
mod scenes;
#[path = "screenshots/shot.rs"]
mod shot;

use std::path::{Path, PathBuf};

use shot::Shot;
use support::picture::{difference_picture, differences, failures_dir, read_png, write_png};
use support::reference::Reference;
use support::{renderers, rig};
use transom::ports::renderer::Pixels;

/// Of the reference, on any machine's floating point.
const REFERENCE_TOLERANCE: u8 = 1;

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screenshots")
}

fn all() -> Vec<Shot> {
    let kinds = [
        scenes::transforms(),
        scenes::outputs(),
        scenes::scales(),
        scenes::formats(),
        scenes::blending(),
        scenes::edges(),
        scenes::desktops(),
    ];
    kinds.into_iter().flatten().collect()
}

fn is_blessing() -> bool {
    std::env::var_os("TRANSOM_BLESS").is_some_and(|bless| bless == "1")
}

/// What is wrong with a picture, with everything to look at written down.
fn fault_of(by: &str, name: &str, actual: &Pixels, expected: &Pixels, tolerance: u8) -> Option<String> {
    let difference = differences(actual, expected, tolerance, |_| true)?;
    let directory = failures_dir();
    let file = |what: &str| directory.join(format!("{name}.{by}.{what}.png"));
    write_png(&file("actual"), actual);
    write_png(&file("expected"), expected);
    if actual.size == expected.size {
        write_png(&file("difference"), &difference_picture(actual, expected));
    }
    Some(format!("{name} by {by}: {difference}; see {}", file("*").display()))
}

/// Takes every picture with every renderer, and holds it against the committed one.
fn check(shots: &[Shot]) {
    let mut faults = Vec::new();
    let mut count = 0;
    renderers::each(|by, renderer| {
        let formats = renderer.capabilities().shm_formats.clone();
        for shot in shots {
            if let Some(lacking) = shot.formats().find(|code| !formats.contains(code)) {
                rig::skip(&shot.name, &format!("{by} reads no {lacking}"));
                continue;
            }
            let path = committed().join(format!("{}.png", shot.name));
            let taken = shot.taken_by(renderer);
            let tolerance = if by == "reference" { REFERENCE_TOLERANCE } else { renderers::TOLERANCE };
            if by == "reference" && is_blessing() {
                write_png(&path, &taken);
            }
            count += 1;
            match read_png(&path) {
                None => faults.push(format!("{}: no committed picture; TRANSOM_BLESS=1 writes it", shot.name)),
                Some(expected) => faults.extend(fault_of(by, &shot.name, &taken, &expected, tolerance)),
            }
        }
    });
    assert!(faults.is_empty(), "{} of {count} pictures:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn transforms_of_elements_look_right() {
    check(&scenes::transforms());
}

#[test]
fn outputs_that_are_turned_look_right() {
    check(&scenes::outputs());
}

#[test]
fn scales_and_viewports_look_right() {
    check(&scenes::scales());
}

#[test]
fn formats_look_right() {
    check(&scenes::formats());
}

#[test]
fn blending_looks_right() {
    check(&scenes::blending());
}

#[test]
fn filters_and_edges_look_right() {
    check(&scenes::edges());
}

#[test]
fn desktops_look_right() {
    check(&scenes::desktops());
}

#[test]
fn pictures_committed_are_those_described() {
    if is_blessing() {
        return; // they are being written by the others
    }
    let mut described: Vec<String> = all().into_iter().map(|shot| format!("{}.png", shot.name)).collect();
    let entries = std::fs::read_dir(committed()).expect("committed pictures");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"));
    let mut there: Vec<String> = names.filter(|name| name.ends_with(".png")).collect();
    described.sort();
    there.sort();
    assert_eq!(there, described);
    assert!(there.len() >= 40, "only {} pictures", there.len());
}

#[test]
fn picture_that_differs_is_told_with_its_worst_error_and_place() {
    let shot = &scenes::blending()[0];
    let right = shot.taken_by(&mut Reference::new());
    let mut wrong = right.clone();
    let at = ((20 * right.size.w + 30) * 4 + 2) as usize; // red of (30, 20)
    wrong.bytes[at] = wrong.bytes[at].wrapping_add(100);
    let told = fault_of("nobody", "deliberately-wrong", &wrong, &right, 0).expect("a difference");
    assert!(told.contains("1 pixels differ") && told.contains("R at (30, 20)"), "{told}");
    let difference =
        read_png(&failures_dir().join("deliberately-wrong.nobody.difference.png")).expect("a picture of it");
    assert_eq!(difference.bytes.chunks_exact(4).filter(|p| p[..3] != [0; 3]).count(), 1);
    assert_eq!(fault_of("nobody", "right", &right, &right.clone(), 0), None);
    for what in ["actual", "expected", "difference"] {
        std::fs::remove_file(failures_dir().join(format!("deliberately-wrong.nobody.{what}.png"))).expect("written");
    }
}
