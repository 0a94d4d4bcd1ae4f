//! One client with very many objects: what it costs the others.

use std::time::{Duration, Instant};

use wayland_client::protocol::{wl_compositor, wl_subcompositor};

use crate::{GREEN, RED, Stage, put};

/// The longest that the loop may be held up by all that one client said at once, with checks compiled in.
const PATIENCE: Duration = Duration::from_millis(500);

const MANY: usize = 10_000;

#[test]
fn ten_thousand_surfaces_of_one_client_come_and_go_without_a_stall() {
    let (mut stage, mut client) = Stage::new();
    let mut other = stage.host.connect();
    let calm = other.surface();
    put(&calm, &other.buffer(4, 4, GREEN));
    other.roundtrip(&mut stage.host);
    stage.show(&calm);
    let compositor = client.bind::<wl_compositor::WlCompositor>();
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let buffer = client.buffer(2, 2, RED);
    let parents: Vec<_> = (0..10).map(|_| client.surface()).collect();
    let mut slowest = Duration::ZERO;
    let mut surfaces = Vec::new();
    for n in 0..MANY {
        let surface = compositor.create_surface(&client.handle, ());
        if n % 20 < 10 {
            subcompositor.get_subsurface(&surface, &parents[n % 10], &client.handle, ());
        }
        put(&surface, &buffer);
        surfaces.push(surface);
        if n % 1000 == 999 {
            let start = Instant::now();
            client.exchange(&mut stage.host);
            slowest = slowest.max(start.elapsed());
        }
    }
    parents.iter().for_each(|parent| put(parent, &buffer));
    let start = Instant::now();
    client.roundtrip(&mut stage.host);
    parents.iter().for_each(|parent| stage.show(parent));
    stage.frame();
    slowest = slowest.max(start.elapsed());
    assert_eq!(stage.host.server.state.core.surfaces.count(), MANY as u64 + 11);
    drop(client);
    let start = Instant::now();
    for _ in 0..3 {
        stage.host.dispatch();
    }
    slowest = slowest.max(start.elapsed());
    assert_eq!(stage.host.server.state.core.surfaces.count(), 1);
    stage.shown.truncate(1);
    stage.frame();
    assert_eq!(stage.pixel(), GREEN);
    assert!(slowest < PATIENCE, "held up for {slowest:?}");
}

#[test]
fn subsurfaces_of_one_parent_past_the_bound_are_refused() {
    let (mut stage, mut client) = Stage::new();
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let parent = client.surface();
    for _ in 0..1100 {
        subcompositor.get_subsurface(&client.surface(), &parent, &client.handle, ());
    }
    assert_eq!(client.expect_error(&mut stage.host).0, "wl_subcompositor");
}
