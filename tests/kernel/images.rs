//! Clients' images from the protocol to the picture.

use transom::domain::dmabuf::Modifier;
use transom::domain::fence::Policy;
use transom::domain::geometry::{Point, Size};
use transom::ports::renderer::Renderer;
use wayland_client::Proxy;

use crate::support::dmabuf::{ClientImage, Place};
use crate::support::picture::rgb;
use crate::support::stage::rgba;
use crate::{buffer, on_stage, plain, put};

#[test]
fn image_of_a_client_is_on_screen_without_a_copy_and_released_once_replaced() {
    on_stage(Policy::Auto, |stage, client| {
        let images = [plain([200, 0, 0]), plain([0, 0, 200])];
        let buffers = images.each_ref().map(|image| buffer(stage, client, image));
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 4.0);
        let before = stage.renderer.counters();
        for (n, color) in [(0, [200, 0, 0]), (1, [0, 0, 200]), (0, [200, 0, 0]), (1, [0, 0, 200])] {
            put(&surface, &buffers[n]);
            client.roundtrip(&mut stage.host);
            stage.frame();
            assert_eq!(stage.color_at(4), color);
            stage.drain();
            client.roundtrip(&mut stage.host);
            assert_eq!(
                client.releases_of(&buffers[n]),
                client.events.released.len() - client.releases_of(&buffers[1 - n])
            );
        }
        let spent = stage.renderer.counters().since(&before);
        assert_eq!((spent.staging_cpu_bytes, spent.staging_gpu_bytes, spent.host_copy_cpu_bytes), (0, 0, 0));
        // Each was released when the other had taken its place; the last one is still shown.
        assert_eq!((client.releases_of(&buffers[0]), client.releases_of(&buffers[1])), (2, 1));
        assert!(buffers.iter().all(|buffer| buffer.is_alive()));
    });
}

#[test]
fn image_of_every_pair_on_offer_shows_its_colours() {
    on_stage(Policy::Auto, |stage, client| {
        let pairs = stage.renderer.capabilities().dmabuf_pairs.clone();
        assert!(pairs.iter().any(|pair| pair.modifier == Modifier::LINEAR), "nothing linear on offer");
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        let size = Size::new(16, 16);
        let linear = |modifier| [Modifier::LINEAR, Modifier::INVALID].contains(&modifier);
        for pair in pairs.iter().filter(|pair| pair.format.info().is_some() && linear(pair.modifier)) {
            // Where modifiers are explicit, any stride and offset must do.
            let place = match pair.modifier {
                Modifier::LINEAR => Place { offset: 4096, stride: Place::usual(pair.format, size).stride + 64 },
                _ => Place::usual(pair.format, size),
            };
            let image = ClientImage::new(pair.format, pair.modifier, size, place, |x, _| {
                if x < 8 { [1.0, 0.0, 0.0, 1.0] } else { rgba([255, 255, 255]) }
            });
            let buffer = buffer(stage, client, &image);
            put(&surface, &buffer);
            client.roundtrip(&mut stage.host);
            stage.frame();
            let picture = stage.picture();
            let channels =
                pair.format.info().map(|info| info.channels.map(|channel| channel.bits > 0)).unwrap_or_default();
            let white = [0, 1, 2].map(|c| if channels[c] { 255 } else { 0 });
            assert_eq!(rgb(&picture, Point::new(0, 0)), [255, 0, 0], "{pair:?}");
            assert_eq!(rgb(&picture, Point::new(15, 15)), white, "{pair:?}");
            buffer.destroy();
            client.roundtrip(&mut stage.host);
            stage.drain();
        }
    });
}

#[test]
fn buffers_made_shown_and_destroyed_leave_nothing() {
    on_stage(Policy::Auto, |stage, client| {
        let surface = client.surface();
        client.roundtrip(&mut stage.host);
        stage.show(&surface, 0.0);
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let mut before = None;
        for n in 0..200u8 {
            let image = plain([n, 0, 0]);
            let buffer = buffer(stage, client, &image);
            put(&surface, &buffer);
            client.roundtrip(&mut stage.host);
            stage.frame();
            buffer.destroy();
            surface.attach(None, 0, 0);
            surface.commit();
            client.roundtrip(&mut stage.host);
            stage.drain();
            stage.host.server.state.forget_garbage(&mut stage.renderer);
            stage.drain();
            drop(image);
            let now = (descriptors(), stage.renderer.holdings().textures, stage.renderer.holdings().vulkan_objects);
            if n == 20 {
                before = Some(now);
            } else if n > 20 {
                assert_eq!(Some(now), before, "after {n}");
            }
        }
    });
}
