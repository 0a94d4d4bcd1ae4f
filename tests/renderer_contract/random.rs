//! Scenes nobody thought of: painted frame after frame by damage alone, on targets of several ages, they must look as
//! the reference paints them whole.
//!
//! Opaque parts are honest, as occlusion requires. Where the nearest filter looks at the very line between two texels,
//! either texel is right, and the pixel is left out.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use transom::domain::buffer::TextureId;
use transom::domain::damage::Tracker;
use transom::domain::format::Fourcc;
use transom::domain::geometry::{Point, Rect, RectF, Size};
use transom::domain::region::Region;
use transom::domain::scene::{Element, ElementId, Filter, Paint, Scene};
use transom::domain::transform::Transform;
use transom::ports::renderer::{Renderer, TargetId};

use crate::subjects::each;
use crate::support::picture::differences;
use crate::support::reference::Reference;
use crate::support::reference::paint::is_between_texels;
use crate::support::stage::{Holds, buffer, capture, color, element, region, render};
use crate::support::texel::Rgba;

/// In 255ths: one for rounding, and one for each axis of the linear filter, which places a point between two texels in
/// steps of 1/256 (VkPhysicalDeviceLimits::subTexelPrecisionBits); noise makes all of it show.
const TOLERANCE: u8 = 3;

const OUTPUT: Size = Size::new(48, 36);
const ALL: Rect = Rect::from_size(OUTPUT);

/// Formats of every kind: with and without alpha, narrow and wide, integer and half.
const CODES: [&[u8; 4]; 8] = [b"XR24", b"XR24", b"AR24", b"AB24", b"RG16", b"AB30", b"AB4H", b"XB24"];

/// A client's image.
#[derive(Clone, Debug)]
struct Sheet {
    code: Fourcc,
    size: Size,
    /// All of it is opaque, whatever its format could hold.
    is_opaque: bool,
    /// Of the first content.
    seed: u32,
}

/// What an element shows.
#[derive(Clone, Debug)]
enum Fill {
    /// A part of a sheet, by its number, as it is or scaled to a size.
    Sheet { number: usize, part: [f64; 4], scaled_to: Option<Size> },
    /// A colour.
    Solid(Rgba),
}

#[derive(Clone, Debug)]
struct Layer {
    id: u64,
    fill: Fill,
    at: Point,
    transform: Transform,
    filter: Filter,
    alpha: f32,
    /// Says that it is opaque, where it is; else leaves it to be found out by painting.
    tells_opaque: bool,
}

/// What happens before a frame.
#[derive(Clone, Debug)]
enum Edit {
    /// A sheet changes inside a rectangle.
    Update {
        number: usize,
        part: Rect,
        seed: u32,
    },
    Move {
        layer: usize,
        to: Point,
    },
    Raise {
        layer: usize,
        to: usize,
    },
    Replace {
        layer: usize,
        with: Layer,
    },
    Remove {
        layer: usize,
    },
}

/// A frame: what happens before it, and onto which target it goes.
type Frame = (Vec<Edit>, usize);

fn hash(seed: u32, x: i32, y: i32) -> u32 {
    let mut h =
        seed.wrapping_mul(0x9e37_79b9) ^ (x as u32).wrapping_mul(0x85eb_ca6b) ^ (y as u32).wrapping_mul(0xc2b2_ae35);
    for shift in [15, 13, 16] {
        h = (h ^ h >> shift).wrapping_mul(0x2c1b_3c6d);
    }
    h
}

/// Noise or a gradient, by the seed; premultiplied.
fn texel(sheet: &Sheet, seed: u32, x: i32, y: i32) -> Rgba {
    let at = if seed.is_multiple_of(2) { hash(seed, x, y) } else { hash(seed, x / 7, y / 5) };
    let ramp = (x + y) as f32 / (sheet.size.w + sheet.size.h) as f32;
    let channel = |i: u32| (at >> (8 * i) & 0xff) as f32 / 255.0;
    let a = if sheet.is_opaque || sheet.code.info().is_some_and(|info| !info.has_alpha()) { 1.0 } else { channel(3) };
    [channel(0) * a, channel(1) * a, ramp * a, a]
}

fn sheet() -> impl Strategy<Value = Sheet> {
    (prop::sample::select(&CODES[..]), 1..30, 1..24, any::<bool>(), any::<u32>()).prop_map(
        |(code, w, h, is_opaque, seed)| Sheet { code: Fourcc::new(code), size: Size::new(w, h), is_opaque, seed },
    )
}

fn place() -> impl Strategy<Value = Point> {
    (-12..OUTPUT.w, -12..OUTPUT.h).prop_map(|(x, y)| Point::new(x, y))
}

fn fill() -> impl Strategy<Value = Fill> {
    let part = prop_oneof![Just([0.0, 0.0, 1.0, 1.0]), prop::array::uniform4(0.0..1.0)];
    let scaled_to = prop_oneof![
        2 => Just(None),
        1 => (1..60, 1..50).prop_map(|(w, h)| Some(Size::new(w, h))),
    ];
    let solid = (prop::array::uniform3(0.0f32..1.0), prop_oneof![Just(1.0), 0.0f32..1.0])
        .prop_map(|([r, g, b], a)| Fill::Solid([r * a, g * a, b * a, a]));
    prop_oneof![
        5 => (0..4usize, part, scaled_to).prop_map(|(number, part, scaled_to)| Fill::Sheet { number, part, scaled_to }),
        1 => solid,
    ]
}

fn layer() -> impl Strategy<Value = Layer> {
    let transform = prop_oneof![3 => Just(Transform::Normal), 2 => prop::sample::select(&Transform::ALL[..])];
    let filter = prop_oneof![2 => Just(Filter::Linear), 1 => Just(Filter::Nearest)];
    let alpha = prop_oneof![4 => Just(1.0), 1 => 0.0f32..1.0];
    (any::<u64>(), fill(), place(), transform, filter, alpha, any::<bool>()).prop_map(
        |(id, fill, at, transform, filter, alpha, tells_opaque)| Layer {
            id,
            fill,
            at,
            transform,
            filter,
            alpha,
            tells_opaque,
        },
    )
}

fn edit() -> impl Strategy<Value = Edit> {
    let n = 0..8usize;
    let part = (-3..28, -3..22, 1..30, 1..24).prop_map(|(x, y, w, h)| Rect::new(x, y, w, h));
    prop_oneof![
        4 => (0..4usize, part, any::<u32>()).prop_map(|(number, part, seed)| Edit::Update { number, part, seed }),
        2 => (n.clone(), place()).prop_map(|(layer, to)| Edit::Move { layer, to }),
        1 => (n.clone(), n.clone()).prop_map(|(layer, to)| Edit::Raise { layer, to }),
        1 => (n.clone(), layer()).prop_map(|(layer, with)| Edit::Replace { layer, with }),
        1 => n.prop_map(|layer| Edit::Remove { layer }),
    ]
}

fn play() -> impl Strategy<Value = (Vec<Sheet>, Vec<Layer>, Vec<Frame>)> {
    let frames = prop::collection::vec((prop::collection::vec(edit(), 0..4), 0..3usize), 1..6);
    (prop::collection::vec(sheet(), 4), prop::collection::vec(layer(), 0..8), frames)
}

/// A renderer with the sheets' textures.
struct Player<'a> {
    renderer: &'a mut dyn Renderer,
    holds: Holds,
    textures: Vec<TextureId>,
    targets: Vec<TargetId>,
}

impl<'a> Player<'a> {
    fn new(renderer: &'a mut dyn Renderer, sheets: &[Sheet], targets: usize) -> Self {
        let mut holds = Holds::default();
        let import = |sheet: &Sheet| {
            let (_, buffer) = buffer(sheet.code, sheet.size, |x, y| texel(sheet, sheet.seed, x, y));
            holds.import(renderer, &buffer)
        };
        let textures = sheets.iter().map(import).collect();
        let targets = (0..targets).map(|_| renderer.create_offscreen(OUTPUT).expect("a target")).collect();
        Self { renderer, holds, textures, targets }
    }

    /// The client draws its sheet anew, but only `part` is said to have changed.
    fn update(&mut self, sheets: &[Sheet], number: usize, part: Rect, seed: u32) {
        let sheet = &sheets[number];
        let (_, buffer) = buffer(sheet.code, sheet.size, |x, y| texel(sheet, seed, x, y));
        self.holds.update(self.renderer, self.textures[number], &buffer, &[part]);
    }

    fn end(mut self) {
        self.textures.iter().for_each(|&texture| self.renderer.forget(texture));
        self.targets.iter().for_each(|&target| self.renderer.destroy_target(target));
        self.holds.settle(self.renderer);
    }
}

/// The source rectangle in texels and the size on screen of a part of a sheet.
fn shape(sheet: &Sheet, part: [f64; 4], scaled_to: Option<Size>, transform: Transform) -> (RectF, Size) {
    let (w, h) = (f64::from(sheet.size.w), f64::from(sheet.size.h));
    let [x, y, right, bottom] = part;
    let exact = RectF::new(x * w, y * h, (w * (1.0 - x)) * right, (h * (1.0 - y)) * bottom);
    match scaled_to {
        Some(size) if exact.w > 0.05 && exact.h > 0.05 => (exact, size),
        _ => {
            let texels = exact.round_out();
            (texels.to_f64(), transform.apply_size(texels.size()))
        }
    }
}

fn scene_of(sheets: &[Sheet], layers: &[Layer], textures: &[TextureId], changed: &[Vec<Rect>]) -> Scene {
    let mut scene = Scene::new();
    scene.reset(OUTPUT, color([0.3, 0.1, 0.2, 1.0]));
    for layer in layers {
        let (made, is_opaque, damage) = match layer.fill {
            Fill::Solid(rgba) => {
                let dst = Rect::at(layer.at, Size::new(17, 11));
                (element(Paint::Solid(color(rgba)), dst), rgba[3] >= 1.0, Vec::new())
            }
            Fill::Sheet { number, part, scaled_to } => {
                let sheet = &sheets[number];
                let (source, size) = shape(sheet, part, scaled_to, layer.transform);
                let (transform, filter) = (layer.transform, layer.filter);
                let dst = Rect::at(layer.at, size);
                let paint = Paint::Texture { texture: textures[number], source, transform, filter };
                let has_alpha = sheet.code.info().is_some_and(|info| info.has_alpha());
                let damage = changed[number].iter().map(|&rect| on_screen(rect, source, dst, transform)).collect();
                (element(paint, dst), sheet.is_opaque || !has_alpha, damage)
            }
        };
        let opaque = scene.span(made.dst, (is_opaque && layer.tells_opaque).then_some(made.dst));
        let damage = scene.span(made.dst, damage);
        scene.push(Element { id: ElementId(layer.id), alpha: layer.alpha, opaque, damage, ..made });
    }
    scene
}

/// Where a change of these texels shows: exactly where the element is not scaled, else all of it.
fn on_screen(texels: Rect, source: RectF, dst: Rect, transform: Transform) -> Rect {
    match source.as_integer() {
        Some(source) if transform.apply_size(source.size()) == dst.size() => {
            let inside = texels.translated(Point::new(-source.x, -source.y));
            transform.apply_rect(inside, source.size()).translated(dst.origin())
        }
        _ => dst,
    }
}

fn apply(edits: &[Edit], layers: &mut Vec<Layer>) {
    for edit in edits {
        let count = layers.len().max(1);
        match edit {
            _ if layers.is_empty() => {}
            Edit::Update { .. } => {}
            Edit::Move { layer, to } => layers[layer % count].at = *to,
            Edit::Raise { layer, to } => {
                let moved = layers.remove(layer % count);
                layers.insert(to % count, moved);
            }
            Edit::Replace { layer, with } => layers[layer % count] = with.clone(),
            Edit::Remove { layer } => drop(layers.remove(layer % count)),
        }
    }
}

fn perform(
    renderer: &mut dyn Renderer,
    sheets: &[Sheet],
    layers: &[Layer],
    frames: &[Frame],
) -> Result<(), TestCaseError> {
    let mut reference = Reference::new();
    let mut truth = Player::new(&mut reference, sheets, 1);
    let mut subject = Player::new(renderer, sheets, 3);
    let mut layers = layers.to_vec();
    let mut tracker = Tracker::new();
    let mut ages = [0; 3];
    for (n, (edits, onto)) in frames.iter().enumerate() {
        let mut changed = vec![Vec::new(); sheets.len()];
        for edit in edits {
            if let Edit::Update { number, part, seed } = edit {
                changed[*number].push(*part);
                truth.update(sheets, *number, *part, *seed);
                subject.update(sheets, *number, *part, *seed);
            }
        }
        apply(edits, &mut layers);
        let scene = scene_of(sheets, &layers, &subject.textures, &changed);
        tracker.compare(&scene);
        let damage: Region = tracker.for_age(&scene, ages[*onto]).clone();
        render(subject.renderer, subject.targets[*onto], &scene, &damage);
        tracker.rendered(&scene);
        ages.iter_mut().filter(|age| **age > 0).for_each(|age| *age += 1);
        ages[*onto] = 1;
        let painted = capture(subject.renderer, subject.targets[*onto], ALL);
        subject.holds.drain(subject.renderer);

        let whole = scene_of(sheets, &layers, &truth.textures, &changed);
        render(truth.renderer, truth.targets[0], &whole, &region(ALL));
        let expected = capture(truth.renderer, truth.targets[0], ALL);
        let counts = |p| !is_between_texels(&whole, p, 1.0 / 64.0);
        if let Some(difference) = differences(&painted, &expected, TOLERANCE, counts) {
            return Err(TestCaseError::fail(format!("frame {n}, damage {:?}: {difference}", damage.rects())));
        }
    }
    subject.end();
    truth.end();
    Ok(())
}

#[test]
fn random_scenes_painted_by_damage_are_the_references_whole() {
    each(|renderer| {
        let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48);
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let renderer = std::cell::RefCell::new(renderer);
        let result = TestRunner::new(config)
            .run(&play(), |(sheets, layers, frames)| perform(&mut **renderer.borrow_mut(), &sheets, &layers, &frames));
        if let Err(failure) = result {
            panic!("{failure}");
        }
    });
}
