//! A client's bytes: imported whole, updated by damage, never torn from what frames already submitted show.

use transom::domain::format::{ARGB8888, Fourcc, XRGB8888};
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::scene::Scene;
use transom::ports::pool::{PoolError, ShmBuffer};
use transom::ports::renderer::{BufferUse, ImportError, Pixels};

use crate::subjects::each;
use crate::support::picture::{points, rgb};
use crate::support::pool::Memfd;
use crate::support::stage::{
    Holds, buffer, buffer_at, capture, new_buffer_id, picture_of, region, render, render_whole, rgba, scene, shown,
};

const SIZE: Size = Size::new(24, 18);
const ALL: Rect = Rect::from_size(SIZE);
const OLD: [u8; 3] = [200, 40, 0];
const NEW: [u8; 3] = [0, 80, 160];

fn of_one_color(color: [u8; 3]) -> ShmBuffer {
    buffer(XRGB8888, SIZE, |_, _| rgba(color)).1
}

fn scene_of(texture: transom::domain::buffer::TextureId) -> Scene {
    scene(SIZE, [0; 3], &[(shown(texture, SIZE, Point::default()), Some(ALL))])
}

#[track_caller]
fn assert_pixels(pixels: &Pixels, what: &str, expected: impl Fn(Point) -> [u8; 3]) {
    for p in points(pixels.size) {
        assert_eq!(rgb(pixels, p), expected(p), "{what} at {p:?}");
    }
}

#[test]
fn update_changes_the_damaged_part_alone() {
    let parts: &[&[Rect]] = &[
        &[],
        &[Rect::new(0, 0, 1, 1)],
        &[Rect::new(23, 17, 1, 1)],
        &[Rect::new(3, 5, 11, 7)],
        &[Rect::new(0, 2, 24, 3), Rect::new(5, 0, 2, 18)],
        &[Rect::new(2, 2, 6, 6), Rect::new(2, 2, 6, 6), Rect::new(4, 4, 9, 9)],
        &[ALL],
    ];
    each(|renderer| {
        for code in [XRGB8888, Fourcc::new(b"RG16"), Fourcc::new(b"AB4H")] {
            // Colours that every format holds exactly.
            let (old, new) = ([255, 0, 0], [0, 255, 255]);
            for (i, damage) in parts.iter().enumerate() {
                let texel = code.info().unwrap().texel_bytes as i32;
                let mut holds = Holds::default();
                let texture = holds.import(renderer, &buffer(code, SIZE, |_, _| rgba(old)).1);
                let (_, next) = buffer_at(code, SIZE, (64, 5 * texel), |_, _| rgba(new));
                if i % 2 == 1 {
                    picture_of(renderer, &scene_of(texture)); // has been on screen before
                }
                holds.update(renderer, texture, &next, damage);
                let pixels = picture_of(renderer, &scene_of(texture));
                assert_pixels(&pixels, &format!("{code}, {damage:?}"), |p| {
                    if damage.iter().any(|r| r.contains(p)) { new } else { old }
                });
                renderer.forget(texture);
                holds.settle(renderer);
            }
        }
    });
}

#[test]
fn update_with_damage_beyond_the_buffer_is_clipped() {
    let (min, max) = (i32::MIN, i32::MAX);
    let cases: &[(Rect, Rect)] = &[
        (Rect::new(-5, -5, 10, 10), Rect::new(0, 0, 5, 5)),
        (Rect::new(20, 10, 100, 100), Rect::new(20, 10, 4, 8)),
        (Rect::new(0, 0, max, max), ALL),
        (Rect::new(-7, 3, max, 2), Rect::new(0, 3, 24, 2)),
        (Rect::new(24, 0, 5, 5), Rect::default()),
        (Rect::new(max, max, max, max), Rect::default()),
        (Rect::new(min, min, max, max), Rect::default()),
        (Rect::new(3, 3, -2, 4), Rect::default()),
        (Rect::new(3, 3, 0, 4), Rect::default()),
        (Rect::new(3, 3, min, min), Rect::default()),
    ];
    each(|renderer| {
        for &(damage, changed) in cases {
            let mut holds = Holds::default();
            let texture = holds.import(renderer, &of_one_color(OLD));
            holds.update(renderer, texture, &of_one_color(NEW), &[damage]);
            let pixels = picture_of(renderer, &scene_of(texture));
            assert_pixels(&pixels, &format!("{damage:?}"), |p| if changed.contains(p) { NEW } else { OLD });
            renderer.forget(texture);
            holds.settle(renderer);
        }
    });
}

#[test]
fn update_with_thousands_of_rectangles_is_right() {
    each(|renderer| {
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color(OLD));
        let odd = |p: &Point| (p.x + p.y) % 2 == 1;
        let dots: Vec<Rect> = points(SIZE).filter(odd).map(|p| Rect::new(p.x, p.y, 1, 1)).collect();
        holds.update(renderer, texture, &of_one_color(NEW), &dots.repeat(12));
        let pixels = picture_of(renderer, &scene_of(texture));
        // What is between the dots may be read as well: an honest client has the same there.
        assert!(points(SIZE).filter(odd).all(|p| rgb(&pixels, p) == NEW));
        assert!(points(SIZE).all(|p| [OLD, NEW].contains(&rgb(&pixels, p))));
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn updates_before_one_frame_all_count() {
    each(|renderer| {
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color(OLD));
        let (left, middle, last) = (Rect::new(0, 0, 12, 18), Rect::new(8, 0, 8, 18), Rect::new(10, 4, 1, 1));
        holds.update(renderer, texture, &of_one_color(NEW), &[left]);
        holds.update(renderer, texture, &of_one_color([1, 2, 3]), &[middle]);
        holds.update(renderer, texture, &of_one_color([9, 9, 9]), &[last]);
        let pixels = picture_of(renderer, &scene_of(texture));
        assert_pixels(&pixels, "three updates", |p| match p {
            p if last.contains(p) => [9, 9, 9],
            p if middle.contains(p) => [1, 2, 3],
            p if left.contains(p) => NEW,
            _ => OLD,
        });
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn update_after_a_submitted_frame_leaves_that_frame_alone() {
    each(|renderer| {
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color([0; 3]));
        let targets = [(); 3].map(|()| renderer.create_offscreen(SIZE).unwrap());
        let color = |i: usize| [(i * 60) as u8, 100, (i * 30) as u8];
        let captures = [0, 1, 2].map(|i| {
            holds.update(renderer, texture, &of_one_color(color(i)), &[ALL]);
            render_whole(renderer, targets[i], &scene_of(texture));
            renderer.capture(targets[i], ALL).unwrap()
        });
        holds.settle(renderer);
        for (i, capture) in captures.into_iter().enumerate() {
            let pixels = renderer.take_capture(capture).unwrap().unwrap();
            assert_pixels(&pixels, &format!("frame {i}"), |_| color(i));
        }
        targets.into_iter().for_each(|target| renderer.destroy_target(target));
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn update_shows_in_every_element_and_target_of_the_texture() {
    each(|renderer| {
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color(OLD));
        let output = Size::new(60, 18);
        let at = |x| shown(texture, SIZE, Point::new(x, 0));
        // The first may be a transfer, the second is a draw.
        let twice = scene(output, [5; 3], &[(at(0), Some(Rect::at(Point::new(0, 0), SIZE))), (at(30), None)]);
        let targets = [(); 2].map(|()| renderer.create_offscreen(output).unwrap());
        for color in [OLD, NEW, [3, 5, 7]] {
            holds.update(renderer, texture, &of_one_color(color), &[ALL]);
            for target in targets {
                render_whole(renderer, target, &twice);
            }
            for target in targets {
                let pixels = capture(renderer, target, Rect::from_size(output));
                assert_pixels(&pixels, "both", |p| if p.x % 30 < 24 { color } else { [5; 3] });
            }
        }
        targets.into_iter().for_each(|target| renderer.destroy_target(target));
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn update_of_many_textures_in_many_frames_is_right() {
    each(|renderer| {
        let mut holds = Holds::default();
        let small = Size::new(6, 6);
        let of = |n: usize| buffer(ARGB8888, small, |_, _| rgba([n as u8, (n * 7 % 256) as u8, 255 - n as u8])).1;
        let textures: Vec<_> = (0..12).map(|n| holds.import(renderer, &of(n))).collect();
        let layers: Vec<_> = (0..)
            .zip(&textures)
            .map(|(i, &texture)| (shown(texture, small, Point::new(i % 4 * 6, i / 4 * 6)), None))
            .collect();
        let all = scene(SIZE, [0; 3], &layers);
        let target = renderer.create_offscreen(SIZE).unwrap();
        render_whole(renderer, target, &all);
        let mut shown_now: Vec<usize> = (0..12).collect();
        for frame in 1..40usize {
            let changed = [frame * 5 % 12, frame * 7 % 12];
            for i in changed {
                shown_now[i] = frame * 3 + i;
                holds.update(renderer, textures[i], &of(shown_now[i]), &[Rect::from_size(small)]);
            }
            for i in changed {
                render(renderer, target, &all, &region(layers[i].0.dst));
                holds.drain(renderer);
            }
        }
        let pixels = capture(renderer, target, ALL);
        assert_pixels(&pixels, "after all", |p| {
            let n = shown_now[(p.y / 6 * 4 + p.x / 6) as usize];
            [n as u8, (n * 7 % 256) as u8, 255 - n as u8]
        });
        renderer.destroy_target(target);
        textures.into_iter().for_each(|texture| renderer.forget(texture));
        holds.settle(renderer);
    });
}

#[test]
fn uploads_greater_than_any_ring_are_right() {
    let (large, output) = (Size::new(1600, 1000), Size::new(8, 6));
    let color = |turn: i32| move |x: i32, y: i32| rgba([(x / 10) as u8, (y / 10) as u8, (turn * 50) as u8]);
    each(|renderer| {
        let mut holds = Holds::default();
        let textures = [0, 1, 2].map(|turn| holds.import(renderer, &buffer(XRGB8888, large, color(turn)).1));
        for (texture, turn) in textures.into_iter().zip(0..) {
            // From the second on, updated in its right half by the turn after.
            if turn > 0 {
                let half = Rect::new(800, 0, 800, 1000);
                holds.update(renderer, texture, &buffer(XRGB8888, large, color(turn + 1)).1, &[half]);
            }
            for corner in [Point::new(0, 0), Point::new(1592, 0), Point::new(796, 994), Point::new(1592, 994)] {
                let element = shown(texture, large, Point::new(-corner.x, -corner.y));
                let pixels = picture_of(renderer, &scene(output, [0; 3], &[(element, Some(element.dst))]));
                assert_pixels(&pixels, &format!("texture {turn} from {corner:?}"), |p| {
                    let (x, y) = (p.x + corner.x, p.y + corner.y);
                    let turn = if x >= 800 && turn > 0 { turn + 1 } else { turn };
                    [(x / 10) as u8, (y / 10) as u8, (turn * 50) as u8]
                });
            }
            renderer.forget(texture);
        }
        holds.settle(renderer);
    });
}

#[test]
fn update_with_another_size_or_format_is_refused_and_changes_nothing() {
    each(|renderer| {
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color(OLD));
        let larger = buffer(XRGB8888, Size::new(25, 18), |_, _| rgba(NEW)).1;
        let other = buffer(ARGB8888, SIZE, |_, _| rgba(NEW)).1;
        for wrong in [larger, other] {
            let result = renderer.update_shm(texture, &wrong, new_buffer_id(), &[ALL]);
            assert!(matches!(result, Err(ImportError::Incompatible)), "{result:?}");
        }
        assert_pixels(&picture_of(renderer, &scene_of(texture)), "refused", |_| OLD);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn import_of_a_pool_shorter_than_declared_leaves_nothing_behind() {
    each(|renderer| {
        let before = renderer.holdings();
        for there in [0, 1, 100, SIZE.area() as usize * 4 - 1] {
            let pool = Memfd::declaring(&vec![0x80; there], SIZE.area() as usize * 4);
            let result = renderer.import_shm(&pool.buffer(0, SIZE, SIZE.w * 4, XRGB8888), new_buffer_id());
            assert!(matches!(result, Err(ImportError::Pool(PoolError::Truncated))), "{result:?}");
            assert_eq!(renderer.holdings().textures, before.textures);
            assert_eq!(renderer.holdings().texture_bytes, before.texture_bytes);
        }
        // What others have is untouched.
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color(NEW));
        assert_pixels(&picture_of(renderer, &scene_of(texture)), "another", |_| NEW);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn update_from_a_pool_that_shrank_is_told_and_keeps_the_rest() {
    each(|renderer| {
        let mut holds = Holds::default();
        let (pool, next) = buffer(XRGB8888, SIZE, |_, _| rgba(NEW));
        let texture = holds.import(renderer, &of_one_color(OLD));
        pool.truncate(SIZE.w as usize * 4 * 9); // the upper half is left
        let lower = Rect::new(0, 12, 24, 3);
        let result = renderer.update_shm(texture, &next, new_buffer_id(), &[lower]);
        assert!(matches!(result, Err(ImportError::Pool(PoolError::Truncated))), "{result:?}");
        let pixels = picture_of(renderer, &scene_of(texture));
        let zeros_or_old = |p| [[0; 3], OLD].contains(&rgb(&pixels, p));
        assert!(points(SIZE).all(|p| if lower.contains(p) { zeros_or_old(p) } else { rgb(&pixels, p) == OLD }));
        holds.update(renderer, texture, &of_one_color(NEW), &[ALL]);
        assert_pixels(&picture_of(renderer, &scene_of(texture)), "mended", |_| NEW);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn buffer_that_was_copied_may_be_written_at_once() {
    each(|renderer| {
        let (pool, first) = buffer(XRGB8888, SIZE, |_, _| rgba(OLD));
        let id = new_buffer_id();
        let (texture, usage) = renderer.import_shm(&first, id).unwrap();
        if usage == BufferUse::Copied {
            pool.write(0, &vec![0; pool_length()]);
            pool.truncate(0);
        }
        drop((pool, first)); // destroyed by its client, still shown
        assert_pixels(&picture_of(renderer, &scene_of(texture)), "gone buffer", |_| OLD);
        renderer.forget(texture);
    });
}

fn pool_length() -> usize {
    SIZE.area() as usize * 4
}
