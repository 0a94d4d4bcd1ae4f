//! The pointer's picture.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use transom::domain::geometry::Point;

use super::scene::{SIZE, Scene, shown};
use super::support::compositor::{Compositor, Setup};
use super::support::guest::Hand;
use super::support::picture::rgb;
use super::support::process::until;

/// Follows the pointer over bare desktop: its picture goes along, and is whole at every edge.
#[test]
fn cursor_goes_where_the_pointer_goes() {
    let mut scene = Scene::open("cursor", &[]).expect("no program is needed");
    let mut hand = scene.hand();
    let compositor = &scene.compositor;
    let mut size = None;
    for (x, y) in [(500, 400), (100, 100), (300, 700), (501, 399)] {
        hand.point(x, y);
        let seen = until("the cursor", || {
            let seen = shown(&compositor.screenshot());
            // Its hot spot lies in it or at its edge.
            let near = (seen.x - 1..=seen.right()).contains(&x) && (seen.y - 1..=seen.bottom()).contains(&y);
            (near && seen.w > 4 && seen.h > 4).then_some(seen)
        });
        assert_eq!(*size.get_or_insert(seen.size()), seen.size(), "one picture, whole, and none left behind");
    }
    hand.point(SIZE.0 as i32 - 2, 300);
    let cut = until("a cursor at the edge", || {
        let seen = shown(&compositor.screenshot());
        (seen.right() == SIZE.0 as i32).then_some(seen)
    });
    assert!(Some(cut.size()) != size && cut.w > 0, "{cut:?}");
    drop(hand);
    scene.quit();
}

const COLOURS: [[u8; 3]; 3] = [[255, 0, 0], [0, 255, 0], [0, 0, 255]];

/// A theme named "default" with one icon: squares of these colours, each shown for `delay_ms`.
fn write_theme(directory: &Path, colours: &[[u8; 3]], delay_ms: u32) {
    const SIDE: u32 = 24;
    let mut file = Vec::new();
    let mut put = |words: &[u32]| words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    // Source: Xcursor(3), "CURSOR FILES".
    put(&[u32::from_le_bytes(*b"Xcur"), 16, 0x1_0000, colours.len() as u32]);
    let chunk_bytes = 36 + SIDE * SIDE * 4;
    for index in 0..colours.len() as u32 {
        put(&[0xfffd_0002, SIDE, 16 + colours.len() as u32 * 12 + index * chunk_bytes]);
    }
    for [r, g, b] in colours.iter().map(|colour| colour.map(u32::from)) {
        put(&[36, 0xfffd_0002, SIDE, 1, SIDE, SIDE, 0, 0, delay_ms]);
        put(&vec![0xff00_0000 | r << 16 | g << 8 | b; (SIDE * SIDE) as usize]);
    }
    let icons = directory.join("default/cursors");
    std::fs::create_dir_all(&icons).unwrap();
    std::fs::write(icons.join("default"), file).unwrap();
}

fn with_theme(colours: &[[u8; 3]], delay_ms: u32) -> (tempfile::TempDir, Compositor) {
    let themes = tempfile::tempdir().unwrap();
    write_theme(themes.path(), colours, delay_ms);
    let variables = [("XCURSOR_PATH", themes.path().to_str().unwrap())];
    let compositor = Compositor::start(&Setup { host: &variables, outputs: &["320x240@60"], ..Setup::default() });
    (themes, compositor)
}

/// Redraws since start, with and without damage.
fn redraws(compositor: &Compositor) -> u64 {
    let stats = compositor.stats();
    stats.outputs.iter().map(|output| output.presented + output.skipped).sum()
}

#[test]
fn cursor_of_several_pictures_shows_one_after_the_other() {
    let (_themes, compositor) = with_theme(&COLOURS, 100);
    let mut hand = Hand::new(&compositor.wayland(), (320, 240));
    hand.point(100, 100);
    for round in 0..2 {
        for colour in COLOURS {
            until(&format!("{colour:?}, round {round}"), || {
                (rgb(&compositor.screenshot(), Point::new(110, 110)) == colour).then_some(())
            });
        }
    }
    drop(hand);
    compositor.quit();
}

#[test]
fn cursor_that_stands_still_wakes_nobody() {
    for (colours, delay_ms) in [(&COLOURS[..1], 100), (&COLOURS[..], 0)] {
        let (_themes, compositor) = with_theme(colours, delay_ms);
        let mut hand = Hand::new(&compositor.wayland(), (320, 240));
        hand.point(100, 100);
        until("the pointer", || (rgb(&compositor.screenshot(), Point::new(110, 110)) == COLOURS[0]).then_some(()));
        let before = until("rest", || {
            let before = redraws(&compositor);
            sleep(Duration::from_millis(100));
            (redraws(&compositor) == before).then_some(before)
        });
        sleep(Duration::from_secs(1));
        assert_eq!(redraws(&compositor), before);
        drop(hand);
        compositor.quit();
    }
}
