//! What the renderer is done with: buffers go back to their clients, textures of what is gone are freed, outputs learn
//! that their pixels are there, screenshots are collected.

use super::{Compositor, Ready};
use crate::domain::frame::Time;
use crate::ports::renderer::RenderError;

impl Compositor {
    pub(super) fn retire(&mut self, now: Time) {
        let Some(renderer) = &mut self.renderer else { return };
        let state = &mut self.server.state;
        let garbage = state.has_garbage();
        if garbage {
            state.forget_garbage(&mut **renderer);
        }
        // One that cannot wake us is asked every time.
        let told = self.ready.contains(Ready::RENDERER) || renderer.completion_fd().is_none();
        if !garbage && !told {
            return;
        }
        let drained = renderer.drain(&mut |buffer| state.renderer_released(buffer));
        // What only frames kept is not to wait for another turn.
        state.forget_garbage(&mut **renderer);
        let completed = drained.and_then(|()| renderer.completed());
        match completed {
            Ok(until) => {
                self.completed = until;
                for screen in &mut self.screens {
                    screen.output.rendered(until, now);
                }
                self.collect_captures(now);
            }
            Err(RenderError::DeviceLost) => self.lose_renderer(now),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the renderer cannot be drained");
            }
        }
    }
}
