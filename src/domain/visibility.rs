//! What of each element is to be painted: its damaged pixels that nothing opaque in front of it hides.
//!
//! One walk, front to back, over an `open` region that begins as the damage and loses each element's opaque part:
//!
//! ```text
//! open = damage                 front  ┌────┐ opaque      its part = open ∩ dst, then open loses it
//!   for each element:                ┌─┴──┐ │ opaque      sees what is left
//!     part = open ∩ dst            ┌─┴──┐ ├─┘ translucent sees what is left, takes nothing away
//!     open = open \ opaque   back  └────┘─┘
//! background = open
//! ```
//!
//! Parts are exact as long as `open` stays below a bound of rectangles. Past it an element no longer takes its opaque
//! part away, so what is beneath paints too much, which painting back to front makes good. Past a bound for all parts
//! together everything is painted inside the damage's hull, one rectangle an element: the cost of a frame is bounded
//! whatever clients send, and its picture stays right.
//!
//! **Transfers.** What is copied instead of drawn must not be painted over by what is beneath, since all copies of a
//! frame come before all draws. So only pixels are copied that are opaque and that the element took from `open`:
//! everything beneath excludes them, and "transfers first, draws after, back to front" gives the picture that painting
//! in order gives. An element with a translucent rim is copied inside and drawn at the rim. Storage is reused: a warm
//! walk allocates nothing.

use super::geometry::{Point, Rect};
use super::region::Region;
use super::scene::{Element, Paint, Scene};
use super::transform::Transform;

/// How a renderer can bring an element onto its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Not at all (its texture is unknown): what is beneath shows.
    Absent,
    /// By drawing it.
    Draw,
    /// By drawing it, or by copying texels as they are (formats equal, the source inside the texture).
    Transfer,
}

/// What one element paints.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its place in [`Scene::elements`].
    pub index: usize,
    /// Disjoint, never empty, physical pixels, inside the output, the damage and the element's `dst`.
    pub rects: &'a [Rect],
}

/// Bounds on the number of rectangles.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Of the damage, past which its hull is painted.
    damage: usize,
    /// Of `open`, past which opaque elements hide nothing.
    open: usize,
    /// Of all parts together, past which the whole hull of the damage is painted.
    parts: usize,
    /// Of one element's opaque part, past which it is not copied.
    opaque: usize,
}

const LIMITS: Limits = Limits { damage: 64, open: 128, parts: 8192, opaque: 16 };

/// A run of `rects`: those that are copied, then those that are drawn.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    start: u32,
    copied: u32,
    drawn: u32,
}

/// See the module's docs.
#[derive(Debug)]
pub struct Visibility {
    limits: Limits,
    open: Region,
    /// An element's part, becoming what of it is drawn.
    part: Region,
    /// One for each element, in the scene's order.
    runs: Vec<Run>,
    rects: Vec<Rect>,
    transfers: usize,
    draws: usize,
}

impl Default for Visibility {
    fn default() -> Self {
        Self::new()
    }
}

impl Visibility {
    /// No storage yet.
    pub const fn new() -> Self {
        Self {
            limits: LIMITS,
            open: Region::new(),
            part: Region::new(),
            runs: Vec::new(),
            rects: Vec::new(),
            transfers: 0,
            draws: 0,
        }
    }

    /// With storage for `elements` elements and for as many rectangles as the bounds allow: scenes up to there never
    /// allocate.
    pub fn with_capacity(elements: usize) -> Self {
        Self {
            open: Region::with_capacity(LIMITS.open * 4), // a subtraction makes four of one at most
            part: Region::with_capacity(LIMITS.open * 4),
            runs: Vec::with_capacity(elements),
            rects: Vec::with_capacity(LIMITS.parts + LIMITS.open * 4),
            ..Self::new()
        }
    }

    /// Works out what `scene` paints inside `damage` (physical pixels; clipped to the output). `means` is asked once
    /// for each element with a visible part, front to back.
    pub fn compute(&mut self, scene: &Scene, damage: &Region, mut means: impl FnMut(&Element) -> Means) {
        self.open.copy_from(damage);
        self.open.intersect(Rect::from_size(scene.size()));
        self.open.limit(self.limits.damage);
        let hull = self.open.bounds();
        self.start_over(scene);
        if !self.walk(scene, &mut means) {
            self.open.set(hull);
            self.start_over(scene);
            self.walk_whole(scene, hull, &mut means);
        }
        self.draws += usize::from(!self.open.is_empty());
    }

    /// The element's part, empty where it paints nothing. `index` is its place in the scene computed last.
    pub fn rects(&self, index: usize) -> &[Rect] {
        let run = self.runs.get(index).copied().unwrap_or_default();
        &self.rects[run.start as usize..][..(run.copied + run.drawn) as usize]
    }

    /// Whether all that the element paints is to be copied, before all draws.
    pub fn is_transfer(&self, index: usize) -> bool {
        self.runs.get(index).is_some_and(|run| run.copied > 0 && run.drawn == 0)
    }

    /// Where no element hides the background: disjoint rectangles, physical pixels, to be painted before all draws.
    pub fn background(&self) -> &[Rect] {
        self.open.rects()
    }

    /// What is copied, in any order, before all draws.
    pub fn transfers(&self) -> impl Iterator<Item = Part<'_>> {
        self.parts(|run| (run.start, run.copied))
    }

    /// What is drawn, back to front, after the background.
    pub fn draws(&self) -> impl Iterator<Item = Part<'_>> {
        self.parts(|run| (run.start + run.copied, run.drawn))
    }

    /// Elements of which something is copied.
    pub fn transfer_count(&self) -> usize {
        self.transfers
    }

    /// Elements of which something is drawn, the background counted as one.
    pub fn draw_count(&self) -> usize {
        self.draws
    }

    /// Rectangles of all parts, without the background's.
    pub fn rect_count(&self) -> usize {
        self.rects.len()
    }

    /// Turns every transfer into a draw, which is always right.
    pub fn draw_all(&mut self) {
        for run in &mut self.runs {
            run.drawn += std::mem::take(&mut run.copied);
        }
        self.transfers = 0;
        self.draws = self.draws().count() + usize::from(!self.open.is_empty());
    }

    fn parts(&self, piece: impl Fn(&Run) -> (u32, u32)) -> impl Iterator<Item = Part<'_>> {
        self.runs.iter().enumerate().filter_map(move |(index, run)| {
            let (start, len) = piece(run);
            (len > 0).then(|| Part { index, rects: &self.rects[start as usize..][..len as usize] })
        })
    }

    fn start_over(&mut self, scene: &Scene) {
        self.rects.clear();
        self.runs.clear();
        self.runs.resize(scene.elements().len(), Run::default());
        self.transfers = 0;
        self.draws = 0;
    }

    /// The walk of the module's docs; false where there were too many rectangles.
    fn walk(&mut self, scene: &Scene, means: &mut impl FnMut(&Element) -> Means) -> bool {
        for (index, element) in scene.elements().iter().enumerate().rev() {
            if self.open.is_empty() {
                break;
            }
            let start = self.rects.len();
            self.rects.extend(self.open.rects().iter().filter_map(|r| r.intersection(element.dst)));
            if self.rects.len() > self.limits.parts {
                return false;
            }
            if self.rects.len() == start {
                continue;
            }
            let means = means(element);
            if means == Means::Absent {
                self.rects.truncate(start);
                continue;
            }
            let all_taken = self.take_opaque(scene, element);
            let copied = if all_taken && means == Means::Transfer && is_plain(element) {
                self.split(start, scene.opaque(element))
            } else {
                0
            };
            self.note(index, start, copied);
        }
        true
    }

    /// Everything inside `hull`, one rectangle an element, down to the first that hides all.
    fn walk_whole(&mut self, scene: &Scene, hull: Rect, means: &mut impl FnMut(&Element) -> Means) {
        for (index, element) in scene.elements().iter().enumerate().rev() {
            let Some(rect) = hull.intersection(element.dst) else { continue };
            if means(element) == Means::Absent {
                continue;
            }
            let start = self.rects.len();
            self.rects.push(rect);
            self.note(index, start, 0);
            if scene.opaque(element).iter().any(|o| o.contains_rect(hull)) {
                self.open.clear();
                return;
            }
        }
    }

    /// Takes the element's opaque part from `open`; false where some of it was left because of the bound.
    fn take_opaque(&mut self, scene: &Scene, element: &Element) -> bool {
        scene.opaque(element).iter().all(|&rect| {
            let room = self.open.rects().len() <= self.limits.open;
            if room {
                self.open.subtract(rect);
            }
            room
        })
    }

    /// Splits the part that begins at `start` into what is opaque, first, and the rest; tells how many rectangles are
    /// opaque.
    fn split(&mut self, start: usize, opaque: &[Rect]) -> usize {
        if opaque.len() > self.limits.opaque {
            return 0;
        }
        self.part.set_disjoint(&self.rects[start..]);
        self.rects.truncate(start);
        for &rect in opaque {
            self.rects.extend(self.part.rects().iter().filter_map(|r| r.intersection(rect)));
            self.part.subtract(rect);
        }
        let copied = self.rects.len() - start;
        self.rects.extend_from_slice(self.part.rects());
        copied
    }

    fn note(&mut self, index: usize, start: usize, copied: usize) {
        let drawn = self.rects.len() - start - copied;
        self.runs[index] = Run { start: start as u32, copied: copied as u32, drawn: drawn as u32 };
        self.transfers += usize::from(copied > 0);
        self.draws += usize::from(drawn > 0);
    }
}

/// Where the texel of the element's `dst` corner lies in its buffer, if it shows texels one to one as they are:
/// unscaled, untransformed, on whole texels, alpha 1. What its opaque part is does not matter here.
pub fn unscaled_origin(element: &Element) -> Option<Point> {
    let Paint::Texture { source, transform: Transform::Normal, .. } = element.paint else { return None };
    let source = source.as_integer()?;
    let same = source.size() == element.dst.size();
    (same && element.alpha >= 1.0).then_some(source.origin())
}

fn is_plain(element: &Element) -> bool {
    unscaled_origin(element).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::buffer::TextureId;
    use super::super::geometry::{RectF, Size};
    use super::super::scene::{Color, ElementId, Filter, Role};
    use super::*;

    const SIDE: i32 = 20;

    /// An element as the strategies make it: where, which part of `dst` is opaque, and by which means it comes.
    #[derive(Clone, Debug)]
    struct Made {
        dst: Rect,
        opaque: Vec<Rect>,
        means: Means,
        plain: bool,
    }

    fn rect() -> impl Strategy<Value = Rect> {
        (-4..SIDE, -4..SIDE, 0..14, 0..14).prop_map(|(x, y, w, h)| Rect::new(x, y, w, h))
    }

    fn made() -> impl Strategy<Value = Made> {
        let opaque = prop_oneof![
            Just(vec![Rect::new(-100, -100, 200, 200)]),
            Just(vec![]),
            prop::collection::vec(rect(), 0..3),
        ];
        let means = prop_oneof![Just(Means::Absent), Just(Means::Draw), Just(Means::Transfer), Just(Means::Transfer)];
        (rect(), opaque, means, any::<bool>()).prop_map(|(dst, opaque, means, plain)| Made {
            dst,
            opaque,
            means,
            plain,
        })
    }

    fn scene_of(made: &[Made]) -> Scene {
        let mut scene = Scene::new();
        scene.reset(Size::new(SIDE, SIDE), Color::BLACK);
        for (i, m) in made.iter().enumerate() {
            let opaque = scene.span(m.dst, m.opaque.iter().copied());
            let source = RectF::new(if m.plain { 3.0 } else { 3.5 }, 0.0, f64::from(m.dst.w), f64::from(m.dst.h));
            scene.push(Element {
                id: ElementId(i as u64),
                role: Role::Content,
                content: Default::default(),
                paint: Paint::Texture {
                    texture: TextureId(i as u64),
                    source,
                    transform: Transform::Normal,
                    filter: Filter::Linear,
                },
                dst: m.dst,
                alpha: 1.0,
                opaque,
                damage: Default::default(),
                buffer: None,
                buffer_size: Size::default(),
            });
        }
        scene
    }

    fn pixels() -> impl Iterator<Item = Point> {
        (-2..SIDE + 2).flat_map(|y| (-2..SIDE + 2).map(move |x| Point::new(x, y)))
    }

    fn is_opaque_at(m: &Made, p: Point) -> bool {
        m.dst.contains(p) && m.opaque.iter().any(|r| r.contains(p))
    }

    /// Painting as marks: what a pixel shows is the elements since the last opaque one, `None` standing for the
    /// background, `usize::MAX` for what was there before.
    type Picture = Vec<Vec<Option<usize>>>;

    fn at(p: Point) -> usize {
        ((p.y + 2) * (SIDE + 4) + p.x + 2) as usize
    }

    fn blank() -> Picture {
        vec![vec![Some(usize::MAX)]; ((SIDE + 4) * (SIDE + 4)) as usize]
    }

    fn paint(picture: &mut Picture, made: &[Made], index: usize, p: Point) {
        if is_opaque_at(&made[index], p) {
            picture[at(p)].clear();
        }
        picture[at(p)].push(Some(index));
    }

    fn painted_in_order(made: &[Made], inside: impl Fn(Point) -> bool) -> Picture {
        let mut picture = blank();
        for p in pixels().filter(|&p| inside(p) && Rect::new(0, 0, SIDE, SIDE).contains(p)) {
            picture[at(p)] = vec![None];
            for (index, m) in made.iter().enumerate() {
                if m.means != Means::Absent && m.dst.contains(p) {
                    paint(&mut picture, made, index, p);
                }
            }
        }
        picture
    }

    fn painted_by(visibility: &Visibility, made: &[Made]) -> Picture {
        let mut picture = blank();
        let within = |rects: &[Rect]| -> Vec<Point> {
            let all = pixels().filter(|&p| rects.iter().any(|r| r.contains(p)));
            all.inspect(|&p| assert_eq!(rects.iter().filter(|r| r.contains(p)).count(), 1, "twice at {p:?}")).collect()
        };
        for part in visibility.transfers() {
            for p in within(part.rects) {
                assert!(is_opaque_at(&made[part.index], p), "transfer of a translucent pixel");
                paint(&mut picture, made, part.index, p);
            }
        }
        for p in within(visibility.background()) {
            picture[at(p)] = vec![None];
        }
        for part in visibility.draws() {
            for p in within(part.rects) {
                paint(&mut picture, made, part.index, p);
            }
        }
        picture
    }

    fn region_of(rects: &[Rect]) -> Region {
        let mut region = Region::new();
        for &r in rects {
            region.add(r);
        }
        region
    }

    fn means_of(made: &[Made]) -> impl FnMut(&Element) -> Means {
        |e| made[e.id.0 as usize].means
    }

    proptest! {
        #[test]
        fn rects_of_any_scene_are_every_visible_damaged_pixel_once(
            made in prop::collection::vec(made(), 0..9), damage in prop::collection::vec(rect(), 0..5),
        ) {
            let (scene, region) = (scene_of(&made), region_of(&damage));
            let mut visibility = Visibility::new();
            visibility.compute(&scene, &region, means_of(&made));
            let output = Rect::new(0, 0, SIDE, SIDE);
            for p in pixels() {
                let mut open = output.contains(p) && damage.iter().any(|r| r.contains(p));
                for (index, m) in made.iter().enumerate().rev() {
                    let seen = open && m.means != Means::Absent && m.dst.contains(p);
                    let count = visibility.rects(index).iter().filter(|r| r.contains(p)).count();
                    prop_assert_eq!(count, usize::from(seen), "element {} at {:?}", index, p);
                    open &= !(seen && is_opaque_at(m, p));
                }
                let count = visibility.background().iter().filter(|r| r.contains(p)).count();
                prop_assert_eq!(count, usize::from(open), "background at {:?}", p);
            }
            for (index, m) in made.iter().enumerate() {
                let part = visibility.rects(index);
                let opaque = pixels().filter(|&p| part.iter().any(|r| r.contains(p))).all(|p| is_opaque_at(m, p));
                let expected = !part.is_empty() && opaque && m.plain && m.means == Means::Transfer;
                prop_assert_eq!(visibility.is_transfer(index), expected, "element {}", index);
            }
            prop_assert_eq!(visibility.transfer_count(), visibility.transfers().count());
            let background = usize::from(!visibility.background().is_empty());
            prop_assert_eq!(visibility.draw_count(), visibility.draws().count() + background);
        }

        #[test]
        fn transfers_before_draws_give_the_picture_of_painting_in_order(
            made in prop::collection::vec(made(), 0..12), damage in prop::collection::vec(rect(), 1..5),
            bounds in prop_oneof![Just((64, 128, 8192)), (1..4usize, 0..6usize, 0..24usize)],
            draw_all in any::<bool>(),
        ) {
            let (scene, region) = (scene_of(&made), region_of(&damage));
            let limits = Limits { damage: bounds.0, open: bounds.1, parts: bounds.2, opaque: 2 };
            let mut visibility = Visibility { limits, ..Visibility::new() };
            visibility.compute(&scene, &region, means_of(&made));
            if draw_all { visibility.draw_all(); }
            let painted = painted_by(&visibility, &made);
            let truth = painted_in_order(&made, |_| true);
            for p in pixels() {
                let damaged = Rect::new(0, 0, SIDE, SIDE).contains(p) && damage.iter().any(|r| r.contains(p));
                // Outside the damage the target's content is right already; whole repaints of it are as right.
                let right = painted[at(p)] == truth[at(p)] || (!damaged && painted[at(p)] == blank()[0]);
                prop_assert!(right, "{:?}: {:?} instead of {:?}", p, painted[at(p)], truth[at(p)]);
            }
        }
    }

    fn full(dst: Rect) -> Made {
        Made { dst, opaque: vec![dst], means: Means::Transfer, plain: true }
    }

    fn computed(made: &[Made], damage: Rect) -> Visibility {
        let mut visibility = Visibility::new();
        visibility.compute(&scene_of(made), &region_of(&[damage]), means_of(made));
        visibility
    }

    const ALL: Rect = Rect::new(0, 0, SIDE, SIDE);

    #[test]
    fn element_beneath_an_opaque_one_paints_nothing() {
        let visibility = computed(&[full(Rect::new(2, 2, 4, 4)), full(ALL)], ALL);
        assert!(visibility.rects(0).is_empty());
        assert_eq!(visibility.rects(1), &[ALL]);
        assert!(visibility.background().is_empty());
        assert_eq!((visibility.transfer_count(), visibility.draw_count()), (1, 0));
    }

    #[test]
    fn element_beneath_an_absent_one_shows() {
        let visibility = computed(&[full(ALL), Made { means: Means::Absent, ..full(ALL) }], ALL);
        assert_eq!(visibility.rects(0), &[ALL]);
        assert!(visibility.rects(1).is_empty());
    }

    #[test]
    fn transfer_of_an_element_that_is_opaque_where_damaged_is_allowed() {
        let half = Made { opaque: vec![Rect::new(0, 0, 10, SIDE)], ..full(ALL) };
        assert!(computed(std::slice::from_ref(&half), Rect::new(2, 2, 4, 4)).is_transfer(0));
        assert!(!computed(std::slice::from_ref(&half), ALL).is_transfer(0));
    }

    #[test]
    fn transfer_of_an_element_with_a_translucent_rim_leaves_the_rim_to_be_drawn() {
        let inner = Rect::new(3, 3, 14, 14);
        let visibility = computed(&[Made { opaque: vec![inner], ..full(ALL) }], ALL);
        let copied: Vec<Rect> = visibility.transfers().flat_map(|part| part.rects.to_vec()).collect();
        assert_eq!(copied, [inner]);
        let drawn: u64 = visibility.draws().flat_map(|part| part.rects).map(|r| r.size().area()).sum();
        assert_eq!(drawn, ALL.size().area() - inner.size().area());
        assert_eq!((visibility.transfer_count(), visibility.draw_count()), (1, 2)); // the background shows at the rim
    }

    #[test]
    fn damage_outside_the_output_paints_nothing() {
        let visibility = computed(&[full(Rect::new(-50, -50, 100, 100))], Rect::new(SIDE, 0, 5, 5));
        assert_eq!((visibility.rect_count(), visibility.draw_count()), (0, 0));
    }

    #[test]
    fn means_of_a_hidden_element_are_not_asked() {
        let made = [full(ALL), full(ALL)];
        let mut asked = Vec::new();
        Visibility::new().compute(&scene_of(&made), &region_of(&[ALL]), |e| {
            asked.push(e.id.0);
            Means::Draw
        });
        assert_eq!(asked, [1]);
    }

    #[test]
    fn unscaled_origin_of_anything_not_one_to_one_is_none() {
        let scene = scene_of(&[full(Rect::new(5, 5, 4, 4))]);
        let plain = scene.elements()[0];
        let with = |source, transform, alpha, dst| {
            let Paint::Texture { texture, filter, .. } = plain.paint else { unreachable!() };
            unscaled_origin(&Element {
                paint: Paint::Texture { texture, source, transform, filter },
                alpha,
                dst,
                ..plain
            })
        };
        let source = RectF::new(1.0, 2.0, 4.0, 4.0);
        assert_eq!(with(source, Transform::Normal, 1.0, plain.dst), Some(Point::new(1, 2)));
        assert_eq!(with(source, Transform::Rot90, 1.0, plain.dst), None);
        assert_eq!(with(source, Transform::Normal, 0.99, plain.dst), None);
        assert_eq!(with(source, Transform::Normal, 1.0, Rect::new(5, 5, 5, 4)), None);
        assert_eq!(with(RectF::new(1.0, 2.5, 4.0, 4.0), Transform::Normal, 1.0, plain.dst), None);
        assert_eq!(unscaled_origin(&Element { paint: Paint::Solid(Color::BLACK), ..plain }), None);
    }

    #[test]
    fn rects_of_ten_thousand_small_elements_stay_bounded() {
        let mut scene = Scene::new();
        scene.reset(Size::new(4000, 4000), Color::BLACK);
        for i in 0..10_000 {
            let dst = Rect::new((i * 37) % 3990, (i * 101) % 3990, 400, 5);
            let opaque = scene.span(dst, [dst]);
            scene.push(Element {
                id: ElementId(i as u64),
                role: Role::Content,
                content: Default::default(),
                paint: Paint::Solid(Color::BLACK),
                dst,
                alpha: 1.0,
                opaque,
                damage: Default::default(),
                buffer: None,
                buffer_size: Size::default(),
            });
        }
        let mut visibility = Visibility::new();
        visibility.compute(&scene, &region_of(&[Rect::new(0, 0, 4000, 4000)]), |_| Means::Transfer);
        assert!(visibility.rect_count() <= LIMITS.parts.max(10_000));
        assert!(visibility.background().len() <= 3 * LIMITS.open);
    }
}
