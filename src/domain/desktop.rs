//! All windows and screens: who is in front, who has the focus, who is where.
//!
//! Owner of every [`Window`]. Windows are kept back to front; a window is always in front of its parent. What is
//! *shown* is mapped, not put away, and on the workspace that its output shows; the focus is always a shown window or
//! none. When an output goes, its windows move to another and remember it; they come back with it, by name.
//!
//! Nothing here speaks to clients: after operations, [`Desktop::take_changed`] says whether their sizes and states must
//! be told anew. Panels and popups are not windows: see [`super::layout`], [`super::popup`].

use std::collections::HashMap;

use super::geometry::Size;
use super::layout;
use super::output::OutputId;
use super::window::{Limits, Mode, Window, WindowId};
use super::workspace::Screen;

mod requests;
mod screens;
mod stacking;

/// The next or the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Forwards.
    Next,
    /// Backwards.
    Previous,
}

/// What the user decides about windows in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A new window always goes in the middle, whatever is there: no cascade.
    pub centre: bool,
    /// A new window takes the focus.
    pub focus_new: bool,
    /// How many workspaces each output has.
    pub workspaces: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self { centre: false, focus_new: true, workspaces: 4 }
    }
}

/// A window belongs to at most this many generations; deeper parents are not heeded.
const MAX_DEPTH: usize = 32;

/// Up to this many windows the invariants are checked after each change, in debug builds.
const CHECKED_WINDOWS: usize = 64;

/// See the module's docs.
#[derive(Debug, Default)]
pub struct Desktop {
    screens: Vec<Screen>,
    /// Back to front.
    windows: Vec<Window>,
    /// Mapped windows by last focus, the last one first.
    recent: Vec<WindowId>,
    focus: Option<WindowId>,
    /// The output that new windows go to.
    current: Option<OutputId>,
    cycle: Option<Cycle>,
    policy: Policy,
    changed: bool,
}

/// A walk through the windows by last use, which leaves that order alone until it ends.
#[derive(Debug)]
struct Cycle {
    order: Vec<WindowId>,
    at: usize,
}

impl Desktop {
    /// What the user decides about windows in general.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = Policy { workspaces: policy.workspaces.max(1), ..policy };
        for screen in 0..self.screens.len() {
            let Screen { id, active, .. } = self.screens[screen];
            self.show_workspace(id, active);
        }
        for window in &mut self.windows {
            window.workspace = window.workspace.min(self.policy.workspaces);
        }
        self.settle();
    }

    /// One window.
    pub fn window(&self, id: WindowId) -> Option<&Window> {
        self.windows.iter().find(|w| w.id() == id)
    }

    fn window_mut(&mut self, id: WindowId) -> Option<&mut Window> {
        self.windows.iter_mut().find(|w| w.id() == id)
    }

    /// Every window, back to front.
    pub fn windows(&self) -> impl DoubleEndedIterator<Item = &Window> {
        self.windows.iter()
    }

    /// The windows to be seen on some output, back to front.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &Window> {
        self.windows.iter().filter(|w| self.is_shown(w))
    }

    /// Whether a window is to be seen on some output.
    pub fn is_shown(&self, window: &Window) -> bool {
        window.mapped
            && !window.minimised
            && window.output.and_then(|id| self.screen(id)).is_some_and(|s| s.active == window.workspace)
    }

    /// The shown window in fullscreen mode that an output is covered by, if any.
    pub fn fullscreen_on(&self, output: OutputId) -> Option<&Window> {
        self.windows
            .iter()
            .rev()
            .find(|w| w.output == Some(output) && w.shown_mode() == Mode::Fullscreen && self.is_shown(w))
    }

    /// A client made a window; it will be on the current output.
    pub fn create(&mut self, id: WindowId) {
        let mut window = Window::new(id);
        window.output = self.current;
        self.windows.push(window);
    }

    /// A window is no more. Its children become its parent's.
    pub fn destroy(&mut self, id: WindowId) {
        self.hand_children_on(id);
        self.windows.retain(|w| w.id() != id);
        self.forget_use(id);
        self.settle();
    }

    /// Hands the children of a window that is no longer to be seen to its own parent, if it has one. Source:
    /// xdg_toplevel.set_parent.
    fn hand_children_on(&mut self, id: WindowId) {
        let heir = self.window(id).and_then(Window::parent);
        for window in self.windows.iter_mut().filter(|window| window.parent == Some(id)) {
            window.parent = heir;
        }
    }

    fn forget_use(&mut self, id: WindowId) {
        self.recent.retain(|w| *w != id);
        if let Some(cycle) = &mut self.cycle {
            cycle.order.retain(|w| *w != id);
            cycle.at = cycle.at.min(cycle.order.len().saturating_sub(1));
        }
    }

    /// Says which window another belongs to: to none where that one is not mapped. A window cannot belong to its own
    /// descendant: that changes nothing. Source: xdg_toplevel.set_parent.
    pub fn set_parent(&mut self, id: WindowId, parent: Option<WindowId>) {
        let parent = parent.filter(|parent| self.window(*parent).is_some_and(Window::is_mapped));
        let loops = parent.is_some_and(|parent| parent == id || self.ancestors(parent).any(|a| a == id));
        let depth = parent.map_or(0, |parent| 1 + self.ancestors(parent).count()) + self.height(id);
        if loops || depth > MAX_DEPTH {
            return;
        }
        if let Some(window) = self.window_mut(id) {
            window.parent = parent;
            self.raise_family(id);
        }
    }

    /// What its client can take.
    pub fn set_limits(&mut self, id: WindowId, limits: Limits) {
        if let Some(window) = self.window_mut(id) {
            window.limits = limits;
        }
    }

    /// The windows that belong to another, its own children only.
    pub fn children(&self, id: WindowId) -> impl Iterator<Item = WindowId> {
        self.windows.iter().filter(move |window| window.parent == Some(id)).map(Window::id)
    }

    /// Generations beneath a window.
    fn height(&self, id: WindowId) -> usize {
        let mut depths = HashMap::from([(id, 0)]);
        // Parents come before their children.
        for window in &self.windows {
            if let Some(depth) = window.parent.and_then(|parent| depths.get(&parent)) {
                depths.insert(window.id(), depth + 1);
            }
        }
        depths.into_values().max().unwrap_or(0)
    }

    fn ancestors(&self, id: WindowId) -> impl Iterator<Item = WindowId> {
        std::iter::successors(self.window(id).and_then(Window::parent), |&id| self.window(id).and_then(Window::parent))
    }

    /// A client committed window content of `size`, the first one (or the first after it was unmapped) maps the window;
    /// `answered` where the client has acknowledged all that it was asked.
    pub fn committed(&mut self, id: WindowId, size: Size, answered: bool) {
        let Some(window) = self.window_mut(id) else { return };
        let before = (window.geometry(), window.shown_mode());
        let maps = !std::mem::replace(&mut window.mapped, true);
        window.committed(size, answered);
        let after = (window.geometry(), window.shown_mode());
        let unplaced = window.needs_place();
        if maps {
            self.map(id);
        }
        if unplaced {
            self.place(id);
        }
        if maps || unplaced || before != after {
            self.settle();
        }
    }

    fn map(&mut self, id: WindowId) {
        let parent = self.window(id).and_then(|w| w.parent).and_then(|id| self.window(id));
        // A maximised or fullscreen window stays on the output whose size it was asked for.
        let beside = parent.map(|p| (p.output, p.workspace)).or_else(|| {
            let screen = self.current_screen()?;
            Some((Some(screen.id), screen.active))
        });
        let tiled = self.window(id).is_some_and(|w| w.mode() != Mode::Floating);
        let beside = if tiled { self.screen_of(id).map(|s| (Some(s.id), s.active)) } else { beside };
        if let (Some((output, workspace)), Some(window)) = (beside, self.window_mut(id)) {
            (window.output, window.workspace) = (output, workspace);
        }
        self.recent.push(id);
        self.raise_family(id);
        if self.policy.focus_new && self.window(id).is_some_and(|w| self.is_shown(w)) {
            self.end_cycle();
            self.focus(id);
        }
    }

    /// Gives a floating window its first place: over its parent, else a step from the window before, else in the middle.
    fn place(&mut self, id: WindowId) {
        let Some(window) = self.window(id) else { return };
        let Some(screen) = window.output.and_then(|id| self.screen(id)) else { return };
        let (usable, size) = (screen.usable, window.geometry().size());
        let parent = window.parent.and_then(|id| self.window(id)).filter(|parent| parent.mapped);
        let floats = |w: &&Window| w.id() != id && w.output == Some(screen.id) && w.shown_mode() == Mode::Floating;
        let before = self.shown().filter(floats).filter(|w| w.parent.is_none()).max_by_key(|w| w.id());
        let first = match (parent, before) {
            (Some(parent), _) => layout::centred(usable, parent.geometry(), size),
            (None, Some(before)) if !self.policy.centre => layout::cascaded(usable, before.geometry().origin(), size),
            _ => layout::centred(usable, usable, size),
        };
        let taken = |at| self.shown().filter(floats).any(|w| w.geometry().origin() == at);
        let at = layout::place(usable, first, size, |at| !self.policy.centre && taken(at));
        if let Some(window) = self.window_mut(id) {
            window.move_to(at);
        }
    }

    /// A client took a window's content away.
    pub fn unmap(&mut self, id: WindowId) {
        self.hand_children_on(id);
        if let Some(window) = self.window_mut(id) {
            window.unmap();
            self.forget_use(id);
            self.settle();
        }
    }
}

impl Desktop {
    /// Asserts what the module's docs promise, in debug builds.
    fn check_invariants(&self) {
        if !cfg!(debug_assertions) || self.windows.len() > CHECKED_WINDOWS {
            return;
        }
        for (at, window) in self.windows.iter().enumerate() {
            if let Some(parent) = window.parent {
                let behind = self.windows[..at].iter().any(|w| w.id() == parent);
                assert!(behind, "window {:?} is not in front of its parent {parent:?}", window.id());
            }
            match window.output {
                Some(id) => assert!(self.screen(id).is_some(), "window {:?} is on no screen", window.id()),
                None => assert!(self.screens.is_empty(), "window {:?} has no screen", window.id()),
            }
            let uses = self.recent.iter().filter(|w| **w == window.id()).count();
            assert_eq!(uses, usize::from(window.mapped), "uses of {:?}", window.id());
        }
        assert!(self.recent.iter().all(|id| self.window(*id).is_some()), "a use of no window");
        if let Some(id) = self.focus {
            let window = self.window(id).filter(|w| self.is_shown(w));
            assert!(window.is_some(), "focus on a window not shown");
            assert_eq!(window.and_then(Window::output), self.current, "focus on another output than the current one");
        }
        assert!(self.current.is_some() != self.screens.is_empty(), "no current screen");
    }
}

#[cfg(test)]
mod tests;
