//! Frame callbacks, presentation feedback, and the end of clients.

use std::collections::BTreeSet;

use transom::domain::frame::Time;
use transom::ports::output::Presented;
use wayland_client::protocol::{wl_compositor, wl_subcompositor};

use crate::support::client::{Client, Verdict};
use crate::{BLUE, GREEN, RED, Stage, put};

#[test]
fn frame_callback_of_a_visible_surface_comes_after_its_frame() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let early = client.frame(&surface);
    put(&surface, &client.buffer(4, 4, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    let late = client.frame(&surface);
    surface.commit();
    client.roundtrip(&mut stage.host);
    assert!(!client.is_done(early), "before the frame was presented");
    stage.host.server.state.frame_done(stage.output, Time::from_ns(1_016_000_000));
    client.roundtrip(&mut stage.host);
    assert_eq!(client.events.done, [(early, 1016)], "and only what was latched");
    stage.frame();
    stage.host.server.state.frame_done(stage.output, Time::from_ns(1_032_000_000));
    client.roundtrip(&mut stage.host);
    assert!(client.is_done(late));
}

#[test]
fn hidden_surface_is_not_uploaded_and_gets_one_frame_callback_a_second() {
    let (mut stage, mut client) = Stage::new();
    let (front, back) = (client.surface(), client.surface());
    let region = client.bind::<wl_compositor::WlCompositor>().create_region(&client.handle, ());
    region.add(0, 0, 64, 64);
    front.set_opaque_region(Some(&region));
    put(&front, &client.buffer(64, 64, RED));
    put(&back, &client.buffer(32, 32, GREEN));
    client.roundtrip(&mut stage.host);
    stage.show(&front);
    stage.show(&back);
    stage.frame();
    assert_eq!((stage.scene.elements().len(), stage.renderer.texture_count()), (1, 1));

    let mut tags = Vec::new();
    for frame in 1..=150_u64 {
        let tag = client.frame(&back);
        back.commit();
        tags.push(tag);
        stage.host.now = Time::from_ns(1_000_000_000 + frame * 16_666_667);
        client.roundtrip(&mut stage.host);
        stage.frame();
        let state = &mut stage.host.server.state;
        state.frame_done(stage.output, stage.host.now);
        state.tick(stage.host.now);
        client.roundtrip(&mut stage.host);
    }
    let times: BTreeSet<u32> = client.events.done.iter().map(|&(_, ms)| ms).collect();
    assert_eq!(times.len(), 3, "2.5 s: {times:?}");

    front.attach(None, 0, 0);
    front.commit();
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!(stage.pixel(), GREEN);
    stage.host.server.state.frame_done(stage.output, stage.host.now);
    client.roundtrip(&mut stage.host);
    assert!(tags.iter().all(|tag| client.is_done(*tag)), "seen again, it is told at the next frame");
}

#[test]
fn presentation_feedback_has_the_frames_own_values_and_the_superseded_is_discarded() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let superseded = client.feedback(&surface);
    put(&surface, &client.buffer(4, 4, RED));
    let shown = client.feedback(&surface);
    put(&surface, &client.buffer(4, 4, GREEN));
    client.roundtrip(&mut stage.host);
    assert_eq!(client.verdict(superseded), Some(&Verdict::Discarded));
    stage.show(&surface);
    stage.frame();
    let late = client.feedback(&surface);
    put(&surface, &client.buffer(4, 4, BLUE));
    client.roundtrip(&mut stage.host);
    assert_eq!(client.verdict(shown), None, "not on screen yet");
    let presented = Presented {
        time: Time::from_ns(5_000_000_007),
        sequence: 1 << 33,
        period_ns: 16_666_667,
        vsync: true,
        hw_clock: false,
        hw_completion: true,
        zero_copy: false,
    };
    stage.host.server.state.frame_presented(stage.output, &presented);
    client.roundtrip(&mut stage.host);
    let expected = Verdict::Presented { ns: 5_000_000_007, refresh: 16_666_667, sequence: 1 << 33, flags: 1 | 4 };
    assert_eq!((client.verdict(shown), client.verdict(late)), (Some(&expected), None));
    stage.frame();
    stage.host.server.state.frame_discarded(stage.output);
    client.roundtrip(&mut stage.host);
    assert_eq!(client.verdict(late), Some(&Verdict::Discarded));
}

/// One thing that a client does before it is killed.
type Act<'a> = &'a mut dyn FnMut(&mut Client, &mut Stage);

#[test]
fn client_killed_anywhere_leaves_nothing_behind() {
    let steps = 7;
    for step in 0..=steps {
        let (mut stage, mut client) = Stage::new();
        let (parent, child) = (client.surface(), client.surface());
        let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
        let acts: [Act<'_>; 7] = [
            &mut |client, _| drop(subcompositor.get_subsurface(&child, &parent, &client.handle, ())),
            &mut |client, _| put(&child, &client.buffer(4, 4, RED)),
            &mut |client, _| put(&parent, &client.buffer(8, 8, GREEN)),
            &mut |client, _| {
                client.frame(&parent);
                client.feedback(&child);
            },
            &mut |client, stage| {
                client.roundtrip(&mut stage.host);
                stage.show(&parent);
                stage.frame();
            },
            &mut |client, _| put(&child, &client.buffer(4, 4, BLUE)),
            &mut |_, _| parent.commit(),
        ];
        for act in acts.into_iter().take(step) {
            act(&mut client, &mut stage);
            client.exchange(&mut stage.host);
        }
        drop(client);
        for _ in 0..3 {
            stage.host.dispatch();
        }
        stage.frame();
        let core = &stage.host.server.state.core;
        let live = (core.client_count(), core.surfaces.count(), core.buffers.alive(), core.buffers.held());
        assert_eq!(live, (0, 0, 0, 0), "killed after {step} steps");
        assert_eq!((core.shm.count().pools(), core.shm.count().bytes()), (0, 0), "killed after {step} steps");
        assert_eq!(stage.renderer.texture_count(), 0, "killed after {step} steps");
        assert!(stage.scene.elements().is_empty(), "killed after {step} steps");
    }
}
