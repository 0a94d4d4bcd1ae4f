//! A renderer that keeps the bytes of every texture and a record of every call, and draws nothing: what protocol tests
//! look at. It reads client memory by the port's rules.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use transom::domain::buffer::{BufferId, TextureId};
use transom::domain::frame::{Counters, FrameSerial, Holdings};
use transom::domain::geometry::{Rect, Size};
use transom::domain::region::Region;
use transom::domain::scene::Scene;
use transom::ports::pool::ShmBuffer;
use transom::ports::renderer::{
    Acquired, BufferUse, Capabilities, CaptureId, Dmabuf, FrameTicket, ImportError, Pixels, RenderError, Renderer,
    TargetId, Window,
};

/// What was asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Import(TextureId),
    Update(TextureId, Vec<Rect>),
    Forget(TextureId),
}

struct Kept {
    size: Size,
    texel_bytes: usize,
    bytes: Vec<u8>,
}

/// See the module's docs.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) calls: Vec<Call>,
    /// Makes no record, so that it allocates nothing but textures.
    pub(crate) quiet: bool,
    /// What uploads answer: the device reads the client's memory until [`Recorder::finish`].
    pub(crate) hold: bool,
    /// The next uploads fail with this.
    pub(crate) fail: Option<fn() -> ImportError>,
    textures: HashMap<TextureId, Kept>,
    held: Vec<BufferId>,
    last: u64,
    capabilities: Capabilities,
}

impl Recorder {
    /// The 32-bit texel at (`x`, `y`).
    pub(crate) fn texel(&self, texture: TextureId, x: i32, y: i32) -> u32 {
        let kept = &self.textures[&texture];
        let at = (y * kept.size.w + x) as usize * kept.texel_bytes;
        u32::from_le_bytes(kept.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    pub(crate) fn texture_count(&self) -> usize {
        self.textures.len()
    }

    /// The device read everything: what [`Renderer::drain`] will tell.
    pub(crate) fn finish(&mut self) -> Vec<BufferId> {
        std::mem::take(&mut self.held)
    }

    fn usage(&mut self, id: BufferId) -> BufferUse {
        if self.hold {
            self.held.push(id);
            BufferUse::Held
        } else {
            BufferUse::Copied
        }
    }

    /// Copies `rect` of a client's image.
    fn copy(&mut self, texture: TextureId, buffer: &ShmBuffer, rect: Rect) -> Result<(), ImportError> {
        let layout = buffer.layout;
        let kept = self.textures.get_mut(&texture).ok_or(ImportError::Unknown(texture))?;
        let Some(rect) = rect.intersection(Rect::from_size(layout.size())) else { return Ok(()) };
        buffer.pool.read(layout.byte_range(), &mut |start| {
            for y in rect.y..rect.bottom() {
                let from = y as usize * layout.stride() + rect.x as usize * layout.texel_bytes();
                let to = (y as usize * layout.size().w as usize + rect.x as usize) * layout.texel_bytes();
                let len = rect.w as usize * layout.texel_bytes();
                for byte in 0..len {
                    // SAFETY: the layout lies inside the range that `read` mapped, and the rectangle in the layout.
                    kept.bytes[to + byte] = unsafe { start.add(from + byte).read_volatile() };
                }
            }
        })?;
        Ok(())
    }
}

impl Renderer for Recorder {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn import_shm(&mut self, buffer: &ShmBuffer, id: BufferId) -> Result<(TextureId, BufferUse), ImportError> {
        if let Some(fail) = self.fail {
            return Err(fail());
        }
        self.last += 1;
        let texture = TextureId(self.last);
        let (size, texel_bytes) = (buffer.layout.size(), buffer.layout.texel_bytes());
        let bytes = vec![0; size.area() as usize * texel_bytes];
        self.textures.insert(texture, Kept { size, texel_bytes, bytes });
        if let Err(error) = self.copy(texture, buffer, Rect::from_size(size)) {
            self.textures.remove(&texture);
            return Err(error);
        }
        self.calls.push(Call::Import(texture));
        Ok((texture, self.usage(id)))
    }

    fn update_shm(
        &mut self,
        texture: TextureId,
        buffer: &ShmBuffer,
        id: BufferId,
        damage: &[Rect],
    ) -> Result<BufferUse, ImportError> {
        if let Some(fail) = self.fail {
            return Err(fail());
        }
        let kept = self.textures.get(&texture).ok_or(ImportError::Unknown(texture))?;
        if kept.size != buffer.layout.size() || kept.texel_bytes != buffer.layout.texel_bytes() {
            return Err(ImportError::Incompatible);
        }
        if !self.quiet {
            self.calls.push(Call::Update(texture, damage.to_vec()));
        }
        for rect in damage {
            self.copy(texture, buffer, *rect)?;
        }
        Ok(self.usage(id))
    }

    fn import_dmabuf(&mut self, _: &Dmabuf, _: BufferId) -> Result<TextureId, ImportError> {
        Err(ImportError::Unsupported { reason: "dma-bufs".into() })
    }

    fn forget(&mut self, texture: TextureId) {
        if self.textures.remove(&texture).is_some() {
            self.calls.push(Call::Forget(texture));
        }
    }

    fn create_offscreen(&mut self, _size: Size) -> Result<TargetId, RenderError> {
        Err(RenderError::Unsupported("targets".into()))
    }

    fn create_window(&mut self, _window: Arc<dyn Window>, _size: Size) -> Result<TargetId, RenderError> {
        Err(RenderError::Unsupported("targets".into()))
    }

    fn resize_target(&mut self, _target: TargetId, _size: Size) -> Result<(), RenderError> {
        Err(RenderError::Unknown)
    }

    fn destroy_target(&mut self, _target: TargetId) {}

    fn acquire(&mut self, _target: TargetId) -> Result<Acquired, RenderError> {
        Err(RenderError::Unknown)
    }

    fn render(&mut self, _target: TargetId, _scene: &Scene, _damage: &Region) -> Result<FrameTicket, RenderError> {
        Err(RenderError::Unknown)
    }

    fn completed(&mut self) -> Result<FrameSerial, RenderError> {
        Ok(FrameSerial::default())
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn drain(&mut self, released: &mut dyn FnMut(BufferId)) -> Result<(), RenderError> {
        self.finish().into_iter().for_each(released);
        Ok(())
    }

    fn capture(&mut self, _target: TargetId, _part: Rect) -> Result<CaptureId, RenderError> {
        Err(RenderError::Unknown)
    }

    fn take_capture(&mut self, _capture: CaptureId) -> Result<Option<Pixels>, RenderError> {
        Err(RenderError::Unknown)
    }

    fn wait_idle(&mut self, _limit_ns: u64) -> Result<(), RenderError> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn holdings(&self) -> Holdings {
        Holdings::default()
    }
}
