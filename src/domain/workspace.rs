//! An output as the desktop sees it: a part of the logical plane with workspaces, one of which is shown.
//!
//! Workspaces are numbers, not objects: there are as many as somebody uses, each output has its own, and a window says
//! which one it is on. Next: [`super::desktop`].

use super::geometry::{Point, Rect};
use super::output::OutputId;

/// See the module's docs.
#[derive(Clone, Debug)]
pub struct Screen {
    /// Which output.
    pub id: OutputId,
    /// Its name, by which windows remember it.
    pub name: String,
    /// Where it is, logical.
    pub rect: Rect,
    /// What panels leave to windows, logical.
    pub usable: Rect,
    pub(super) active: u32,
}

impl Screen {
    /// A screen without panels that shows its first workspace.
    pub const fn new(id: OutputId, name: String, rect: Rect) -> Self {
        Self { id, name, rect, usable: rect, active: 1 }
    }

    /// The number of the workspace it shows, 1 is the first.
    pub const fn active_workspace(&self) -> u32 {
        self.active
    }

    /// How far a point is from it, squared; zero inside.
    pub(super) fn distance(&self, at: Point) -> u64 {
        let axis = |v: i32, low: i32, high: i32| {
            let outside = (i64::from(low) - i64::from(v)).max(i64::from(v) - i64::from(high) + 1).max(0);
            outside.unsigned_abs()
        };
        let dx = axis(at.x, self.rect.x, self.rect.right());
        let dy = axis(at.y, self.rect.y, self.rect.bottom());
        (dx * dx).saturating_add(dy * dy)
    }
}
