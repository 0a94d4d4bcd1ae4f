//! Frames that paint a part: what is outside the damage stays, what is inside is whole.

use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::region::Region;
use transom::domain::scene::{Color, Paint, Scene};
use transom::ports::renderer::{Pixels, RenderError, Renderer, TargetId};

use crate::subjects::each;
use crate::support::picture::{points, rgb};
use crate::support::stage::{capture, color, element, region, render, render_whole, rgba, scene};

const SIZE: Size = Size::new(32, 20);
const ALL: Rect = Rect::from_size(SIZE);
const OLD: [u8; 3] = [200, 40, 0];
const NEW: [u8; 3] = [0, 80, 160];

fn background(color: [u8; 3]) -> Scene {
    scene(SIZE, color, &[])
}

/// A scene of one colour, as an element.
fn cover(color_of: [u8; 3]) -> Scene {
    scene(SIZE, [1, 1, 1], &[(element(Paint::Solid(color(rgba(color_of))), ALL), Some(ALL))])
}

fn with_target(renderer: &mut dyn Renderer, test: impl FnOnce(&mut dyn Renderer, TargetId)) {
    let target = renderer.create_offscreen(SIZE).expect("a target");
    test(renderer, target);
    renderer.destroy_target(target);
}

#[track_caller]
fn assert_pixels(pixels: &Pixels, what: &str, expected: impl Fn(Point) -> [u8; 3]) {
    for p in points(pixels.size) {
        assert_eq!(rgb(pixels, p), expected(p), "{what} at {p:?}");
    }
}

fn region_of(rects: &[Rect]) -> Region {
    let mut region = Region::new();
    rects.iter().for_each(|&rect| region.add(rect));
    region
}

#[test]
fn frame_paints_its_damage_alone() {
    let (min, max) = (i32::MIN, i32::MAX);
    let damages: &[&[Rect]] = &[
        &[],
        &[Rect::new(5, 5, 1, 1)],
        &[Rect::new(0, 0, 32, 1), Rect::new(0, 19, 32, 1)],
        &[Rect::new(-10, -10, 20, 20), Rect::new(30, 18, 50, 50)],
        &[Rect::new(40, 0, 10, 10)],
        &[Rect::new(min, min, max, max)],
        &[Rect::new(3, 3, max, max)],
        &[Rect::new(1, 1, 10, 10), Rect::new(5, 5, 10, 10), Rect::new(20, 0, 3, 20)],
    ];
    each(|renderer| {
        for new in [background(NEW), cover(NEW)] {
            for damage in damages {
                with_target(renderer, |renderer, target| {
                    render_whole(renderer, target, &background(OLD));
                    render(renderer, target, &new, &region_of(damage));
                    let pixels = capture(renderer, target, ALL);
                    assert_pixels(&pixels, &format!("{damage:?}"), |p| {
                        if damage.iter().any(|r| r.contains(p)) { NEW } else { OLD }
                    });
                });
            }
        }
    });
}

#[test]
fn frame_with_hundreds_of_damaged_rectangles_paints_them_all() {
    each(|renderer| {
        with_target(renderer, |renderer, target| {
            render_whole(renderer, target, &background(OLD));
            let odd = |p: &Point| (p.x + p.y) % 2 == 1;
            let dots: Vec<Rect> = points(SIZE).filter(odd).map(|p| Rect::new(p.x, p.y, 1, 1)).collect();
            render(renderer, target, &cover(NEW), &region_of(&dots));
            let pixels = capture(renderer, target, ALL);
            assert!(points(SIZE).filter(odd).all(|p| rgb(&pixels, p) == NEW));
            assert!(points(SIZE).all(|p| [OLD, NEW].contains(&rgb(&pixels, p))));
        });
    });
}

#[test]
fn translucent_element_in_overlapping_damage_is_painted_once() {
    each(|renderer| {
        with_target(renderer, |renderer, target| {
            let veil = element(Paint::Solid(Color { r: 0.0, g: 0.0, b: 0.0, a: 0.5 }), ALL);
            let veiled = scene(SIZE, [200, 100, 50], &[(veil, None)]);
            let crossing = [Rect::new(0, 5, 32, 6), Rect::new(10, 0, 8, 20), Rect::new(2, 2, 20, 12)];
            render_whole(renderer, target, &veiled);
            let before = capture(renderer, target, ALL);
            render(renderer, target, &veiled, &region_of(&crossing));
            assert_eq!(capture(renderer, target, ALL), before);
        });
    });
}

#[test]
fn age_of_a_target_tells_of_its_frames() {
    each(|renderer| {
        with_target(renderer, |renderer, target| {
            assert_eq!(renderer.acquire(target).unwrap().age, 0, "of a new target");
            render_whole(renderer, target, &background(OLD));
            let acquired = renderer.acquire(target).unwrap();
            assert_eq!((acquired.age, acquired.size), (1, SIZE));
            render(renderer, target, &background(NEW), &region(Rect::new(0, 0, 4, 4)));
            assert_eq!(renderer.acquire(target).unwrap().age, 1);
            let larger = Size::new(40, 30);
            renderer.resize_target(target, larger).unwrap();
            let acquired = renderer.acquire(target).unwrap();
            assert_eq!((acquired.age, acquired.size), (0, larger), "of a resized target");
            render_whole(renderer, target, &scene(larger, NEW, &[]));
            assert_pixels(&capture(renderer, target, Rect::from_size(larger)), "resized", |_| NEW);
        });
    });
}

#[test]
fn acquire_without_a_frame_changes_nothing() {
    each(|renderer| {
        with_target(renderer, |renderer, target| {
            render_whole(renderer, target, &background(OLD));
            for _ in 0..5 {
                renderer.acquire(target).unwrap();
            }
            assert_pixels(&capture(renderer, target, ALL), "acquired", |_| OLD);
        });
    });
}

#[test]
fn scene_of_another_size_than_the_target_is_refused() {
    each(|renderer| {
        with_target(renderer, |renderer, target| {
            render_whole(renderer, target, &background(OLD));
            for other in [Size::new(64, 64), Size::new(8, 8), Size::new(0, 0), Size::new(-4, 9)] {
                let mut odd = Scene::new();
                odd.reset(other, color(rgba(NEW)));
                odd.push(element(Paint::Solid(color(rgba(NEW))), Rect::new(0, 0, 64, 64)));
                renderer.acquire(target).expect("a target");
                let frame = renderer.render(target, &odd, &region(Rect::new(0, 0, 64, 64)));
                assert!(matches!(frame, Err(RenderError::OutOfDate)), "{frame:?}");
            }
            assert_pixels(&capture(renderer, target, ALL), "refused", |_| OLD);
        });
    });
}
