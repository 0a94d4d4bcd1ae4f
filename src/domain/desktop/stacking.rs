//! Who is in front and who has the focus.

use std::collections::HashSet;

use super::{Cycle, Desktop, Direction};
use crate::domain::window::WindowId;

impl Desktop {
    /// The window that has the focus.
    pub fn focused(&self) -> Option<WindowId> {
        self.focus
    }

    /// Focuses a window and brings it to the front, with its workspace, and back if it was put away.
    pub fn activate(&mut self, id: WindowId) {
        let Some(window) = self.window(id).filter(|w| w.mapped) else { return };
        let (output, workspace) = (window.output, window.workspace);
        self.set_minimised(id, false);
        if let Some(screen) = self.screens.iter_mut().find(|s| Some(s.id) == output) {
            screen.active = workspace;
        }
        self.end_cycle();
        self.focus(id);
        self.raise_family(id);
        self.settle();
    }

    /// Focuses a shown window where it is, without bringing it to the front.
    pub fn focus_only(&mut self, id: WindowId) {
        if self.focus != Some(id) && self.window(id).is_some_and(|w| self.is_shown(w)) {
            self.end_cycle();
            self.focus(id);
            self.check_invariants();
        }
    }

    /// Takes the focus from every window.
    pub fn unfocus(&mut self) {
        self.end_cycle();
        self.changed |= self.focus.take().is_some();
        self.check_invariants();
    }

    pub(super) fn focus(&mut self, id: WindowId) {
        self.focus = Some(id);
        self.current = self.window(id).and_then(|w| w.output).or(self.current);
        if self.cycle.is_none()
            && let Some(at) = self.recent.iter().position(|w| *w == id)
        {
            self.recent[..=at].rotate_right(1);
        }
        self.changed = true;
    }

    /// Brings a window's whole family to the front, itself and its children foremost, each in front of its parent.
    pub(super) fn raise_family(&mut self, id: WindowId) {
        self.raise_subtree(id); // it may have got a parent in front of it just now
        if let Some(root) = self.ancestors(id).last() {
            self.raise_subtree(root);
            self.raise_subtree(id);
        }
        self.changed = true;
    }

    /// Brings a window and all its descendants to the front, in the order they have.
    fn raise_subtree(&mut self, id: WindowId) {
        let mut subtree = HashSet::from([id]);
        // Parents come before their children, so that one pass finds every generation.
        for window in &self.windows {
            if window.parent.is_some_and(|parent| subtree.contains(&parent)) {
                subtree.insert(window.id());
            }
        }
        self.windows.sort_by_key(|w| subtree.contains(&w.id())); // stable
    }

    /// Focuses the next or previous window by last use; the order of use changes only when the walk ends.
    pub fn cycle(&mut self, to: Direction) {
        if self.cycle.is_none() {
            let shown = |id: &WindowId| self.window(*id).is_some_and(|w| self.is_shown(w));
            let order: Vec<_> = self.recent.iter().copied().filter(shown).collect();
            let at = order.iter().position(|w| Some(*w) == self.focus);
            // Without a focus the first step leads to the last used window.
            let at = at.unwrap_or(match to {
                Direction::Next => order.len().saturating_sub(1),
                Direction::Previous => 1,
            });
            self.cycle = Some(Cycle { order, at });
        }
        let Some(cycle) = &mut self.cycle else { return };
        let count = cycle.order.len();
        if count == 0 {
            self.cycle = None;
            return;
        }
        cycle.at = match to {
            Direction::Next => cycle.at + 1,
            Direction::Previous => cycle.at + count - 1,
        } % count;
        let id = cycle.order[cycle.at];
        self.focus(id);
        self.raise_family(id);
        self.settle();
    }

    /// The walk is over: the window it stopped at is now the last used one.
    pub fn end_cycle(&mut self) {
        if self.cycle.take().is_some()
            && let Some(id) = self.focus
        {
            self.focus(id);
        }
    }

    /// After every change: the focus goes to a shown window, or to none.
    pub(super) fn settle(&mut self) {
        let shown = |desktop: &Self, id| desktop.window(id).is_some_and(|w| desktop.is_shown(w));
        if self.focus.is_none_or(|id| !shown(self, id)) {
            self.focus = None;
            self.cycle = None; // a walk whose place is gone is over
            let here = |id: &WindowId| self.window(*id).is_some_and(|w| w.output == self.current);
            let next = self.recent.iter().copied().find(|id| shown(self, *id) && here(id));
            if let Some(id) = next {
                self.focus(id);
            }
        }
        self.changed = true;
        self.check_invariants();
    }

    /// Whether sizes, states or the focus may have changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }
}
