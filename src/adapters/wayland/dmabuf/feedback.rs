//! zwp_linux_dmabuf_feedback_v1: which device to allocate on, and in which formats and modifiers.
//!
//! One tranche: what the renderer samples, on its device. It does not change while the renderer stands, so it is told
//! once to each object and never again; an output that scans clients out has a tranche of its own before it.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use smithay::reexports::wayland_protocols::wp::linux_dmabuf::zv1::server::zwp_linux_dmabuf_feedback_v1::{
    self, TrancheFlags, ZwpLinuxDmabufFeedbackV1,
};
use smithay::reexports::wayland_server::{Client, DataInit, Dispatch, DisplayHandle};

use super::Dmabufs;
use crate::adapters::wayland::state::State;
use crate::domain::dmabuf::Pair;

/// Bytes of one row of the table: format, padding, modifier.
const ROW_BYTES: usize = 16;

/// The formats and modifiers, in a file that clients map.
#[derive(Debug)]
pub(super) struct Table {
    file: OwnedFd,
    bytes: u32,
    /// Every row's number, two bytes each.
    indices: Vec<u8>,
}

impl Table {
    /// Of at most 65,536 pairs; more are left out.
    ///
    /// # Errors
    /// Where the file cannot be made.
    pub(super) fn new(pairs: &[Pair]) -> std::io::Result<Self> {
        let count = pairs.len().min(usize::from(u16::MAX) + 1);
        let mut rows = Vec::with_capacity(count * ROW_BYTES);
        for pair in &pairs[..count] {
            rows.extend(pair.format.0.to_ne_bytes());
            rows.extend([0; 4]);
            rows.extend(pair.modifier.0.to_ne_bytes());
        }
        let file = memfd_create(c"dmabuf formats", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
        let mut file = std::fs::File::from(file);
        file.write_all(&rows)?;
        // Every client gets the same file.
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        let indices = (0..count).flat_map(|index| (index as u16).to_ne_bytes()).collect();
        Ok(Self { file: file.into(), bytes: rows.len() as u32, indices })
    }
}

impl Dmabufs {
    /// Tells one object everything.
    pub(super) fn tell(&self, feedback: &ZwpLinuxDmabufFeedbackV1) {
        let (Some(table), Some(device)) = (&self.table, self.device) else { return };
        let device = device.to_ne_bytes().to_vec();
        feedback.format_table(table.file.as_fd(), table.bytes);
        feedback.main_device(device.clone());
        feedback.tranche_target_device(device);
        feedback.tranche_flags(TrancheFlags::empty());
        feedback.tranche_formats(table.indices.clone());
        feedback.tranche_done();
        feedback.done();
    }
}

impl Dispatch<ZwpLinuxDmabufFeedbackV1, ()> for State {
    fn request(
        _state: &mut Self,
        _client: &Client,
        _feedback: &ZwpLinuxDmabufFeedbackV1,
        _request: zwp_linux_dmabuf_feedback_v1::Request,
        _data: &(),
        _display: &DisplayHandle,
        _init: &mut DataInit<'_, Self>,
    ) {
        // Only destroy.
    }
}
