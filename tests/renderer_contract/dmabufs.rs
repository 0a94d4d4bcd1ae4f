//! Clients' images sampled in place: every format as it is for wl_shm, content as it is written, holds given back once
//! each, and refusals that leave nothing behind.

use std::collections::BTreeMap;

use transom::domain::buffer::{BufferId, TextureId};
use transom::domain::dmabuf::Modifier;
use transom::domain::format::{ABGR8888, ARGB8888, Fourcc, XRGB8888};
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::scene::Element;
use transom::ports::renderer::{ImportError, RenderError, Renderer};

use crate::subjects::{TOLERANCE, assert_alike, each};
use crate::support::dmabuf::{ClientImage, Place};
use crate::support::picture::rgb;
use crate::support::reference::Reference;
use crate::support::rig;
use crate::support::stage::{capture, new_buffer_id, picture_of, region, render_whole, rgba, scene, settle, shown};
use crate::support::texel::Rgba;

/// Runs `test` on each renderer that imports dma-bufs; the reference always does.
fn each_importer(test: impl Fn(&mut dyn Renderer)) {
    each(|renderer| match renderer.capabilities().dmabuf_pairs.is_empty() {
        true => rig::skip(&renderer.capabilities().device, "the driver imports no dma-bufs"),
        false => test(renderer),
    });
}

fn image(format: Fourcc, size: Size, color: impl Fn(i32, i32) -> Rgba) -> ClientImage {
    ClientImage::new(format, Modifier::LINEAR, size, Place::usual(format, size), color)
}

fn import(renderer: &mut dyn Renderer, image: &ClientImage) -> (TextureId, BufferId) {
    let id = new_buffer_id();
    (renderer.import_dmabuf(&image.dmabuf, id).expect("an import"), id)
}

/// What a drain gives back once all is complete: how often each buffer.
fn given_back(renderer: &mut dyn Renderer) -> BTreeMap<BufferId, u32> {
    let mut back = BTreeMap::new();
    settle(renderer);
    renderer.drain(&mut |id| *back.entry(id).or_default() += 1).expect("a drain");
    back
}

fn slope(x: i32, y: i32) -> Rgba {
    [x as f32 / 15.0, y as f32 / 7.0, (x + y) as f32 / 22.0, 1.0]
}

fn translucent(x: i32, y: i32) -> Rgba {
    let alpha = (x + 1) as f32 / 16.0;
    [alpha * y as f32 / 7.0, 0.0, alpha, alpha]
}

/// The scene of one image, and its opaque part where it has one.
fn one(texture: TextureId, size: Size, opaque: bool) -> (Element, Option<Rect>) {
    (shown(texture, size, Point::new(2, 1)), opaque.then(|| Rect::at(Point::new(2, 1), size)))
}

#[test]
fn client_image_of_every_format_on_offer_shows_what_the_reference_shows() {
    each_importer(|renderer| {
        let (size, output) = (Size::new(16, 8), Size::new(20, 10));
        let pairs = renderer.capabilities().dmabuf_pairs.clone();
        let linear = pairs.iter().filter(|pair| [Modifier::LINEAR, Modifier::INVALID].contains(&pair.modifier));
        let mut seen = 0;
        for pair in linear.filter(|pair| pair.format.info().is_some()) {
            let has_alpha = pair.format.info().is_some_and(|info| info.has_alpha());
            let color = if has_alpha { translucent } else { slope };
            let place = Place::usual(pair.format, size);
            let image = ClientImage::new(pair.format, pair.modifier, size, place, color);
            let mut reference = Reference::new();
            let [actual, expected] = [&mut *renderer, &mut reference as &mut dyn Renderer].map(|renderer| {
                let (texture, _) = import(renderer, &image);
                let picture = picture_of(renderer, &scene(output, [9, 99, 199], &[one(texture, size, !has_alpha)]));
                renderer.forget(texture);
                picture
            });
            assert_alike(&actual, &expected, TOLERANCE, &format!("{pair:?}"));
            seen += 1;
        }
        assert!(seen >= 2, "only {seen} pairs on offer");
    });
}

#[test]
fn client_image_off_the_start_of_its_memory_shows_what_is_there() {
    each_importer(|renderer| {
        let (size, output) = (Size::new(16, 8), Size::new(20, 10));
        let place = Place { offset: 4096, stride: 512 };
        let image = ClientImage::new(XRGB8888, Modifier::LINEAR, size, place, slope);
        let id = new_buffer_id();
        // A driver without modifiers chooses the stride itself and may refuse this one.
        let texture = match renderer.import_dmabuf(&image.dmabuf, id) {
            Ok(texture) => texture,
            Err(ImportError::Unsupported { reason }) => {
                return rig::skip(&renderer.capabilities().device, &format!("an offset or a padded stride: {reason}"));
            }
            Err(error) => panic!("{error}"),
        };
        let mut reference = Reference::new();
        let (other, _) = import(&mut reference, &image);
        let expected = picture_of(&mut reference, &scene(output, [9, 99, 199], &[one(other, size, true)]));
        let actual = picture_of(renderer, &scene(output, [9, 99, 199], &[one(texture, size, true)]));
        assert_alike(&actual, &expected, TOLERANCE, "offset 4096, stride 512");
        renderer.forget(texture);
    });
}

#[test]
fn client_image_written_between_frames_is_shown_as_it_is_by_then() {
    each_importer(|renderer| {
        let (size, output) = (Size::new(16, 8), Size::new(20, 10));
        for opaque in [true, false] {
            let image = image(if opaque { XRGB8888 } else { ARGB8888 }, size, |_, _| rgba([1, 2, 3]));
            let (texture, _) = import(renderer, &image);
            let scene = scene(output, [0; 3], &[one(texture, size, opaque)]);
            let target = renderer.create_offscreen(output).unwrap();
            for n in 0..10u8 {
                let color = [n * 20, 255 - n, n];
                image.paint(|_, _| rgba(color));
                render_whole(renderer, target, &scene);
                let picture = capture(renderer, target, Rect::from_size(output));
                assert_eq!(rgb(&picture, Point::new(2, 1)), color, "frame {n}");
                assert_eq!(rgb(&picture, Point::new(17, 8)), color, "frame {n}");
                assert_eq!(rgb(&picture, Point::new(18, 8)), [0; 3], "frame {n}");
            }
            renderer.destroy_target(target);
            renderer.forget(texture);
        }
    });
}

#[test]
fn client_images_twice_in_a_frame_and_on_two_targets_are_shown_everywhere() {
    each_importer(|renderer| {
        let (size, output) = (Size::new(16, 8), Size::new(40, 10));
        let opaque = image(XRGB8888, size, |_, _| rgba([200, 0, 0]));
        let veil = image(ABGR8888, size, |_, _| [0.0, 0.5, 0.0, 0.5]);
        let [(below, _), (above, _)] = [&opaque, &veil].map(|image| import(renderer, image));
        let at = |x: i32| Point::new(x, 1);
        let solid = |x: i32| (shown(below, size, at(x)), Some(Rect::at(at(x), size)));
        let scene = scene(output, [0; 3], &[solid(1), solid(20), (shown(above, size, at(20)), None)]);
        let targets = [(); 2].map(|()| renderer.create_offscreen(output).unwrap());
        for target in targets {
            render_whole(renderer, target, &scene);
        }
        for target in targets {
            let picture = capture(renderer, target, Rect::from_size(output));
            assert_eq!(rgb(&picture, at(1)), [200, 0, 0]);
            let [r, g, b] = rgb(&picture, at(20));
            assert!((99..=101).contains(&r) && (127..=128).contains(&g) && b == 0, "{r} {g} {b}");
            renderer.destroy_target(target);
        }
        [below, above].into_iter().for_each(|texture| renderer.forget(texture));
    });
}

#[test]
fn client_buffer_is_given_back_once_for_each_time_that_a_scene_named_it() {
    each_importer(|renderer| {
        let (size, output) = (Size::new(16, 8), Size::new(20, 10));
        let image = image(XRGB8888, size, slope);
        let (texture, id) = import(renderer, &image);
        let twice = scene(output, [0; 3], &[one(texture, size, true), one(texture, size, true)]);
        let target = renderer.create_offscreen(output).unwrap();
        assert!(given_back(renderer).is_empty(), "given back though no frame read it");
        for _ in 0..3 {
            render_whole(renderer, target, &twice);
        }
        assert_eq!(given_back(renderer), BTreeMap::from([(id, 6)]));
        // Forgotten in flight.
        render_whole(renderer, target, &twice);
        renderer.forget(texture);
        assert_eq!(given_back(renderer), BTreeMap::from([(id, 2)]));
        renderer.destroy_target(target);
    });
}

#[test]
fn client_buffer_of_a_frame_that_failed_is_given_back_all_the_same() {
    each_importer(|renderer| {
        let (size, output) = (Size::new(16, 8), Size::new(20, 10));
        let image = image(XRGB8888, size, slope);
        let (texture, id) = import(renderer, &image);
        let target = renderer.create_offscreen(Size::new(21, 10)).unwrap();
        renderer.acquire(target).unwrap();
        let scene = scene(output, [0; 3], &[one(texture, size, true)]);
        let failed = renderer.render(target, &scene, &region(Rect::from_size(output)));
        assert!(matches!(failed, Err(RenderError::OutOfDate)), "{failed:?}");
        assert_eq!(given_back(renderer), BTreeMap::from([(id, 1)]));
        renderer.destroy_target(target);
        renderer.forget(texture);
    });
}

#[test]
fn client_images_in_a_steady_frame_cost_two_barrier_calls_and_no_object() {
    each_importer(|renderer| {
        let size = Size::new(16, 8);
        let images = [(); 8].map(|()| image(XRGB8888, size, slope));
        let textures = images.each_ref().map(|image| import(renderer, image).0);
        let at = |n: usize| Point::new(n as i32 % 4 * 16, n as i32 / 4 * 8);
        let tiled: Vec<_> =
            (0..).zip(textures).map(|(n, t)| (shown(t, size, at(n)), Some(Rect::at(at(n), size)))).collect();
        let scene = scene(Size::new(64, 16), [0; 3], &tiled);
        let target = renderer.create_offscreen(scene.size()).unwrap();
        for n in 0..20 {
            let ticket = render_whole(renderer, target, &scene);
            settle(renderer);
            renderer.drain(&mut |_| ()).unwrap();
            let cost = ticket.cost;
            if n > 4 {
                assert!(cost.submits == 1 && cost.barrier_calls <= 2, "{cost:?}");
                assert_eq!((cost.objects_created, cost.objects_destroyed, cost.descriptor_writes), (0, 0, 0));
                assert_eq!((cost.staging_cpu_bytes, cost.staging_gpu_bytes, cost.host_copy_cpu_bytes), (0, 0, 0));
            }
        }
        renderer.destroy_target(target);
        textures.into_iter().for_each(|texture| renderer.forget(texture));
    });
}

#[test]
fn client_image_that_cannot_be_is_refused_and_leaves_nothing() {
    each_importer(|renderer| {
        let size = Size::new(16, 8);
        let image = image(XRGB8888, size, slope);
        let place = Place::usual(XRGB8888, size);
        let before = renderer.holdings();
        let tall = Size::new(16, 4000);
        let refused = [
            ("a modifier that is not on offer", image.again(XRGB8888, Modifier(0x0123_4567), size, place)),
            ("more rows than there is memory", image.again(XRGB8888, Modifier::LINEAR, tall, place)),
            (
                "an offset past the memory",
                image.again(XRGB8888, Modifier::LINEAR, size, Place { offset: 1 << 30, ..place }),
            ),
            (
                "more than the device's greatest side",
                image.again(XRGB8888, Modifier::LINEAR, Size::new(1 << 20, 1), Place { stride: 4 << 20, ..place }),
            ),
        ];
        for (what, dmabuf) in refused {
            let result = renderer.import_dmabuf(&dmabuf, new_buffer_id());
            assert!(matches!(result, Err(ImportError::Unsupported { .. })), "{what}: {result:?}");
            assert_eq!(renderer.holdings(), before, "{what}");
        }
    });
}

#[test]
fn client_images_made_and_forgotten_a_thousand_times_leave_no_descriptor() {
    each_importer(|renderer| {
        let size = Size::new(16, 8);
        let image = image(XRGB8888, size, slope);
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let (before, held) = (descriptors(), renderer.holdings());
        for _ in 0..1000 {
            let (texture, _) = import(renderer, &image);
            renderer.forget(texture);
        }
        settle(renderer);
        renderer.drain(&mut |_| ()).unwrap();
        assert_eq!(renderer.holdings().textures, held.textures);
        // The harness and the driver have a few of their own that come and go.
        assert!(descriptors() <= before + 4, "{before} descriptors before, {} after", descriptors());
    });
}
