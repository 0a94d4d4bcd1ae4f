//! The pointer's picture.

use super::scene::{SIZE, Scene, shown};
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
