//! Buffers: read by the right one, released once, and failures that cost one surface.

use nix::unistd::ftruncate;
use transom::adapters::wayland::buffer::Holder;
use transom::adapters::wayland::image::ImageId;
use transom::adapters::wayland::latch::Item;
use transom::domain::damage::Tracker;
use transom::domain::geometry::{Rect, RectF, Size};
use transom::domain::scene::{Color, ElementId, Paint, Role};
use transom::ports::renderer::ImportError;
use wayland_client::protocol::wl_shm;

use crate::support::recorder::Recorder;
use crate::{BLUE, GREEN, RED, Stage, put};

#[test]
fn buffer_destroyed_after_its_surface_commit_is_still_drawn() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let pool = client.pool(64);
    pool.fill(0, 16, RED);
    let buffer = pool.buffer(&client, 0, 4, 4, 16, wl_shm::Format::Argb8888);
    put(&surface, &buffer);
    buffer.destroy();
    pool.pool.destroy();
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    assert_eq!(stage.pixel(), RED);
    surface.attach(None, 0, 0);
    surface.commit();
    client.roundtrip(&mut stage.host);
    assert_eq!(stage.host.server.state.core.shm.count().pools(), 0);
    assert_eq!(stage.host.server.state.core.buffers.held(), 0);
}

#[test]
fn pool_shrunk_before_it_is_read_costs_its_client_alone() {
    let (mut stage, mut client) = Stage::new();
    let mut other = stage.host.connect();
    let surface = client.surface();
    let pool = client.pool(3 * 4096);
    let buffer = pool.buffer(&client, 0, 32, 96, 128, wl_shm::Format::Argb8888);
    put(&surface, &buffer);
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    ftruncate(pool.file(), 4096).unwrap();
    stage.frame();
    assert_eq!(client.expect_error(&mut stage.host), ("wl_buffer".into(), wl_shm::Error::InvalidFd as u32));
    let calm = other.surface();
    put(&calm, &other.buffer(4, 4, GREEN));
    other.roundtrip(&mut stage.host);
    stage.shown.clear();
    stage.show(&calm);
    stage.frame();
    assert_eq!(stage.pixel(), GREEN);
}

#[test]
fn buffer_is_released_exactly_once_however_it_ends() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let [copied, replaced, held, gone] = [RED, GREEN, BLUE, RED].map(|color| client.buffer(4, 4, color));
    put(&surface, &copied);
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    assert_eq!(client.releases_of(&copied), 0);
    stage.frame();
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&copied), 1, "released once its bytes are copied");

    put(&surface, &replaced);
    put(&surface, &held);
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&replaced), 1, "released when replaced before it was latched");

    stage.renderer.hold = true;
    stage.frame();
    put(&surface, &gone);
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&held), 0, "the device reads it");
    let read = stage.renderer.finish();
    read.into_iter().for_each(|id| stage.host.server.state.renderer_released(id));
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&held), 1);

    surface.destroy();
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&gone), 1, "released with its surface");
    for buffer in [&copied, &replaced, &held] {
        assert_eq!(client.releases_of(buffer), 1);
    }
    assert_eq!(stage.host.server.state.core.buffers.held(), 0);
}

#[test]
fn buffer_attached_again_before_it_was_latched_is_released_once() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let buffer = client.buffer(4, 4, RED);
    put(&surface, &buffer);
    client.roundtrip(&mut stage.host);
    put(&surface, &buffer);
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&buffer), 0);
    stage.show(&surface);
    stage.frame();
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&buffer), 1);
}

#[test]
fn scanned_out_buffer_is_kept_until_the_output_lets_go() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let (first, second) = (client.buffer(200, 100, RED), client.buffer(200, 100, GREEN));
    put(&surface, &first);
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.latch();
    let id = stage.scene.elements()[0].buffer.expect("a buffer to scan out");
    assert!(stage.host.server.state.core.buffers.hold_for_scan_out(id));
    put(&surface, &second);
    client.roundtrip(&mut stage.host);
    assert_eq!((client.releases_of(&first), stage.renderer.texture_count()), (0, 0));
    stage.host.server.state.core.buffers.end(id, Holder::ScanOut);
    client.roundtrip(&mut stage.host);
    assert_eq!(client.releases_of(&first), 1);
    stage.frame();
    assert!(!stage.host.server.state.core.buffers.hold_for_scan_out(id), "it is the client's again");
}

#[test]
fn upload_that_fails_keeps_the_old_content_and_is_tried_again() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    put(&surface, &client.buffer(4, 4, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    stage.renderer.fail = Some(|| ImportError::Exhausted { what: "memory", source: None });
    put(&surface, &client.buffer(4, 4, GREEN));
    client.roundtrip(&mut stage.host);
    for _ in 0..2 {
        stage.frame();
        assert_eq!(stage.pixel(), RED);
        stage.latch();
        assert_eq!(stage.damage(0), [Rect::new(0, 0, 4, 4)], "what is not shown yet is still to be painted");
    }
    stage.renderer.fail = None;
    stage.frame();
    assert_eq!(stage.pixel(), GREEN);
    stage.latch();
    assert_eq!(stage.damage(0), []);
}

#[test]
fn first_upload_that_fails_leaves_all_of_the_surface_to_be_painted() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    put(&surface, &client.buffer(4, 4, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.renderer.fail = Some(|| ImportError::Exhausted { what: "memory", source: None });
    stage.frame();
    stage.renderer.fail = None;
    stage.latch();
    stage.tracker.compare(&stage.scene);
    assert!(stage.tracker.is_damaged());
    stage.frame();
    assert_eq!(stage.pixel(), RED);
}

#[test]
fn lost_renderer_gets_every_texture_again() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    put(&surface, &client.buffer(4, 4, RED));
    let image: ImageId = stage.host.server.state.add_image(Size::new(1, 1), &BLUE.to_le_bytes()).unwrap();
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    stage.renderer.fail = Some(|| ImportError::DeviceLost);
    put(&surface, &client.buffer(4, 4, GREEN));
    client.roundtrip(&mut stage.host);
    stage.latch();
    let state = &mut stage.host.server.state;
    assert!(state.upload(stage.output, &mut stage.renderer, &mut stage.scene).is_err());
    state.renderer_lost();
    stage.renderer = Recorder::default();
    stage.tracker = Tracker::new();
    let id = ElementId(1 << 63);
    let cursor = Item::Image { id, image, rect: RectF::new(0.0, 0.0, 1.0, 1.0), role: Role::Cursor };
    let tree = Item::Tree { root: stage.shown[0], x: 0.0, y: 0.0, alpha: 1.0, role: Role::Content };
    let core = &mut stage.host.server.state.core;
    core.latch(stage.output, &[cursor, tree], &stage.tracker, Color::BLACK, &mut stage.scene);
    stage.host.server.state.upload(stage.output, &mut stage.renderer, &mut stage.scene).unwrap();
    assert_eq!(stage.renderer.texture_count(), 2);
    assert_eq!(stage.pixel(), BLUE, "the cursor is in front");
    let Paint::Texture { texture, .. } = stage.scene.elements()[0].paint else { panic!("no texture") };
    assert_eq!(stage.renderer.texel(texture, 0, 0), GREEN);
}
