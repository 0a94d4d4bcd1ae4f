//! What has to be painted again: per output by comparing scenes, per surface by a history of its commits.
//!
//! A [`Tracker`] belongs to one output and remembers the scene its screen shows. A frame goes
//!
//! ```text
//! latch: scene is built, each element's own damage asked of its History since Tracker::last_content(id)
//! compare(scene)      what differs from the scene shown; nothing (is_damaged) → no frame at all
//! for_age(age)        the same and what the target missed: a target of age n has not seen the last n - 1 frames
//! render              …
//! rendered(scene)     it is the scene shown now; without this call (the frame was skipped) nothing happened
//! ```
//!
//! A pixel counts as changed only where the change shows: an element's damage, arrival or new place is cut by what
//! hides it in the new scene, its old place by what hid it in the scene shown. That is exact where elements are opaque
//! where they say so: if no element visible at a pixel, then or now, changed there, both scenes show the same ones.
//! Too many rectangles become fewer, larger ones; storage is reused, so a warm tracker allocates nothing.
//!
//! Absent: damage outside of `dst` or widened for filters; whoever scales rectangles widens them. Next of the walk:
//! [`super::plane`], then `ports::renderer`.

mod history;

pub use history::{Changes, History};

use super::geometry::Rect;
use super::region::Region;
use super::scene::{ContentSerial, Element, ElementId, Scene};

/// Rectangles of a damage region, at most.
pub const MAX_RECTS: usize = 32;

/// The greatest age that is told from "undefined".
pub const MAX_AGE: u32 = 8;

const PAST: usize = MAX_AGE as usize - 1;

/// Rectangles of what is not hidden, past which opaque elements hide nothing.
const MAX_OPEN: usize = 128;

/// Rectangles that there is storage for from the start.
const ROOM: usize = 2 * MAX_OPEN;

/// Pieces of one rectangle that are not hidden, past which their hull counts.
const MAX_PIECES: usize = 8;

/// What became of an element of the new scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// As shown, from this place in the scene shown: only its own damage counts.
    Kept(u32),
    /// New, or looks otherwise, or changed places with another: all of it counts.
    Changed,
}

/// See the module's docs.
#[derive(Debug)]
pub struct Tracker {
    /// What the screen shows; of no meaning unless `valid`.
    shown: Scene,
    /// Places in `shown`, by id.
    places: Vec<(ElementId, u32)>,
    valid: bool,
    /// From `shown` to the scene compared last.
    fresh: Region,
    /// From the scene rendered last to `shown`: what was shown by other means than rendering since.
    carried: Region,
    /// Damage of the frames rendered last, a ring; `newest` is the last one's place.
    past: [Region; PAST],
    newest: usize,
    frames: usize,
    aged: Region,
    open: Region,
    fates: Vec<Fate>,
    /// Of each element of `shown`, whether it is found again as it was.
    kept: Vec<bool>,
}

impl Default for Tracker {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracker {
    /// Nothing is shown yet: the first frame is damaged whole.
    pub fn new() -> Self {
        // Room for what regions come to before they are limited, so that none of the ring grows at some later frame.
        let region = || Region::with_capacity(ROOM);
        Self {
            shown: Scene::new(),
            places: Vec::new(),
            valid: false,
            fresh: region(),
            carried: region(),
            past: std::array::from_fn(|_| region()),
            newest: 0,
            frames: 0,
            aged: region(),
            open: region(),
            fates: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Which content of the element the screen shows; `None` where it shows none of it.
    pub fn last_content(&self, id: ElementId) -> Option<ContentSerial> {
        let place = self.place_of(id).filter(|_| self.valid)?;
        Some(self.shown.elements()[place as usize].content)
    }

    /// Forgets what is shown: the next frame is damaged whole, and every age.
    pub fn reset(&mut self) {
        self.valid = false;
        self.frames = 0;
        self.carried.clear();
    }

    /// Finds what differs between the scene shown and `scene`.
    pub fn compare(&mut self, scene: &Scene) {
        self.fresh.clear();
        let same_ground = scene.size() == self.shown.size() && scene.background() == self.shown.background();
        if !self.valid || !same_ground {
            self.fresh.set(Rect::from_size(scene.size()));
            return;
        }
        self.match_elements(scene);
        self.find_restacked(scene);
        self.collect_new(scene);
        self.collect_old();
        self.fresh.limit(MAX_RECTS);
    }

    /// Whether the scene compared last looks otherwise than the screen.
    pub fn is_damaged(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// What has to be painted for the scene compared last on a target whose content was rendered `age` frames ago,
    /// 0 for undefined content. Physical pixels, inside the output.
    pub fn for_age(&mut self, scene: &Scene, age: u32) -> &Region {
        let all = Rect::from_size(scene.size());
        let missed = (age as usize).wrapping_sub(1);
        if missed > self.frames.min(PAST) || self.fresh.contains_rect(all) {
            self.aged.set(all);
            return &self.aged;
        }
        self.aged.copy_from(&self.fresh);
        self.aged.add_region(&self.carried);
        for i in 0..missed {
            self.aged.add_region(&self.past[(self.newest + PAST - i) % PAST]);
        }
        self.aged.intersect(all);
        self.aged.limit(MAX_RECTS);
        &self.aged
    }

    /// The scene compared last was rendered and will be shown: the targets are a frame older now.
    pub fn rendered(&mut self, scene: &Scene) {
        if scene.size() != self.shown.size() {
            self.frames = 0;
        }
        self.newest = (self.newest + 1) % PAST;
        self.past[self.newest].copy_from(&self.fresh);
        self.past[self.newest].add_region(&self.carried);
        self.past[self.newest].limit(MAX_RECTS);
        self.frames = (self.frames + 1).min(PAST);
        self.carried.clear();
        self.show(scene);
    }

    /// The scene compared last is shown without having been rendered (scanned out): no target knows it, none is older.
    pub fn shown_unrendered(&mut self, scene: &Scene) {
        if scene.size() != self.shown.size() || !self.valid {
            self.frames = 0;
        }
        self.carried.add_region(&self.fresh);
        self.carried.limit(MAX_RECTS);
        self.show(scene);
    }

    fn show(&mut self, scene: &Scene) {
        self.fresh.clear();
        self.shown.copy_from(scene);
        self.valid = true;
        self.places.clear();
        self.places.extend((0..).zip(scene.elements()).map(|(place, element)| (element.id, place)));
        self.places.sort_unstable();
    }

    fn place_of(&self, id: ElementId) -> Option<u32> {
        let at = self.places.partition_point(|&(other, _)| other < id);
        self.places.get(at).filter(|&&(other, _)| other == id).map(|&(_, place)| place)
    }

    /// Finds each element of `scene` in the scene shown. Ids given twice match once.
    fn match_elements(&mut self, scene: &Scene) {
        let shown = self.shown.elements();
        self.kept.clear();
        self.kept.resize(shown.len(), false);
        self.fates.clear();
        for (i, element) in scene.elements().iter().enumerate() {
            let same_place = shown.get(i).is_some_and(|old| old.id == element.id);
            let place = if same_place { Some(i as u32) } else { self.place_of(element.id) };
            let kept = place.filter(|&p| !self.kept[p as usize] && looks_alike(&shown[p as usize], element));
            self.fates.push(kept.map_or(Fate::Changed, Fate::Kept));
            if let Some(place) = kept {
                self.kept[place as usize] = true;
            }
        }
    }

    /// Makes elements that passed others in the stacking order [`Fate::Changed`], so that the order of the kept ones is
    /// the old one. Of the two ways to see it, raised past others or lowered past them, the one with fewer elements.
    fn find_restacked(&mut self, scene: &Scene) {
        let overtaken = |fates: &mut dyn Iterator<Item = &Fate>, front_first: bool| {
            let mut count = 0;
            let mut limit = None;
            for fate in fates {
                let Fate::Kept(place) = *fate else { continue };
                match limit {
                    Some(l) if (place > l) == front_first => count += 1,
                    _ => limit = Some(place),
                }
            }
            count
        };
        let lowered = overtaken(&mut self.fates.iter().rev(), true);
        let raised = overtaken(&mut self.fates.iter(), false);
        if lowered == 0 {
            return;
        }
        let front_first = lowered < raised;
        let mut limit = None;
        for step in 0..scene.elements().len() {
            let i = if front_first { scene.elements().len() - 1 - step } else { step };
            let Fate::Kept(place) = self.fates[i] else { continue };
            match limit {
                Some(l) if (place > l) == front_first => {
                    self.fates[i] = Fate::Changed;
                    self.kept[place as usize] = false;
                }
                _ => limit = Some(place),
            }
        }
    }

    /// Adds what changed in `scene` where it is not hidden in `scene`.
    fn collect_new(&mut self, scene: &Scene) {
        let counts = |fate: &Fate, element: &Element| *fate == Fate::Changed || !scene.damage(element).is_empty();
        let elements = scene.elements();
        let mut left = self.fates.iter().zip(elements).filter(|(fate, element)| counts(fate, element)).count();
        let all = Rect::from_size(scene.size());
        self.open.set(all);
        for (fate, element) in self.fates.iter().zip(elements).rev() {
            if left == 0 || self.open.is_empty() {
                break;
            }
            if counts(fate, element) {
                left -= 1;
                let whole = [element.dst];
                let rects = if *fate == Fate::Changed { &whole } else { scene.damage(element) };
                collect(&mut self.fresh, &self.open, rects, all);
            }
            hide(&mut self.open, scene.opaque(element));
        }
    }

    /// Adds what is gone from the scene shown where it was not hidden in it.
    fn collect_old(&mut self) {
        let mut left = self.kept.iter().filter(|&&kept| !kept).count();
        let all = Rect::from_size(self.shown.size());
        self.open.set(all);
        for (kept, element) in self.kept.iter().zip(self.shown.elements()).rev() {
            if left == 0 || self.open.is_empty() {
                break;
            }
            if !kept {
                left -= 1;
                collect(&mut self.fresh, &self.open, &[element.dst], all);
            }
            hide(&mut self.open, self.shown.opaque(element));
        }
    }
}

/// Whether two states of an element give the same pixels where it has no damage of its own.
fn looks_alike(a: &Element, b: &Element) -> bool {
    a.paint == b.paint && a.dst == b.dst && a.alpha == b.alpha
}

/// Adds to `damage` what of `rects` is in `open`, the hull of it where it is in many pieces: a little too much is
/// cheaper than many small rectangles.
fn collect(damage: &mut Region, open: &Region, rects: &[Rect], all: Rect) {
    for rect in rects.iter().filter_map(|rect| rect.intersection(all)) {
        if damage.contains_rect(rect) {
            continue;
        }
        let seen = || open.rects().iter().filter_map(|o| o.intersection(rect));
        if seen().nth(MAX_PIECES).is_some() {
            damage.add(seen().fold(Rect::default(), Rect::hull));
        } else {
            seen().for_each(|piece| damage.add(piece));
        }
        damage.limit(2 * MAX_RECTS);
    }
}

/// Takes opaque rectangles from what is not hidden, while that has few enough.
fn hide(open: &mut Region, opaque: &[Rect]) {
    for &rect in opaque {
        if open.rects().len() > MAX_OPEN {
            return;
        }
        open.subtract(rect);
    }
}

#[cfg(test)]
mod tests;
