//! Surface commits whose buffers are not finished yet, under each policy; and what is left in a buffer that was read.

use std::os::fd::AsFd;

use crate::OUTPUT;
use crate::support::picture::rgb;
use crate::support::reference::Reference;
use crate::support::stage::capture;
use transom::adapters::dmabuf::{Access, export_fence, import_fence, is_signalled};
use transom::adapters::vulkan::ReadFences;
use transom::adapters::wayland::Event;
use transom::domain::fence::{ENOUGH, Policy};
use transom::domain::geometry::{Point, Rect};
use transom::ports::renderer::Renderer;
use wayland_client::protocol::wl_subcompositor::WlSubcompositor;

use crate::support::client::Client;
use crate::support::dmabuf::ClientImage;
use crate::support::kernel::Gate;
use crate::support::rig;
use crate::{FRAME_NS, Stage, buffer, on_stage, on_stage_with, plain, put};

const RED: [u8; 3] = [200, 0, 0];
const GREEN: [u8; 3] = [0, 200, 0];
const BLUE: [u8; 3] = [0, 0, 200];

/// As [`on_stage`], where there are fences to be had.
fn on_fenced_stage(policy: Policy, test: impl FnOnce(&mut Stage, &mut Client)) {
    on_stage(policy, |stage, client| match Gate::shut() {
        Some(gate) => {
            gate.signal();
            test(stage, client);
        }
        None => rig::skip("fences", "this kernel has no vgem (./dev vm has)"),
    });
}

/// Somebody writes the image until the gate is opened.
fn write_behind(image: &ClientImage) -> Gate {
    let gate = Gate::shut().expect("vgem");
    import_fence(&image.dmabuf.fds[0], gate.sync_file(), Access::Write).expect("a dma-buf takes a fence");
    gate
}

#[test]
fn unfinished_buffer_under_ready_keeps_the_old_content_and_holds_up_nobody() {
    on_fenced_stage(Policy::Ready, |stage, client| {
        let (old, new, other) = (plain(RED), plain(BLUE), plain(GREEN));
        let [old_buffer, new_buffer, other_buffer] = [&old, &new, &other].map(|image| buffer(stage, client, image));
        let (slow, quick) = (client.surface(), client.surface());
        client.roundtrip(&mut stage.host);
        stage.show(&slow, 0.0);
        stage.show(&quick, 20.0);
        put(&slow, &old_buffer);
        client.roundtrip(&mut stage.host);
        let gate = write_behind(&new);
        put(&slow, &new_buffer);
        put(&quick, &other_buffer);
        client.roundtrip(&mut stage.host);
        for n in 0..5u8 {
            other.paint(|_, _| crate::support::stage::rgba([0, 200, n]));
            put(&quick, &other_buffer);
            client.roundtrip(&mut stage.host);
            stage.frame();
            assert_eq!((stage.color_at(0), stage.color_at(20)), (RED, [0, 200, n]));
            stage.pass(FRAME_NS);
        }
        let counts = stage.host.server.state.core.fences.counts();
        assert_eq!((counts.waited_outside, counts.queue_waits), (1, 0));
        gate.signal();
        stage.pass(FRAME_NS);
        stage.frame();
        assert_eq!(stage.color_at(0), BLUE);
    });
}

#[test]
fn unfinished_buffer_under_gpu_wait_is_in_the_frame_which_waits_for_it() {
    on_fenced_stage(Policy::GpuWait, |stage, client| {
        let image = plain(RED);
        let buffer = buffer(stage, client, &image);
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        let gate = write_behind(&image);
        put(&surface, &buffer);
        client.roundtrip(&mut stage.host);
        let serial = stage.frame();
        assert!(stage.renderer.completed().unwrap() < serial, "the frame did not wait");
        // The client finishes its picture only now.
        image.paint(|_, _| crate::support::stage::rgba(BLUE));
        gate.signal();
        assert_eq!(stage.color_at(0), BLUE);
        assert_eq!(stage.host.server.state.core.fences.counts().queue_waits, 1);
        stage.pass(1);
        stage.drain();
        assert_eq!(stage.renderer.holdings().semaphores_in_use, 0);
    });
}

#[test]
fn client_under_auto_is_trusted_after_good_fences_and_distrusted_after_a_late_one() {
    on_fenced_stage(Policy::Auto, |stage, client| {
        let images = [plain(RED), plain(BLUE)];
        let buffers = images.each_ref().map(|image| buffer(stage, client, image));
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        let mut next = 0;
        let mut turn = |stage: &mut Stage, client: &mut Client, late: bool| {
            next = 1 - next;
            let gate = write_behind(&images[next]);
            put(&surface, &buffers[next]);
            client.roundtrip(&mut stage.host);
            let counts = stage.host.server.state.core.fences.counts();
            stage.pass(if late { 3 * FRAME_NS } else { FRAME_NS / 2 });
            gate.signal();
            stage.pass(0);
            stage.frame();
            stage.drain();
            client.roundtrip(&mut stage.host);
            (counts.waited_outside, counts.queue_waits)
        };
        for n in 1..=u64::from(ENOUGH) {
            assert_eq!(turn(stage, client, false), (n, 0), "not trusted yet");
        }
        let outside = u64::from(ENOUGH);
        assert_eq!(turn(stage, client, false), (outside, 1), "trusted");
        // Late: costs this one wait, and the record.
        assert_eq!(turn(stage, client, true), (outside, 2));
        assert_eq!(stage.host.server.state.core.fences.counts().late, 1);
        assert_eq!(turn(stage, client, false), (outside + 1, 2), "distrusted");
        for n in 0..u64::from(ENOUGH) + 2 {
            assert_eq!(turn(stage, client, false), (outside + 2 + n, 2), "for a minute, whatever it does");
        }
        stage.pass(60_000_000_000);
        assert_eq!(turn(stage, client, false).1, 3, "trusted again");
    });
}

#[test]
fn client_killed_while_its_buffer_is_unfinished_leaves_nothing() {
    for policy in [Policy::Ready, Policy::GpuWait] {
        on_fenced_stage(policy, |stage, _| {
            let mut client = stage.host.connect();
            let image = plain(RED);
            let buffer = buffer(stage, &mut client, &image);
            let surface = client.surface();
            client.roundtrip(&mut stage.host);
            let gate = write_behind(&image);
            for _ in 0..4 {
                put(&surface, &buffer);
            }
            client.roundtrip(&mut stage.host);
            assert!(stage.host.server.state.core.fences.waiting() > 0);
            drop((client, surface, buffer));
            stage.host.dispatch();
            stage.host.dispatch();
            stage.pass(FRAME_NS);
            gate.signal();
            stage.pass(FRAME_NS);
        });
    }
}

#[test]
fn client_that_commits_without_end_behind_an_unfinished_buffer_is_sent_away() {
    on_fenced_stage(Policy::Ready, |stage, _| {
        let mut client = stage.host.connect();
        let image = plain(RED);
        let buffer = buffer(stage, &mut client, &image);
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        let gate = write_behind(&image);
        (0..300).for_each(|_| put(&surface, &buffer));
        client.expect_no_memory(&mut stage.host);
        drop(client);
        stage.host.dispatch();
        gate.signal();
        stage.pass(FRAME_NS);
    });
}

#[test]
fn buffer_that_a_frame_reads_carries_its_fence_for_who_writes_next() {
    on_stage_with(Policy::Ready, ReadFences::On, |stage, client| {
        let image = plain(RED);
        let buffer = buffer(stage, client, &image);
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        put(&surface, &buffer);
        client.roundtrip(&mut stage.host);
        stage.frame();
        if stage.renderer.counters().fences_attached == 0 {
            return rig::skip("fences left in buffers", "this driver's frames have no kernel fence");
        }
        // Another reader waits for nobody, a writer for the frame.
        let [read, write] = [Access::Read, Access::Write].map(|a| export_fence(&image.dmabuf.fds[0], a).unwrap());
        assert!(is_signalled(read.as_fd()));
        stage.drain();
        assert!(is_signalled(write.as_fd()));
        assert_eq!(stage.color_at(0), RED);
    });
}

#[test]
fn buffer_destroyed_while_its_surface_commit_waits_is_still_shown() {
    on_fenced_stage(Policy::Ready, |stage, client| {
        let image = plain(BLUE);
        let buffer = buffer(stage, client, &image);
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        let gate = write_behind(&image);
        put(&surface, &buffer);
        buffer.destroy();
        client.roundtrip(&mut stage.host);
        stage.frame();
        assert_eq!(stage.color_at(0), [0; 3]);
        gate.signal();
        stage.pass(FRAME_NS);
        stage.frame();
        assert_eq!(stage.color_at(0), BLUE);
        surface.attach(None, 0, 0);
        surface.commit();
        client.roundtrip(&mut stage.host);
        stage.frame();
        stage.drain();
        stage.host.dispatch();
        assert_eq!(stage.host.server.state.core.dmabufs.count(), 0, "kept for nobody");
    });
}

#[test]
fn buffer_waits_for_each_of_the_fences_of_its_surface_commits() {
    on_fenced_stage(Policy::GpuWait, |stage, client| {
        let image = plain(RED);
        let buffer = buffer(stage, client, &image);
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        let first = write_behind(&image);
        put(&surface, &buffer);
        client.roundtrip(&mut stage.host);
        let second = write_behind(&image);
        put(&surface, &buffer);
        client.roundtrip(&mut stage.host);
        let serial = stage.frame();
        second.signal();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(stage.renderer.completed().unwrap() < serial, "the frame did not wait for the first");
        image.paint(|_, _| crate::support::stage::rgba(BLUE));
        first.signal();
        assert_eq!(stage.color_at(0), BLUE);
        stage.pass(1);
    });
}

#[test]
fn unfinished_fences_of_one_client_are_bounded_under_gpu_wait_too() {
    on_fenced_stage(Policy::GpuWait, |stage, _| {
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let mut client = stage.host.connect();
        let image = plain(RED);
        let buffer = buffer(stage, &mut client, &image);
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        let gate = write_behind(&image);
        let before = descriptors();
        (0..300).for_each(|_| put(&surface, &buffer));
        client.expect_no_memory(&mut stage.host);
        drop(client);
        stage.host.dispatch();
        stage.host.dispatch();
        assert_eq!(stage.host.server.state.core.fences.waiting(), 0);
        assert!(descriptors() < before, "descriptors stay open for a client that is gone");
        gate.signal();
    });
}

#[test]
fn fence_of_a_destroyed_subsurface_does_not_hold_its_tree_up() {
    on_fenced_stage(Policy::Ready, |stage, client| {
        let (under, over) = (plain(GREEN), plain(BLUE));
        let [under_buffer, over_buffer] = [&under, &over].map(|image| buffer(stage, client, image));
        let (root, child) = (client.surface(), client.surface());
        let role = client.bind::<WlSubcompositor>().get_subsurface(&child, &root, &client.handle, ());
        client.roundtrip(&mut stage.host);
        stage.show(&root, 0.0);
        let gate = write_behind(&over);
        put(&child, &over_buffer);
        put(&root, &under_buffer);
        client.roundtrip(&mut stage.host);
        stage.frame();
        assert_eq!(stage.color_at(0), [0; 3], "the tree takes effect as one");
        role.destroy();
        child.destroy();
        client.roundtrip(&mut stage.host);
        stage.frame();
        assert_eq!((stage.color_at(0), stage.host.server.state.core.fences.waiting()), (GREEN, 0));
        gate.signal();
    });
}

/// A renderer that takes no fence: the surface is left out of frames, and what left it out does not hold its buffer.
#[test]
fn surface_left_out_of_a_frame_for_its_fence_is_painted_when_that_signals_and_released_after() {
    on_fenced_stage(Policy::GpuWait, |stage, client| {
        let images = [plain(RED), plain(GREEN)];
        let buffers = images.each_ref().map(|image| buffer(stage, client, image));
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        stage.lose_renderer();
        let mut renderer = Reference::new();
        let target = renderer.create_offscreen(OUTPUT).expect("a target");
        let gate = write_behind(&images[0]);
        put(&surface, &buffers[0]);
        client.roundtrip(&mut stage.host);
        stage.frame_by(&mut renderer, target);
        let color = |renderer: &mut Reference| rgb(&capture(renderer, target, Rect::new(0, 0, 1, 1)), Point::new(0, 0));
        assert_eq!(color(&mut renderer), [0; 3], "shown unfinished");
        stage.host.server.state.events.clear();
        gate.signal();
        stage.pass(1);
        let told = std::mem::take(&mut stage.host.server.state.events);
        assert!(told.contains(&Event::RedrawAll), "nobody asks for another frame: {told:?}");
        stage.frame_by(&mut renderer, target);
        assert_eq!(color(&mut renderer), RED);
        put(&surface, &buffers[1]);
        client.roundtrip(&mut stage.host);
        stage.frame_by(&mut renderer, target);
        assert_eq!(color(&mut renderer), GREEN);
        let state = &mut stage.host.server.state;
        renderer.drain(&mut |buffer| state.renderer_released(buffer)).expect("a drain");
        client.roundtrip(&mut stage.host);
        assert_eq!(client.releases_of(&buffers[0]), 1, "held by the frame that left it out");
        stage.host.server.state.renderer_lost();
    });
}
