//! A set of pixels as disjoint rectangles, with its storage reused.
//!
//! Invariant: no two rectangles overlap and none is empty. All operations are exact; [`Region::limit`] is the one
//! place where a region may grow (to fewer rectangles), for damage, where too much is only slow. Storage is kept across
//! [`Region::clear`], so a region that has reached its working size allocates nothing more.

use super::geometry::{Point, Rect};

/// A set of pixels; the coordinate space is the owner's.
#[derive(Clone, Debug, Default)]
pub struct Region {
    rects: Vec<Rect>,
    scratch: Vec<Rect>,
}

impl Region {
    /// The empty set, no storage yet.
    pub const fn new() -> Self {
        Self { rects: Vec::new(), scratch: Vec::new() }
    }

    /// The empty set with room for `n` rectangles in each of its two lists.
    pub fn with_capacity(n: usize) -> Self {
        Self { rects: Vec::with_capacity(n), scratch: Vec::with_capacity(n) }
    }

    /// The disjoint rectangles, in no promised order.
    pub fn rects(&self) -> &[Rect] {
        &self.rects
    }

    /// Whether no pixel is in it.
    pub fn is_empty(&self) -> bool {
        self.rects.is_empty()
    }

    /// Removes every pixel, keeps the storage.
    pub fn clear(&mut self) {
        self.rects.clear();
    }

    /// Becomes exactly `rect`.
    pub fn set(&mut self, rect: Rect) {
        self.rects.clear();
        if !rect.is_empty() {
            self.rects.push(rect);
        }
    }

    /// Becomes the pixels of `rects`, which the caller knows to be disjoint and not empty.
    pub fn set_disjoint(&mut self, rects: &[Rect]) {
        debug_assert!(
            rects.iter().enumerate().all(|(i, a)| !a.is_empty() && !rects[..i].iter().any(|b| a.overlaps(*b)))
        );
        self.rects.clear();
        self.rects.extend_from_slice(rects);
    }

    /// Becomes a copy of `other`.
    pub fn copy_from(&mut self, other: &Self) {
        self.rects.clone_from(&other.rects);
    }

    /// Number of pixels.
    pub fn area(&self) -> u64 {
        self.rects.iter().map(|r| r.size().area()).sum()
    }

    /// The smallest rectangle that holds every pixel; empty for the empty set.
    pub fn bounds(&self) -> Rect {
        self.rects.iter().fold(Rect::default(), |hull, &r| hull.hull(r))
    }

    /// Adds the pixels of `rect`.
    pub fn add(&mut self, rect: Rect) {
        if rect.is_empty() || self.rects.iter().any(|r| r.contains_rect(rect)) {
            return;
        }
        self.rects.retain(|r| !rect.contains_rect(*r));
        let known = self.rects.len();
        self.rects.push(rect);
        // Cut what is known out of the newcomer, piece by piece.
        for i in 0..known {
            let hole = self.rects[i];
            let mut piece = known;
            while piece < self.rects.len() {
                if self.rects[piece].overlaps(hole) {
                    let cut = self.rects.swap_remove(piece);
                    cut_out(cut, hole, &mut self.scratch);
                } else {
                    piece += 1;
                }
            }
            self.rects.append(&mut self.scratch);
        }
    }

    /// Adds every pixel of `other`.
    pub fn add_region(&mut self, other: &Self) {
        for &rect in &other.rects {
            self.add(rect);
        }
    }

    /// Removes the pixels of `rect`.
    pub fn subtract(&mut self, rect: Rect) {
        if rect.is_empty() {
            return;
        }
        let mut i = 0;
        while i < self.rects.len() {
            if self.rects[i].overlaps(rect) {
                let cut = self.rects.swap_remove(i);
                cut_out(cut, rect, &mut self.scratch);
            } else {
                i += 1;
            }
        }
        self.rects.append(&mut self.scratch);
    }

    /// Removes every pixel of `other`.
    pub fn subtract_region(&mut self, other: &Self) {
        for &rect in &other.rects {
            self.subtract(rect);
        }
    }

    /// Keeps only the pixels inside `clip`.
    pub fn intersect(&mut self, clip: Rect) {
        self.rects.retain_mut(|r| match r.intersection(clip) {
            Some(both) => {
                *r = both;
                true
            }
            None => false,
        });
    }

    /// Moves every pixel.
    pub fn translate(&mut self, by: Point) {
        for rect in &mut self.rects {
            *rect = rect.translated(by);
        }
    }

    /// Whether every pixel of `rect` is in it. Allocates nothing.
    pub fn contains_rect(&self, rect: Rect) -> bool {
        let covered: u64 = self.rects.iter().filter_map(|r| r.intersection(rect)).map(|r| r.size().area()).sum();
        covered == rect.size().area()
    }

    /// Whether some pixel of `rect` is in it.
    pub fn overlaps(&self, rect: Rect) -> bool {
        self.rects.iter().any(|r| r.overlaps(rect))
    }

    /// Where there are more than `max` rectangles, becomes half as many or fewer that cover them: one for each cell of a
    /// grid over the bounds that holds the centre of any, joined where they overlap. Half, so that adding and limiting
    /// by turns does this seldom.
    pub fn limit(&mut self, max: usize) {
        if self.rects.len() <= max {
            return;
        }
        let bounds = self.bounds();
        let cells_wanted = (max / 2).clamp(1, MAX_CELLS);
        let columns = cells_wanted.isqrt();
        let rows = cells_wanted / columns;
        let mut cells = [Rect::default(); MAX_CELLS];
        for rect in &self.rects {
            let column = cell_of(rect.x, rect.w, bounds.x, bounds.w, columns);
            let row = cell_of(rect.y, rect.h, bounds.y, bounds.h, rows);
            let cell = &mut cells[row * columns + column];
            *cell = cell.hull(*rect);
        }
        join_overlapping(&mut cells);
        self.rects.clear();
        self.rects.extend(cells.into_iter().filter(|cell| !cell.is_empty()));
    }

    /// Joins rectangles that together make a larger one.
    pub fn coalesce(&mut self) {
        let mut i = 0;
        while i < self.rects.len() {
            let a = self.rects[i];
            let joined = (i + 1..self.rects.len()).find_map(|j| {
                let b = self.rects[j];
                let hull = a.hull(b);
                (hull.size().area() == a.size().area() + b.size().area()).then_some((j, hull))
            });
            match joined {
                Some((j, hull)) => {
                    self.rects[i] = hull;
                    self.rects.swap_remove(j);
                    i = 0;
                }
                None => i += 1,
            }
        }
    }
}

/// Rectangles that [`Region::limit`] leaves, at most.
const MAX_CELLS: usize = 64;

/// Which of `cells` equal parts of the span from `start` holds the middle of the span from `at`.
fn cell_of(at: i32, length: i32, start: i32, whole: i32, cells: usize) -> usize {
    let middle = i64::from(at) + i64::from(length) / 2 - i64::from(start);
    let cell = middle * cells as i64 / i64::from(whole.max(1));
    cell.clamp(0, cells as i64 - 1) as usize
}

/// Replaces overlapping rectangles by their hull until none overlap; what was joined becomes empty.
fn join_overlapping(rects: &mut [Rect]) {
    let mut i = 0;
    while i < rects.len() {
        match (0..rects.len()).find(|&j| j != i && rects[i].overlaps(rects[j])) {
            Some(j) => {
                rects[i] = rects[i].hull(rects[j]);
                rects[j] = Rect::default();
                i = i.min(j);
            }
            None => i += 1,
        }
    }
}

/// Appends what is left of `rect` without `hole`: at most four rectangles.
fn cut_out(rect: Rect, hole: Rect, out: &mut Vec<Rect>) {
    let Some(hole) = rect.intersection(hole) else {
        out.push(rect);
        return;
    };
    let pieces = [
        Rect::from_edges(rect.x, rect.y, rect.right(), hole.y),
        Rect::from_edges(rect.x, hole.y, hole.x, hole.bottom()),
        Rect::from_edges(hole.right(), hole.y, rect.right(), hole.bottom()),
        Rect::from_edges(rect.x, hole.bottom(), rect.right(), rect.bottom()),
    ];
    out.extend(pieces.into_iter().filter(|p| !p.is_empty()));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIDE: i32 = 24;

    fn rects() -> impl Strategy<Value = Vec<Rect>> {
        prop::collection::vec((-4..SIDE, -4..SIDE, 0..12, 0..12).prop_map(|(x, y, w, h)| Rect::new(x, y, w, h)), 0..12)
    }

    fn inside(rects: &[Rect], p: Point) -> usize {
        rects.iter().filter(|r| r.contains(p)).count()
    }

    fn pixels() -> impl Iterator<Item = Point> {
        (-6..SIDE + 16).flat_map(|y| (-6..SIDE + 16).map(move |x| Point::new(x, y)))
    }

    proptest! {
        #[test]
        fn add_and_subtract_of_any_rectangles_are_exact_and_disjoint(plus in rects(), minus in rects()) {
            let mut region = Region::new();
            for &r in &plus { region.add(r); }
            for &r in &minus { region.subtract(r); }
            for p in pixels() {
                let expected = usize::from(inside(&plus, p) > 0 && inside(&minus, p) == 0);
                prop_assert_eq!(inside(region.rects(), p), expected, "{:?}", p);
            }
            let area = region.area();
            let count = region.rects().len();
            region.coalesce();
            prop_assert_eq!(region.area(), area);
            prop_assert!(region.rects().len() <= count);
        }

        #[test]
        fn limit_of_any_region_covers_it_with_few_disjoint_rectangles(plus in prop::collection::vec(
            (0..60, 0..60, 1..9, 1..9).prop_map(|(x, y, w, h)| Rect::new(x, y, w, h)), 0..60,
        ), max in 1..40usize) {
            let mut region = Region::new();
            for &r in &plus { region.add(r); }
            let (before, bounds) = (region.clone(), region.bounds());
            region.limit(max);
            prop_assert!(region.rects().len() <= max);
            prop_assert!(before.rects().iter().all(|&r| region.contains_rect(r)));
            prop_assert_eq!(region.bounds(), bounds);
            for (i, a) in region.rects().iter().enumerate() {
                prop_assert!(region.rects()[..i].iter().all(|b| !a.overlaps(*b)));
            }
        }

        #[test]
        fn contains_rect_of_any_region_equals_every_pixel_inside(plus in rects(), x in 0..SIDE, y in 0..SIDE, w in 1..9, h in 1..9) {
            let mut region = Region::new();
            for &r in &plus { region.add(r); }
            let probe = Rect::new(x, y, w, h);
            let every = pixels().filter(|&p| probe.contains(p)).all(|p| inside(&plus, p) > 0);
            prop_assert_eq!(region.contains_rect(probe), every);
        }
    }

    #[test]
    fn limit_of_one_is_the_hull() {
        let mut region = Region::new();
        region.add(Rect::new(0, 0, 1, 1));
        region.add(Rect::new(8, 8, 1, 1));
        region.limit(2);
        assert_eq!(region.rects().len(), 2);
        region.limit(1);
        assert_eq!(region.rects(), &[Rect::new(0, 0, 9, 9)]);
    }

    #[test]
    fn limit_of_far_corners_does_not_join_them() {
        let mut region = Region::new();
        for i in 0..20 {
            region.add(Rect::new(i * 2, i % 3 * 2, 1, 1));
            region.add(Rect::new(1000 + i * 2, 1000 + i % 3 * 2, 1, 1));
        }
        region.limit(16);
        assert!(region.rects().len() <= 8 && region.area() < 1000, "{:?}", region.rects());
    }
}
