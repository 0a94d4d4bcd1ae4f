//! The desktop's screens: they come, go and change, and their windows go along.

use super::{Desktop, Direction};
use crate::domain::geometry::{Point, Rect};
use crate::domain::layout;
use crate::domain::output::OutputId;
use crate::domain::window::{Home, Mode, Place, Window};
use crate::domain::workspace::Screen;

impl Desktop {
    /// Every output, in order of appearance.
    pub fn screens(&self) -> &[Screen] {
        &self.screens
    }

    /// One output.
    pub fn screen(&self, id: OutputId) -> Option<&Screen> {
        self.screens.iter().find(|s| s.id == id)
    }

    /// The output that new windows go to and that actions mean.
    pub fn current_screen(&self) -> Option<&Screen> {
        self.current.and_then(|id| self.screen(id))
    }

    /// The output at a logical point, or the nearest one.
    pub fn screen_at(&self, at: Point) -> Option<&Screen> {
        self.screens.iter().min_by_key(|s| s.distance(at))
    }

    /// An output appeared. Windows that were on one of that name come back to it, homeless ones move in.
    pub fn add_screen(&mut self, id: OutputId, name: &str, rect: Rect) {
        self.screens.push(Screen::new(id, name.to_owned(), rect));
        self.current.get_or_insert(id);
        for window in &mut self.windows {
            match window.home.take_if(|home| home.output_name == name) {
                Some(home) => {
                    let to = Point::new(rect.x.saturating_add(home.offset.x), rect.y.saturating_add(home.offset.y));
                    let from = window.floating_rect().map_or(to, Rect::origin);
                    window.shift(Point::new(to.x.saturating_sub(from.x), to.y.saturating_sub(from.y)));
                    (window.output, window.workspace) = (Some(id), home.workspace);
                    if self.focus == Some(window.id()) {
                        self.current = Some(id);
                    }
                }
                None if window.output.is_none() => window.output = Some(id),
                None => {}
            }
        }
        self.refit(id);
    }

    /// An output's place changed, or what panels leave of it. Both logical.
    pub fn set_screen(&mut self, id: OutputId, rect: Rect, usable: Rect) {
        let Some(screen) = self.screens.iter_mut().find(|s| s.id == id) else { return };
        if (screen.rect, screen.usable) == (rect, usable) {
            return;
        }
        let by = Point::new(rect.x.saturating_sub(screen.rect.x), rect.y.saturating_sub(screen.rect.y));
        (screen.rect, screen.usable) = (rect, usable);
        for window in self.windows.iter_mut().filter(|w| w.output == Some(id)) {
            window.shift(by);
        }
        self.refit(id);
    }

    /// An output went away.
    pub fn remove_screen(&mut self, id: OutputId) {
        let Some(index) = self.screens.iter().position(|s| s.id == id) else { return };
        let gone = self.screens.remove(index);
        let heir = self.screens.first().map(|s| (s.id, s.rect.origin(), s.active));
        for window in self.windows.iter_mut().filter(|w| w.output == Some(id)) {
            let offset = window.floating_rect().map_or(Point::default(), |r| {
                Point::new(r.x.saturating_sub(gone.rect.x), r.y.saturating_sub(gone.rect.y))
            });
            let home = Home { output_name: gone.name.clone(), workspace: window.workspace, offset };
            window.home.get_or_insert(home);
            window.output = heir.map(|(id, ..)| id);
            if let Some((_, origin, active)) = heir {
                // What was not shown there is not thrown in the user's face here.
                window.workspace = if window.workspace == gone.active { active } else { window.workspace };
                window.shift(Point::new(origin.x.saturating_sub(gone.rect.x), origin.y.saturating_sub(gone.rect.y)));
            }
        }
        if self.current == Some(id) {
            self.current = heir.map(|(id, ..)| id);
        }
        if let Some((id, ..)) = heir {
            self.refit(id);
        }
        self.settle();
    }

    /// New actions and windows mean this output; the focus goes to the window of it that was used last, if any.
    pub fn set_current_screen(&mut self, id: OutputId) {
        if self.current != Some(id) && self.screen(id).is_some() {
            self.end_cycle();
            self.current = Some(id);
            self.focus = None; // settle gives it to a window of this output, or to none
            self.settle();
        }
    }

    /// As [`Desktop::set_current_screen`], for the next or previous output.
    pub fn step_screen(&mut self, to: Direction) {
        if let Some(id) = self.neighbour(self.current, to) {
            self.set_current_screen(id);
        }
    }

    pub(super) fn neighbour(&self, of: Option<OutputId>, to: Direction) -> Option<OutputId> {
        let at = self.screens.iter().position(|s| Some(s.id) == of)?;
        let count = self.screens.len();
        let step = match to {
            Direction::Next => 1,
            Direction::Previous => count - 1,
        };
        Some(self.screens[(at + step) % count].id)
    }

    /// Fits every window of an output to its present areas.
    pub(super) fn refit(&mut self, id: OutputId) {
        let Some(screen) = self.screens.iter().find(|s| s.id == id) else { return };
        for window in self.windows.iter_mut().filter(|w| w.output == Some(id)) {
            match window.mode() {
                Mode::Maximised => window.ask(Place::Maximised(screen.usable)),
                Mode::Fullscreen => window.ask(Place::Fullscreen(screen.rect)),
                Mode::Floating => {
                    if let Some(rect) = window.floating_rect() {
                        window.move_to(layout::reachable(screen.usable, rect));
                    }
                }
            }
        }
        let unplaced = |w: &&Window| w.output == Some(id) && w.mapped && w.needs_place();
        for window in self.windows.iter().filter(unplaced).map(Window::id).collect::<Vec<_>>() {
            self.place(window);
        }
        self.settle();
    }

    /// Shows a workspace of an output, 1 is the first.
    pub fn show_workspace(&mut self, output: OutputId, number: u32) {
        let number = number.clamp(1, self.policy.workspaces);
        if let Some(screen) = self.screens.iter_mut().find(|s| s.id == output)
            && std::mem::replace(&mut screen.active, number) != number
        {
            self.end_cycle();
            if self.current == Some(output) {
                self.focus = None; // the workspace's own last used window takes it
            }
            self.settle();
        }
    }
}
