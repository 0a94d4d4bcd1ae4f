//! Surfaces: damage, sub-surfaces, viewports, scales.

use transom::domain::geometry::{Rect, RectF};
use transom::domain::scene::Paint;
use wayland_client::Proxy;
use wayland_client::protocol::{wl_output, wl_subcompositor, wl_surface};
use wayland_protocols::wp::alpha_modifier::v1::client::wp_alpha_modifier_v1::WpAlphaModifierV1;
use wayland_protocols::wp::fractional_scale::v1::client::wp_fractional_scale_manager_v1::WpFractionalScaleManagerV1;
use wayland_protocols::wp::single_pixel_buffer::v1::client::wp_single_pixel_buffer_manager_v1 as single_pixel;
use wayland_protocols::wp::viewporter::client::wp_viewporter::WpViewporter;

use crate::support::client::{Client, Host};
use crate::support::recorder::Call;
use crate::{BLUE, GREEN, RED, Stage, put};

#[test]
fn damage_beyond_the_buffer_is_clipped_to_it() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    put(&surface, &client.buffer(64, 64, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    surface.attach(Some(&client.buffer(64, 64, GREEN)), 0, 0);
    surface.damage_buffer(60, 60, 1000, 1000);
    surface.damage_buffer(-5, -5, 6, 6);
    surface.damage_buffer(64, 0, 5, 5);
    surface.damage(i32::MIN, i32::MIN, i32::MAX, i32::MAX);
    surface.damage(0, 0, -1, -1);
    surface.commit();
    client.roundtrip(&mut stage.host);
    stage.frame();
    let damage = vec![Rect::new(60, 60, 4, 4), Rect::new(0, 0, 1, 1)];
    assert_eq!(stage.renderer.calls.last(), Some(&Call::Update(stage.texture(), damage.clone())));
    assert_eq!(stage.damage(0), damage);
}

#[test]
fn damage_of_a_larger_buffer_before_a_smaller_one_is_forgotten() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    put(&surface, &client.buffer(64, 64, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    put(&surface, &client.buffer(64, 64, GREEN));
    put(&surface, &client.buffer(8, 8, BLUE));
    client.roundtrip(&mut stage.host);
    let old = stage.texture();
    stage.frame();
    assert_eq!((stage.pixel(), stage.damage(0)), (BLUE, vec![Rect::new(0, 0, 8, 8)]));
    assert_eq!(stage.renderer.texture_count(), 1, "the texture of the old size is gone");
    assert!(stage.renderer.calls.contains(&Call::Forget(old)));
}

/// As weston-simple-damage --rotating-transform does: the surface looks the same but for a spot, its buffer does not.
#[test]
fn buffer_that_is_turned_or_cropped_anew_is_read_whole_whatever_its_damage() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let viewport = client.bind::<WpViewporter>().get_viewport(&surface, &client.handle, ());
    put(&surface, &client.buffer(64, 64, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    let changes: [&dyn Fn(); 4] = [
        &|| surface.set_buffer_transform(wl_output::Transform::_180),
        &|| surface.set_buffer_scale(2),
        &|| viewport.set_source(0.0, 0.0, 16.0, 16.0),
        &|| viewport.set_source(1.0, 0.0, 16.0, 16.0),
    ];
    for change in changes {
        change();
        surface.attach(Some(&client.buffer(64, 64, GREEN)), 0, 0);
        surface.damage(0, 0, 1, 1);
        surface.commit();
        client.roundtrip(&mut stage.host);
        stage.frame();
        let whole = vec![Rect::new(0, 0, 64, 64)];
        assert_eq!(stage.renderer.calls.last(), Some(&Call::Update(stage.texture(), whole)));
    }
    let damaged_texels = |stage: &mut Stage, client: &mut Client, color| {
        surface.attach(Some(&client.buffer(64, 64, color)), 0, 0);
        surface.damage(0, 0, 1, 1);
        surface.commit();
        client.roundtrip(&mut stage.host);
        stage.frame();
        let Some(Call::Update(_, damage)) = stage.renderer.calls.last() else { panic!("no update") };
        damage.iter().map(|rect| rect.w * rect.h).sum::<i32>()
    };
    // Cropped as before: what is outside of the crop may be shown next, and the damage does not tell of it.
    assert_eq!(damaged_texels(&mut stage, &mut client, BLUE), 64 * 64);
    viewport.set_source(-1.0, -1.0, -1.0, -1.0);
    assert_eq!(damaged_texels(&mut stage, &mut client, RED), 64 * 64, "the crop changed");
    assert_eq!(damaged_texels(&mut stage, &mut client, GREEN), 4, "one texel of the surface");
}

#[test]
fn ten_thousand_damage_rectangles_become_few_that_hold_them() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    put(&surface, &client.buffer(64, 64, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    surface.attach(Some(&client.buffer(64, 64, GREEN)), 0, 0);
    for i in 0..10_000 {
        surface.damage_buffer(i % 61, (i / 61) % 61, 3, 3);
        if i % 500 == 0 {
            client.exchange(&mut stage.host);
        }
    }
    surface.commit();
    client.roundtrip(&mut stage.host);
    stage.frame();
    let Some(Call::Update(_, rects)) = stage.renderer.calls.last() else { panic!("no update") };
    assert!(rects.len() <= 64, "{} rectangles", rects.len());
    assert_eq!(rects.iter().fold(Rect::default(), |hull, r| hull.hull(*r)), Rect::new(0, 0, 63, 63));
}

#[test]
fn synchronised_subsurface_shows_its_content_with_its_parents_surface_commit() {
    let (mut stage, mut client) = Stage::new();
    let (parent, child) = (client.surface(), client.surface());
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let role = subcompositor.get_subsurface(&child, &parent, &client.handle, ());
    role.set_position(10, 20);
    put(&child, &client.buffer(4, 4, RED));
    put(&parent, &client.buffer(64, 64, BLUE));
    client.roundtrip(&mut stage.host);
    stage.show(&parent);
    stage.frame();
    assert_eq!(stage.scene.elements().len(), 2);
    assert_eq!((stage.pixel(), stage.scene.elements()[1].dst), (RED, Rect::new(10, 20, 4, 4)));

    put(&child, &client.buffer(4, 4, GREEN));
    role.set_position(11, 21);
    role.place_below(&parent);
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!((stage.pixel(), stage.scene.elements()[1].dst), (RED, Rect::new(10, 20, 4, 4)), "too early");

    parent.commit();
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!(stage.scene.elements()[0].dst, Rect::new(11, 21, 4, 4));

    role.place_above(&parent);
    role.set_desync();
    parent.commit();
    put(&child, &client.buffer(4, 4, BLUE));
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!(stage.pixel(), BLUE, "a desynchronised one waits for nobody");

    role.destroy();
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!(stage.scene.elements().len(), 1, "gone at once");
}

#[test]
fn parents_surface_commit_takes_no_state_that_the_child_has_not_committed() {
    let (mut stage, mut client) = Stage::new();
    let (parent, child) = (client.surface(), client.surface());
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    subcompositor.get_subsurface(&child, &parent, &client.handle, ());
    put(&child, &client.buffer(4, 4, RED));
    put(&parent, &client.buffer(64, 64, BLUE));
    client.roundtrip(&mut stage.host);
    stage.show(&parent);
    stage.frame();
    let pending = client.frame(&child);
    child.attach(Some(&client.buffer(8, 8, GREEN)), 0, 0);
    child.set_buffer_scale(2);
    child.damage_buffer(0, 0, 8, 8);
    parent.commit();
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!((stage.pixel(), stage.scene.elements()[1].dst), (RED, Rect::new(0, 0, 4, 4)));
    child.commit();
    parent.commit();
    client.roundtrip(&mut stage.host);
    stage.frame();
    stage.host.server.state.frame_done(stage.output, stage.host.now);
    client.roundtrip(&mut stage.host);
    assert_eq!((stage.pixel(), stage.scene.elements()[1].dst), (GREEN, Rect::new(0, 0, 4, 4)));
    assert!(client.is_done(pending));
}

#[test]
fn subsurface_made_desynchronised_shows_what_it_committed_before() {
    let (mut stage, mut client) = Stage::new();
    let (parent, child) = (client.surface(), client.surface());
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let role = subcompositor.get_subsurface(&child, &parent, &client.handle, ());
    put(&child, &client.buffer(4, 4, RED));
    put(&parent, &client.buffer(64, 64, BLUE));
    client.roundtrip(&mut stage.host);
    stage.show(&parent);
    stage.frame();
    put(&child, &client.buffer(4, 4, GREEN));
    child.attach(Some(&client.buffer(4, 4, BLUE)), 0, 0);
    role.set_desync();
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!(stage.pixel(), GREEN, "what it committed, not what is pending");
    child.damage_buffer(0, 0, 4, 4);
    child.commit();
    client.roundtrip(&mut stage.host);
    stage.frame();
    assert_eq!(stage.pixel(), BLUE);
}

#[test]
fn surface_commits_without_end_that_wait_for_a_parent_are_an_error() {
    let mut host = Host::new();
    let mut client = host.connect();
    let (parent, child) = (client.surface(), client.surface());
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    subcompositor.get_subsurface(&child, &parent, &client.handle, ());
    for i in 0..10_000 {
        child.commit();
        if i % 1000 == 0 {
            client.exchange(&mut host);
        }
    }
    client.expect_no_memory(&mut host);
}

#[test]
fn subsurfaces_nested_too_deep_are_an_error_and_no_overflow() {
    let mut host = Host::new();
    let mut client = host.connect();
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let mut parent = client.surface();
    for _ in 0..40 {
        let child = client.surface();
        subcompositor.get_subsurface(&child, &parent, &client.handle, ());
        parent = child;
    }
    let code = wl_subcompositor::Error::BadSurface as u32;
    assert_eq!(client.expect_error(&mut host), ("wl_subcompositor".into(), code));
}

#[test]
fn subsurface_placed_above_itself_is_an_error() {
    let mut host = Host::new();
    let mut client = host.connect();
    let (parent, child) = (client.surface(), client.surface());
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let role = subcompositor.get_subsurface(&child, &parent, &client.handle, ());
    role.place_above(&child);
    assert_eq!(client.expect_error(&mut host).0, "wl_subsurface");
}

#[test]
fn viewport_outside_its_buffer_is_an_error_and_inside_it_crops() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let viewport = client.bind::<WpViewporter>().get_viewport(&surface, &client.handle, ());
    viewport.set_source(8.0, 0.0, 4.0, 2.5);
    viewport.set_destination(40, 50);
    put(&surface, &client.buffer(16, 16, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    let element = stage.scene.elements()[0];
    assert_eq!(element.dst, Rect::new(0, 0, 40, 50));
    let Paint::Texture { source, .. } = element.paint else { panic!("no texture") };
    assert_eq!(source, RectF::new(8.0, 0.0, 4.0, 2.5));

    put(&surface, &client.buffer(10, 16, RED));
    assert_eq!(client.expect_error(&mut stage.host), ("wp_viewport".into(), 2)); // out_of_buffer
}

#[test]
fn viewport_with_a_fractional_source_and_no_destination_is_bad_size() {
    let mut host = Host::new();
    let mut client = host.connect();
    let surface = client.surface();
    let viewport = client.bind::<WpViewporter>().get_viewport(&surface, &client.handle, ());
    viewport.set_source(0.0, 0.0, 4.5, 4.0);
    put(&surface, &client.buffer(16, 16, RED));
    assert_eq!(client.expect_error(&mut host), ("wp_viewport".into(), 1)); // bad_size
}

#[test]
fn buffer_that_is_no_multiple_of_its_scale_is_invalid_size() {
    let mut host = Host::new();
    let mut client = host.connect();
    let surface = client.surface();
    surface.set_buffer_scale(2);
    put(&surface, &client.buffer(5, 4, RED));
    let code = wl_surface::Error::InvalidSize as u32;
    assert_eq!(client.expect_error(&mut host), ("wl_surface".into(), code));
}

#[test]
fn single_pixel_buffer_is_a_colour_and_no_texture() {
    let (mut stage, mut client) = Stage::new();
    let surface = client.surface();
    let half = u32::MAX / 2;
    let manager = client.bind::<single_pixel::WpSinglePixelBufferManagerV1>();
    let buffer = manager.create_u32_rgba_buffer(half, 0, u32::MAX, half, &client.handle, ());
    let viewport = client.bind::<WpViewporter>().get_viewport(&surface, &client.handle, ());
    viewport.set_destination(30, 20);
    let modifier = client.bind::<WpAlphaModifierV1>().get_surface(&surface, &client.handle, ());
    modifier.set_multiplier(u32::MAX / 4);
    put(&surface, &buffer);
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    let element = stage.scene.elements()[0];
    assert_eq!(element.dst, Rect::new(0, 0, 30, 20));
    assert!((element.alpha - 0.25).abs() < 0.001);
    let Paint::Solid(color) = element.paint else { panic!("no colour") };
    assert!((color.r - 0.5).abs() < 0.001 && color.b <= color.a, "premultiplied whatever the client says");
    assert_eq!((client.releases_of(&buffer), stage.renderer.texture_count()), (1, 0));
}

#[test]
fn surface_at_a_fractional_scale_is_told_and_meets_its_neighbours() {
    let (mut stage, mut client) = Stage::at_scale(1.25);
    let surface = client.surface();
    let fractional = client.bind::<WpFractionalScaleManagerV1>().get_fractional_scale(&surface, &client.handle, ());
    put(&surface, &client.buffer(7, 7, RED));
    client.roundtrip(&mut stage.host);
    stage.show(&surface);
    stage.frame();
    client.roundtrip(&mut stage.host);
    assert_eq!(client.events.fractional[&fractional.id()], 150);
    assert_eq!(client.events.preferred_scale[&surface.id()], 2);
    assert_eq!(stage.scene.elements()[0].dst, Rect::new(0, 0, 9, 9));
    client.bind::<wl_output::WlOutput>();
    client.roundtrip(&mut stage.host);
    stage.frame();
    client.roundtrip(&mut stage.host);
    assert_eq!(client.events.presence[&surface.id()], 1);
    stage.shown.clear();
    stage.frame();
    client.roundtrip(&mut stage.host);
    assert_eq!(client.events.presence[&surface.id()], 0);
}
