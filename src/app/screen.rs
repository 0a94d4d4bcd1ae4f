//! Outputs as the loop sees them: they come, change and go.
//!
//! A [`Screen`] keeps together what belongs to one output: when it is redrawn, what it shows, what it cost. Where it
//! lies on the desktop is the configuration's word, else right of those before it.

use super::{Compositor, Exit};
use crate::adapters::wayland::buffer::Holder;
use crate::domain::buffer::BufferId;
use crate::domain::damage::Tracker;
use crate::domain::frame::{Counters, FrameSerial, Time};
use crate::domain::geometry::{Point, Scale};
use crate::domain::output::OutputId;
use crate::domain::plane::Abilities;
use crate::domain::scene::Scene;
use crate::domain::schedule::Schedule;
use crate::domain::transform::Transform;
use crate::ports::output::{Info, Output};
use crate::ports::renderer::RenderError;

/// What frames of one output came to, since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) presented: u64,
    pub(super) scanned_out: u64,
    pub(super) skipped: u64,
    pub(super) discarded: u64,
    pub(super) failed: u64,
}

/// Client buffers that an output reads by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScanOut {
    pub(super) shown: Option<BufferId>,
    pub(super) coming: Option<BufferId>,
}

/// One output and all that goes with it.
pub(super) struct Screen {
    pub(super) id: OutputId,
    pub(super) output: Box<dyn Output>,
    pub(super) schedule: Schedule,
    pub(super) tracker: Tracker,
    pub(super) scene: Scene,
    pub(super) scan_out: ScanOut,
    /// The target holds what was shown last: nothing was scanned out since, nothing was lost.
    pub(super) target_is_current: bool,
    /// Redraws that failed one after the other.
    pub(super) failures: u32,
    /// Redraws one after the other that the output was not ready for.
    pub(super) not_ready: u32,
    /// When what could not be uploaded is tried again.
    pub(super) put_off: Option<Time>,
    /// Frames one after the other with something put off.
    pub(super) put_offs: u32,
    pub(super) tally: Tally,
    pub(super) last_frame: Counters,
    /// The last frame handed to the renderer in force.
    pub(super) submitted: FrameSerial,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen")
            .field("id", &self.id)
            .field("info", self.output.info())
            .field("schedule", &self.schedule)
            .field("tally", &self.tally)
            .finish_non_exhaustive()
    }
}

impl Screen {
    pub(super) fn abilities(&self) -> Abilities {
        let info = self.output.info();
        Abilities { scan_out: info.scan_out, cursor_plane: info.cursor_plane }
    }

    /// When to try again what was put off; not while a frame is on its way.
    pub(super) fn put_off_due(&self) -> Option<Time> {
        self.put_off.filter(|_| !self.schedule.is_waiting())
    }

    /// What it shows is not known any more: it is painted anew, whole.
    pub(super) fn repaint(&mut self) {
        self.tracker.reset();
        self.target_is_current = false;
        self.schedule.queue();
    }
}

/// Where an output lies and how it is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lie {
    position: Point,
    scale: Scale,
    transform: Transform,
}

impl Compositor {
    /// Takes an output in, with its targets.
    pub(super) fn add_screen(&mut self, mut output: Box<dyn Output>, now: Time) -> Result<(), RenderError> {
        if let Some(renderer) = &mut self.renderer {
            output.attach(&mut **renderer)?;
        }
        let info = output.info();
        let lie = self.lie(info, self.right_edge(self.screens.len()));
        let id = self.server.state.add_output(info, lie.position, lie.scale, lie.transform);
        tracing::info!(name = info.name, mode = %info.mode, scale = lie.scale.as_f64(), "output added");
        self.screens.push(Screen {
            id,
            schedule: Schedule::new(now, info.mode.period_ns()),
            output,
            tracker: Tracker::new(),
            scene: Scene::new(),
            scan_out: ScanOut::default(),
            target_is_current: false,
            failures: 0,
            not_ready: 0,
            put_off: None,
            put_offs: 0,
            tally: Tally::default(),
            last_frame: Counters::default(),
            submitted: FrameSerial::default(),
        });
        self.watch_outputs();
        Ok(())
    }

    /// Lays every output out again and tells clients what changed: after an output or the configuration did.
    pub(super) fn arrange_screens(&mut self) {
        for index in 0..self.screens.len() {
            let edge = self.right_edge(index);
            let screen = &self.screens[index];
            let info = screen.output.info();
            let lie = self.lie(info, edge);
            let known = self.server.state.core.outputs.get(screen.id).map(|entry| entry.placement);
            let same = known.is_some_and(|p| {
                (p.position, p.scale, p.transform, p.mode_size)
                    == (lie.position, lie.scale, lie.transform, info.mode.size)
            });
            let screen = &mut self.screens[index];
            screen.schedule.set_period_ns(screen.output.info().mode.period_ns());
            self.server.state.change_output(screen.id, screen.output.info(), lie.position, lie.scale, lie.transform);
            if !same {
                screen.repaint();
            }
        }
    }

    /// An output is gone; with the last one the compositor ends.
    pub(super) fn remove_screen(&mut self, index: usize, now: Time) {
        let mut screen = self.screens.remove(index);
        tracing::info!(name = screen.output.info().name, "output gone");
        screen.schedule.lose();
        for buffer in [screen.scan_out.shown, screen.scan_out.coming].into_iter().flatten() {
            self.server.state.core.buffers.end(buffer, Holder::ScanOut);
        }
        self.fail_captures_of(screen.id, now);
        self.server.state.remove_output(screen.id);
        if let Some(renderer) = &mut self.renderer {
            screen.output.release(&mut **renderer);
        }
        self.watch_outputs();
        if self.screens.is_empty() {
            self.end(Exit::Done);
        } else {
            self.arrange_screens();
        }
    }

    pub(super) fn screen_of(&mut self, id: OutputId) -> Option<&mut Screen> {
        self.screens.iter_mut().find(|screen| screen.id == id)
    }

    /// The right edge of the outputs before `index`, logical pixels.
    fn right_edge(&self, index: usize) -> i32 {
        let before = self.screens[..index].iter().filter_map(|s| self.server.state.core.outputs.get(s.id));
        before.map(|entry| entry.placement.logical_rect().right()).max().unwrap_or(0)
    }

    fn lie(&self, info: &Info, right_edge: i32) -> Lie {
        let wanted = self.config.output(&info.name);
        Lie {
            position: wanted.position.unwrap_or(Point::new(right_edge, 0)),
            scale: wanted.scale.unwrap_or(info.preferred_scale),
            transform: wanted.transform,
        }
    }
}
