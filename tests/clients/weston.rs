//! Weston's demonstrations. Each shows one part of the protocol; what they ought to look like they say themselves.

use nix::sys::signal::Signal;
use transom::domain::geometry::{Point, Rect};
use transom::ports::renderer::Pixels;

use super::scene::{DESKTOP, SIZE, Scene, colours, rect, shown, spread};
use super::support::guest::Hand;
use super::support::picture::rgb;
use super::support::process::{Process, until};
use super::support::protocol::LEFT;

const WHITE: [u8; 3] = [255; 3];
const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];

/// wl_shm buffers and frame callbacks: a pattern in a white frame 20 wide.
#[test]
fn simple_shm_paints_its_pattern_in_its_frame() {
    let Some(scene) = Scene::open("simple_shm", &["weston-simple-shm"]) else { return };
    let mut program = scene.start("weston-simple-shm", &[]);
    let window = scene.window(&mut program);
    let picture = scene.picture_of(&window);
    let [x, y, w, h] = window.geometry;
    assert_eq!(shown(&picture), rect(&window));
    let frame = w * h - (w - 40) * (h - 40);
    assert!(colours(&picture, window.geometry)[&WHITE] >= frame as usize, "the frame is white");
    assert!(colours(&picture, [x + 20, y + 20, w - 40, h - 40]).len() > 100, "and a pattern inside it");
    scene.change(&picture, "a pattern that moves");
    scene.interrupt(program);
    scene.quit();
}

/// A green ball in a white frame on a half transparent ground.
fn is_ball([r, g, b]: [u8; 3]) -> bool {
    i32::from(g) > 150 && g > r.saturating_add(100) && g > b.saturating_add(60)
}

/// Damage in every way that a surface can be turned, scaled and cropped: the ball is one and whole wherever it is, with
/// no trail behind it.
#[test]
fn simple_damage_moves_one_ball_without_a_trail() {
    let Some(scene) = Scene::open("simple_damage", &["weston-simple-damage"]) else { return };
    let turns = ["normal", "90", "180", "270", "flipped", "flipped-90", "flipped-180", "flipped-270"];
    let turned = turns
        .iter()
        .flat_map(|turn| [format!("--transform={turn}"), format!("--transform={turn} --scale=2 --use-damage-buffer")]);
    let others = ["--use-viewport", "--use-viewport --use-damage-buffer", "--rotating-transform"].map(str::to_owned);
    for arguments in turned.chain(others) {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let mut program = scene.start("weston-simple-damage", &arguments);
        let window = scene.window(&mut program);
        let ground = |picture: &Pixels| shown(picture) == rect(&window) && spread(picture, is_ball).1 > 0;
        let mut picture = scene.picture("a ball", ground);
        let corner = Point::new(window.geometry[0] + 2, window.geometry[1] + 2);
        assert_eq!(rgb(&picture, corner), WHITE, "{arguments:?}");
        let middle = DESKTOP.map(|channel| channel / 2);
        let near = |color: [u8; 3]| (0..3).all(|i| color[i].abs_diff(middle[i]) <= 1);
        assert!(spread(&picture, near).1 > 40_000, "the desktop shines through by half, {arguments:?}");
        for _ in 0..6 {
            let (ball, pixels) = spread(&picture, is_ball);
            let (w, h) = (ball.w, ball.h);
            assert!((18..=22).contains(&w) && (18..=22).contains(&h), "a ball of {w}x{h}, {arguments:?}");
            assert!((270..=370).contains(&pixels), "a ball of {pixels} pixels, {arguments:?}");
            picture = scene.change(&picture, "a ball that moves");
        }
        scene.interrupt(program);
    }
    scene.quit();
}

/// The grounds of weston-subsurfaces's three canvases: its own, the red one's, the OpenGL one's.
const CANVASES: [[u8; 3]; 3] = [[4, 173, 17], [164, 35, 3], [1, 58, 6]];

/// Sub-surfaces that repaint by themselves, or only with their parent: a green canvas, a red one with a spinner, and a
/// triangle drawn by OpenGL. Their parent is repainted when the pointer enters one of its buttons.
#[test]
fn subsurfaces_repaint_by_themselves_or_with_their_parent() {
    let Some(mut scene) = Scene::open("subsurfaces", &["weston-subsurfaces"]) else { return };
    drop(scene.hand());
    for (arguments, free) in [(["-r0", "-t0"], true), (["-r1", "-t1"], false)] {
        let mut program = scene.start("weston-subsurfaces", &arguments);
        let window = scene.window(&mut program);
        let ground = |picture: &Pixels, [r, g, b]: [u8; 3]| {
            spread(picture, |seen| [r, g, b].iter().zip(seen).all(|(ground, seen)| ground.abs_diff(seen) <= 1))
        };
        let all = |picture: &Pixels| CANVASES.iter().all(|&canvas| ground(picture, canvas).1 > 8000);
        let picture = scene.picture("three canvases", all);
        let [green, red, dark] = CANVASES.map(|canvas| ground(&picture, canvas).0);
        assert!(rect(&window).contains_rect(green.hull(red).hull(dark)));
        assert!(red.x == green.right() && dark.x == red.x && dark.y == red.bottom(), "{green:?}, {red:?}, {dark:?}");
        assert!(red.y == green.y && dark.bottom() == green.bottom() && dark.right() == red.right(), "{dark:?}");
        let mut before = picture;
        // From one picture to the next: whether both sub-surfaces move, and their parent, which may yet be painted anew.
        let mut step = || {
            let now = scene.compositor.screenshot();
            let [parent, red, dark] = [green, red, dark].map(|canvas| differs(&before, &now, canvas));
            before = now;
            (red && dark, red || dark, parent)
        };
        if free {
            until("sub-surfaces that move while their parent stands still", || {
                (step() == (true, true, false)).then_some(())
            });
        } else {
            let mut still = 0;
            until("sub-surfaces that stand still as their parent does", || {
                let (_, moves, parent) = step();
                still = if moves || parent { 0 } else { still + 1 };
                (still == 8).then_some(())
            });
            let [x, y, w, _] = window.geometry;
            let mut hand = Hand::new(&scene.compositor.wayland(), SIZE);
            hand.point(x + w - 20, y + 14);
            until("both that move with their parent", || step().0.then_some(()));
            hand.point(4, 4);
        }
        scene.close(program, &window);
    }
    scene.quit();
}

fn differs(one: &Pixels, other: &Pixels, part: Rect) -> bool {
    let mut places = (part.y..part.bottom()).flat_map(|y| (part.x..part.right()).map(move |x| Point::new(x, y)));
    places.any(|at| rgb(one, at) != rgb(other, at))
}

/// wp_viewport: cut, scaled, both or neither. `weston-scaler --help` says what is to be seen.
#[test]
fn scaler_cuts_and_scales_as_it_says() {
    let Some(scene) = Scene::open("scaler", &["weston-scaler"]) else { return };
    for (mode, size) in [("-n", (421, 337)), ("-d", (220, 308)), ("-s", (55, 77)), ("-b", (220, 308))] {
        let mut program = scene.start("weston-scaler", &[mode]);
        let window = scene.window(&mut program);
        let [x, y, w, h] = window.geometry;
        assert_eq!((w, h), size, "{mode}");
        let picture = scene.picture_of(&window);
        assert_eq!(shown(&picture), rect(&window), "{mode}");
        let seen = colours(&picture, window.geometry);
        let (blue, _) = spread(&picture, |color| color == BLUE);
        match mode {
            // "Red box with a blue box in the upper left part", whole or squashed.
            "-n" | "-d" => {
                assert!(seen[&RED] * 100 > (w * h * 90) as usize, "{mode}: mostly red");
                let scaled = |v: i32, size: i32, of: i32| v * size / of;
                let (left, top) = (scaled(21, w, 421), scaled(25, h, 337));
                let (wide, high) = (scaled(55, w, 421), scaled(77, h, 337));
                let off = [blue.x - x - left, blue.y - y - top, blue.w - wide, blue.h - high];
                assert!(off.iter().all(|off| off.abs() <= 3), "{mode}: {blue:?} in {window:?} is off by {off:?}");
            }
            // "Blue box with green top and left edge, thick white right edge".
            _ => {
                assert!(seen[&BLUE] * 100 > (w * h * 90) as usize, "{mode}: mostly blue");
                assert!(!seen.contains_key(&RED), "{mode}: nothing from outside the cut");
                let right = rgb(&picture, Point::new(x + w - 1, y + h / 2));
                assert!(right[0] > 100 && right[2] > 200, "{mode}: white on the right, not {right:?}");
                // Where it is not enlarged, that edge is a quarter of a pixel.
                let left = rgb(&picture, Point::new(x, y + h / 2));
                assert!(left[1] > 50 && left[0] == 0 || mode == "-s", "{mode}: green on the left, not {left:?}");
            }
        }
        scene.close(program, &window);
    }
    scene.quit();
}

/// Four rays from the middle of a black ground: red up, green to the right, white down and to the left. It draws them
/// turned as the output is that it is told to be on, so that they are upright on every one.
#[test]
fn transformed_shows_its_rays_upright_on_outputs_of_any_turn() {
    for turn in ["normal", "90", "flipped-270"] {
        let config = format!("outputs.HEADLESS-1.transform = \"{turn}\"");
        let Some(scene) = Scene::configured("transformed", &["weston-transformed"], &config) else { return };
        let mut program = scene.start("weston-transformed", &[]);
        let window = scene.window(&mut program);
        let [x, y, w, h] = window.geometry;
        let picture = scene.picture_of(&window);
        let middle = Point::new(x + w / 2, y + h / 2);
        let (red, _) = spread(&picture, |color| color == RED);
        let (green, _) = spread(&picture, |color| color == GREEN);
        let (white, _) = spread(&picture, |color| color == WHITE);
        assert!((red.x - middle.x).abs() <= 2 && red.w <= 4, "{turn}: {red:?}");
        assert!(red.y <= y + 1 && red.bottom() <= middle.y + 2, "{turn}: {red:?}");
        assert!((green.y - middle.y).abs() <= 2 && green.h <= 4 && green.x >= middle.x - 2, "{turn}: {green:?}");
        assert!(green.right() >= x + w - 1, "{turn}: {green:?}");
        assert!(white.x <= x + 1 && white.bottom() >= y + h - 1, "{turn}: {white:?}");
        scene.close(program, &window);
        scene.quit();
    }
}

/// A window that is not rectangular, and moves where it is dragged.
#[test]
fn flower_is_moved_by_a_drag() {
    let Some(mut scene) = Scene::open("flower", &["weston-flower"]) else { return };
    // The first drag of all loads the pointer's picture for drags, which is kept.
    let mut first = drag_a_flower(&mut scene, Point::new(50, 60));
    first.signal(Signal::SIGTERM);
    first.end();
    scene.keep();
    let program = drag_a_flower(&mut scene, Point::new(-100, 120));
    let window = scene.compositor.until_window("the flower", |_| true);
    scene.close(program, &window);
    scene.quit();
}

fn drag_a_flower(scene: &mut Scene, by: Point) -> Process {
    let mut hand = scene.hand();
    let mut program = scene.start("weston-flower", &[]);
    let window = scene.window(&mut program);
    let [x, y, w, h] = window.geometry;
    let middle = Point::new(x + w / 2, y + h / 2);
    let picture = scene.picture("a flower", |picture| rgb(picture, middle) != DESKTOP);
    // It may be painted anew at any time, as another flower.
    let is_in = |picture: &Pixels, place: Rect| {
        let flower = shown(picture);
        place.contains_rect(flower) && flower.w > w / 3 && flower.h > h / 3
    };
    assert!(is_in(&picture, rect(&window)), "{:?} in {window:?}", shown(&picture));
    assert_eq!(rgb(&picture, Point::new(x + 1, y + 1)), DESKTOP, "its corner is empty");
    let target = Point::new(middle.x + by.x, middle.y + by.y);
    hand.point(middle.x, middle.y);
    hand.button(LEFT, true);
    hand.point(target.x, target.y);
    // Held until its client has asked for it to be moved.
    let expected = [x + by.x, y + by.y, w, h];
    let moved = scene.compositor.until_window("a window that follows", |now| now.geometry == expected);
    // Seen while it is held, so that the pointer's picture for drags is loaded by now.
    scene.picture("a flower that moved", |picture| is_in(picture, rect(&moved)));
    hand.button(LEFT, false);
    hand.point(4, 4);
    scene.picture("a flower that is let go of", |picture| is_in(picture, rect(&moved)));
    assert_eq!(scene.compositor.windows()[0].geometry, expected);
    program
}
