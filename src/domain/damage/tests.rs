//! Tests of the tracker: a screen painted only where it says always looks as if painted whole.

use proptest::prelude::*;

use super::super::buffer::TextureId;
use super::super::geometry::{Point, RectF, Size};
use super::super::scene::{Color, Filter, Paint, Role};
use super::super::transform::Transform;
use super::*;

const SIDE: i32 = 16;
const SIZE: Size = Size::new(SIDE, SIDE);
const ALL: Rect = Rect::from_size(SIZE);

fn texture(id: u64, dst: Rect) -> Element {
    Element {
        id: ElementId(id),
        role: Role::Content,
        content: ContentSerial(1),
        paint: Paint::Texture {
            texture: TextureId(id),
            source: RectF::new(0.0, 0.0, f64::from(dst.w), f64::from(dst.h)),
            transform: Transform::Normal,
            filter: Filter::Linear,
        },
        dst,
        alpha: 1.0,
        opaque: Default::default(),
        damage: Default::default(),
        buffer: None,
        buffer_size: Size::default(),
    }
}

/// Elements back to front, each with its opaque part and its own damage.
fn scene_of(elements: &[(Element, &[Rect], &[Rect])]) -> Scene {
    let mut scene = Scene::new();
    scene.reset(SIZE, Color::BLACK);
    for &(element, opaque, damage) in elements {
        let opaque = scene.span(element.dst, opaque.iter().copied());
        let damage = scene.span(element.dst, damage.iter().copied());
        scene.push(Element { opaque, damage, ..element });
    }
    scene
}

/// The damage from one scene to the next for a target of age 1.
fn damage_between(before: &Scene, after: &Scene) -> Region {
    let mut tracker = Tracker::new();
    tracker.compare(before);
    tracker.rendered(before);
    tracker.compare(after);
    tracker.for_age(after, 1).clone()
}

fn area_and_bounds(region: &Region) -> (u64, Rect) {
    (region.area(), region.bounds())
}

const A: Rect = Rect::new(1, 1, 4, 4);
const B: Rect = Rect::new(3, 3, 4, 4);
const FAR: Rect = Rect::new(12, 12, 2, 2);

#[test]
fn compare_of_the_first_scene_is_everything() {
    let mut tracker = Tracker::new();
    let scene = scene_of(&[]);
    tracker.compare(&scene);
    assert!(tracker.is_damaged());
    assert_eq!(tracker.for_age(&scene, 1).rects(), &[ALL]);
}

#[test]
fn compare_of_a_still_scene_is_nothing() {
    let scene = scene_of(&[(texture(1, A), &[A], &[]), (texture(2, B), &[], &[])]);
    assert!(damage_between(&scene, &scene).is_empty());
}

#[test]
fn compare_of_own_damage_is_that_damage() {
    let before = scene_of(&[(texture(1, A), &[], &[])]);
    let after = scene_of(&[(Element { content: ContentSerial(2), ..texture(1, A) }, &[], &[Rect::new(2, 2, 1, 1)])]);
    assert_eq!(damage_between(&before, &after).rects(), &[Rect::new(2, 2, 1, 1)]);
}

#[test]
fn compare_of_a_moved_element_is_both_places() {
    let before = scene_of(&[(texture(1, A), &[], &[])]);
    let after = scene_of(&[(texture(1, FAR), &[], &[])]);
    let damage = damage_between(&before, &after);
    assert!(damage.contains_rect(A) && damage.contains_rect(FAR));
    assert_eq!(damage.area(), 16 + 4);
}

#[test]
fn compare_of_a_gone_element_is_its_place() {
    let before = scene_of(&[(texture(1, A), &[], &[]), (texture(2, FAR), &[], &[])]);
    let after = scene_of(&[(texture(2, FAR), &[], &[])]);
    assert_eq!(damage_between(&before, &after).rects(), &[A]);
}

#[test]
fn compare_of_another_look_is_the_whole_element() {
    let before = texture(1, A);
    let Paint::Texture { texture: id, source, transform, filter } = before.paint else { unreachable!() };
    let looks = [
        Element { alpha: 0.5, ..before },
        Element { paint: Paint::Solid(Color::BLACK), ..before },
        Element { paint: Paint::Texture { texture: TextureId(9), source, transform, filter }, ..before },
        Element {
            paint: Paint::Texture { texture: id, source: RectF { x: 0.5, ..source }, transform, filter },
            ..before
        },
        Element { paint: Paint::Texture { texture: id, source, transform: Transform::Rot180, filter }, ..before },
        Element { paint: Paint::Texture { texture: id, source, transform, filter: Filter::Nearest }, ..before },
    ];
    for look in looks {
        let damage = damage_between(&scene_of(&[(before, &[], &[])]), &scene_of(&[(look, &[], &[])]));
        assert_eq!(damage.rects(), &[A], "{look:?}");
    }
}

#[test]
fn compare_of_a_raised_element_is_that_element() {
    let (a, b, c) = (texture(1, A), texture(2, B), texture(3, FAR));
    let before = scene_of(&[(a, &[], &[]), (b, &[], &[]), (c, &[], &[])]);
    let raised = scene_of(&[(b, &[], &[]), (c, &[], &[]), (a, &[], &[])]);
    assert_eq!(area_and_bounds(&damage_between(&before, &raised)), (16, A));
    let lowered = scene_of(&[(c, &[], &[]), (a, &[], &[]), (b, &[], &[])]);
    assert_eq!(area_and_bounds(&damage_between(&before, &lowered)), (4, FAR));
}

#[test]
fn compare_of_a_hidden_change_is_nothing() {
    let cover: &[Rect] = &[ALL];
    let front = texture(9, ALL);
    let before = scene_of(&[(texture(1, A), &[], &[]), (front, cover, &[])]);
    let updated = scene_of(&[(texture(1, A), &[], &[A]), (front, cover, &[])]);
    assert!(damage_between(&before, &updated).is_empty());
    let moved = scene_of(&[(texture(1, B), &[], &[]), (front, cover, &[])]);
    assert!(damage_between(&before, &moved).is_empty());
    let gone = scene_of(&[(front, cover, &[])]);
    assert!(damage_between(&before, &gone).is_empty());
    assert!(damage_between(&gone, &before).is_empty());
}

#[test]
fn compare_of_another_background_or_size_is_everything() {
    let before = scene_of(&[]);
    let mut after = Scene::new();
    after.reset(SIZE, Color::opaque(0.5, 0.0, 0.0));
    assert_eq!(damage_between(&before, &after).rects(), &[ALL]);
    after.reset(Size::new(20, 8), Color::BLACK);
    assert_eq!(damage_between(&before, &after).rects(), &[Rect::new(0, 0, 20, 8)]);
}

#[test]
fn for_age_beyond_the_history_is_everything() {
    let scene = scene_of(&[]);
    let mut tracker = Tracker::new();
    for frame in 0..12 {
        tracker.compare(&scene);
        assert_eq!(tracker.for_age(&scene, 0).rects(), &[ALL]);
        assert_eq!(tracker.for_age(&scene, MAX_AGE + 1).rects(), &[ALL], "frame {frame}");
        assert_eq!(tracker.for_age(&scene, u32::MAX).rects(), &[ALL]);
        tracker.rendered(&scene);
    }
    assert!(tracker.for_age(&scene, MAX_AGE - 1).is_empty());
    tracker.reset();
    tracker.compare(&scene);
    assert_eq!(tracker.for_age(&scene, 1).rects(), &[ALL]);
}

#[test]
fn for_age_after_scan_out_holds_what_was_scanned_out() {
    let before = scene_of(&[]);
    let scanned = scene_of(&[(texture(1, A), &[], &[])]);
    let mut tracker = Tracker::new();
    tracker.compare(&before);
    tracker.rendered(&before);
    tracker.compare(&scanned);
    tracker.shown_unrendered(&scanned);
    tracker.compare(&scanned);
    assert!(!tracker.is_damaged());
    assert_eq!(tracker.for_age(&scanned, 1).rects(), &[A]);
    tracker.rendered(&scanned);
    tracker.compare(&scanned);
    assert!(tracker.for_age(&scanned, 1).is_empty());
    assert_eq!(tracker.for_age(&scanned, 2).rects(), &[A]);
}

#[test]
fn rendered_not_called_leaves_the_damage_for_the_next_frame() {
    let before = scene_of(&[]);
    let after = scene_of(&[(texture(1, A), &[], &[])]);
    let mut tracker = Tracker::new();
    tracker.compare(&before);
    tracker.rendered(&before);
    tracker.compare(&after);
    tracker.compare(&after);
    assert_eq!(tracker.for_age(&after, 1).rects(), &[A]);
}

#[test]
fn last_content_of_an_element_is_that_of_the_scene_shown() {
    let scene = scene_of(&[(texture(7, A), &[], &[]), (texture(2, B), &[], &[])]);
    let mut tracker = Tracker::new();
    tracker.compare(&scene);
    assert_eq!(tracker.last_content(ElementId(7)), None);
    tracker.rendered(&scene);
    assert_eq!(tracker.last_content(ElementId(7)), Some(ContentSerial(1)));
    assert_eq!(tracker.last_content(ElementId(3)), None);
}

#[test]
fn for_age_of_scattered_damage_is_few_rectangles_that_hold_it() {
    let dots: Vec<Rect> = (0..100).map(|i| Rect::new((i % 10) * 30, (i / 10) * 30, 2, 2)).collect();
    let mut region = Region::new();
    let all = Rect::new(0, 0, 300, 300);
    collect(&mut region, &region_of(all), &dots, all);
    region.limit(MAX_RECTS);
    assert!(region.rects().len() <= MAX_RECTS, "{}", region.rects().len());
    assert!(dots.iter().all(|&dot| region.contains_rect(dot)));
    assert!(region.area() < all.size().area());
}

fn region_of(rect: Rect) -> Region {
    let mut region = Region::new();
    region.set(rect);
    region
}

// What follows is a world of elements whose every pixel has a version; a screen's pixel shows the list of the elements
// visible in it, front to back down to the first opaque one, each with its look and that pixel's version.

/// An element of that world.
#[derive(Clone, Debug)]
struct Thing {
    element: Element,
    opaque: Vec<Rect>,
    history: History,
    /// Of each pixel of `SIDE` × `SIDE`, from the corner of `dst`.
    versions: Vec<u32>,
}

/// One change of that world.
#[derive(Clone, Debug)]
enum Edit {
    Add { id: u64, dst: Rect, opaque: Vec<Rect>, at: usize },
    Remove(usize),
    Move(usize, Rect),
    Restack(usize, usize),
    Update(usize, Vec<Rect>),
    Fade(usize, bool),
}

fn rect() -> impl Strategy<Value = Rect> {
    (-3..SIDE, -3..SIDE, 1..12, 1..12).prop_map(|(x, y, w, h)| Rect::new(x, y, w, h))
}

fn opaque() -> impl Strategy<Value = Vec<Rect>> {
    prop_oneof![Just(vec![Rect::new(0, 0, 99, 99)]), Just(vec![]), prop::collection::vec(rect(), 1..3)]
}

fn edit() -> impl Strategy<Value = Edit> {
    let n = 0..8usize;
    prop_oneof![
        3 => (0..20u64, rect(), opaque(), n.clone())
            .prop_map(|(id, dst, opaque, at)| Edit::Add { id, dst, opaque, at }),
        1 => n.clone().prop_map(Edit::Remove),
        2 => (n.clone(), rect()).prop_map(|(i, to)| Edit::Move(i, to)),
        2 => (n.clone(), n.clone()).prop_map(|(i, to)| Edit::Restack(i, to)),
        4 => (n.clone(), prop::collection::vec(rect(), 0..4)).prop_map(|(i, rects)| Edit::Update(i, rects)),
        1 => (n, any::<bool>()).prop_map(|(i, half)| Edit::Fade(i, half)),
    ]
}

fn apply(things: &mut Vec<Thing>, edit: &Edit) {
    let count = things.len();
    let among = |i: usize| i % count.max(1);
    match edit {
        Edit::Add { id, dst, opaque, at } if things.iter().all(|t| t.element.id.0 != *id) => {
            let mut history = History::new();
            history.replace(ContentSerial(1));
            let versions = vec![0; (SIDE * SIDE) as usize];
            let thing = Thing { element: texture(*id, *dst), opaque: opaque.clone(), history, versions };
            things.insert((*at).min(count), thing);
        }
        Edit::Add { .. } => {}
        _ if count == 0 => {}
        Edit::Remove(i) => drop(things.remove(among(*i))),
        Edit::Move(i, to) => things[among(*i)].element.dst = *to,
        Edit::Restack(i, to) => {
            let thing = things.remove(among(*i));
            things.insert((*to).min(count - 1), thing);
        }
        Edit::Update(i, rects) => {
            let thing = &mut things[among(*i)];
            let serial = ContentSerial(thing.history.newest().0 + 1);
            thing.history.push(serial, rects.iter().copied());
            thing.element.content = serial;
            for p in (0..SIDE * SIDE).map(|i| Point::new(i % SIDE, i / SIDE)) {
                if rects.iter().any(|r| r.contains(p)) {
                    thing.versions[(p.y * SIDE + p.x) as usize] = serial.0 as u32;
                }
            }
        }
        Edit::Fade(i, half) => things[among(*i)].element.alpha = if *half { 0.5 } else { 1.0 },
    }
}

fn built(things: &[Thing], tracker: &Tracker) -> Scene {
    let mut scene = Scene::new();
    scene.reset(SIZE, Color::BLACK);
    for thing in things {
        let dst = thing.element.dst;
        let opaque = scene.span(dst, thing.opaque.iter().map(|r| r.translated(dst.origin())));
        let changes = thing.history.since(tracker.last_content(thing.element.id));
        let own = changes.rects(Rect::from_size(dst.size())).map(|r| r.translated(dst.origin()));
        let damage = scene.span(dst, own);
        scene.push(Element { opaque, damage, ..thing.element });
    }
    scene
}

type Seen = Vec<(u64, Rect, bool, u32)>;

fn seen_at(things: &[Thing], scene: &Scene, p: Point) -> Seen {
    let mut seen = Vec::new();
    for (thing, element) in things.iter().zip(scene.elements()).rev().filter(|(t, _)| t.element.dst.contains(p)) {
        let version = thing.versions[((p.y - element.dst.y) * SIDE + p.x - element.dst.x) as usize];
        seen.push((element.id.0, element.dst, element.alpha < 1.0, version));
        if scene.opaque(element).iter().any(|r| r.contains(p)) {
            break;
        }
    }
    seen
}

fn pixels() -> impl Iterator<Item = (usize, Point)> {
    (0..SIDE * SIDE).map(|i| (i as usize, Point::new(i % SIDE, i / SIDE)))
}

/// What is done with a frame.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Rendered onto this one of the targets.
    Render(usize),
    /// Scanned out.
    ScanOut,
    /// Failed, so neither.
    Skip,
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![6 => (0..4usize).prop_map(Way::Render), 1 => Just(Way::ScanOut), 1 => Just(Way::Skip)]
}

proptest! {
    #[test]
    fn painting_damage_over_aged_targets_equals_painting_whole(
        frames in prop::collection::vec((prop::collection::vec(edit(), 0..4), way()), 1..24),
    ) {
        let mut things = Vec::new();
        let mut tracker = Tracker::new();
        let stale: Seen = vec![(u64::MAX, ALL, false, 0)];
        let mut targets = vec![(0, vec![stale; (SIDE * SIDE) as usize]); 4];
        let mut screen: Option<Vec<Seen>> = None;
        for (edits, way) in &frames {
            for edit in edits {
                apply(&mut things, edit);
            }
            let scene = built(&things, &tracker);
            tracker.compare(&scene);
            let truth: Vec<Seen> = pixels().map(|(_, p)| seen_at(&things, &scene, p)).collect();
            if let (false, Some(screen)) = (tracker.is_damaged(), &screen) {
                prop_assert_eq!(screen, &truth, "a change was missed");
            }
            match *way {
                Way::Render(i) => {
                    let damage = tracker.for_age(&scene, targets[i].0);
                    prop_assert!(damage.rects().len() <= MAX_RECTS);
                    for (at, _) in pixels().filter(|&(_, p)| damage.overlaps(Rect::new(p.x, p.y, 1, 1))) {
                        targets[i].1[at].clone_from(&truth[at]);
                    }
                    prop_assert_eq!(&targets[i].1, &truth, "target {} of age {}", i, targets[i].0);
                    tracker.rendered(&scene);
                    targets.iter_mut().filter(|t| t.0 > 0).for_each(|t| t.0 += 1);
                    targets[i].0 = 1;
                    screen = Some(truth);
                }
                Way::ScanOut => {
                    tracker.shown_unrendered(&scene);
                    screen = Some(truth);
                }
                Way::Skip => {}
            }
        }
    }
}
