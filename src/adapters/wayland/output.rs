//! Outputs as clients see them: wl_output and xdg-output.
//!
//! The application adds, changes and removes them by [`OutputId`]. A removed output's global is first disabled and
//! destroyed only [`GLOBAL_LINGERS_NS`] later, so that a client that was about to bind it does not die of it.

use smithay::output::{Mode, Output, PhysicalProperties, Subpixel};
use smithay::reexports::wayland_server::DisplayHandle;
use smithay::reexports::wayland_server::backend::GlobalId;
use smithay::utils::Transform as SmithayTransform;
use smithay::wayland::output::{OutputHandler, OutputManagerState};

use super::latch::OutputLatch;
use super::state::State;
use crate::domain::frame::Time;
use crate::domain::geometry::{Point, Scale};
use crate::domain::output::{OutputId, Placement};
use crate::domain::transform::Transform;
use crate::ports::output::Info;

/// How long the global of a removed output can still be bound.
const GLOBAL_LINGERS_NS: u64 = 10_000_000_000;

/// One output.
#[derive(Debug)]
pub struct Entry {
    /// Its identity.
    pub id: OutputId,
    /// Its unique name.
    pub name: String,
    /// Where it lies and how it shows the desktop.
    pub placement: Placement,
    /// What smithay keeps of it.
    pub output: Output,
    global: GlobalId,
    pub(super) latch: OutputLatch,
}

/// Every output that clients see.
#[derive(Debug)]
pub struct Outputs {
    entries: Vec<Entry>,
    lingering: Vec<(Time, GlobalId)>,
    last_id: u32,
    _manager: OutputManagerState,
}

impl Outputs {
    pub(super) fn new(display: &DisplayHandle) -> Self {
        Self {
            entries: Vec::new(),
            lingering: Vec::new(),
            last_id: 0,
            _manager: OutputManagerState::new_with_xdg_output::<State>(display),
        }
    }

    /// All of them, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// One of them.
    pub fn get(&self, id: OutputId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    pub(super) fn get_mut(&mut self, id: OutputId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }

    /// From frame to frame of the fastest.
    pub(super) fn shortest_period_ns(&self) -> Option<u64> {
        let rates = self.iter().filter_map(|entry| entry.output.current_mode()).map(|mode| mode.refresh);
        rates.max().and_then(|mhz| u64::try_from(mhz).ok()).map(|mhz| 1_000_000_000_000 / mhz.max(1))
    }

    /// The one with this name.
    pub fn by_name(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The one behind a client's wl_output, where it is still there.
    pub fn by_output(&self, output: &Output) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.output == *output)
    }
}

impl State {
    /// Shows clients a new output.
    pub fn add_output(&mut self, info: &Info, position: Point, scale: Scale, transform: Transform) -> OutputId {
        let outputs = &mut self.core.outputs;
        outputs.last_id += 1;
        let id = OutputId(outputs.last_id);
        let output = Output::new(
            info.name.clone(),
            PhysicalProperties {
                size: (info.physical_mm.w.max(0), info.physical_mm.h.max(0)).into(),
                subpixel: Subpixel::Unknown,
                make: info.make.clone(),
                model: info.model.clone(),
            },
        );
        let placement = Placement { position, mode_size: info.mode.size, scale, transform };
        apply(&output, info, &placement);
        let global = output.create_global::<Self>(&self.core.display);
        outputs.entries.push(Entry {
            id,
            name: info.name.clone(),
            placement,
            output,
            global,
            latch: OutputLatch::default(),
        });
        self.outputs_changed();
        id
    }

    /// Tells clients what became of an output. An unknown `id` is ignored.
    pub fn change_output(&mut self, id: OutputId, info: &Info, position: Point, scale: Scale, transform: Transform) {
        let Some(entry) = self.core.outputs.entries.iter_mut().find(|entry| entry.id == id) else { return };
        let placement = Placement { position, mode_size: info.mode.size, scale, transform };
        entry.placement = placement;
        apply(&entry.output, info, &placement);
        self.outputs_changed();
    }

    /// Takes an output from clients. An unknown `id` is ignored.
    pub fn remove_output(&mut self, id: OutputId) {
        let outputs = &mut self.core.outputs;
        let Some(index) = outputs.entries.iter().position(|entry| entry.id == id) else { return };
        let mut entry = outputs.entries.remove(index);
        entry.latch.waiting.discard();
        self.core.leave_output(&entry);
        let outputs = &mut self.core.outputs;
        self.core.display.disable_global::<Self>(entry.global.clone());
        outputs.lingering.push((self.core.now.plus_ns(GLOBAL_LINGERS_NS), entry.global));
        self.outputs_changed();
    }

    /// Destroys the globals of outputs that went long enough ago. To be called now and then.
    pub fn expire_outputs(&mut self, now: Time) {
        let display = &self.core.display;
        self.core.outputs.lingering.retain(|(until, global)| {
            let keep = now < *until;
            if !keep {
                display.remove_global::<Self>(global.clone());
            }
            keep
        });
    }

    fn outputs_changed(&mut self) {
        self.core.prefer_all();
        self.shell_outputs_changed();
        self.redraw_all();
    }
}

/// Tells smithay, which tells clients.
fn apply(output: &Output, info: &Info, placement: &Placement) {
    let size = info.mode.size;
    let mode = Mode { size: (size.w.max(0), size.h.max(0)).into(), refresh: info.mode.refresh_mhz as i32 };
    if let Some(old) = output.current_mode().filter(|old| *old != mode) {
        output.delete_mode(old);
    }
    output.set_preferred(mode);
    output.change_current_state(
        Some(mode),
        Some(to_smithay(placement.transform)),
        Some(smithay::output::Scale::Custom {
            advertised_integer: placement.scale.ceil(),
            fractional: placement.scale.as_f64(),
        }),
        Some((placement.position.x, placement.position.y).into()),
    );
}

/// The same transform in smithay's words.
pub(super) const fn to_smithay(transform: Transform) -> SmithayTransform {
    match transform {
        Transform::Normal => SmithayTransform::Normal,
        Transform::Rot90 => SmithayTransform::_90,
        Transform::Rot180 => SmithayTransform::_180,
        Transform::Rot270 => SmithayTransform::_270,
        Transform::Flipped => SmithayTransform::Flipped,
        Transform::Flipped90 => SmithayTransform::Flipped90,
        Transform::Flipped180 => SmithayTransform::Flipped180,
        Transform::Flipped270 => SmithayTransform::Flipped270,
    }
}

impl OutputHandler for State {}
