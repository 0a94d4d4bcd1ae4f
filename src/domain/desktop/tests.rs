//! The desktop's rules, one situation a test.

use proptest::prelude::*;

use super::*;
use crate::domain::geometry::{Point, Rect};
use crate::domain::window::Edges;

const LEFT: OutputId = OutputId(1);
const RIGHT: OutputId = OutputId(2);
const LEFT_RECT: Rect = Rect::new(0, 0, 800, 600);
const RIGHT_RECT: Rect = Rect::new(800, 0, 1000, 700);

fn desktop() -> Desktop {
    let mut desktop = Desktop::default();
    desktop.add_screen(LEFT, "LEFT", LEFT_RECT);
    desktop.add_screen(RIGHT, "RIGHT", RIGHT_RECT);
    desktop
}

fn map(desktop: &mut Desktop, id: u64, size: (i32, i32)) -> WindowId {
    let id = WindowId(id);
    desktop.create(id);
    desktop.committed(id, Size::new(size.0, size.1), true);
    id
}

fn answer(desktop: &mut Desktop, id: WindowId) {
    let asked = desktop.window(id).unwrap().asked_size();
    desktop.committed(id, asked, true);
}

fn geometry(desktop: &Desktop, id: WindowId) -> Rect {
    desktop.window(id).unwrap().geometry()
}

/// Where a new window is put.
fn placed(desktop: &mut Desktop, id: u64, size: (i32, i32)) -> Point {
    let window = map(desktop, id, size);
    geometry(desktop, window).origin()
}

fn order(desktop: &Desktop) -> Vec<u64> {
    desktop.shown().map(|w| w.id().0).collect()
}

#[test]
fn window_new_is_centred_focused_and_in_front() {
    let mut desktop = desktop();
    map(&mut desktop, 1, (200, 100));
    let two = map(&mut desktop, 2, (200, 100));
    assert_eq!(geometry(&desktop, WindowId(1)), Rect::new(300, 250, 200, 100));
    assert_eq!(geometry(&desktop, two), Rect::new(332, 282, 200, 100), "cascaded");
    assert_eq!((order(&desktop), desktop.focused()), (vec![1, 2], Some(two)));
}

#[test]
fn windows_of_any_size_cascade_from_the_one_before_and_start_over_in_the_usable_area() {
    let mut desktop = desktop();
    let usable = Rect::new(0, 40, 800, 560);
    desktop.set_screen(LEFT, LEFT_RECT, usable);
    let mut corners = Vec::new();
    for (id, size) in [(1, (400, 300)), (2, (200, 100)), (3, (500, 300)), (4, (300, 470)), (5, (100, 100))] {
        let corner = placed(&mut desktop, id, size);
        corners.push((corner.x, corner.y));
    }
    assert_eq!(corners, [(200, 170), (232, 202), (264, 234), (296, 40), (328, 72)], "4 does not fit beneath 3");
    desktop.move_to(WindowId(5), Point::new(690, 90));
    assert_eq!(placed(&mut desktop, 6, (100, 100)), Point::new(0, 122));
    desktop.set_current_screen(RIGHT);
    let alone = map(&mut desktop, 7, (200, 100));
    assert_eq!(geometry(&desktop, alone).origin(), Point::new(1200, 300), "nothing is before it on that output");
    desktop.show_workspace(RIGHT, 2);
    let hidden = map(&mut desktop, 8, (200, 100));
    assert_eq!(geometry(&desktop, hidden).origin(), Point::new(1200, 300), "nor on that workspace");
    for id in 1..=6 {
        desktop.set_minimised(WindowId(id), true);
    }
    desktop.set_current_screen(LEFT);
    assert_eq!(placed(&mut desktop, 9, (400, 300)), Point::new(200, 170), "put away");
}

#[test]
fn child_goes_over_its_parent_and_is_no_step_of_the_cascade() {
    let mut desktop = desktop();
    let parent = map(&mut desktop, 1, (400, 300));
    let mut corners = Vec::new();
    for id in [2, 3] {
        let child = WindowId(id);
        desktop.create(child);
        desktop.set_parent(child, Some(parent));
        desktop.committed(child, Size::new(100, 50), true);
        corners.push(geometry(&desktop, child).origin());
    }
    assert_eq!(corners, [Point::new(350, 275), Point::new(382, 307)]);
    assert_eq!(placed(&mut desktop, 4, (10, 10)), Point::new(232, 182), "of the parent");
}

#[test]
fn children_of_a_window_no_longer_to_be_seen_go_to_its_parent() {
    let mut desktop = desktop();
    let ids: Vec<_> = (1..=4).map(|id| map(&mut desktop, id, (200, 100))).collect();
    for pair in ids.windows(2) {
        desktop.set_parent(pair[1], Some(pair[0]));
    }
    let parent = |desktop: &Desktop, id: usize| desktop.window(ids[id]).unwrap().parent();
    desktop.unmap(ids[2]);
    assert_eq!(parent(&desktop, 3), Some(ids[1]), "its grandparent");
    assert_eq!(parent(&desktop, 2), Some(ids[1]), "it stays what it is");
    desktop.committed(ids[2], Size::new(200, 100), true);
    assert_eq!(parent(&desktop, 3), Some(ids[1]), "that does not come back");
    desktop.destroy(ids[1]);
    assert_eq!((parent(&desktop, 2), parent(&desktop, 3)), (Some(ids[0]), Some(ids[0])));
    desktop.unmap(ids[0]);
    assert_eq!((parent(&desktop, 2), parent(&desktop, 3)), (None, None));
    desktop.set_parent(ids[3], Some(ids[2]));
    desktop.set_parent(ids[3], Some(ids[0]));
    assert_eq!(parent(&desktop, 3), None, "a parent that is not mapped is none");
}

#[test]
fn output_made_current_takes_the_focus_from_other_outputs() {
    let mut desktop = desktop();
    let left = map(&mut desktop, 1, (200, 100));
    desktop.step_screen(Direction::Next);
    assert_eq!(desktop.focused(), None, "nothing is there to have it");
    let right = map(&mut desktop, 2, (200, 100));
    assert_eq!(desktop.window(right).unwrap().output(), Some(RIGHT));
    desktop.step_screen(Direction::Previous);
    assert_eq!(desktop.focused(), Some(left));
    desktop.set_current_screen(RIGHT);
    assert_eq!(desktop.focused(), Some(right));
    desktop.send_to_neighbour(right, Direction::Next);
    assert_eq!((desktop.focused(), desktop.current_screen().unwrap().id), (Some(right), LEFT), "it goes along");
    desktop.send_to_neighbour(left, Direction::Next);
    assert_eq!((desktop.focused(), desktop.current_screen().unwrap().id), (Some(right), LEFT), "it is not its own");
}

#[test]
fn window_new_where_new_ones_take_no_focus_leaves_it() {
    let mut desktop = desktop();
    desktop.set_policy(Policy { focus_new: false, centre: true, workspaces: 2 });
    let one = map(&mut desktop, 1, (200, 100));
    let two = map(&mut desktop, 2, (200, 100));
    assert_eq!(desktop.focused(), Some(one), "there was none to take it from");
    assert_eq!(geometry(&desktop, two), geometry(&desktop, one), "centred, not cascaded");
}

#[test]
fn family_of_an_activated_window_comes_to_the_front_parents_behind_children() {
    let mut desktop = desktop();
    for id in 1..=5 {
        map(&mut desktop, id, (200, 100));
    }
    desktop.set_parent(WindowId(2), Some(WindowId(4)));
    assert_eq!(order(&desktop), [1, 3, 5, 4, 2]);
    desktop.set_parent(WindowId(4), Some(WindowId(2)));
    assert_eq!(desktop.window(WindowId(4)).unwrap().parent(), None, "a loop is refused");
    desktop.activate(WindowId(1));
    desktop.activate(WindowId(4));
    assert_eq!(order(&desktop), [3, 5, 1, 4, 2]);
    assert_eq!(desktop.focused(), Some(WindowId(4)));
}

#[test]
fn parent_chain_deeper_than_the_limit_is_not_heeded() {
    let mut desktop = desktop();
    for id in 1..=40 {
        map(&mut desktop, id, (10, 10));
        if id > 1 {
            desktop.set_parent(WindowId(id), Some(WindowId(id - 1)));
        }
    }
    let depths = (1..=40).map(|id| desktop.ancestors(WindowId(id)).count()).max();
    assert_eq!(depths, Some(MAX_DEPTH));
}

#[test]
fn focus_after_the_focused_window_is_gone_goes_to_the_last_used_shown_one() {
    let mut desktop = desktop();
    let ids: Vec<_> = (1..=3).map(|id| map(&mut desktop, id, (200, 100))).collect();
    desktop.activate(ids[0]);
    desktop.destroy(ids[0]);
    assert_eq!(desktop.focused(), Some(ids[2]));
    desktop.set_minimised(ids[2], true);
    assert_eq!(desktop.focused(), Some(ids[1]));
    desktop.unmap(ids[1]);
    assert_eq!(desktop.focused(), None);
    assert_eq!(desktop.last_minimised(), Some(ids[2]));
    desktop.activate(ids[2]);
    assert_eq!(desktop.focused(), Some(ids[2]));
}

#[test]
fn cycle_walks_by_last_use_and_changes_it_only_at_its_end() {
    let mut desktop = desktop();
    for id in 1..=3 {
        map(&mut desktop, id, (200, 100));
    }
    let step = |desktop: &mut Desktop, to| {
        desktop.cycle(to);
        desktop.focused().unwrap().0
    };
    assert_eq!([(); 4].map(|()| step(&mut desktop, Direction::Next)), [2, 1, 3, 2]);
    desktop.end_cycle();
    // Last use is now 2, 3, 1.
    assert_eq!(step(&mut desktop, Direction::Next), 3);
    desktop.end_cycle();
    assert_eq!(step(&mut desktop, Direction::Previous), 1);
    desktop.destroy(WindowId(1));
    assert_eq!(desktop.focused(), Some(WindowId(3)));
    assert_eq!(step(&mut desktop, Direction::Next), 2);
}

#[test]
fn workspace_shown_hides_the_windows_of_the_others_and_takes_the_focus_along() {
    let mut desktop = desktop();
    let one = map(&mut desktop, 1, (200, 100));
    desktop.show_workspace(LEFT, 2);
    assert_eq!((order(&desktop), desktop.focused()), (vec![], None));
    let two = map(&mut desktop, 2, (200, 100));
    desktop.send_to_workspace(two, 1);
    assert_eq!(desktop.focused(), None);
    desktop.show_workspace(LEFT, 1);
    assert_eq!((order(&desktop), desktop.focused()), (vec![1, 2], Some(two)));
    desktop.show_workspace(LEFT, 3);
    desktop.activate(one);
    assert_eq!(desktop.screen(LEFT).unwrap().active_workspace(), 1);
    desktop.show_workspace(LEFT, 999);
    assert_eq!(desktop.screen(LEFT).unwrap().active_workspace(), 4, "there are four");
}

#[test]
fn output_removed_hands_its_windows_on_and_gets_them_back_by_name() {
    let mut desktop = desktop();
    desktop.set_current_screen(RIGHT);
    let floating = map(&mut desktop, 1, (200, 100));
    let maximised = map(&mut desktop, 2, (200, 100));
    desktop.set_maximised(maximised, true);
    answer(&mut desktop, maximised);
    assert_eq!(geometry(&desktop, maximised), RIGHT_RECT);
    desktop.remove_screen(RIGHT);
    answer(&mut desktop, maximised);
    assert_eq!(geometry(&desktop, maximised), LEFT_RECT);
    assert_eq!(geometry(&desktop, floating), Rect::new(400, 300, 200, 100));
    assert_eq!(order(&desktop), [1, 2]);
    desktop.add_screen(OutputId(3), "RIGHT", RIGHT_RECT);
    answer(&mut desktop, maximised);
    assert_eq!(geometry(&desktop, maximised), RIGHT_RECT);
    assert_eq!(geometry(&desktop, floating), Rect::new(1200, 300, 200, 100));
}

#[test]
fn output_removed_while_its_window_is_sent_elsewhere_does_not_take_it_back() {
    let mut desktop = desktop();
    desktop.set_current_screen(RIGHT);
    let one = map(&mut desktop, 1, (200, 100));
    desktop.remove_screen(RIGHT);
    desktop.end_move(one, Point::new(10, 10));
    desktop.send_to_workspace(one, 2);
    desktop.add_screen(OutputId(3), "RIGHT", RIGHT_RECT);
    assert_eq!(desktop.window(one).unwrap().output(), Some(LEFT));
}

#[test]
fn last_output_removed_leaves_windows_that_come_back() {
    let mut desktop = Desktop::default();
    desktop.add_screen(LEFT, "LEFT", LEFT_RECT);
    let one = map(&mut desktop, 1, (200, 100));
    desktop.remove_screen(LEFT);
    assert_eq!((order(&desktop), desktop.focused()), (vec![], None));
    let two = map(&mut desktop, 2, (50, 50));
    desktop.add_screen(OutputId(7), "OTHER", RIGHT_RECT);
    assert_eq!(order(&desktop), [1, 2]);
    for id in [one, two] {
        assert!(RIGHT_RECT.overlaps(geometry(&desktop, id)), "{:?}", geometry(&desktop, id));
    }
}

#[test]
fn panel_that_claims_space_shrinks_maximised_windows_alone() {
    let mut desktop = desktop();
    let floating = map(&mut desktop, 1, (200, 100));
    let maximised = map(&mut desktop, 2, (200, 100));
    desktop.set_maximised(maximised, true);
    answer(&mut desktop, maximised);
    let before = geometry(&desktop, floating);
    desktop.set_screen(LEFT, LEFT_RECT, Rect::new(0, 30, 800, 570));
    answer(&mut desktop, maximised);
    assert_eq!(geometry(&desktop, maximised), Rect::new(0, 30, 800, 570));
    assert_eq!(geometry(&desktop, floating), before);
}

#[test]
fn fullscreen_from_maximised_returns_to_maximised_and_then_to_its_place() {
    let mut desktop = desktop();
    let one = map(&mut desktop, 1, (200, 100));
    let before = geometry(&desktop, one);
    desktop.set_maximised(one, true);
    answer(&mut desktop, one);
    desktop.set_fullscreen(one, true, Some(RIGHT));
    answer(&mut desktop, one);
    assert_eq!(geometry(&desktop, one), RIGHT_RECT);
    assert_eq!(desktop.fullscreen_on(RIGHT).map(Window::id), Some(one));
    desktop.set_fullscreen(one, false, None);
    answer(&mut desktop, one);
    assert_eq!((geometry(&desktop, one), desktop.window(one).unwrap().mode()), (RIGHT_RECT, Mode::Maximised));
    desktop.set_maximised(one, false);
    answer(&mut desktop, one);
    let there = Rect::new(before.x + 800, before.y, before.w, before.h);
    assert_eq!(geometry(&desktop, one), there);
}

#[test]
fn window_mapped_fullscreen_has_its_place_chosen_when_it_first_floats() {
    let mut desktop = desktop();
    let one = WindowId(1);
    desktop.create(one);
    desktop.set_fullscreen(one, true, None);
    assert_eq!(desktop.window(one).unwrap().asked_size(), LEFT_RECT.size());
    answer(&mut desktop, one);
    assert_eq!(geometry(&desktop, one), LEFT_RECT);
    desktop.set_fullscreen(one, false, None);
    assert_eq!(desktop.window(one).unwrap().asked_size(), Size::new(0, 0), "the client's choice");
    desktop.committed(one, Size::new(200, 100), true);
    assert_eq!(geometry(&desktop, one), Rect::new(300, 250, 200, 100));
}

#[test]
fn move_of_a_maximised_window_floats_it_under_the_pointer() {
    let mut desktop = desktop();
    let one = map(&mut desktop, 1, (200, 100));
    desktop.set_maximised(one, true);
    answer(&mut desktop, one);
    let offset = desktop.begin_move(one, Point::new(400, 10)).unwrap();
    assert_eq!(offset, Point::new(-100, -10), "the middle stays the middle");
    desktop.move_to(one, Point::new(900 - 100, 50 - 10));
    answer(&mut desktop, one);
    assert_eq!(geometry(&desktop, one), Rect::new(800, 40, 200, 100));
    desktop.end_move(one, Point::new(900, 50));
    assert_eq!(desktop.window(one).unwrap().output(), Some(RIGHT));
}

#[test]
fn move_of_a_fullscreen_window_is_refused() {
    let mut desktop = desktop();
    let one = map(&mut desktop, 1, (200, 100));
    desktop.set_fullscreen(one, true, None);
    assert_eq!(desktop.begin_move(one, Point::new(400, 10)), None);
    assert!(!desktop.begin_resize(one, Edges::LEFT));
}

proptest! {
    // The invariants are asserted by every operation.
    #[test]
    fn desktop_after_any_operations_keeps_its_invariants(ops in prop::collection::vec((0u8..20, 0u64..6, 0i32..5), 0..80)) {
        let mut desktop = desktop();
        let mut next_output = 10;
        for (op, window, n) in ops {
            let id = WindowId(window);
            let known = desktop.window(id).is_some();
            match op {
                0 if !known => desktop.create(id),
                1 | 2 => desktop.committed(id, Size::new(50 * n, 40 * n), op == 1),
                3 => desktop.destroy(id),
                4 => desktop.unmap(id),
                5 => desktop.activate(id),
                6 => desktop.set_minimised(id, n > 1),
                7 => desktop.set_maximised(id, n > 1),
                8 => desktop.set_fullscreen(id, n > 1, Some(OutputId(n as u32))),
                9 => desktop.set_parent(id, Some(WindowId(n as u64))),
                10 => desktop.cycle(if n > 1 { Direction::Next } else { Direction::Previous }),
                11 => desktop.end_cycle(),
                12 => desktop.send_to_workspace(id, n as u32),
                13 => desktop.show_workspace(OutputId(n as u32), window as u32),
                14 => desktop.remove_screen(OutputId(n as u32)),
                15 => {
                    next_output += 1;
                    let name = ["LEFT", "RIGHT"][n as usize % 2];
                    if desktop.screens().iter().all(|s| s.name != name) {
                        desktop.add_screen(OutputId(next_output), name, RIGHT_RECT);
                    }
                }
                16 => desktop.end_move(id, Point::new(n * 400, 0)),
                17 => desktop.send_to_neighbour(id, Direction::Next),
                18 => desktop.set_current_screen(OutputId(n as u32)),
                _ => desktop.step_screen(Direction::Next),
            }
        }
    }
}
