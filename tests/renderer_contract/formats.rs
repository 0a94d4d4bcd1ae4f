//! Every pixel format: its colours where they belong, red and blue not exchanged, its missing alpha read as one.

use transom::domain::format::{Fourcc, TABLE};
use transom::domain::geometry::{Point, Rect, Size};
use transom::ports::renderer::Renderer;

use crate::subjects::{TOLERANCE, assert_alike, each};
use crate::support::picture::rgb;
use crate::support::pool::Memfd;
use crate::support::reference::Reference;
use crate::support::stage::{Holds, buffer, capture, picture_of, render_whole, scene, shown};
use crate::support::texel::{Rgba, decode, encode, half_from_f32, half_to_f32};

/// Opaque red, green and blue in every format, as drm_fourcc.h lays them out (little-endian words), written down
/// without looking at our own table. Unused bits are ones.
#[rustfmt::skip]
const PRIMARIES: &[(&str, [u64; 3])] = &[
    ("ARGB8888", [0xffff_0000, 0xff00_ff00, 0xff00_00ff]),
    ("XRGB8888", [0xffff_0000, 0xff00_ff00, 0xff00_00ff]),
    ("ABGR8888", [0xff00_00ff, 0xff00_ff00, 0xffff_0000]),
    ("XBGR8888", [0xff00_00ff, 0xff00_ff00, 0xffff_0000]),
    ("RGBA8888", [0xff00_00ff, 0x00ff_00ff, 0x0000_ffff]),
    ("RGBX8888", [0xff00_00ff, 0x00ff_00ff, 0x0000_ffff]),
    ("BGRA8888", [0x0000_ffff, 0x00ff_00ff, 0xff00_00ff]),
    ("BGRX8888", [0x0000_ffff, 0x00ff_00ff, 0xff00_00ff]),
    ("RGB888", [0xff_0000, 0x00_ff00, 0x00_00ff]),
    ("BGR888", [0x00_00ff, 0x00_ff00, 0xff_0000]),
    ("ARGB2101010", [0xfff0_0000, 0xc00f_fc00, 0xc000_03ff]),
    ("XRGB2101010", [0xfff0_0000, 0xc00f_fc00, 0xc000_03ff]),
    ("ABGR2101010", [0xc000_03ff, 0xc00f_fc00, 0xfff0_0000]),
    ("XBGR2101010", [0xc000_03ff, 0xc00f_fc00, 0xfff0_0000]),
    ("RGB565", [0xf800, 0x07e0, 0x001f]),
    ("BGR565", [0x001f, 0x07e0, 0xf800]),
    ("ARGB1555", [0xfc00, 0x83e0, 0x801f]),
    ("XRGB1555", [0xfc00, 0x83e0, 0x801f]),
    ("RGBA5551", [0xf801, 0x07c1, 0x003f]),
    ("RGBX5551", [0xf801, 0x07c1, 0x003f]),
    ("BGRA5551", [0x003f, 0x07c1, 0xf801]),
    ("BGRX5551", [0x003f, 0x07c1, 0xf801]),
    ("ARGB4444", [0xff00, 0xf0f0, 0xf00f]),
    ("XRGB4444", [0xff00, 0xf0f0, 0xf00f]),
    ("ABGR4444", [0xf00f, 0xf0f0, 0xff00]),
    ("XBGR4444", [0xf00f, 0xf0f0, 0xff00]),
    ("RGBA4444", [0xf00f, 0x0f0f, 0x00ff]),
    ("RGBX4444", [0xf00f, 0x0f0f, 0x00ff]),
    ("BGRA4444", [0x00ff, 0x0f0f, 0xf00f]),
    ("BGRX4444", [0x00ff, 0x0f0f, 0xf00f]),
    ("ABGR16161616", [0xffff_0000_0000_ffff, 0xffff_0000_ffff_0000, 0xffff_ffff_0000_0000]),
    ("XBGR16161616", [0xffff_0000_0000_ffff, 0xffff_0000_ffff_0000, 0xffff_ffff_0000_0000]),
    ("ARGB16161616", [0xffff_ffff_0000_0000, 0xffff_0000_ffff_0000, 0xffff_0000_0000_ffff]),
    ("XRGB16161616", [0xffff_ffff_0000_0000, 0xffff_0000_ffff_0000, 0xffff_0000_0000_ffff]),
    ("ABGR16161616F", [0x3c00_0000_0000_3c00, 0x3c00_0000_3c00_0000, 0x3c00_3c00_0000_0000]),
    ("XBGR16161616F", [0xffff_0000_0000_3c00, 0xffff_0000_3c00_0000, 0xffff_3c00_0000_0000]),
    ("ARGB16161616F", [0x3c00_3c00_0000_0000, 0x3c00_0000_3c00_0000, 0x3c00_0000_0000_3c00]),
    ("XRGB16161616F", [0xffff_3c00_0000_0000, 0xffff_0000_3c00_0000, 0xffff_0000_0000_3c00]),
    ("R8", [0xff, 0x00, 0x00]),
    ("GR88", [0x00ff, 0xff00, 0x0000]),
    ("R16", [0xffff, 0x0000, 0x0000]),
    ("GR1616", [0x0000_ffff, 0xffff_0000, 0x0000_0000]),
];

/// What red, green and blue of a format must show.
fn expected(name: &str) -> [[u8; 3]; 3] {
    let (red, green, blue) = ([255, 0, 0], [0, 255, 0], [0, 0, 255]);
    match name {
        "R8" | "R16" => [red, [0; 3], [0; 3]],
        "GR88" | "GR1616" => [red, green, [0; 3]],
        _ => [red, green, blue],
    }
}

#[test]
fn texels_of_the_tests_own_encoder_are_those_written_down() {
    let named: Vec<&str> = TABLE.iter().map(|info| info.name).collect();
    assert_eq!(named, PRIMARIES.iter().map(|row| row.0).collect::<Vec<_>>());
    for (info, (name, words)) in TABLE.iter().zip(PRIMARIES) {
        for (word, color) in words.iter().zip([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]) {
            let mut texel = Vec::new();
            encode(info, color, &mut texel);
            assert_eq!(texel, word.to_le_bytes()[..info.texel_bytes as usize], "{name}");
            let read = decode(info, &texel);
            let kept: Rgba = std::array::from_fn(|i| if info.channels[i].bits > 0 || i == 3 { color[i] } else { 0.0 });
            assert_eq!(read, kept, "{name}");
        }
    }
}

#[test]
fn halves_of_known_values_convert_both_ways() {
    let known = [
        (0x0000, 0.0),
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (0x3555, 0.333_251_95),
        (0x7bff, 65504.0),
        (0x0001, 5.960_464_5e-8),
    ];
    for (half, value) in known {
        assert_eq!((half_to_f32(half), half_from_f32(value)), (value, half));
    }
    assert_eq!(half_to_f32(0x7c00), f32::INFINITY);
    assert!(half_to_f32(0x7e00).is_nan());
}

#[test]
fn formats_that_must_be_there_are() {
    each(|renderer| {
        let formats = &renderer.capabilities().shm_formats;
        #[rustfmt::skip]
        let required = [
            b"AR24", b"XR24", b"AB24", b"XB24", b"AR30", b"XR30", b"AB30", b"XB30", b"AB4H", b"XB4H", b"RG16",
        ];
        for code in required.map(Fourcc::new) {
            assert!(formats.contains(&code), "{code} is missing from {formats:?}");
        }
        assert!(formats.iter().all(|code| code.info().is_some()));
    });
}

#[test]
fn primaries_of_every_format_show_as_themselves() {
    each(|renderer| {
        for code in renderer.capabilities().shm_formats.clone() {
            let info = code.info().unwrap();
            let words = PRIMARIES.iter().find(|row| row.0 == info.name).unwrap().1;
            let bytes: Vec<u8> =
                words.iter().flat_map(|w| w.to_le_bytes()[..info.texel_bytes as usize].to_vec()).collect();
            let size = Size::new(3, 1);
            let buffer = Memfd::new(&bytes).buffer(0, size, bytes.len() as i32, code);
            let mut holds = Holds::default();
            let texture = holds.import(renderer, &buffer);
            let element = shown(texture, size, Point::default());
            // Drawn, and where it has no alpha also as an opaque element, which may be a transfer.
            for opaque in [None, Some(Rect::from_size(size))] {
                let pixels = picture_of(renderer, &scene(size, [90, 90, 90], &[(element, opaque)]));
                let seen = [0, 1, 2].map(|x| rgb(&pixels, Point::new(x, 0)));
                assert_eq!(seen, expected(info.name), "{code}, opaque in {opaque:?}");
            }
            renderer.forget(texture);
            holds.settle(renderer);
        }
    });
}

#[test]
fn shades_of_every_format_blend_as_the_reference_does() {
    const SIZE: Size = Size::new(16, 9);
    // Premultiplied: no colour exceeds its alpha.
    let shade = |x: i32, y: i32| {
        let a = 1.0 - y as f32 / 9.0;
        [x as f32 / 15.0 * a, (15 - x) as f32 / 15.0 * a, ((x * 7 + y * 3) % 16) as f32 / 15.0 * a, a]
    };
    let show = |renderer: &mut dyn Renderer, code: Fourcc| {
        let (_, buffer) = buffer(code, SIZE, shade);
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &buffer);
        let opaque = (!code.info().unwrap().has_alpha()).then_some(Rect::from_size(SIZE));
        let element = (shown(texture, SIZE, Point::default()), opaque);
        let pixels = picture_of(renderer, &scene(SIZE, [250, 120, 10], &[element]));
        renderer.forget(texture);
        holds.settle(renderer);
        pixels
    };
    each(|renderer| {
        for code in renderer.capabilities().shm_formats.clone() {
            let expected = show(&mut Reference::new(), code);
            assert_alike(&show(renderer, code), &expected, 1, &code.to_string());
        }
    });
}

#[test]
fn half_floats_out_of_range_are_clamped() {
    let size = Size::new(4, 1);
    let colors: [Rgba; 4] =
        [[4.0, -1.0, 0.5, 1.0], [65504.0, 1e-7, -65504.0, 1.0], [0.0, 1.5, 1.0, 2.0], [0.25, 0.5, 0.75, 1.0]];
    each(|renderer| {
        let code = Fourcc::new(b"AB4H");
        let (_, buffer) = buffer(code, size, |x, _| colors[x as usize]);
        let mut holds = Holds::default();
        let texture = holds.import(renderer, &buffer);
        let target = renderer.create_offscreen(size).unwrap();
        let element = (shown(texture, size, Point::default()), None);
        render_whole(renderer, target, &scene(size, [50, 60, 70], &[element]));
        let pixels = capture(renderer, target, Rect::from_size(size));
        let wanted = [[255, 0, 128], [255, 0, 0], [0, 255, 255], [64, 128, 191]];
        for (x, wanted) in (0..).zip(wanted) {
            let seen = rgb(&pixels, Point::new(x, 0));
            let off = seen.iter().zip(wanted).map(|(s, w)| s.abs_diff(w)).max();
            assert!(off <= Some(TOLERANCE - 1), "texel {x}: {seen:?}, not {wanted:?}");
        }
        renderer.destroy_target(target);
        renderer.forget(texture);
        holds.settle(renderer);
    });
}
