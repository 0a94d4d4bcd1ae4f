//! Who may still read what: textures forgotten, targets destroyed and captures taken while frames are in flight.

use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, poll};
use transom::domain::buffer::TextureId;
use transom::domain::format::{ARGB8888, XRGB8888};
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::scene::{Element, Paint, Scene};
use transom::ports::pool::ShmBuffer;
use transom::ports::renderer::{ImportError, Pixels, RenderError, TargetId};

use crate::subjects::each;
use crate::support::picture::{points, rgb};
use crate::support::stage::{
    Holds, buffer, capture, color, element, new_buffer_id, picture_of, region, render, render_whole, rgba, scene,
    settle, shown,
};

const SIZE: Size = Size::new(40, 30);
const ALL: Rect = Rect::from_size(SIZE);
const FIRST: [u8; 3] = [200, 40, 0];
const SECOND: [u8; 3] = [0, 80, 160];

fn of_one_color(color: [u8; 3]) -> ShmBuffer {
    buffer(XRGB8888, SIZE, |_, _| rgba(color)).1
}

fn scene_of(texture: TextureId) -> Scene {
    scene(SIZE, [0; 3], &[(shown(texture, SIZE, Point::default()), Some(ALL))])
}

#[track_caller]
fn assert_only(pixels: &Pixels, color: [u8; 3]) {
    for p in points(pixels.size) {
        assert_eq!(rgb(pixels, p), color, "at {p:?}");
    }
}

#[test]
fn texture_forgotten_in_flight_is_still_shown_by_that_frame() {
    each(|renderer| {
        let mut holds = Holds::default();
        let targets = [(); 2].map(|()| renderer.create_offscreen(SIZE).unwrap());
        for _ in 0..10 {
            let first = holds.import(renderer, &of_one_color(FIRST));
            render_whole(renderer, targets[0], &scene_of(first));
            renderer.forget(first);
            // Wants the same memory, were it free.
            let second = holds.import(renderer, &of_one_color(SECOND));
            assert_ne!(first, second, "an id is used twice");
            render_whole(renderer, targets[1], &scene_of(second));
            renderer.forget(second);
            assert_only(&capture(renderer, targets[0], ALL), FIRST);
            assert_only(&capture(renderer, targets[1], ALL), SECOND);
        }
        targets.into_iter().for_each(|target| renderer.destroy_target(target));
        holds.settle(renderer);
    });
}

#[test]
fn texture_never_shown_is_given_back() {
    each(|renderer| {
        let mut holds = Holds::default();
        let before = renderer.holdings();
        for _ in 0..30 {
            let texture = holds.import(renderer, &of_one_color(FIRST));
            holds.update(renderer, texture, &of_one_color(SECOND), &[ALL]);
            assert_eq!(renderer.holdings().textures, before.textures + 1);
            assert!(renderer.holdings().texture_bytes > before.texture_bytes);
            renderer.forget(texture);
            holds.drain(renderer);
        }
        holds.settle(renderer);
        assert_eq!(renderer.holdings().texture_bytes, before.texture_bytes);
        assert_eq!(renderer.holdings().retired_bytes, 0, "held though nothing was rendered");
    });
}

#[test]
fn element_of_an_unknown_texture_shows_what_is_beneath() {
    each(|renderer| {
        let mut holds = Holds::default();
        let gone = holds.import(renderer, &of_one_color(FIRST));
        renderer.forget(gone);
        for unknown in [gone, TextureId(0), TextureId(u64::MAX)] {
            let beneath = element(Paint::Solid(color(rgba(SECOND))), ALL);
            let claims_all = shown(unknown, SIZE, Point::default());
            let layers = [(beneath, Some(ALL)), (claims_all, Some(ALL))];
            assert_only(&picture_of(renderer, &scene(SIZE, FIRST, &layers)), SECOND);
            assert_only(&picture_of(renderer, &scene(SIZE, FIRST, &layers[1..])), FIRST);
        }
        holds.settle(renderer);
    });
}

#[test]
fn names_of_nothing_are_told_and_do_no_harm() {
    each(|renderer| {
        let dead_target = renderer.create_offscreen(SIZE).unwrap();
        renderer.destroy_target(dead_target);
        let mut holds = Holds::default();
        let dead_texture = holds.import(renderer, &of_one_color(FIRST));
        renderer.forget(dead_texture);
        renderer.forget(dead_texture);
        renderer.forget(TextureId(u64::MAX));
        for texture in [dead_texture, TextureId(u64::MAX)] {
            let result = renderer.update_shm(texture, &of_one_color(FIRST), new_buffer_id(), &[ALL]);
            assert!(matches!(result, Err(ImportError::Unknown(id)) if id == texture), "{result:?}");
        }
        for target in [dead_target, TargetId(u64::MAX)] {
            renderer.destroy_target(target);
            assert!(matches!(renderer.acquire(target), Err(RenderError::Unknown)));
            let frame = renderer.render(target, &scene(SIZE, FIRST, &[]), &region(ALL));
            assert!(matches!(frame, Err(RenderError::Unknown)), "{frame:?}");
            assert!(matches!(renderer.resize_target(target, SIZE), Err(RenderError::Unknown)));
            assert!(matches!(renderer.capture(target, ALL), Err(RenderError::Unknown)));
        }
        holds.settle(renderer);
    });
}

#[test]
fn target_destroyed_or_resized_in_flight_completes_its_capture() {
    each(|renderer| {
        for resize in [false, true] {
            let target = renderer.create_offscreen(SIZE).unwrap();
            render_whole(renderer, target, &scene(SIZE, FIRST, &[]));
            let taken = renderer.capture(target, ALL).unwrap();
            if resize {
                renderer.resize_target(target, Size::new(9, 9)).unwrap();
            } else {
                renderer.destroy_target(target);
            }
            let other = renderer.create_offscreen(SIZE).unwrap();
            render_whole(renderer, other, &scene(SIZE, SECOND, &[]));
            settle(renderer);
            assert_only(&renderer.take_capture(taken).unwrap().unwrap(), FIRST);
            renderer.destroy_target(other);
            renderer.destroy_target(target);
        }
    });
}

#[test]
fn capture_shows_the_frame_before_it_and_not_the_one_after() {
    each(|renderer| {
        let target = renderer.create_offscreen(SIZE).unwrap();
        let captures = [FIRST, SECOND, [1, 2, 3]].map(|color| {
            render_whole(renderer, target, &scene(SIZE, color, &[]));
            (renderer.capture(target, ALL).unwrap(), color)
        });
        settle(renderer);
        for (capture, color) in captures {
            assert_only(&renderer.take_capture(capture).unwrap().unwrap(), color);
            assert!(matches!(renderer.take_capture(capture), Err(RenderError::Unknown)), "taken twice");
        }
        renderer.destroy_target(target);
    });
}

#[test]
fn capture_of_a_part_is_that_part_inside_the_target() {
    each(|renderer| {
        let (_, gradient) = buffer(XRGB8888, SIZE, |x, y| rgba([x as u8, y as u8, 77]));
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &gradient);
        let target = renderer.create_offscreen(SIZE).unwrap();
        render_whole(renderer, target, &scene_of(texture));
        let whole = (ALL, ALL);
        let inside = (Rect::new(3, 5, 7, 11), Rect::new(3, 5, 7, 11));
        let dot = (Rect::new(39, 29, 1, 1), Rect::new(39, 29, 1, 1));
        let over = (Rect::new(-3, 20, 10, 50), Rect::new(0, 20, 7, 10));
        let huge = (Rect::new(i32::MIN / 2, i32::MIN / 2, i32::MAX, i32::MAX), ALL);
        for (part, there) in [whole, inside, dot, over, huge] {
            let pixels = capture(renderer, target, part);
            assert_eq!(pixels.size, there.size(), "{part:?}");
            assert_eq!(pixels.bytes.len() as u64, there.size().area() * 4);
            assert!(pixels.bytes.chunks_exact(4).all(|pixel| pixel[3] == 255));
            for p in points(pixels.size) {
                assert_eq!(rgb(&pixels, p), [(p.x + there.x) as u8, (p.y + there.y) as u8, 77], "{part:?} at {p:?}");
            }
        }
        for nothing in [Rect::new(40, 0, 5, 5), Rect::new(3, 3, 0, 3), Rect::new(3, 3, -1, 3)] {
            let refused = renderer.capture(target, nothing);
            assert!(matches!(refused, Err(RenderError::Unsupported(_))), "{refused:?} of {nothing:?}");
        }
        renderer.destroy_target(target);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn capture_of_undefined_content_is_refused_and_one_never_taken_goes_with_its_renderer() {
    each(|renderer| {
        let target = renderer.create_offscreen(SIZE).unwrap();
        assert!(matches!(renderer.capture(target, ALL), Err(RenderError::Unsupported(_))));
        render_whole(renderer, target, &scene(SIZE, FIRST, &[]));
        renderer.capture(target, ALL).unwrap();
        renderer.resize_target(target, SIZE).unwrap();
        assert!(matches!(renderer.capture(target, ALL), Err(RenderError::Unsupported(_))));
        renderer.destroy_target(target);
    });
}

#[test]
fn serials_of_frames_ascend_and_complete_in_order() {
    each(|renderer| {
        let target = renderer.create_offscreen(SIZE).unwrap();
        let mut last = renderer.completed().unwrap();
        for _ in 0..6 {
            let ticket = render_whole(renderer, target, &scene(SIZE, FIRST, &[]));
            assert!(ticket.serial > last);
            assert_eq!(ticket.cost.submits, 1);
            last = ticket.serial;
            settle(renderer);
            assert_eq!(renderer.completed().unwrap(), last);
        }
        renderer.destroy_target(target);
    });
}

#[test]
fn frames_faster_than_the_device_are_told_to_wait_and_lose_nothing() {
    each(|renderer| {
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color(FIRST));
        let target = renderer.create_offscreen(SIZE).unwrap();
        let mut rendered = 0;
        for i in 0..60u8 {
            holds.update(renderer, texture, &of_one_color([i, 100, 0]), &[ALL]);
            renderer.acquire(target).unwrap();
            match renderer.render(target, &scene_of(texture), &region(ALL)) {
                Ok(_) => rendered += 1,
                Err(RenderError::NotReady) => settle(renderer),
                Err(e) => panic!("frame {i}: {e}"),
            }
        }
        assert!(rendered >= 2, "only {rendered} of 60 frames");
        settle(renderer);
        render_whole(renderer, target, &scene_of(texture));
        assert_only(&capture(renderer, target, ALL), [59, 100, 0]);
        renderer.destroy_target(target);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn completion_descriptor_becomes_readable_after_a_frame_and_quiet_after_a_drain() {
    each(|renderer| {
        let Some(fd) = renderer.completion_fd() else { return };
        let fd = fd.as_fd().try_clone_to_owned().unwrap();
        let readable = |limit_ms: u16| poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLIN)], limit_ms).unwrap() == 1;
        let target = renderer.create_offscreen(SIZE).unwrap();
        for _ in 0..3 {
            settle(renderer);
            renderer.drain(&mut |_| ()).unwrap();
            render_whole(renderer, target, &scene(SIZE, FIRST, &[]));
            assert!(readable(30_000), "a frame completed unheard");
            settle(renderer);
            // The waiter may be a moment behind what wait_idle saw; a drain that comes too early is followed by one more.
            let quiet = (0..50).any(|_| {
                renderer.drain(&mut |_| ()).unwrap();
                !readable(20)
            });
            assert!(quiet, "readable though all was drained");
        }
        renderer.destroy_target(target);
    });
}

#[test]
fn drain_at_any_time_does_no_harm() {
    each(|renderer| {
        renderer.drain(&mut |_| panic!("nothing was held")).unwrap();
        let target = renderer.create_offscreen(SIZE).unwrap();
        let mut holds = Holds::default();
        for color in [FIRST, SECOND] {
            let texture = holds.import(renderer, &of_one_color(color));
            holds.drain(renderer);
            render_whole(renderer, target, &scene_of(texture));
            holds.drain(renderer);
            renderer.forget(texture);
            holds.drain(renderer);
        }
        assert_only(&capture(renderer, target, ALL), SECOND);
        renderer.destroy_target(target);
        holds.settle(renderer);
    });
}

#[test]
fn steady_frame_costs_one_submit_and_makes_nothing() {
    each(|renderer| {
        let (_, translucent) = buffer(ARGB8888, SIZE, |_, _| [0.2, 0.2, 0.2, 0.5]);
        let mut holds = Holds::default();
        let textures = [of_one_color(FIRST), translucent].map(|buffer| holds.import(renderer, &buffer));
        let target = renderer.create_offscreen(SIZE).unwrap();
        let layers = [
            (shown(textures[0], SIZE, Point::default()), Some(ALL)),
            (shown(textures[1], SIZE, Point::new(5, 5)), None),
            (Element { alpha: 0.5, ..element(Paint::Solid(color(rgba(SECOND))), Rect::new(2, 2, 9, 9)) }, None),
        ];
        let still = scene(SIZE, FIRST, &layers);
        let next = of_one_color(SECOND);
        for frame in 0..20 {
            let before = renderer.counters();
            holds.update(renderer, textures[0], &next, &[Rect::new(1, 1, 20, 20)]);
            let ticket = render(renderer, target, &still, &region(ALL));
            holds.settle(renderer);
            let cost = renderer.counters().since(&before);
            if frame < 8 {
                continue; // every frame slot has been used by then
            }
            assert_eq!((cost.submits, ticket.cost.submits), (1, 1), "frame {frame}");
            assert!(cost.barrier_calls <= 2 && cost.setup_barrier_calls == 0, "frame {frame}: {cost:?}");
            assert_eq!(cost.descriptor_writes, 0, "frame {frame}");
            assert_eq!((cost.objects_created, cost.objects_destroyed), (0, 0), "frame {frame}");
            assert!(cost.draws + cost.transfers >= 2, "frame {frame}: {cost:?}");
        }
        renderer.destroy_target(target);
        textures.into_iter().for_each(|texture| renderer.forget(texture));
        holds.settle(renderer);
    });
}

#[test]
fn hundreds_of_textures_come_and_go() {
    each(|renderer| {
        let mut holds = Holds::default();
        let small = Size::new(2, 2);
        let target = renderer.create_offscreen(SIZE).unwrap();
        for round in 0..3u8 {
            let of = |i: i32| [(i % 256) as u8, (i / 2 % 256) as u8, round * 100];
            let textures: Vec<_> =
                (0..300).map(|i| holds.import(renderer, &buffer(XRGB8888, small, |_, _| rgba(of(i))).1)).collect();
            let at = |i: i32| Point::new(i % 20 * 2, i / 20 * 2);
            let layers: Vec<_> =
                (0..).zip(&textures).map(|(i, &texture)| (shown(texture, small, at(i)), None)).collect();
            render_whole(renderer, target, &scene(SIZE, [0; 3], &layers));
            textures.into_iter().for_each(|texture| renderer.forget(texture));
            let pixels = capture(renderer, target, ALL);
            for i in 0..300 {
                assert_eq!(rgb(&pixels, at(i)), of(i), "texture {i} of round {round}");
            }
            holds.settle(renderer);
            assert_eq!(renderer.holdings().textures, 0);
        }
        renderer.destroy_target(target);
    });
}

#[test]
fn holdings_after_each_round_of_clients_are_those_of_the_round_before() {
    each(|renderer| {
        let target = renderer.create_offscreen(SIZE).unwrap();
        let rounds = [(); 4].map(|()| {
            let mut holds = Holds::default();
            for frame in 0..8u8 {
                let textures: Vec<_> =
                    (0..20).map(|i| holds.import(renderer, &of_one_color([frame * 30, i * 10, 0]))).collect();
                holds.update(renderer, textures[3], &of_one_color(SECOND), &[Rect::new(3, 3, 9, 9)]);
                let layers: Vec<_> =
                    (0..).zip(&textures).map(|(i, &texture)| (shown(texture, SIZE, Point::new(i, i)), None)).collect();
                render_whole(renderer, target, &scene(SIZE, FIRST, &layers));
                capture(renderer, target, Rect::new(0, 0, 8, 8));
                textures.into_iter().for_each(|texture| renderer.forget(texture));
                holds.drain(renderer);
            }
            holds.settle(renderer);
            renderer.holdings()
        });
        // The first makes what is kept for those that follow.
        assert_eq!(rounds[1], rounds[2]);
        assert_eq!(rounds[2], rounds[3]);
        renderer.destroy_target(target);
    });
}
