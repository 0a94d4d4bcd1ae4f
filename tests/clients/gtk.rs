//! A toolkit: GTK 4, drawing into wl_shm buffers.

use super::scene::{DESKTOP, Scene, colours, rect, shown};

/// GTK's spinner turns by itself; the text beside it is typed into.
#[test]
fn gtk4_demo_animates_and_takes_text() {
    let Some(scene) = Scene::open("gtk4_demo", &["gtk4-demo", "wtype"]) else { return };
    let mut program = scene.start("gtk4-demo", &["--run", "spinner"]);
    let window = scene.window(&mut program);
    let [x, y, w, h] = window.geometry;
    let before = scene.picture("a window and its shadow", |picture| {
        shown(picture).contains_rect(rect(&window)) && shown(picture) != rect(&window)
    });
    let seen = colours(&before, window.geometry);
    assert!(seen.len() > 100, "{} colours", seen.len());
    // Its corners are round.
    let bare = seen.get(&DESKTOP).copied().unwrap_or_default();
    assert!(bare * 100 < (w * h) as usize, "{bare} pixels of the desktop show through");
    let later = scene.change(&before, "a spinner that turns");
    let dark = |picture: &_| {
        // The upper entry, right of its spinner.
        let entry = colours(picture, [x + 40, y + 36, w - 60, 40]);
        entry.iter().filter(|([r, g, b], _)| r.max(g).max(b) < &120).map(|(_, count)| count).sum::<usize>()
    };
    let ink = dark(&later);
    let typed = scene.compositor.client("wtype").args(["-d", "5", "MMMMMM"]).output().unwrap();
    assert!(typed.status.success(), "wtype: {}", String::from_utf8_lossy(&typed.stderr));
    scene.picture("the typed text", |picture| dark(picture) > ink + 100);
    scene.close(program, &window);
    scene.quit();
}
