//! A surface's commits of late and what each changed, so that every output can ask what changed since it last looked.
//!
//! Outputs latch a surface at their own pace, so one list of damage that the first of them empties would starve the
//! others. Bounded: when it is full the oldest entries become one, whose rectangle holds theirs; who last looked that
//! long ago is told too much, never too little.

use crate::domain::geometry::Rect;
use crate::domain::scene::ContentSerial;

/// Entries, at most.
const MAX_ROWS: usize = 64;

/// Rectangles of one commit, past which their hull counts.
const MAX_ROWS_OF_ONE: usize = 16;

/// What changed in a surface, in the coordinate space it was pushed in (buffer texels).
#[derive(Clone, Debug)]
pub enum Changes<'a> {
    /// Anything may have changed, the size too.
    All,
    /// These rectangles, which may overlap and reach past the buffer.
    Rects(&'a [(ContentSerial, Rect)]),
}

impl Changes<'_> {
    /// The rectangles, `whole` standing for everything.
    pub fn rects(&self, whole: Rect) -> impl Iterator<Item = Rect> + Clone + '_ {
        let (all, rows): (_, &[_]) = match self {
            Changes::All => (Some(whole), &[]),
            Changes::Rects(rows) => (None, rows),
        };
        all.into_iter().chain(rows.iter().map(|&(_, rect)| rect))
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        matches!(self, Changes::Rects([]))
    }
}

/// See the module's docs.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Ascending: the commit, a rectangle that it changed.
    rows: Vec<(ContentSerial, Rect)>,
    /// The last commit that replaced everything.
    base: ContentSerial,
    newest: ContentSerial,
}

impl History {
    /// Nothing committed yet; what is there counts as changed for whoever never looked.
    pub fn new() -> Self {
        Self::default()
    }

    /// The last commit.
    pub fn newest(&self) -> ContentSerial {
        self.newest
    }

    /// Commit `serial`, newer than all before, changed `damage`.
    pub fn push(&mut self, serial: ContentSerial, damage: impl IntoIterator<Item = Rect>) {
        debug_assert!(serial > self.newest, "commits are pushed in order");
        let before = self.rows.len();
        for rect in damage.into_iter().filter(|r| !r.is_empty()) {
            if self.rows.len() - before == MAX_ROWS_OF_ONE {
                fold(&mut self.rows, before);
            }
            self.rows.push((serial, rect));
        }
        self.newest = serial;
        if self.rows.len() > MAX_ROWS {
            let oldest = self.rows.len() - MAX_ROWS / 2;
            let mut hull = self.rows[oldest - 1];
            hull.1 = self.rows[..oldest].iter().fold(Rect::default(), |h, row| h.hull(row.1));
            self.rows.drain(1..oldest);
            self.rows[0] = hull;
        }
    }

    /// Commit `serial`, newer than all before, replaced everything (another size or format, no content before).
    pub fn replace(&mut self, serial: ContentSerial) {
        debug_assert!(serial > self.newest, "commits are pushed in order");
        self.rows.clear();
        self.base = serial;
        self.newest = serial;
    }

    /// What changed since whoever asks saw commit `seen`; `None` for who never looked.
    pub fn since(&self, seen: Option<ContentSerial>) -> Changes<'_> {
        match seen {
            Some(seen) if self.base <= seen && seen <= self.newest => {
                let first = self.rows.partition_point(|&(serial, _)| serial <= seen);
                Changes::Rects(&self.rows[first..])
            }
            _ => Changes::All,
        }
    }
}

/// Replaces the rows from `start` on, all of one commit, by their hull.
fn fold(rows: &mut Vec<(ContentSerial, Rect)>, start: usize) {
    let hull = rows[start..].iter().fold(Rect::default(), |h, row| h.hull(row.1));
    rows[start].1 = hull;
    rows.truncate(start + 1);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT_ONE: Rect = Rect::new(1, 1, 1, 1);
    const AT_TWO: Rect = Rect::new(2, 2, 1, 1);
    const WHOLE: Rect = Rect::new(0, 0, 8, 8);

    fn since(history: &History, seen: u64) -> Vec<Rect> {
        history.since(Some(ContentSerial(seen))).rects(WHOLE).collect()
    }

    #[test]
    fn since_the_newest_commit_is_nothing() {
        let mut history = History::new();
        history.push(ContentSerial(1), [AT_ONE]);
        assert!(history.since(Some(ContentSerial(1))).is_empty());
    }

    #[test]
    fn since_an_older_commit_is_what_came_after_it() {
        let mut history = History::new();
        history.push(ContentSerial(1), [WHOLE]);
        history.push(ContentSerial(4), [AT_ONE, Rect::default()]);
        history.push(ContentSerial(5), []);
        history.push(ContentSerial(6), [AT_TWO]);
        assert_eq!(since(&history, 3), [AT_ONE, AT_TWO]);
        assert_eq!(since(&history, 4), [AT_TWO]);
        assert_eq!(since(&history, 5), [AT_TWO]);
    }

    #[test]
    fn since_never_or_before_a_replacement_is_everything() {
        let mut history = History::new();
        history.push(ContentSerial(1), [AT_ONE]);
        assert!(matches!(history.since(None), Changes::All));
        history.replace(ContentSerial(2));
        assert_eq!(since(&history, 1), [WHOLE]);
        assert!(history.since(Some(ContentSerial(2))).is_empty());
    }

    #[test]
    fn push_of_many_rectangles_keeps_few() {
        let mut history = History::new();
        history.push(ContentSerial(1), []);
        history.push(ContentSerial(2), (0..1000).map(|i| Rect::new(i, 0, 1, 1)));
        let rects = since(&history, 1);
        assert!(rects.len() <= MAX_ROWS_OF_ONE);
        assert_eq!(rects.iter().fold(Rect::default(), |h, r| h.hull(*r)), Rect::new(0, 0, 1000, 1));
    }

    proptest! {
        #[test]
        fn since_any_commit_holds_all_that_changed_after_it(
            commits in prop::collection::vec(prop::collection::vec((0..40, 0..40), 0..25), 1..60),
        ) {
            let mut history = History::new();
            for (i, commit) in commits.iter().enumerate() {
                history.push(ContentSerial(i as u64 + 1), commit.iter().map(|&(x, y)| Rect::new(x, y, 1, 1)));
                prop_assert!(history.rows.len() <= MAX_ROWS);
            }
            for seen in 0..=commits.len() {
                let told = since(&history, seen as u64);
                for &(x, y) in commits[seen..].iter().flatten() {
                    prop_assert!(told.iter().any(|r| r.contains_rect(Rect::new(x, y, 1, 1))), "{} {}", x, y);
                }
            }
        }
    }
}
