//! What bindings and the control socket ask for.

use crate::adapters::wayland::state::{Event, State};
use crate::domain::action::{Action, Which};
use crate::domain::desktop::Direction;
use crate::domain::geometry::{Point, Size};
use crate::domain::window::WindowId;

/// Why an action was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// It names a window that is not there.
    #[error("there is no window {0}")]
    NoWindow(u64),
    /// It means the focused window, and there is none.
    #[error("no window has the focus")]
    NoFocus,
    /// It needs an output, and there is none.
    #[error("there is no output")]
    NoOutput,
}

impl State {
    /// Does what a binding or the control socket asks for. What is the application's to do goes out as an [`Event`].
    ///
    /// # Errors
    /// [`ActionError`]: nothing was done.
    pub fn act(&mut self, action: &Action) -> Result<(), ActionError> {
        let result = self.try_act(action);
        self.settle();
        result
    }

    fn try_act(&mut self, action: &Action) -> Result<(), ActionError> {
        match action {
            Action::None => {}
            Action::Spawn(command) => {
                let words = ["/bin/sh", "-c", command];
                self.events.push(Event::Spawn(words.map(str::to_owned).to_vec()));
            }
            Action::Reload => self.events.push(Event::Reload),
            Action::Quit => self.events.push(Event::Quit),
            Action::Close(window) => {
                let id = self.meant(*window)?;
                self.close_window(id);
            }
            Action::Focus(window) => {
                let id = self.meant(Some(*window))?;
                self.focus_window(id);
            }
            Action::FocusNext => self.cycle(Direction::Next),
            Action::FocusPrevious => self.cycle(Direction::Previous),
            Action::ToggleMaximised(window) => {
                let id = self.meant(*window)?;
                self.shell.desktop.toggle_maximised(id);
            }
            Action::ToggleFullscreen(window) => {
                let id = self.meant(*window)?;
                self.shell.desktop.toggle_fullscreen(id);
            }
            Action::Minimise(window) => {
                let id = self.meant(*window)?;
                self.shell.desktop.set_minimised(id, true);
            }
            Action::Restore(None) => {
                let id = self.shell.desktop.last_minimised().ok_or(ActionError::NoFocus)?;
                self.focus_window(id);
            }
            Action::Restore(window) => {
                let id = self.meant(*window)?;
                self.focus_window(id);
            }
            Action::Move { x, y, window } => {
                let id = self.meant(*window)?;
                self.shell.desktop.move_to(id, Point::new(*x, *y));
                self.shell.desktop.end_move(id, Point::new(*x, *y));
            }
            Action::Resize { w, h, window } => {
                let id = self.meant(*window)?;
                self.shell.desktop.ask_size(id, Size::new(*w, *h));
            }
            Action::MoveToWorkspace { workspace, window } => {
                let id = self.meant(*window)?;
                self.shell.desktop.send_to_workspace(id, *workspace);
            }
            Action::MoveToOutputNext(window) => {
                let id = self.meant(*window)?;
                self.shell.desktop.send_to_neighbour(id, Direction::Next);
            }
            Action::MoveToOutputPrevious(window) => {
                let id = self.meant(*window)?;
                self.shell.desktop.send_to_neighbour(id, Direction::Previous);
            }
            Action::OutputNext => self.step_output(Direction::Next),
            Action::OutputPrevious => self.step_output(Direction::Previous),
            Action::LayoutNext => self.next_layout(),
            Action::Workspace(number) => self.show_workspace(|_| *number)?,
            Action::WorkspaceNext => self.show_workspace(|active| active.saturating_add(1))?,
            Action::WorkspacePrevious => self.show_workspace(|active| active.saturating_sub(1))?,
        }
        Ok(())
    }

    /// The window that is meant, if it is mapped.
    fn meant(&self, which: Which) -> Result<WindowId, ActionError> {
        let desktop = &self.shell.desktop;
        match which {
            None => desktop.focused().ok_or(ActionError::NoFocus),
            Some(id) => {
                let window = desktop.window(WindowId(id)).filter(|window| window.is_mapped());
                window.map(|window| window.id()).ok_or(ActionError::NoWindow(id))
            }
        }
    }

    fn cycle(&mut self, to: Direction) {
        self.seat.panel_focus = None;
        self.shell.desktop.cycle(to);
    }

    fn step_output(&mut self, to: Direction) {
        self.seat.panel_focus = None;
        self.shell.desktop.step_screen(to);
    }

    fn show_workspace(&mut self, number: impl FnOnce(u32) -> u32) -> Result<(), ActionError> {
        let screen = self.shell.desktop.current_screen().ok_or(ActionError::NoOutput)?;
        let (id, number) = (screen.id, number(screen.active_workspace()));
        self.shell.desktop.show_workspace(id, number);
        Ok(())
    }
}
