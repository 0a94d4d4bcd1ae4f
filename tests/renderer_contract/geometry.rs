//! Where texels land: strides, offsets, transforms, crops, scales, edges.

use transom::domain::buffer::TextureId;
use transom::domain::format::{ARGB8888, Fourcc, XRGB8888};
use transom::domain::geometry::{Point, Rect, RectF, Size};
use transom::domain::scene::{Element, Filter, Paint};
use transom::domain::transform::Transform;
use transom::ports::renderer::{Pixels, Renderer};

use crate::subjects::{TOLERANCE, assert_alike, each};
use crate::support::picture::{points, rgb};
use crate::support::reference::Reference;
use crate::support::stage::{Holds, buffer, buffer_at, color, element, picture_of, reshaped, rgba, scene, shown};

const SIZE: Size = Size::new(5, 3);
const GROUND: [u8; 3] = [7, 7, 7];

/// A colour of its own for each texel.
fn own_color(x: i32, y: i32) -> [u8; 3] {
    [(x * 40 + 50) as u8, (y * 60 + 60) as u8, ((x * 3 + y * 5) * 11 % 256) as u8]
}

/// Runs `test` with a texture of those colours.
fn with_texture(renderer: &mut dyn Renderer, size: Size, test: impl FnOnce(&mut dyn Renderer, TextureId)) {
    let (_, buffer) = buffer(XRGB8888, size, |x, y| rgba(own_color(x, y)));
    let mut holds = Holds::default();
    let texture = holds.import(renderer, &buffer);
    test(renderer, texture);
    renderer.forget(texture);
    holds.settle(renderer);
}

/// The picture of one element on an output of `size`, which must be the same drawn and as an opaque element.
fn picture(renderer: &mut dyn Renderer, size: Size, element: Element) -> Pixels {
    let drawn = picture_of(renderer, &scene(size, GROUND, &[(element, None)]));
    let opaque = picture_of(renderer, &scene(size, GROUND, &[(element, Some(element.dst))]));
    assert_alike(&opaque, &drawn, 0, "opaque");
    drawn
}

#[track_caller]
fn assert_pixels(pixels: &Pixels, what: &str, expected: impl Fn(Point) -> [u8; 3]) {
    for p in points(pixels.size) {
        assert_eq!(rgb(pixels, p), expected(p), "{what} at {p:?}");
    }
}

#[test]
fn texels_at_any_offset_and_stride_are_found() {
    each(|renderer| {
        for code in [XRGB8888, Fourcc::new(b"RG16"), Fourcc::new(b"AB4H")] {
            let texel = code.info().unwrap().texel_bytes as i32;
            for place in [(0, 0), (1, 0), (2, texel), (3, 3 * texel), (4096, 64 * texel), (4097, 1000 * texel)] {
                // Colours that five bits hold exactly.
                let color = |x: i32, y: i32| {
                    [if x == y { 255 } else { 0 }, if x > y { 255 } else { 0 }, if x % 2 == 0 { 255 } else { 0 }]
                };
                let (_, buffer) = buffer_at(code, SIZE, place, |x, y| rgba(color(x, y)));
                let mut holds = Holds::default();
                let texture = holds.import(renderer, &buffer);
                let pixels = picture(renderer, SIZE, shown(texture, SIZE, Point::default()));
                assert_pixels(&pixels, &format!("{code} at {place:?}"), |p| color(p.x, p.y));
                renderer.forget(texture);
                holds.settle(renderer);
            }
        }
    });
}

#[test]
fn texels_of_each_transform_go_where_it_says() {
    each(|renderer| {
        with_texture(renderer, SIZE, |renderer, texture| {
            for transform in Transform::ALL {
                let turned = transform.apply_size(SIZE);
                let dst = Rect::at(Point::new(2, 1), turned);
                let plain = shown(texture, SIZE, Point::default());
                for filter in [Filter::Nearest, Filter::Linear] {
                    let element = reshaped(Element { dst, ..plain }, Rect::from_size(SIZE).to_f64(), transform, filter);
                    let pixels = picture(renderer, Size::new(9, 8), element);
                    let mut expected = vec![GROUND; 72];
                    for p in points(SIZE) {
                        let there = transform.apply_rect(Rect::new(p.x, p.y, 1, 1), SIZE).translated(dst.origin());
                        expected[(there.y * 9 + there.x) as usize] = own_color(p.x, p.y);
                    }
                    let what = format!("{transform:?}, {filter:?}");
                    assert_pixels(&pixels, &what, |p| expected[(p.y * 9 + p.x) as usize]);
                }
            }
        });
    });
}

#[test]
fn texels_of_a_crop_are_those_of_the_source() {
    each(|renderer| {
        with_texture(renderer, SIZE, |renderer, texture| {
            for transform in Transform::ALL {
                let source = Rect::new(1, 1, 3, 2);
                let turned = transform.apply_size(source.size());
                let element = Element { dst: Rect::from_size(turned), ..shown(texture, SIZE, Point::default()) };
                let pixels = picture(renderer, turned, reshaped(element, source.to_f64(), transform, Filter::Linear));
                assert_pixels(&pixels, &format!("{transform:?}"), |p| {
                    let from = transform.inverse().apply_rect(Rect::new(p.x, p.y, 1, 1), turned);
                    own_color(from.x + 1, from.y + 1)
                });
            }
        });
    });
}

#[test]
fn texels_enlarged_by_the_nearest_filter_are_blocks() {
    each(|renderer| {
        with_texture(renderer, SIZE, |renderer, texture| {
            let large = Size::new(SIZE.w * 3, SIZE.h * 3);
            let element = Element { dst: Rect::from_size(large), ..shown(texture, SIZE, Point::default()) };
            let element = reshaped(element, Rect::from_size(SIZE).to_f64(), Transform::Normal, Filter::Nearest);
            let pixels = picture(renderer, large, element);
            assert_pixels(&pixels, "threefold", |p| own_color(p.x / 3, p.y / 3));
        });
    });
}

#[test]
fn texels_enlarged_by_the_linear_filter_mix_with_their_neighbours_alone() {
    each(|renderer| {
        let (_, buffer) =
            buffer(XRGB8888, Size::new(4, 1), |x, _| rgba([[255; 3], [0; 3], [200; 3], [255; 3]][x as usize]));
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &buffer);
        let element = Element { dst: Rect::new(0, 0, 4, 1), ..shown(texture, SIZE, Point::default()) };
        let middle = RectF::new(1.0, 0.0, 2.0, 1.0);
        let element = reshaped(element, middle, Transform::Normal, Filter::Linear);
        let pixels = picture_of(renderer, &scene(Size::new(4, 1), GROUND, &[(element, None)]));
        let seen = [0, 1, 2, 3].map(|x| rgb(&pixels, Point::new(x, 0))[0]);
        for (seen, expected) in seen.into_iter().zip([0, 50, 150, 200]) {
            assert!(seen.abs_diff(expected) <= TOLERANCE, "{seen} instead of {expected}");
        }
        renderer.forget(texture);
        holds.settle(renderer);
    });
}

#[test]
fn texels_of_fractional_sources_and_scales_are_the_references() {
    let size = Size::new(12, 10);
    let show = |renderer: &mut dyn Renderer, source: RectF, dst: Rect, transform: Transform, filter: Filter| {
        let mut pixels = None;
        with_texture(renderer, size, |renderer, texture| {
            let element = reshaped(Element { dst, ..shown(texture, size, dst.origin()) }, source, transform, filter);
            pixels = Some(picture_of(renderer, &scene(Size::new(40, 30), GROUND, &[(element, None)])));
        });
        pixels.unwrap()
    };
    let cases = [
        (RectF::new(0.0, 0.0, 12.0, 10.0), Rect::new(3, 4, 15, 13)),
        (RectF::new(0.25, 0.75, 11.5, 8.5), Rect::new(0, 0, 40, 30)),
        (RectF::new(3.3, 2.7, 4.9, 5.1), Rect::new(-5, -3, 31, 27)),
        (RectF::new(0.0, 0.0, 12.0, 10.0), Rect::new(1, 1, 7, 6)),
        (RectF::new(5.1, 5.1, 0.6, 0.6), Rect::new(2, 2, 20, 20)),
    ];
    each(|renderer| {
        for (source, dst) in cases {
            for transform in Transform::ALL {
                for filter in [Filter::Linear, Filter::Nearest] {
                    let expected = show(&mut Reference::new(), source, dst, transform, filter);
                    let actual = show(renderer, source, dst, transform, filter);
                    let what = format!("{source:?} at {dst:?}, {transform:?}, {filter:?}");
                    assert_alike(&actual, &expected, TOLERANCE, &what);
                }
            }
        }
    });
}

#[test]
fn elements_past_the_edges_are_clipped() {
    each(|renderer| {
        with_texture(renderer, SIZE, |renderer, texture| {
            let output = Size::new(4, 4);
            for at in points(Size::new(14, 12)).map(|p| Point::new(p.x - 7, p.y - 6)) {
                let pixels = picture(renderer, output, shown(texture, SIZE, at));
                assert_pixels(&pixels, &format!("at {at:?}"), |p| {
                    let inside = Rect::at(at, SIZE).contains(p);
                    if inside { own_color(p.x - at.x, p.y - at.y) } else { GROUND }
                });
            }
        });
    });
}

#[test]
fn elements_of_extreme_places_and_sizes_do_no_harm() {
    let (min, max) = (i32::MIN, i32::MAX);
    let covering = [Rect::new(-(1 << 30), -(1 << 30), max, max), Rect::new(-1_000_000, -7, 3_000_000, 20)];
    let elsewhere = [
        Rect::new(min, min, max, max),
        Rect::new(max, max, max, max),
        Rect::new(0, 0, 0, 0),
        Rect::new(1, 1, 0, 3),
        Rect::new(1, 1, -3, 3),
        Rect::new(2, 2, min, min),
    ];
    each(|renderer| {
        let (_, buffer) = buffer(ARGB8888, Size::new(1, 1), |_, _| rgba([200, 100, 0]));
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &buffer);
        let output = Size::new(8, 8);
        let dots = [
            shown(texture, Size::new(1, 1), Point::default()),
            element(Paint::Solid(color(rgba([200, 100, 0]))), Rect::default()),
        ];
        for dot in dots {
            for dst in covering {
                let pixels = picture(renderer, output, Element { dst, ..dot });
                assert_pixels(&pixels, &format!("{dst:?}"), |_| [200, 100, 0]);
            }
            for dst in elsewhere {
                let pixels = picture(renderer, output, Element { dst, ..dot });
                assert_pixels(&pixels, &format!("{dst:?}"), |_| GROUND);
            }
        }
        renderer.forget(texture);
        holds.settle(renderer);
    });
}
