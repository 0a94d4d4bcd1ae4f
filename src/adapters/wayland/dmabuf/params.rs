//! zwp_linux_buffer_params_v1: planes as they come, checked together at the end.
//!
//! Descriptors that are no dma-bufs are refused here: a software driver takes anything that can be mapped, and a file
//! that shrinks would then kill us. Next of the walk: [`super::import`].

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use arrayvec::ArrayVec;
use nix::sys::stat::fstat;
use smithay::reexports::wayland_protocols::wp::linux_dmabuf::zv1::server::zwp_linux_buffer_params_v1::{
    self, Error, ZwpLinuxBufferParamsV1,
};
use smithay::reexports::wayland_server::{Client, DataInit, Dispatch, DisplayHandle, Resource};

use super::BufferData;
use crate::adapters::dmabuf;
use crate::adapters::wayland::client::ClientState;
use crate::adapters::wayland::state::State;
use crate::domain::dmabuf::{LayoutError, MAX_PLANES, Modifier, Params, Plane};
use crate::domain::format::Fourcc;
use crate::domain::geometry::Size;
use crate::ports::renderer::Dmabuf;

/// A plane's descriptor.
#[derive(Debug)]
struct Memory {
    fd: OwnedFd,
    /// Its bytes; `None` where it is no dma-buf.
    bytes: Option<u64>,
}

impl Memory {
    fn new(fd: OwnedFd) -> Self {
        Self { bytes: dmabuf::size(&fd), fd }
    }
}

/// The planes so far; `None` once they were used.
#[derive(Debug)]
pub(super) struct ParamsData(Mutex<Option<Params<Memory>>>);

impl Default for ParamsData {
    fn default() -> Self {
        Self(Mutex::new(Some(Params::default())))
    }
}

/// What is asked for with the planes.
struct Wanted {
    size: Size,
    format: Fourcc,
    /// y-inverted, interlaced.
    flags: u32,
}

/// Why there is no image.
enum Refusal {
    /// The client broke the protocol.
    Layout(LayoutError),
    /// It did not, but this cannot be shown.
    Cannot(&'static str),
}

fn code(error: &LayoutError) -> Error {
    match error {
        LayoutError::PlaneIndex(_) => Error::PlaneIdx,
        LayoutError::PlaneSet(_) => Error::PlaneSet,
        LayoutError::Incomplete { .. } => Error::Incomplete,
        LayoutError::Format { .. } | LayoutError::MixedModifiers(..) => Error::InvalidFormat,
        LayoutError::Size { .. } => Error::InvalidDimensions,
        LayoutError::Bounds { .. } | LayoutError::Stride { .. } => Error::OutOfBounds,
    }
}

impl State {
    /// Makes an image of the planes, not yet imported.
    fn finish(&self, planes: Params<Memory>, wanted: &Wanted) -> Result<Dmabuf, Refusal> {
        let pairs = &self.core.dmabufs.pairs;
        let offered = |format, modifier| pairs.iter().find(|p| p.format == format && p.modifier == modifier).copied();
        let all_are = std::cell::Cell::new(true);
        let bytes_of = |memory: &Memory| {
            all_are.set(all_are.get() && memory.bytes.is_some());
            // What is no dma-buf is refused below for that, not for its size.
            memory.bytes.unwrap_or(u64::MAX)
        };
        let finished = planes.finish(wanted.size, wanted.format, offered, bytes_of);
        let (layout, memory) = finished.map_err(Refusal::Layout)?;
        if !all_are.get() {
            return Err(Refusal::Cannot("a plane's descriptor is no dma-buf"));
        }
        if wanted.flags != 0 {
            return Err(Refusal::Cannot("y-inverted and interlaced images are not shown"));
        }
        let fds: ArrayVec<_, MAX_PLANES> = memory.into_iter().map(|memory| Arc::new(memory.fd)).collect();
        let distinct =
            distinct(&fds).map_err(|_| Refusal::Cannot("a plane's descriptor cannot be asked what it is"))?;
        Ok(Dmabuf { layout, fds, distinct })
    }
}

/// For each descriptor, whether it is of another dma-buf than those before it: two of the same have the same inode.
fn distinct(fds: &[Arc<OwnedFd>]) -> nix::Result<ArrayVec<bool, MAX_PLANES>> {
    let mut seen = ArrayVec::<_, MAX_PLANES>::new();
    let mut distinct = ArrayVec::new();
    for fd in fds {
        let stat = fstat(fd)?;
        let object = (stat.st_dev, stat.st_ino);
        distinct.push(!seen.contains(&object));
        seen.push(object);
    }
    Ok(distinct)
}

impl Dispatch<ZwpLinuxBufferParamsV1, ParamsData> for State {
    fn request(
        state: &mut Self,
        client: &Client,
        params: &ZwpLinuxBufferParamsV1,
        request: zwp_linux_buffer_params_v1::Request,
        data: &ParamsData,
        _display: &DisplayHandle,
        init: &mut DataInit<'_, Self>,
    ) {
        use zwp_linux_buffer_params_v1::Request;
        let mut planes = data.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used =
            |params: &ZwpLinuxBufferParamsV1| params.post_error(Error::AlreadyUsed, "the planes were used already");
        match request {
            Request::Add { fd, plane_idx, offset, stride, modifier_hi, modifier_lo } => {
                if let Some(client) = client.get_data::<ClientState>() {
                    client.took_descriptor();
                }
                let Some(planes) = planes.as_mut() else { return used(params) };
                let modifier = Modifier::from_halves(modifier_hi, modifier_lo);
                if let Err(error) = planes.add(plane_idx, Plane { offset, stride }, modifier, Memory::new(fd)) {
                    params.post_error(code(&error), error.to_string());
                }
            }
            Request::Create { width, height, format, flags } => {
                let Some(planes) = planes.take() else { return used(params) };
                let wanted = Wanted { size: Size::new(width, height), format: Fourcc(format), flags: flags.into() };
                match state.finish(planes, &wanted) {
                    Ok(image) => {
                        let id = state.core.buffers.create();
                        state.core.dmabufs.images.insert(id, image, params.clone(), Some(client.clone()));
                    }
                    Err(Refusal::Layout(error)) => params.post_error(code(&error), error.to_string()),
                    Err(Refusal::Cannot(why)) => {
                        tracing::debug!(why, "a dma-buf image is refused");
                        params.failed();
                    }
                }
            }
            Request::CreateImmed { buffer_id, width, height, format, flags } => {
                let Some(planes) = planes.take() else { return used(params) };
                let wanted = Wanted { size: Size::new(width, height), format: Fourcc(format), flags: flags.into() };
                match state.finish(planes, &wanted) {
                    Ok(image) => {
                        let id = state.core.buffers.create();
                        let layout = image.layout.clone();
                        if let Some(life) = state.core.dmabufs.images.insert(id, image, params.clone(), None) {
                            init.init(buffer_id, BufferData::new(id, &layout, life));
                        }
                    }
                    Err(Refusal::Layout(error)) => params.post_error(code(&error), error.to_string()),
                    Err(Refusal::Cannot(why)) => params.post_error(Error::InvalidWlBuffer, why),
                }
            }
            _ => {}
        }
    }
}
