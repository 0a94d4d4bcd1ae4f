//! The pictures, by kind.

use transom::domain::transform::Transform;

use super::art::{board, card, disc, fade, film, glow, gradient, letter, pointer, ramp, rings, window};
use super::shot::{Layer, Shot, at};

const DESK: [u8; 3] = [38, 70, 83];
const SMALL: (i32, i32) = (96, 72);

fn name_of(transform: Transform) -> &'static str {
    ["normal", "90", "180", "270", "flipped", "flipped-90", "flipped-180", "flipped-270"][transform.to_wire() as usize]
}

/// Two windows, a popup over the edge, a pointer.
fn desk() -> Vec<Layer> {
    vec![
        Layer::opaque(film, at(6, 5, 50, 36)),
        Layer::opaque(window, at(30, 22, 52, 40)),
        Layer::translucent(card, at(62, 30, 40, 34)).opaque_in(68, 36, 28, 21),
        Layer::translucent(pointer, at(44, 34, 10, 14)).cursor(),
    ]
}

/// The letter by each transform, whole and cropped and scaled.
pub(crate) fn transforms() -> Vec<Shot> {
    Transform::ALL
        .iter()
        .map(|&transform| {
            let turned = |w: i32, h: i32| if transform.swaps_axes() { (h, w) } else { (w, h) };
            let ((w, h), (small_w, small_h)) = (turned(44, 56), turned(20, 26));
            let layers = vec![
                Layer::opaque(letter, at(4, 8, w, h)).texels(44, 56).transform(transform),
                Layer::opaque(letter, at(66, 4, small_w, small_h))
                    .texels(44, 56)
                    .source(0.0, 0.0, 20.0, 26.0)
                    .transform(transform),
                Layer::opaque(letter, at(66, 40, 27, 27))
                    .texels(44, 56)
                    .source(5.5, 3.25, 30.0, 41.5)
                    .transform(transform),
            ];
            Shot::new(format!("transform-{}", name_of(transform)), SMALL, [60, 60, 66], layers)
        })
        .collect()
}

/// The desk on turned outputs, and clients that draw for them.
pub(crate) fn outputs() -> Vec<Shot> {
    let turned = |&transform: &Transform| {
        Shot::new(format!("output-{}", name_of(transform)), SMALL, DESK, desk()).turned(transform)
    };
    let mut shots: Vec<Shot> = Transform::ALL.iter().map(turned).collect();
    let ahead = |transform: Transform| {
        // The client did the output's transform itself: its buffer, undone, is turned back by the output.
        Layer::opaque(letter, at(8, 8, 40, 56)).texels(56, 40).transform(transform.inverse())
    };
    let client = Shot::new("output-90-client-ahead", SMALL, DESK, vec![ahead(Transform::Rot90)]);
    shots.push(client.turned(Transform::Rot90));
    shots.push(Shot::new("output-270-scale-150", (64, 48), DESK, desk()).scaled(1.5).turned(Transform::Rot270));
    shots
}

/// Output scales, and viewports.
pub(crate) fn scales() -> Vec<Shot> {
    let tiles = |n: i32| -> Vec<Layer> {
        (0..n * n)
            .map(|i| Layer::opaque(if i % 2 == 0 { letter } else { gradient }, at(i % n * 13, i / n * 11, 13, 11)))
            .collect()
    };
    vec![
        Shot::new("scale-125", SMALL, DESK, desk()).scaled(1.25),
        Shot::new("scale-150", SMALL, DESK, desk()).scaled(1.5),
        Shot::new("scale-175", (80, 60), DESK, desk()).scaled(1.75),
        Shot::new("scale-200", (64, 48), DESK, desk()).scaled(2.0),
        Shot::new(
            "scale-150-sharp-client",
            (64, 48),
            DESK,
            vec![Layer::opaque(rings, at(4, 4, 56, 40)).texels(84, 60)],
        )
        .scaled(1.5),
        Shot::new("scale-125-tiles-without-seams", (65, 55), [255, 0, 255], tiles(5)).scaled(1.25),
        Shot::new("scale-175-tiles-without-seams", (65, 55), [255, 0, 255], tiles(5)).scaled(1.75),
        Shot::new("viewport-enlarged", SMALL, DESK, vec![Layer::opaque(film, at(4, 4, 88, 64)).texels(24, 18)]),
        Shot::new("viewport-reduced", SMALL, DESK, vec![Layer::opaque(window, at(20, 20, 30, 24)).texels(120, 96)]),
        Shot::new("viewport-stretched", SMALL, DESK, vec![Layer::opaque(letter, at(4, 26, 88, 20)).texels(30, 60)]),
        Shot::new(
            "viewport-fractional-source",
            SMALL,
            DESK,
            vec![Layer::opaque(rings, at(8, 6, 80, 60)).texels(64, 48).source(10.25, 7.75, 33.5, 21.125)],
        ),
        Shot::new(
            "viewport-less-than-a-texel",
            SMALL,
            DESK,
            vec![Layer::opaque(board, at(8, 6, 80, 60)).texels(16, 16).source(5.3, 5.6, 0.9, 0.8)],
        ),
    ]
}

/// Formats, in families, each over a board where it is translucent.
pub(crate) fn formats() -> Vec<Shot> {
    let grid = |name: &str, codes: &[&[u8; 4]]| {
        let columns = if codes.len() > 4 { 4 } else { 2 };
        let mut layers = vec![Layer::opaque(board, at(0, 0, 128, 64))];
        for (code, i) in codes.iter().zip(0..) {
            let (x, y) = (i % columns * (128 / columns), i / columns * 32);
            layers.push(Layer::translucent(gradient, at(x + 1, y + 1, 128 / columns - 2, 19)).format(code));
            layers.push(Layer::translucent(fade, at(x + 1, y + 21, 128 / columns - 2, 10)).format(code));
        }
        Shot::new(name, (128, 64), [0; 3], layers)
    };
    vec![
        grid("format-8888", &[b"AR24", b"AB24", b"RA24", b"BA24", b"XR24", b"XB24", b"RX24", b"BX24"]),
        grid("format-888", &[b"RG24", b"BG24"]),
        grid("format-2101010", &[b"AR30", b"AB30", b"XR30", b"XB30"]),
        grid("format-565", &[b"RG16", b"BG16"]),
        grid("format-5551", &[b"AR15", b"RA15", b"BA15", b"XR15", b"RX15", b"BX15"]),
        grid("format-4444", &[b"AR12", b"AB12", b"RA12", b"BA12", b"XR12", b"XB12", b"RX12", b"BX12"]),
        grid("format-16161616", &[b"AB48", b"AR48", b"XB48", b"XR48"]),
        grid("format-half-float", &[b"AB4H", b"AR4H", b"XB4H", b"XR4H"]),
        grid("format-one-and-two-channels", &[b"R8  ", b"GR88", b"R16 ", b"GR32"]),
        Shot::new(
            "format-depth",
            (128, 64),
            [0; 3],
            [b"XR24", b"XR30", b"XB48", b"XB4H"]
                .iter()
                .zip(0..)
                .map(|(code, i)| Layer::opaque(ramp, at(0, i * 16, 128, 16)).format(code))
                .collect(),
        ),
    ]
}

/// Alpha, order, opaque parts.
pub(crate) fn blending() -> Vec<Shot> {
    let stairs = |art| (0..6).map(|i| Layer::translucent(art, at(4 + i * 11, 4 + i * 7, 34, 30))).collect::<Vec<_>>();
    let faded = (0..5).map(|i| Layer::opaque(letter, at(2 + i * 18, 6, 17, 60)).alpha(1.0 - 0.24 * i as f32)).collect();
    let veils = (0..4).map(|i| {
        Layer::solid([0.2 * i as f32 * 0.4, 0.1, 0.4 - 0.1 * i as f32, 0.4], at(8 + i * 14, 4 + i * 8, 40, 36))
    });
    let mut over_film = vec![Layer::opaque(film, at(0, 0, 96, 72))];
    let with_film = |more: Vec<Layer>| over_film.iter().copied().chain(more).collect::<Vec<_>>();
    let shots = vec![
        Shot::new("alpha-discs-over-film", SMALL, DESK, with_film(stairs(disc))),
        Shot::new("alpha-fades-over-background", SMALL, [240, 240, 240], stairs(fade)),
        Shot::new("alpha-glow-adds", SMALL, DESK, with_film(vec![Layer::translucent(glow, at(20, 4, 64, 64))])),
        Shot::new("alpha-of-elements", SMALL, DESK, faded),
        Shot::new(
            "alpha-of-elements-ignores-opaque",
            SMALL,
            DESK,
            with_film(vec![Layer::opaque(window, at(16, 12, 60, 48)).alpha(0.6)]),
        ),
        Shot::new("alpha-veils", SMALL, [250, 250, 250], with_film(veils.collect())),
        Shot::new(
            "opaque-part-of-a-card",
            SMALL,
            DESK,
            with_film(vec![Layer::translucent(card, at(10, 2, 80, 68)).opaque_in(22, 13, 55, 41)]),
        ),
        Shot::new(
            "opaque-windows-in-a-pile",
            SMALL,
            DESK,
            (0..14)
                .map(|i| {
                    Layer::opaque(if i % 3 == 0 { film } else { window }, at(i * 17 % 60 - 4, i * 11 % 44 - 3, 40, 30))
                })
                .collect(),
        ),
        Shot::new(
            "opaque-above-translucent-above-opaque",
            SMALL,
            DESK,
            vec![
                Layer::opaque(gradient, at(4, 4, 60, 50)),
                Layer::translucent(disc, at(20, 10, 60, 56)),
                Layer::opaque(window, at(40, 30, 40, 34)),
                Layer::translucent(disc, at(56, 2, 40, 40)),
            ],
        ),
        Shot::new("background-alone", (16, 12), [200, 30, 90], vec![]),
    ];
    over_film.clear();
    shots
}

/// Filters, and edges of the output.
pub(crate) fn edges() -> Vec<Shot> {
    let around: Vec<Layer> = [(-20, -14), (38, -14), (80, -14), (-20, 24), (80, 24), (-20, 56), (38, 56), (80, 56)]
        .into_iter()
        .map(|(x, y)| Layer::opaque(letter, at(x, y, 34, 26)))
        .collect();
    vec![
        Shot::new(
            "filter-nearest-enlarged",
            SMALL,
            DESK,
            vec![Layer::opaque(letter, at(3, 6, 90, 60)).texels(18, 12).nearest()],
        ),
        Shot::new("filter-linear-enlarged", SMALL, DESK, vec![Layer::opaque(letter, at(3, 6, 90, 60)).texels(18, 12)]),
        Shot::new(
            "filter-nearest-reduced",
            SMALL,
            DESK,
            vec![Layer::opaque(rings, at(8, 6, 33, 27)).texels(97, 80).nearest()],
        ),
        Shot::new(
            "filter-linear-translucent",
            SMALL,
            [90, 90, 90],
            vec![Layer::translucent(disc, at(4, 4, 88, 64)).texels(11, 8)],
        ),
        Shot::new(
            "filter-linear-keeps-to-its-source",
            SMALL,
            DESK,
            // A field of the board, enlarged: its neighbours must not bleed in.
            vec![
                Layer::opaque(board, at(4, 4, 40, 64)).texels(32, 32).source(4.0, 4.0, 4.0, 4.0),
                Layer::opaque(board, at(52, 4, 40, 64)).texels(32, 32).source(8.0, 4.0, 4.0, 4.0),
            ],
        ),
        Shot::new("clip-at-every-edge", SMALL, DESK, around.clone()),
        Shot::new(
            "clip-at-every-edge-turned",
            SMALL,
            DESK,
            around.iter().map(|l| l.transform(Transform::Rot180)).collect(),
        ),
        Shot::new("clip-enlarged", SMALL, DESK, vec![Layer::opaque(film, at(-60, -40, 200, 150)).texels(40, 30)]),
        Shot::new(
            "clip-all-but-a-row",
            SMALL,
            DESK,
            vec![Layer::opaque(gradient, at(-5, 71, 106, 40)), Layer::opaque(letter, at(95, -20, 40, 60))],
        ),
    ]
}

/// What a desktop is made of.
pub(crate) fn desktops() -> Vec<Shot> {
    let parent = Layer::opaque(window, at(10, 8, 70, 54));
    let children = [
        Layer::opaque(film, at(16, 20, 30, 22)),
        Layer::translucent(card, at(40, 30, 50, 40)).opaque_in(48, 37, 34, 25),
        Layer::solid([0.1, 0.5, 0.4, 1.0], at(72, 2, 16, 16)),
    ];
    let below = Layer::opaque(board, at(2, 30, 40, 40));
    let many = (0..60).map(|i| {
        Layer::opaque([window, letter, gradient][i as usize % 3], at(i % 10 * 9 + 1, i / 10 * 11 + 2, 14, 13))
    });
    let panel = Layer::solid([0.05, 0.05, 0.07, 0.85], at(0, 0, 96, 9));
    let pointer_at = |x, y| Layer::translucent(pointer, at(x, y, 16, 22)).cursor();
    vec![
        Shot::new("desk", SMALL, DESK, desk()),
        Shot::new(
            "subsurfaces-above-and-below",
            SMALL,
            DESK,
            vec![below, parent, children[0], children[1], children[2]],
        ),
        Shot::new(
            "subsurfaces-scaled",
            SMALL,
            DESK,
            vec![parent, children[0].texels(9, 7), children[1].texels(100, 80)],
        )
        .scaled(1.25),
        Shot::new(
            "subsurfaces-of-a-film",
            SMALL,
            [0; 3],
            vec![
                Layer::solid([0.0, 0.0, 0.0, 1.0], at(0, 0, 96, 72)),
                Layer::opaque(film, at(0, 9, 96, 54)).texels(64, 36),
                Layer::solid([0.1, 0.1, 0.1, 0.6], at(6, 50, 84, 10)),
                Layer::solid([0.9, 0.2, 0.2, 1.0], at(9, 54, 40, 2)),
            ],
        ),
        Shot::new(
            "single-pixel-stretched",
            SMALL,
            DESK,
            vec![
                Layer::opaque(gradient, at(6, 6, 40, 60)).texels(1, 1),
                Layer::translucent(fade, at(50, 6, 40, 60)).texels(1, 1),
            ],
        ),
        Shot::new(
            "solid-colours",
            SMALL,
            DESK,
            vec![
                Layer::solid([1.0, 0.0, 0.0, 1.0], at(4, 4, 30, 30)),
                Layer::solid([0.0, 0.5, 0.0, 0.5], at(20, 20, 50, 40)),
                Layer::solid([0.0, 0.0, 0.25, 0.25], at(50, 10, 44, 30)),
                Layer::solid([0.3, 0.3, 0.0, 0.0], at(60, 40, 30, 28)),
            ],
        ),
        Shot::new("cursor-over-a-window", SMALL, DESK, vec![parent, pointer_at(40, 24)]),
        Shot::new("cursor-at-the-corner", SMALL, DESK, vec![parent, pointer_at(88, 60), pointer_at(-9, -8)]),
        Shot::new("cursor-scale-150", (64, 48), DESK, vec![parent, pointer_at(20, 14).texels(24, 33)]).scaled(1.5),
        Shot::new(
            "panel-and-windows",
            SMALL,
            DESK,
            vec![desk()[0], desk()[1], panel, Layer::translucent(pointer, at(80, 2, 10, 14))],
        ),
        Shot::new("sixty-windows", SMALL, DESK, many.collect()),
        Shot::new("fullscreen", SMALL, DESK, vec![Layer::opaque(film, at(0, 0, 96, 72))]),
        Shot::new("fullscreen-with-popup", SMALL, DESK, vec![Layer::opaque(film, at(0, 0, 96, 72)), children[1]]),
        Shot::new(
            "drag-icon",
            SMALL,
            DESK,
            vec![parent, Layer::translucent(card, at(30, 26, 30, 24)).alpha(0.7), pointer_at(30, 26)],
        ),
    ]
}
