//! What overlapping elements look like: alpha, order, colours, occlusion.

use transom::domain::buffer::TextureId;
use transom::domain::format::{ARGB8888, XRGB8888};
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::scene::{Color, Element, Paint};
use transom::ports::renderer::Renderer;

use crate::subjects::{assert_alike, each};
use crate::support::picture::{points, rgb};
use crate::support::reference::Reference;
use crate::support::stage::{Holds, buffer, color, element, picture_of, rgba, scene, shown};

const OUTPUT: Size = Size::new(16, 12);
const ALL: Rect = Rect::from_size(OUTPUT);

fn solid(color: Color, dst: Rect) -> Element {
    element(Paint::Solid(color), dst)
}

/// The one colour of a picture that has only one.
fn only_color(renderer: &mut dyn Renderer, background: [u8; 3], elements: &[(Element, Option<Rect>)]) -> [u8; 3] {
    let pixels = picture_of(renderer, &scene(OUTPUT, background, elements));
    let first = rgb(&pixels, Point::default());
    assert!(points(OUTPUT).all(|p| rgb(&pixels, p) == first), "more than one colour");
    first
}

#[track_caller]
fn assert_close(actual: [u8; 3], expected: [u8; 3]) {
    assert!(actual.iter().zip(expected).all(|(a, e)| a.abs_diff(e) <= 1), "{actual:?} instead of {expected:?}");
}

#[test]
fn scene_without_elements_is_its_background() {
    each(|renderer| {
        for background in [[0, 0, 0], [255, 255, 255], [200, 100, 50], [1, 2, 3]] {
            assert_eq!(only_color(renderer, background, &[]), background);
        }
    });
}

#[test]
fn solid_colour_covers_by_its_alpha() {
    each(|renderer| {
        assert_eq!(only_color(renderer, [9, 9, 9], &[(solid(color(rgba([200, 100, 50])), ALL), None)]), [200, 100, 50]);
        let half_red = Color { r: 0.5, g: 0.0, b: 0.0, a: 0.5 };
        assert_close(only_color(renderer, [0, 200, 100], &[(solid(half_red, ALL), None)]), [128, 100, 50]);
        let glow = Color { r: 0.25, g: 0.25, b: 0.0, a: 0.0 };
        assert_close(only_color(renderer, [0, 100, 255], &[(solid(glow, ALL), None)]), [64, 164, 255]);
        let nothing = Color { r: 0.0, g: 0.0, b: 0.0, a: 0.0 };
        assert_eq!(only_color(renderer, [0, 100, 255], &[(solid(nothing, ALL), None)]), [0, 100, 255]);
    });
}

#[test]
fn element_alpha_multiplies_colour_and_coverage() {
    each(|renderer| {
        let (_, buffer) = buffer(ARGB8888, OUTPUT, |_, _| [0.5, 0.25, 0.0, 0.5]);
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &buffer);
        let plain = shown(texture, OUTPUT, Point::default());
        let mut seen = |alpha| only_color(renderer, [0, 0, 200], &[(Element { alpha, ..plain }, None)]);
        assert_close(seen(1.0), [128, 64, 100]);
        assert_close(seen(0.5), [64, 32, 150]);
        assert_eq!(seen(0.0), [0, 0, 200]);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn opaque_part_of_a_translucent_element_hides_nothing() {
    each(|renderer| {
        let behind = solid(color(rgba([255, 0, 0])), ALL);
        let front = Element { alpha: 0.5, ..solid(color(rgba([0, 0, 255])), ALL) };
        let seen = only_color(renderer, [0, 255, 0], &[(behind, Some(ALL)), (front, Some(ALL))]);
        assert_close(seen, [128, 0, 128]);
    });
}

#[test]
fn texture_without_alpha_ignores_the_unused_byte() {
    each(|renderer| {
        let (_, buffer) = buffer(XRGB8888, OUTPUT, |_, _| rgba([10, 20, 30]));
        let pool = crate::support::pool::Memfd::new(&[30, 20, 10, 0].repeat(OUTPUT.area() as usize));
        let zeros = pool.buffer(0, OUTPUT, OUTPUT.w * 4, XRGB8888);
        let mut holds = Holds::default();
        for buffer in [buffer, zeros] {
            let texture = holds.import(renderer, &buffer);
            let plain = shown(texture, OUTPUT, Point::default());
            for opaque in [None, Some(ALL)] {
                assert_eq!(only_color(renderer, [255; 3], &[(plain, opaque)]), [10, 20, 30]);
            }
            renderer.forget(texture);
        }
        holds.settle(renderer);
    });
}

/// Five layers that cover one another: opaque and translucent, textures and colours, each with an honest opaque part.
fn stack(textures: [TextureId; 2]) -> Vec<(Element, Option<Rect>)> {
    let [opaque, holed] = textures;
    let window = Size::new(9, 7);
    let at = |texture, x, y| shown(texture, window, Point::new(x, y));
    let honest = |e: Element| (e, Some(e.dst));
    vec![
        honest(solid(color(rgba([30, 60, 90])), Rect::new(0, 0, 16, 8))),
        honest(at(opaque, 1, 1)),
        (at(holed, 4, 2), Some(Rect::new(4, 2, 4, 7))),
        (solid(Color { r: 0.3, g: 0.0, b: 0.1, a: 0.4 }, Rect::new(2, 3, 12, 2)), None),
        honest(at(opaque, 8, 5)),
        (Element { alpha: 0.75, ..at(opaque, -4, 6) }, Some(Rect::new(-4, 6, 9, 7))),
        (at(holed, 5, -3), Some(Rect::new(5, -3, 4, 7))),
    ]
}

#[test]
fn stack_of_elements_in_any_order_is_the_references() {
    let window = Size::new(9, 7);
    let show = |renderer: &mut dyn Renderer, first: usize| {
        let (_, opaque) = buffer(XRGB8888, window, |x, y| rgba([(x * 28) as u8, (y * 36) as u8, 128]));
        // Opaque in its four left columns.
        let (_, holed) =
            buffer(
                ARGB8888,
                window,
                |x, y| if x < 4 { [0.1, 0.9, 0.2, 1.0] } else { [0.0, 0.1, y as f32 / 20.0, 0.3] },
            );
        let mut holds = Holds::default();
        let textures = [opaque, holed].map(|buffer| holds.import(renderer, &buffer));
        let mut layers = stack(textures);
        layers.rotate_left(first);
        let pixels = picture_of(renderer, &scene(OUTPUT, [80, 0, 80], &layers));
        textures.iter().for_each(|&texture| renderer.forget(texture));
        holds.settle(renderer);
        pixels
    };
    each(|renderer| {
        for first in 0..7 {
            let expected = show(&mut Reference::new(), first);
            assert_alike(&show(renderer, first), &expected, 1, &format!("from {first}"));
        }
    });
}
