//! Who reads a client's buffer, and its release once nobody does.
//!
//! A buffer is held by each surface whose content it is and has not been uploaded yet, by the renderer while the
//! device reads it, and by an output that scans it out. `wl_buffer.release` goes out when the last hold ends, once for
//! each time that a surface took it. A buffer whose protocol object is gone keeps its holds; nobody is told.
//!
//! Only held buffers are in the table, so that its size is what is in flight, not what clients created.

use std::collections::HashMap;

use smithay::reexports::wayland_server::protocol::wl_buffer::WlBuffer;

use crate::domain::buffer::BufferId;

/// Who reads a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A surface that shows it.
    Surface,
    /// The renderer: [`crate::ports::renderer::BufferUse::Held`] until drained.
    Renderer,
    /// An output that scans it out.
    ScanOut,
}

#[derive(Debug)]
struct Holds {
    buffer: WlBuffer,
    /// One count for each [`Holder`].
    counts: [u32; 3],
    /// A surface took it since it was last released: the client waits for a release.
    owed: bool,
}

impl Holds {
    const fn is_over(&self) -> bool {
        self.counts[0] == 0 && self.counts[1] == 0 && self.counts[2] == 0
    }
}

/// See the module's docs.
#[derive(Debug, Default)]
pub struct Buffers {
    held: HashMap<BufferId, Holds>,
    last_id: u64,
    alive: u64,
    releases: u64,
}

impl Buffers {
    /// A name that no other buffer has.
    pub(super) fn name(&mut self) -> BufferId {
        self.last_id += 1;
        BufferId(self.last_id)
    }

    /// A name for a client's new buffer, which counts until it is [`Buffers::destroyed`].
    pub(super) fn create(&mut self) -> BufferId {
        self.alive += 1;
        self.name()
    }

    /// A buffer's protocol object is gone.
    pub(super) fn destroyed(&mut self) {
        self.alive -= 1;
    }

    /// Protocol objects alive, wl_shm's and dma-bufs'.
    pub fn alive(&self) -> u64 {
        self.alive
    }

    /// Buffers that somebody reads.
    pub fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// Releases sent since start.
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// `holder` begins to read a buffer.
    pub(super) fn hold(&mut self, id: BufferId, buffer: &WlBuffer, holder: Holder) {
        let holds =
            self.held.entry(id).or_insert_with(|| Holds { buffer: buffer.clone(), counts: [0; 3], owed: false });
        holds.counts[holder as usize] += 1;
        holds.owed |= holder == Holder::Surface;
    }

    /// An output begins to scan out a buffer that a scene offers; false where it was given back to its client
    /// meanwhile and must not be read. To be ended with [`Holder::ScanOut`] once the presentation that replaces it is
    /// on screen.
    #[must_use]
    pub fn hold_for_scan_out(&mut self, id: BufferId) -> bool {
        let holds = self.held.get_mut(&id);
        holds.map(|holds| holds.counts[Holder::ScanOut as usize] += 1).is_some()
    }

    /// The renderer reads a buffer that a surface holds, once more.
    pub(super) fn hold_for_renderer(&mut self, id: BufferId) {
        if let Some(holds) = self.held.get_mut(&id) {
            holds.counts[Holder::Renderer as usize] += 1;
        }
    }

    /// `holder` reads it no more; the last one's end releases it. A hold that is not there is ignored.
    pub fn end(&mut self, id: BufferId, holder: Holder) {
        let Some(holds) = self.held.get_mut(&id) else { return };
        let count = &mut holds.counts[holder as usize];
        debug_assert!(*count > 0, "hold ended that was not there: {id:?} {holder:?}");
        *count = count.saturating_sub(1);
        if holds.is_over() {
            self.releases += u64::from(holds.owed);
            if holds.owed {
                holds.buffer.release();
            }
            self.held.remove(&id);
        }
    }

    /// `holder` is gone and reads nothing any more.
    pub(super) fn end_all(&mut self, holder: Holder) {
        self.held.retain(|_, holds| {
            holds.counts[holder as usize] = 0;
            if holds.is_over() && holds.owed {
                holds.buffer.release();
                self.releases += 1;
            }
            !holds.is_over()
        });
    }
}
