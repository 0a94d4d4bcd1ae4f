//! What users and clients ask of windows.

use std::collections::HashSet;

use super::{Desktop, Direction};
use crate::domain::geometry::{Point, Size};
use crate::domain::layout;
use crate::domain::output::OutputId;
use crate::domain::window::{Edges, Mode, Place, Window, WindowId};
use crate::domain::workspace::Screen;

impl Desktop {
    pub(super) fn screen_of(&self, id: WindowId) -> Option<&Screen> {
        self.window(id)?.output.and_then(|id| self.screen(id))
    }

    /// Maximises a window or gives it its floating place back.
    pub fn set_maximised(&mut self, id: WindowId, on: bool) {
        let usable = self.screen_of(id).map(|s| s.usable);
        let Some(window) = self.window_mut(id) else { return };
        match (window.mode(), on, usable) {
            (Mode::Fullscreen, ..) => window.maximised_beneath = on,
            (Mode::Floating, true, Some(usable)) => window.ask(Place::Maximised(usable)),
            (Mode::Maximised, false, _) => window.ask_restore(),
            _ => {}
        }
        self.settle();
    }

    /// Makes a window fullscreen, on another output where one is named, or ends that.
    pub fn set_fullscreen(&mut self, id: WindowId, on: bool, output: Option<OutputId>) {
        if on && let Some(to) = output {
            self.send_to_screen(id, to);
        }
        let areas = self.screen_of(id).map(|s| (s.rect, s.usable));
        let Some(window) = self.window_mut(id) else { return };
        match (window.mode(), on, areas) {
            (mode @ (Mode::Floating | Mode::Maximised), true, Some((rect, _))) => {
                window.maximised_beneath = mode == Mode::Maximised;
                window.ask(Place::Fullscreen(rect));
            }
            (Mode::Fullscreen, false, Some((_, usable))) if window.maximised_beneath => {
                window.ask(Place::Maximised(usable));
            }
            (Mode::Fullscreen, false, _) => window.ask_restore(),
            _ => {}
        }
        self.settle();
    }

    /// Maximises a window, or gives it its floating place back if that was asked before.
    pub fn toggle_maximised(&mut self, id: WindowId) {
        let Some(window) = self.window(id) else { return };
        let on = match window.mode() {
            Mode::Floating => true,
            Mode::Maximised => false,
            Mode::Fullscreen => !window.maximised_beneath,
        };
        self.set_maximised(id, on);
    }

    /// Makes a window fullscreen, or ends that if it was asked before.
    pub fn toggle_fullscreen(&mut self, id: WindowId) {
        let on = self.window(id).is_some_and(|window| window.mode() != Mode::Fullscreen);
        self.set_fullscreen(id, on, None);
    }

    /// Puts a window and its descendants away, or brings its whole family back.
    pub fn set_minimised(&mut self, id: WindowId, on: bool) {
        let mut related: HashSet<_> = self.ancestors(id).filter(|_| !on).collect();
        related.insert(id);
        // Parents come before their children.
        for window in &mut self.windows {
            if related.contains(&window.id()) || window.parent.is_some_and(|parent| related.contains(&parent)) {
                related.insert(window.id());
                window.minimised = on && window.mapped;
            }
        }
        self.settle();
    }

    /// The window of the current output that was put away last.
    pub fn last_minimised(&self) -> Option<WindowId> {
        let put_away = |w: &Window| w.minimised && w.output == self.current;
        self.recent.iter().copied().find(|id| self.window(*id).is_some_and(put_away))
    }

    /// Sends a window to a workspace of its output.
    pub fn send_to_workspace(&mut self, id: WindowId, number: u32) {
        let number = number.clamp(1, self.policy.workspaces);
        if let Some(window) = self.window_mut(id) {
            window.workspace = number;
            window.home = None;
            self.settle();
        }
    }

    /// Sends a window to the next or previous output.
    pub fn send_to_neighbour(&mut self, id: WindowId, to: Direction) {
        let Some(output) = self.window(id).and_then(|w| w.output) else { return };
        if let Some(to) = self.neighbour(Some(output), to) {
            self.send_to_screen(id, to);
            self.settle();
        }
    }

    /// Sends a window to the shown workspace of another output, at the same place of it. The focus goes along: it stays
    /// seen.
    pub(super) fn send_to_screen(&mut self, id: WindowId, to: OutputId) {
        let from = self.screen_of(id).map(|s| s.rect.origin());
        let Some(screen) = self.screens.iter().find(|s| s.id == to) else { return };
        let Some(window) = self.windows.iter_mut().find(|w| w.id() == id && w.output != Some(to)) else { return };
        let from = from.unwrap_or(screen.rect.origin());
        window.shift(Point::new(screen.rect.x.saturating_sub(from.x), screen.rect.y.saturating_sub(from.y)));
        (window.output, window.workspace, window.home) = (Some(to), screen.active, None);
        if self.focus == Some(id) {
            self.current = Some(to);
        }
        self.refit(to);
    }

    /// The user takes hold of a window to move it, the pointer at `at`. A maximised one floats again, beneath the
    /// pointer. Returns the offset from the pointer to the window's corner, `None` where it cannot be moved.
    pub fn begin_move(&mut self, id: WindowId, at: Point) -> Option<Point> {
        let window = self.window_mut(id).filter(|w| w.mapped && w.mode() != Mode::Fullscreen)?;
        let shown = window.geometry();
        let from = Point::new(at.x.saturating_sub(shown.x), at.y.saturating_sub(shown.y));
        if window.mode() == Mode::Floating {
            return Some(Point::new(-from.x, -from.y));
        }
        let width = window.floating_rect().map_or(shown.w, |r| r.w);
        let share = i64::from(from.x) * i64::from(width) / i64::from(shown.w.max(1));
        let offset = Point::new(-(share as i32), -from.y);
        window.ask_restore();
        window.move_to(Point::new(at.x.saturating_add(offset.x), at.y.saturating_add(offset.y)));
        self.settle();
        Some(offset)
    }

    /// Puts a floating window's corner at a logical point, without regard to its output.
    pub fn move_to(&mut self, id: WindowId, at: Point) {
        if let Some(window) = self.window_mut(id).filter(|w| w.mode() == Mode::Floating) {
            window.move_to(at);
            self.changed = true;
        }
    }

    /// The user let go of a moved window at `at`: it belongs to the output there, and stays in reach.
    pub fn end_move(&mut self, id: WindowId, at: Point) {
        let Some(screen) = self.screens.iter().min_by_key(|s| s.distance(at)) else { return };
        let Some(window) = self.windows.iter_mut().find(|w| w.id() == id) else { return };
        if window.output != Some(screen.id) {
            (window.output, window.workspace, window.home) = (Some(screen.id), screen.active, None);
        }
        if let Some(rect) = window.floating_rect().filter(|_| window.mode() == Mode::Floating) {
            window.move_to(layout::reachable(screen.usable, rect));
        }
        if self.focus == Some(id) {
            self.current = Some(screen.id);
        }
        self.settle();
    }

    /// Asks a floating window's client for a size.
    pub fn ask_size(&mut self, id: WindowId, size: Size) {
        if self.window_mut(id).is_some_and(|w| w.ask_size(size)) {
            self.changed = true;
        }
    }

    /// The user takes hold of a floating window's edges. Returns whether that is possible.
    pub fn begin_resize(&mut self, id: WindowId, edges: Edges) -> bool {
        let began = self.window_mut(id).is_some_and(|w| w.begin_resize(edges));
        self.changed |= began;
        began
    }

    /// The held edges are this far from where they were.
    pub fn drag_edges(&mut self, id: WindowId, dx: i32, dy: i32) {
        if self.window_mut(id).is_some_and(|w| w.drag_edges(dx, dy)) {
            self.changed = true;
        }
    }

    /// The user lets go of the edges.
    pub fn end_resize(&mut self, id: WindowId) {
        if let Some(window) = self.window_mut(id) {
            window.end_resize();
            self.changed = true;
        }
    }
}
