//! wl_shm, our own: pools keep their file, and every lie is answered by the protocol's error.
//!
//! What a client says is checked here once ([`ShmLayout`]); everything behind may trust it, except that the file can
//! still shrink, which [`super::pool`] copes with. Errors are those of libwayland's own wl_shm, as clients expect.
//! Next: [`super::buffer`] (who holds a buffer), then [`super::surface`].

use std::num::NonZeroUsize;
use std::sync::Arc;

use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::wl_buffer::{self, WlBuffer};
use smithay::reexports::wayland_server::protocol::wl_shm::{self, WlShm};
use smithay::reexports::wayland_server::protocol::wl_shm_pool::{self, WlShmPool};
use smithay::reexports::wayland_server::{Client, DataInit, Dispatch, DisplayHandle, GlobalDispatch, New, Resource};

use super::client::ClientState;
use super::pool::{PoolCount, ShmPool};
use super::state::State;
use crate::domain::buffer::{BufferId, LayoutError, ShmLayout};
use crate::domain::format::{ARGB8888, Fourcc, XRGB8888};
use crate::domain::geometry::Size;
use crate::ports::pool::{Pool, ShmBuffer};

/// Pools that one client may have: each costs a descriptor and a mapping, of which all clients share a bounded number.
const MAX_POOLS_OF_ONE: u64 = 1024;

/// The formats on offer, and what is counted.
#[derive(Debug)]
pub struct Shm {
    formats: Vec<Fourcc>,
    count: Arc<PoolCount>,
}

impl Shm {
    pub(super) fn new(display: &DisplayHandle, formats: &[Fourcc]) -> Self {
        display.create_global::<State, WlShm, ()>(2, ());
        let mut all = vec![ARGB8888, XRGB8888];
        all.extend(formats.iter().copied().filter(|format| format.info().is_some()));
        all.sort();
        all.dedup();
        Self { formats: all, count: Arc::default() }
    }

    /// Pools alive.
    pub fn count(&self) -> &PoolCount {
        &self.count
    }
}

/// A wl_shm_pool's data.
#[derive(Debug)]
pub struct PoolData {
    pool: Arc<ShmPool>,
}

/// A wl_shm wl_buffer's data.
#[derive(Debug)]
pub struct BufferData {
    /// Its name towards the renderer and the outputs.
    pub id: BufferId,
    /// Its memory.
    pub shm: ShmBuffer,
}

impl GlobalDispatch<WlShm, ()> for State {
    fn bind(
        state: &mut Self,
        _display: &DisplayHandle,
        _client: &Client,
        shm: New<WlShm>,
        _data: &(),
        init: &mut DataInit<'_, Self>,
    ) {
        let shm = init.init(shm, ());
        for format in &state.core.shm.formats {
            // Codes newer than the protocol crate's list do not occur: the house's table is older.
            if let Ok(format) = wl_shm::Format::try_from(format.to_shm()) {
                shm.format(format);
            }
        }
    }
}

impl Dispatch<WlShm, ()> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        shm: &WlShm,
        request: wl_shm::Request,
        _data: &(),
        _display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        let wl_shm::Request::CreatePool { id, fd, size } = request else { return };
        let own = client.get_data::<ClientState>();
        if let Some(client) = own {
            client.took_descriptor();
        }
        let Some(len) = usize::try_from(size).ok().and_then(NonZeroUsize::new) else {
            return shm.post_error(wl_shm::Error::InvalidStride, format!("invalid pool size {size}"));
        };
        let own = own.map(|client| client.pools.clone()).unwrap_or_default();
        if own.pools() >= MAX_POOLS_OF_ONE {
            return shm.post_error(wl_shm::Error::InvalidFd, format!("more than {MAX_POOLS_OF_ONE} pools"));
        }
        match ShmPool::new(fd, len, [state.core.shm.count.clone(), own]) {
            Ok(pool) => {
                init.init(id, PoolData { pool: Arc::new(pool) });
            }
            Err(error) => shm.post_error(wl_shm::Error::InvalidFd, format!("pool's file: {error}")),
        }
    }
}

impl Dispatch<WlShmPool, PoolData> for State {
    fn request(
        state: &mut Self,
        _client: &Client,
        pool: &WlShmPool,
        request: wl_shm_pool::Request,
        data: &PoolData,
        _display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        match request {
            wl_shm_pool::Request::CreateBuffer { id, offset, width, height, stride, format } => {
                let format = Fourcc::from_shm(format.into());
                let size = Size::new(width, height);
                let layout = if state.core.shm.formats.contains(&format) {
                    ShmLayout::new(data.pool.size(), offset, size, stride, format)
                } else {
                    Err(LayoutError::Format(format))
                };
                match layout {
                    Ok(layout) => {
                        let shm = ShmBuffer { pool: data.pool.clone(), layout };
                        init.init(id, BufferData { id: state.core.buffers.create(), shm });
                    }
                    Err(error @ LayoutError::Format(_)) => {
                        pool.post_error(wl_shm::Error::InvalidFormat, error.to_string());
                    }
                    Err(error) => pool.post_error(wl_shm::Error::InvalidStride, error.to_string()),
                }
            }
            wl_shm_pool::Request::Resize { size } => {
                let len = usize::try_from(size).ok().and_then(NonZeroUsize::new);
                let Some(len) = len.filter(|len| len.get() >= data.pool.size()) else {
                    return pool.post_error(wl_shm::Error::InvalidFd, format!("a pool cannot shrink, to {size}"));
                };
                if let Err(error) = data.pool.grow(len) {
                    pool.post_error(wl_shm::Error::InvalidFd, format!("pool's file: {error}"));
                }
            }
            _ => {}
        }
    }

    fn destroyed(_state: &mut Self, _client: ClientId, _pool: &WlShmPool, _data: &PoolData) {}
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
