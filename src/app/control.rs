//! What the control socket asks for, and the answers.

use super::{Compositor, Exit};
use crate::adapters::ipc::protocol::{Answer, Output, Reply, Request, Window};
use crate::adapters::ipc::server::PeerId;
use crate::domain::action::Action;
use crate::domain::config;
use crate::domain::frame::Time;
use crate::domain::geometry::Rect;
use crate::domain::window::Mode;

impl Compositor {
    pub(super) fn take_requests(&mut self, now: Time) {
        let Some(control) = &mut self.control else { return };
        control.dispatch(now);
        while let Some((peer, request)) = self.control.as_mut().and_then(|control| control.next_request()) {
            match self.serve(peer, request, now) {
                Ok(Some(reply)) => self.answer(peer, Ok(reply), now),
                Ok(None) => {}
                Err(why) => self.answer(peer, Err(why), now),
            }
        }
    }

    pub(super) fn answer(&mut self, peer: PeerId, answer: Result<Reply, String>, now: Time) {
        let answer = answer.map_or_else(Answer::Error, Answer::Ok);
        if let Some(control) = &mut self.control {
            control.answer(peer, &answer, &[], now);
        }
    }

    /// `None` where the answer comes later.
    fn serve(&mut self, peer: PeerId, request: Request, now: Time) -> Result<Option<Reply>, String> {
        let reply = match request {
            Request::Outputs => Reply::Outputs(self.list_outputs()),
            Request::Windows => Reply::Windows(self.list_windows()),
            Request::Stats => Reply::Stats(Box::new(self.stats(now))),
            Request::Reload => {
                self.reload().map_err(|error| super::capture::with_causes(&error))?;
                Reply::Done
            }
            Request::Quit => {
                self.end(Exit::Done);
                Reply::Done
            }
            Request::Action { action } => {
                let action: Action = action.parse().map_err(|error| format!("{error}"))?;
                self.server.state.act(&action).map_err(|error| error.to_string())?;
                Reply::Done
            }
            Request::Screenshot { output, part } => {
                let part = part.map(|[x, y, w, h]| Rect::new(x, y, w, h));
                self.begin_capture(peer, output.as_deref(), part, now)?;
                return Ok(None);
            }
        };
        Ok(Some(reply))
    }

    fn list_outputs(&self) -> Vec<Output> {
        let state = &self.server.state;
        let entries = self.screens.iter().filter_map(|screen| Some((screen, state.core.outputs.get(screen.id)?)));
        let output = |(screen, entry): (&super::screen::Screen, &crate::adapters::wayland::output::Entry)| {
            let info = screen.output.info();
            let lies = entry.placement.logical_rect();
            Output {
                name: info.name.clone(),
                make: info.make.clone(),
                model: info.model.clone(),
                width: info.mode.size.w,
                height: info.mode.size.h,
                refresh_mhz: info.mode.refresh_mhz,
                scale: entry.placement.scale.as_f64(),
                transform: config::transform_name(entry.placement.transform).to_owned(),
                logical: [lies.x, lies.y, lies.w, lies.h],
                workspace: state.shell.desktop.screen(screen.id).map(|screen| screen.active_workspace()),
            }
        };
        entries.map(output).collect()
    }

    fn list_windows(&self) -> Vec<Window> {
        let window = |info: crate::adapters::wayland::shell::toplevel::WindowInfo| Window {
            id: info.id.0,
            app_id: info.app_id,
            title: info.title,
            pid: info.pid,
            output: info.output,
            workspace: info.workspace,
            geometry: [info.geometry.x, info.geometry.y, info.geometry.w, info.geometry.h],
            focused: info.focused,
            maximised: info.mode == Mode::Maximised,
            fullscreen: info.mode == Mode::Fullscreen,
            minimised: info.minimised,
            responding: info.responding,
        };
        self.server.state.windows().map(window).collect()
    }
}
