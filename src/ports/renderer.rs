//! The renderer: buffers in, scenes onto targets, completion out.
//!
//! Knows buffers, scenes and targets; knows nothing of Wayland, KMS or windows. Everything is called from one thread.
//! `adapters::vulkan` is the implementation that ships; a plain CPU reference lives with the tests, and one contract
//! suite runs on both.
//!
//! The life of a client's pixels: [`Renderer::import_shm`] makes a texture, [`Renderer::update_shm`] brings it up to
//! date with damage at each latch, [`Renderer::render`] reads it, [`Renderer::forget`] retires it; what the GPU may
//! still read is freed by [`Renderer::drain`] once its frame completed. A steady frame (update, render, drain)
//! allocates nothing and creates no device object.

use std::fmt::Debug;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use arrayvec::ArrayVec;
use raw_window_handle::{HasDisplayHandle, HasWindowHandle};

use super::pool::{PoolError, ShmBuffer};
use crate::domain::buffer::{BufferId, TextureId};
use crate::domain::dmabuf;
use crate::domain::format::Fourcc;
use crate::domain::frame::{Counters, FrameSerial, Holdings};
use crate::domain::geometry::{Rect, Size};
use crate::domain::region::Region;
use crate::domain::scene::Scene;

/// Something a scene is rendered onto: an offscreen image or a window's swapchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId(pub u64);

/// A capture under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaptureId(pub u64);

/// A window that a target presents to; kept alive by the target.
pub trait Window: HasWindowHandle + HasDisplayHandle {}
impl<T: HasWindowHandle + HasDisplayHandle> Window for T {}

/// One thing a device can or cannot do, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Its name in documents and switches, e.g. `host-copy`, `bindless`.
    pub name: &'static str,
    /// `None` where it is there; else what is missing.
    pub missing: Option<String>,
}

/// What a renderer can do on its device.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    /// Device name, driver and version, for people.
    pub device: String,
    /// Whether pixels are computed by the CPU, where a copy costs a tenth of a draw.
    pub software: bool,
    /// wl_shm formats that [`Renderer::import_shm`] takes.
    pub shm_formats: Vec<Fourcc>,
    /// Formats and modifiers that [`Renderer::import_dmabuf`] takes, in no order; empty where it takes none.
    pub dmabuf_pairs: Vec<dmabuf::Pair>,
    /// The DRM node that this device is (dev_t), where it is one.
    pub drm_node: Option<u64>,
    /// Greatest texture width and height, texels.
    pub max_texture_side: u32,
    /// Greatest target width and height, pixels.
    pub max_target_side: u32,
    /// Upload tiers, best first.
    pub upload_tiers: Vec<Capability>,
    /// Everything else of note: bindless, sync paths, modifiers.
    pub features: Vec<Capability>,
}

impl Capabilities {
    /// Whether a feature of this name is there.
    pub fn can(&self, feature: &str) -> bool {
        self.features.iter().any(|one| one.name == feature && one.missing.is_none())
    }
}

/// A client's image in dma-bufs.
#[derive(Clone, Debug)]
pub struct Dmabuf {
    /// Where it lies, checked against the dma-bufs' sizes.
    pub layout: dmabuf::Layout,
    /// The dma-buf of each plane; several planes may be in the same one, by the same or by another descriptor.
    pub fds: ArrayVec<Arc<OwnedFd>, { dmabuf::MAX_PLANES }>,
    /// For each plane, whether its dma-buf is that of no plane before it.
    pub distinct: ArrayVec<bool, { dmabuf::MAX_PLANES }>,
}

impl Dmabuf {
    /// A descriptor of each different dma-buf.
    pub fn distinct_fds(&self) -> impl Iterator<Item = &Arc<OwnedFd>> {
        self.fds.iter().zip(&self.distinct).filter(|(_, distinct)| **distinct).map(|(fd, _)| fd)
    }

    /// Whether its planes are in different dma-bufs.
    pub fn is_disjoint(&self) -> bool {
        self.distinct_fds().count() > 1
    }
}

/// What becomes of a client's buffer after [`Renderer::update_shm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferUse {
    /// Its bytes were copied; it may be released at once.
    Copied,
    /// The device reads it; [`Renderer::drain`] gives its [`BufferId`] back, exactly once.
    Held,
}

/// A submitted frame.
#[derive(Debug)]
pub struct FrameTicket {
    /// Its place on the timeline.
    pub serial: FrameSerial,
    /// A sync_file that signals with it, where [`Renderer::want_fences`] asked for one and the device can export it;
    /// `None` also where it has signalled already. [`Renderer::completed`] tells in every case.
    pub fence: Option<OwnedFd>,
    /// What this frame cost.
    pub cost: Counters,
}

/// A target made ready for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// Its size in physical pixels.
    pub size: Size,
    /// How many frames ago its present content was rendered: 1 is the last frame, 0 is undefined content.
    pub age: u32,
}

/// Pixels in CPU memory: XRGB8888 little-endian words (bytes B, G, R, X with X = 255), rows without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels.
    pub size: Size,
    /// `size.w * size.h * 4` bytes.
    pub bytes: Vec<u8>,
}

/// Why a buffer did not become a texture; named by the caller's remedy.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// This buffer can never be imported: tell its client.
    #[error("the device cannot take this buffer: {reason}")]
    Unsupported {
        /// What about it.
        reason: String,
    },
    /// The texture has another size or format: forget it and import anew.
    #[error("the buffer's size or format is not the texture's")]
    Incompatible,
    /// The client's memory is not what it said: the client's fault.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Memory or another resource ran out: drop this content, others go on, may be tried again.
    #[error("out of {what}")]
    Exhausted {
        /// What ran out.
        what: &'static str,
        /// The failing call.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// No such texture: the caller's bug, reported, not fatal.
    #[error("no texture {0:?}")]
    Unknown(TextureId),
    /// The device is lost: make a new renderer.
    #[error("the device was lost")]
    DeviceLost,
}

/// Why a fence is not waited for; named by the caller's remedy.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// The queue cannot wait for it, or not now: wait in the loop until the fence is readable, and latch then.
    #[error("the device's queue cannot wait for this fence")]
    NotTaken {
        /// The fence, given back.
        fence: OwnedFd,
        /// The failing call; `None` where the device lacks it altogether ([`Capabilities::features`] says why).
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// No such texture: the caller's bug, reported, not fatal.
    #[error("no texture {0:?}")]
    Unknown(TextureId),
    /// The device is lost: make a new renderer.
    #[error("the device was lost")]
    DeviceLost,
}

/// Why a target could not be made, acquired, rendered to or captured; named by the caller's remedy.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The window's swapchain no longer fits: [`Renderer::resize_target`], then try again.
    #[error("the target no longer fits its window")]
    OutOfDate,
    /// The target is not ready within the time given: skip this frame.
    #[error("the target is not ready")]
    NotReady,
    /// The window is gone for good.
    #[error("the window's surface was lost")]
    SurfaceLost,
    /// This renderer has no such kind of target or capture.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Memory or another resource ran out; may be tried again.
    #[error("out of {what}")]
    Exhausted {
        /// What ran out.
        what: &'static str,
        /// The failing call.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// No such target or capture: the caller's bug, reported, not fatal.
    #[error("no such target or capture")]
    Unknown,
    /// The device is lost: make a new renderer.
    #[error("the device was lost")]
    DeviceLost,
}

/// The heart of the house. See the module's docs.
pub trait Renderer {
    /// What the device can do. Constant for the renderer's life.
    fn capabilities(&self) -> &Capabilities;

    /// Makes a texture with the buffer's whole content. `id` names the client's buffer for [`BufferUse::Held`].
    ///
    /// # Errors
    /// [`ImportError`]; nothing is left behind.
    fn import_shm(&mut self, buffer: &ShmBuffer, id: BufferId) -> Result<(TextureId, BufferUse), ImportError>;

    /// Brings a texture up to date with another buffer of the same size and format. `damage` is in buffer texels,
    /// clipped to the buffer by the callee. Outside it the buffer shows what the texture shows (wl_surface.damage), so
    /// the callee need not read that, and may where many rectangles are cheaper as a few.
    ///
    /// # Errors
    /// [`ImportError`]; the texture keeps its old content, except after [`ImportError::Pool`], when the damaged part
    /// may hold zeros.
    fn update_shm(
        &mut self,
        texture: TextureId,
        buffer: &ShmBuffer,
        id: BufferId,
        damage: &[Rect],
    ) -> Result<BufferUse, ImportError>;

    /// Makes a texture that *is* a client's image: nothing is copied, and what its owner writes is seen. Each call of
    /// [`Renderer::render`], successful or not, holds the buffer once for each element that names the texture, drawn or
    /// not; [`Renderer::drain`] names `id` as often once the frame completed.
    ///
    /// # Errors
    /// [`ImportError::Unsupported`] where the device refuses it, [`ImportError::Exhausted`],
    /// [`ImportError::DeviceLost`]; nothing is left behind.
    fn import_dmabuf(&mut self, buffer: &Dmabuf, id: BufferId) -> Result<TextureId, ImportError>;

    /// Retires a texture: frames in flight still read it, later scenes must not name it. Unknown ids are ignored.
    fn forget(&mut self, texture: TextureId);

    /// Has the next frame that reads `texture` wait for `fence`, a sync_file: in the queue, at the stages that read, while
    /// this thread goes on. One that is given while another is pending takes its place: what nobody read needs no
    /// waiting for. A fence that has signalled need not be given. The caller got the fence from the kernel: a software
    /// driver would wait for anything that poll(2) takes, and everything submitted later waits behind it.
    ///
    /// The fallback is the caller's, and plain: on [`FenceError::NotTaken`] it watches the fence in its loop and latches
    /// the content once that is readable. So a renderer without sync files has nothing to implement.
    ///
    /// # Errors
    /// [`FenceError`]; what the texture waited for before is forgotten.
    fn wait_for(&mut self, texture: TextureId, fence: OwnedFd) -> Result<(), FenceError> {
        let _ = texture;
        Err(FenceError::NotTaken { fence, source: None })
    }

    /// Whether frames from now on carry a fence; not at the start, since each costs a descriptor. Where the device can
    /// export none this changes nothing.
    fn want_fences(&mut self, wanted: bool) {
        let _ = wanted;
    }

    /// Makes an image to render onto and capture from, content undefined (age 0).
    ///
    /// # Errors
    /// [`RenderError::Unsupported`], [`RenderError::Exhausted`], [`RenderError::DeviceLost`].
    fn create_offscreen(&mut self, size: Size) -> Result<TargetId, RenderError>;

    /// Makes a target that presents to `window`, `size` in physical pixels (where the window system dictates the
    /// window's own size, that: see [`Acquired::size`]). Presenting never waits for the window's host: a frame not yet
    /// shown is replaced by the next; pacing is the output's.
    ///
    /// # Errors
    /// As [`Renderer::create_offscreen`], and [`RenderError::SurfaceLost`].
    fn create_window(&mut self, window: Arc<dyn Window>, size: Size) -> Result<TargetId, RenderError>;

    /// Gives a target another size; its content becomes undefined.
    ///
    /// # Errors
    /// As [`Renderer::create_offscreen`].
    fn resize_target(&mut self, target: TargetId, size: Size) -> Result<(), RenderError>;

    /// Retires a target. Unknown ids are ignored.
    fn destroy_target(&mut self, target: TargetId);

    /// Makes a target ready for the next frame without blocking longer than a frame. A target acquired and not rendered
    /// to stays acquired: the same is returned again.
    ///
    /// # Errors
    /// [`RenderError::OutOfDate`], [`RenderError::NotReady`], [`RenderError::SurfaceLost`],
    /// [`RenderError::DeviceLost`], [`RenderError::Unknown`].
    fn acquire(&mut self, target: TargetId) -> Result<Acquired, RenderError>;

    /// Renders `scene` onto an acquired target inside `damage` (physical pixels; outside it the target's content is
    /// already right), submits once, and presents where the target is a window. Elements whose texture is unknown are
    /// left out, which shows what is beneath.
    ///
    /// # Errors
    /// [`RenderError`]; [`RenderError::NotReady`] where the renderer's frames in flight are all in use: skip and retry;
    /// [`RenderError::OutOfDate`] also where the scene's size is not the target's.
    fn render(&mut self, target: TargetId, scene: &Scene, damage: &Region) -> Result<FrameTicket, RenderError>;

    /// The greatest serial known to be complete. Does not block.
    ///
    /// # Errors
    /// [`RenderError::DeviceLost`].
    fn completed(&mut self) -> Result<FrameSerial, RenderError>;

    /// A descriptor that becomes readable when a submission completed since the last [`Renderer::drain`].
    fn completion_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Frees what complete frames held and names each client buffer no longer read. To be called when
    /// [`Renderer::completion_fd`] is readable, and harmless at any time, frames or not.
    ///
    /// # Errors
    /// [`RenderError::DeviceLost`].
    fn drain(&mut self, released: &mut dyn FnMut(BufferId)) -> Result<(), RenderError>;

    /// Starts copying a part of an offscreen target (physical pixels, clipped to the target) to CPU memory, after all
    /// that is submitted.
    ///
    /// # Errors
    /// [`RenderError::Unsupported`] for a window, for content that is undefined and for a part that is outside;
    /// [`RenderError::Unknown`], [`RenderError::Exhausted`].
    fn capture(&mut self, target: TargetId, part: Rect) -> Result<CaptureId, RenderError>;

    /// The capture's pixels once they are there; `None` until then. Does not block.
    ///
    /// # Errors
    /// [`RenderError::Unknown`] also for one already taken, [`RenderError::DeviceLost`].
    fn take_capture(&mut self, capture: CaptureId) -> Result<Option<Pixels>, RenderError>;

    /// Waits until everything submitted is complete, at most `limit_ns`: for shutdown and tests.
    ///
    /// # Errors
    /// [`RenderError::NotReady`] at the limit, [`RenderError::DeviceLost`].
    fn wait_idle(&mut self, limit_ns: u64) -> Result<(), RenderError>;

    /// Costs since the renderer was made.
    fn counters(&self) -> Counters;

    /// What is held right now.
    fn holdings(&self) -> Holdings;
}
