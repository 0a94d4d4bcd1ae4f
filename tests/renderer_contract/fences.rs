//! Fences: a frame waits for those of what it reads, in the queue where the device can, else in the caller's loop.

use std::os::fd::{AsFd, AsRawFd};

use transom::domain::buffer::TextureId;
use transom::domain::format::XRGB8888;
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::scene::Scene;
use transom::ports::pool::ShmBuffer;
use transom::ports::renderer::{FenceError, RenderError, Renderer};

use crate::subjects::each;
use crate::support::fence::{Gate, has_signalled};
use crate::support::picture::rgb;
use crate::support::stage::{Holds, buffer, capture, render_whole, rgba, scene, settle, shown};

const SIZE: Size = Size::new(16, 12);
const ALL: Rect = Rect::new(0, 0, SIZE.w, SIZE.h);
const COLOR: [u8; 3] = [200, 30, 60];
/// Long enough for a frame that nothing holds back.
const A_WHILE_NS: u64 = 100_000_000;

fn of_one_color(color: [u8; 3]) -> ShmBuffer {
    buffer(XRGB8888, SIZE, |_, _| rgba(color)).1
}

fn scene_of(texture: TextureId) -> Scene {
    scene(SIZE, [0; 3], &[(shown(texture, SIZE, Point::default()), Some(ALL))])
}

/// Hands the fence over; false where the caller is to wait for it, which this then does. `open` signals it.
fn hand_over(renderer: &mut dyn Renderer, texture: TextureId, gate: &Gate, open: impl FnOnce()) -> bool {
    let fence = gate.fence();
    let number = fence.as_raw_fd();
    match renderer.wait_for(texture, fence) {
        Ok(()) => true,
        Err(FenceError::NotTaken { fence, .. }) => {
            assert_eq!(fence.as_raw_fd(), number, "another descriptor is given back");
            open();
            assert!(has_signalled(fence.as_fd()), "the fallback waits for this to be readable");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn fence_of_a_texture_holds_back_the_frame_that_reads_it() {
    each(|renderer| {
        let mut holds = Holds::default();
        let [fenced, free] = [COLOR, [1, 2, 3]].map(|color| holds.import(renderer, &of_one_color(color)));
        let target = renderer.create_offscreen(SIZE).unwrap();
        render_whole(renderer, target, &scene_of(fenced));
        let gate = Gate::shut();
        let in_queue = hand_over(renderer, fenced, &gate, || gate.signal());
        render_whole(renderer, target, &scene_of(free));
        settle(renderer); // not read by this one, so not waited for
        let before = renderer.counters();
        let ticket = render_whole(renderer, target, &scene_of(fenced));
        assert_eq!(renderer.counters().since(&before).submits, 1);
        if in_queue {
            assert!(matches!(renderer.wait_idle(A_WHILE_NS), Err(RenderError::NotReady)), "nothing was waited for");
            assert!(renderer.completed().unwrap() < ticket.serial);
            renderer.drain(&mut |_| ()).unwrap();
            assert_eq!(renderer.holdings().semaphores_in_use, 1, "given back while it is waited for");
            gate.signal();
        }
        assert_eq!(rgb(&capture(renderer, target, ALL), Point::new(3, 3)), COLOR);
        assert!(renderer.completed().unwrap() >= ticket.serial);
        // Once is enough: the next frame waits for nothing.
        render_whole(renderer, target, &scene_of(fenced));
        renderer.destroy_target(target);
        [fenced, free].into_iter().for_each(|texture| renderer.forget(texture));
        holds.settle(renderer);
        assert_eq!(renderer.holdings().semaphores_in_use, 0);
    });
}

#[test]
fn fence_given_while_another_is_pending_takes_its_place() {
    each(|renderer| {
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &of_one_color(COLOR));
        let target = renderer.create_offscreen(SIZE).unwrap();
        let (never, now) = (Gate::shut(), Gate::open());
        for _ in 0..20 {
            hand_over(renderer, texture, &never, || never.signal());
            hand_over(renderer, texture, &now, || ());
        }
        assert!(renderer.holdings().semaphores <= 1, "{:?}", renderer.holdings());
        render_whole(renderer, target, &scene_of(texture));
        assert_eq!(rgb(&capture(renderer, target, ALL), Point::new(3, 3)), COLOR);
        renderer.destroy_target(target);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn fence_of_a_forgotten_texture_holds_nothing_back() {
    each(|renderer| {
        let mut holds = Holds::default();
        let target = renderer.create_offscreen(SIZE).unwrap();
        for _ in 0..10 {
            let texture = holds.import(renderer, &of_one_color(COLOR));
            let gate = Gate::shut();
            hand_over(renderer, texture, &gate, || gate.signal());
            renderer.forget(texture);
            render_whole(renderer, target, &scene_of(texture));
            holds.settle(renderer);
        }
        assert_eq!(renderer.holdings().semaphores_in_use, 0);
        renderer.destroy_target(target);
    });
}

#[test]
fn fence_for_an_unknown_texture_is_told_and_closed() {
    each(|renderer| {
        for unknown in [TextureId(0), TextureId(u64::MAX)] {
            match renderer.wait_for(unknown, Gate::shut().fence()) {
                Err(FenceError::Unknown(id)) => assert_eq!(id, unknown),
                Err(FenceError::NotTaken { source: None, .. }) => {} // of a renderer that takes none at all
                result => panic!("{result:?}"),
            }
        }
    });
}

#[test]
fn fence_of_a_frame_signals_when_it_is_complete_and_is_there_only_when_asked_for() {
    each(|renderer| {
        let target = renderer.create_offscreen(SIZE).unwrap();
        let blank = scene(SIZE, COLOR, &[]);
        for wanted in [false, true, false, true] {
            renderer.want_fences(wanted);
            let frames: Vec<_> = (0..12).map(|_| render_whole(renderer, target, &blank)).collect();
            assert!(wanted || frames.iter().all(|ticket| ticket.fence.is_none()));
            settle(renderer);
            for fence in frames.iter().filter_map(|ticket| ticket.fence.as_ref()) {
                assert!(has_signalled(fence.as_fd()), "a complete frame's fence has not signalled");
            }
        }
        renderer.want_fences(false);
        renderer.destroy_target(target);
    });
}
