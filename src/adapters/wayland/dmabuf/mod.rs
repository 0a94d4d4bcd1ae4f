//! zwp_linux_dmabuf_v1, our own: client images in dma-bufs, their planes checked, imported once each.
//!
//! ```text
//! params  add…, create ─▶ checked (`domain::dmabuf`) ─▶ image, waits for its import
//! import  after the dispatch, with the renderer lent: imported ─▶ created, or failed
//! surface commit ─▶ latch ─▶ upload (here: finds the texture) ─▶ ports::renderer
//! ```
//!
//! The walk starts in [`params`], goes on in [`import`]; [`feedback`] tells clients what to allocate. smithay's own
//! module is not used: in 0.7 it ignores plane indices and accepts gaps. Y-inverted and interlaced images are answered
//! with `failed`, which clients must expect.

mod feedback;
mod import;
mod params;

use smithay::reexports::wayland_protocols::wp::linux_dmabuf::zv1::server::zwp_linux_dmabuf_v1::{
    self, ZwpLinuxDmabufV1,
};
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_buffer::{self, WlBuffer};
use smithay::reexports::wayland_server::{Client, DataInit, Dispatch, DisplayHandle, GlobalDispatch, New, Resource};

use self::feedback::Table;
use self::params::ParamsData;
use super::state::State;
use crate::domain::buffer::BufferId;
use crate::domain::dmabuf::{Layout, Modifier, Pair};
use crate::domain::format::FormatInfo;
use crate::domain::geometry::Size;

pub use self::import::Images;
pub(super) use self::import::Latched;

/// What clients may allocate.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the renderer imports. Empty: the global is not announced.
    pub pairs: Vec<Pair>,
    /// The device that clients should allocate on (dev_t of a DRM node); without it they are told formats and
    /// modifiers, and no device (version 3 of the protocol).
    pub device: Option<u64>,
}

/// The images of all clients, and what is on offer.
#[derive(Debug)]
pub struct Dmabufs {
    pairs: Vec<Pair>,
    device: Option<u64>,
    table: Option<Table>,
    /// Every image, by its buffer's name.
    pub(super) images: Images,
}

/// A dma-buf wl_buffer's data.
#[derive(Debug)]
pub struct BufferData {
    /// Its name towards the renderer and the outputs.
    pub id: BufferId,
    /// Pixels.
    pub size: Size,
    /// Texels can be translucent.
    pub has_alpha: bool,
    /// Keeps the image for surface commits that have not taken effect when the protocol object goes.
    _life: import::Life,
}

impl BufferData {
    fn new(id: BufferId, layout: &Layout, life: import::Life) -> Self {
        let format = layout.format();
        let has_alpha = format.info().is_some_and(FormatInfo::has_alpha);
        Self { id, size: layout.size(), has_alpha, _life: life }
    }
}

impl Dmabufs {
    pub(super) fn new(display: &DisplayHandle, options: Options) -> Self {
        let Options { pairs, device } = options;
        let table = match device.filter(|_| !pairs.is_empty()) {
            Some(_) => Table::new(&pairs)
                .inspect_err(|error| tracing::warn!(%error, "clients are not told which device to allocate on"))
                .ok(),
            None => None,
        };
        if !pairs.is_empty() {
            let version = if table.is_some() { 5 } else { 3 };
            display.create_global::<State, ZwpLinuxDmabufV1, ()>(version, ());
        }
        Self { pairs, device, table, images: Images::default() }
    }

    /// Images whose protocol object or content is alive.
    pub fn count(&self) -> u64 {
        self.images.count()
    }
}

impl GlobalDispatch<ZwpLinuxDmabufV1, ()> for State {
    fn bind(
        state: &mut Self,
        _display: &DisplayHandle,
        _client: &Client,
        dmabuf: New<ZwpLinuxDmabufV1>,
        _data: &(),
        init: &mut DataInit<'_, Self>,
    ) {
        let dmabuf = init.init(dmabuf, ());
        match dmabuf.version() {
            0..=2 => {
                let plain = |pair: &&Pair| [Modifier::INVALID, Modifier::LINEAR].contains(&pair.modifier);
                let mut formats: Vec<_> = state.core.dmabufs.pairs.iter().filter(plain).map(|p| p.format.0).collect();
                formats.dedup();
                formats.into_iter().for_each(|format| dmabuf.format(format));
            }
            3 => state.core.dmabufs.pairs.iter().for_each(|pair| {
                let (high, low) = pair.modifier.halves();
                dmabuf.modifier(pair.format.0, high, low);
            }),
            // Feedback tells.
            _ => {}
        }
    }
}

impl Dispatch<ZwpLinuxDmabufV1, ()> for State {
    fn request(
        state: &mut Self,
        _client: &Client,
        _dmabuf: &ZwpLinuxDmabufV1,
        request: zwp_linux_dmabuf_v1::Request,
        _data: &(),
        _display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        match request {
            zwp_linux_dmabuf_v1::Request::CreateParams { params_id } => {
                init.init(params_id, ParamsData::default());
            }
            zwp_linux_dmabuf_v1::Request::GetDefaultFeedback { id }
            | zwp_linux_dmabuf_v1::Request::GetSurfaceFeedback { id, .. } => {
                let feedback = init.init(id, ());
                state.core.dmabufs.tell(&feedback);
            }
            _ => {}
        }
    }
}

impl Dispatch<WlBuffer, BufferData> for State {
    fn request(
        _state: &mut Self,
        _client: &Client,
        _buffer: &WlBuffer,
        _request: wl_buffer::Request,
        _data: &BufferData,
        _display: &DisplayHandle,
        _init: &mut DataInit<'_, Self>,
    ) {
        // Only destroy, which is all done in `destroyed`.
    }

    fn destroyed(state: &mut Self, _client: ClientId, _buffer: &WlBuffer, _data: &BufferData) {
        state.core.buffers.destroyed();
    }
}
