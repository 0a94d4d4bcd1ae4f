//! A renderer on the CPU, plain enough to be believed at sight: what the shipping renderer is compared with.
//!
//! Every pixel of the damage is the background, then every element back to front ([`paint`]); no occlusion, no
//! tricks, nothing in flight. Slow, for small pictures. Undefined content is garish, to be seen where it shows.

pub(crate) mod paint;

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use transom::domain::buffer::{BufferId, TextureId};
use transom::domain::dmabuf::{Modifier, Pair};
use transom::domain::format::{FormatInfo, TABLE};
use transom::domain::frame::{Counters, FrameSerial, Holdings};
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::region::Region;
use transom::domain::scene::{Paint, Scene};
use transom::ports::pool::{PoolError, ShmBuffer};
use transom::ports::renderer::{
    Acquired, BufferUse, Capabilities, CaptureId, Dmabuf, FrameTicket, ImportError, Pixels, RenderError, Renderer,
    TargetId, Window,
};

use super::dmabuf;
use super::texel::decode;
use paint::{Canvas, Texture};

const MAX_SIDE: i32 = 16384;

/// XRGB8888 bytes of content that nobody may rely on.
const UNDEFINED: [u8; 4] = [0xff, 0x00, 0xff, 0xff];

#[derive(Debug)]
struct Target {
    canvas: Canvas,
    age: u32,
}

/// See the module's docs.
#[derive(Debug)]
pub(crate) struct Reference {
    capabilities: Capabilities,
    textures: HashMap<TextureId, (Texture, &'static FormatInfo)>,
    targets: HashMap<TargetId, Target>,
    captures: HashMap<CaptureId, Pixels>,
    /// Textures that are clients' images.
    images: HashMap<TextureId, (Dmabuf, BufferId)>,
    /// Clients' images that were rendered.
    read: Vec<BufferId>,
    counters: Counters,
    ids: u64,
}

impl Reference {
    /// A renderer that holds nothing.
    pub(crate) fn new() -> Self {
        let capabilities = Capabilities {
            device: "the tests' CPU reference".into(),
            software: true,
            shm_formats: TABLE.iter().map(|info| info.fourcc).collect(),
            dmabuf_pairs: TABLE
                .iter()
                .flat_map(|info| {
                    [Modifier::LINEAR, Modifier::INVALID].map(|modifier| Pair {
                        format: info.fourcc,
                        modifier,
                        planes: 1,
                    })
                })
                .collect(),
            max_texture_side: MAX_SIDE as u32,
            max_target_side: MAX_SIDE as u32,
            ..Capabilities::default()
        };
        Self {
            capabilities,
            textures: HashMap::new(),
            targets: HashMap::new(),
            captures: HashMap::new(),
            images: HashMap::new(),
            read: Vec::new(),
            counters: Counters::default(),
            ids: 0,
        }
    }

    fn next_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// Clients write their images as they please: what they show is read anew.
    fn read_images(&mut self, scene: &Scene) {
        for element in scene.elements() {
            let Paint::Texture { texture: id, .. } = element.paint else { continue };
            let Some((image, buffer)) = self.images.get(&id) else { continue };
            self.read.push(*buffer);
            if let Some((texture, info)) = self.textures.get_mut(&id) {
                read_image(texture, info, image);
            }
        }
    }

    fn target(&mut self, id: TargetId) -> Result<&mut Target, RenderError> {
        self.targets.get_mut(&id).ok_or(RenderError::Unknown)
    }
}

fn canvas_of(size: Size) -> Result<Canvas, RenderError> {
    if size.is_empty() || size.w > MAX_SIDE || size.h > MAX_SIDE {
        return Err(RenderError::Unsupported(format!("a target of {}x{}", size.w, size.h)));
    }
    Ok(Canvas::new(size, UNDEFINED))
}

/// Overwrites the texels of `texture` inside `part`; what the pool's file lacks reads as zeros.
fn read_part(texture: &mut Texture, info: &FormatInfo, buffer: &ShmBuffer, part: Rect) -> Result<(), PoolError> {
    let layout = &buffer.layout;
    let range = layout.byte_range();
    let length = range.len();
    buffer.pool.read(range, &mut |start| {
        // SAFETY: the pool gives `length` readable bytes at `start` for this call, and the tests' pools give a copy
        // that nobody writes meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(start, length) };
        for y in part.y..part.bottom() {
            for x in part.x..part.right() {
                let at = y as usize * layout.stride() + x as usize * layout.texel_bytes();
                *texture.texel_mut(x, y) = decode(info, &bytes[at..at + layout.texel_bytes()]);
            }
        }
    })
}

/// Overwrites all texels of `texture` with a client's linear image.
fn read_image(texture: &mut Texture, info: &FormatInfo, image: &Dmabuf) {
    let (size, plane, texel) = (texture.size(), image.layout.planes()[0], info.texel_bytes as usize);
    let start = |x: i32, y: i32| plane.offset as usize + y as usize * plane.stride as usize + x as usize * texel;
    dmabuf::read(&image.fds[0], start(size.w - 1, size.h - 1) + texel, |bytes| {
        for (x, y) in (0..size.h).flat_map(|y| (0..size.w).map(move |x| (x, y))) {
            *texture.texel_mut(x, y) = decode(info, &bytes[start(x, y)..start(x, y) + texel]);
        }
    });
}

impl Renderer for Reference {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn import_shm(&mut self, buffer: &ShmBuffer, _: BufferId) -> Result<(TextureId, BufferUse), ImportError> {
        let size = buffer.layout.size();
        let unsupported = |reason: String| ImportError::Unsupported { reason };
        let info = buffer.layout.format().info().ok_or_else(|| unsupported("its format".into()))?;
        if size.w > MAX_SIDE || size.h > MAX_SIDE {
            return Err(unsupported(format!("{}x{} texels", size.w, size.h)));
        }
        let mut texture = Texture::new(size);
        read_part(&mut texture, info, buffer, Rect::from_size(size))?;
        let id = TextureId(self.next_id());
        self.textures.insert(id, (texture, info));
        Ok((id, BufferUse::Copied))
    }

    fn update_shm(
        &mut self,
        texture: TextureId,
        buffer: &ShmBuffer,
        _: BufferId,
        damage: &[Rect],
    ) -> Result<BufferUse, ImportError> {
        let (texture, info) = self.textures.get_mut(&texture).ok_or(ImportError::Unknown(texture))?;
        if texture.size() != buffer.layout.size() || info.fourcc != buffer.layout.format() {
            return Err(ImportError::Incompatible);
        }
        let whole = Rect::from_size(texture.size());
        for part in damage.iter().filter_map(|rect| rect.intersection(whole)) {
            read_part(texture, info, buffer, part)?;
        }
        Ok(BufferUse::Copied)
    }

    fn import_dmabuf(&mut self, buffer: &Dmabuf, id: BufferId) -> Result<TextureId, ImportError> {
        let (layout, unsupported) = (&buffer.layout, |reason: &str| ImportError::Unsupported { reason: reason.into() });
        let info = layout.format().info().ok_or_else(|| unsupported("its format"))?;
        let size = layout.size();
        if ![Modifier::LINEAR, Modifier::INVALID].contains(&layout.modifier()) {
            return Err(unsupported("its modifier"));
        }
        let plane = layout.planes()[0];
        let end = u64::from(plane.offset) + u64::from(plane.stride) * (size.h as u64 - 1) + size.w as u64;
        let there = nix::sys::stat::fstat(&buffer.fds[0]).map_or(0, |stat| stat.st_size as u64);
        if size.w > MAX_SIDE || size.h > MAX_SIDE || end > there {
            return Err(unsupported("its size"));
        }
        let texture = TextureId(self.next_id());
        self.textures.insert(texture, (Texture::new(size), info));
        self.images.insert(texture, (buffer.clone(), id));
        Ok(texture)
    }

    fn forget(&mut self, texture: TextureId) {
        self.textures.remove(&texture);
        self.images.remove(&texture);
    }

    fn create_offscreen(&mut self, size: Size) -> Result<TargetId, RenderError> {
        let canvas = canvas_of(size)?;
        let id = TargetId(self.next_id());
        self.targets.insert(id, Target { canvas, age: 0 });
        Ok(id)
    }

    fn create_window(&mut self, _: Arc<dyn Window>, _: Size) -> Result<TargetId, RenderError> {
        Err(RenderError::Unsupported("windows".into()))
    }

    fn resize_target(&mut self, target: TargetId, size: Size) -> Result<(), RenderError> {
        let canvas = canvas_of(size)?;
        *self.target(target)? = Target { canvas, age: 0 };
        Ok(())
    }

    fn destroy_target(&mut self, target: TargetId) {
        self.targets.remove(&target);
    }

    fn acquire(&mut self, target: TargetId) -> Result<Acquired, RenderError> {
        let target = self.target(target)?;
        Ok(Acquired { size: target.canvas.size(), age: target.age })
    }

    fn render(&mut self, target: TargetId, scene: &Scene, damage: &Region) -> Result<FrameTicket, RenderError> {
        self.read_images(scene);
        let target = self.targets.get_mut(&target).ok_or(RenderError::Unknown)?;
        if target.canvas.size() != scene.size() {
            return Err(RenderError::OutOfDate);
        }
        let whole = Rect::from_size(target.canvas.size());
        let texture = |id| self.textures.get(&id).map(|(texture, _)| texture);
        for part in damage.rects().iter().filter_map(|rect| rect.intersection(whole)) {
            for at in (part.y..part.bottom()).flat_map(|y| (part.x..part.right()).map(move |x| Point::new(x, y))) {
                target.canvas.set(at, paint::pixel(scene, &texture, at));
            }
        }
        target.age = 1;
        let cost = Counters { submits: 1, draws: scene.elements().len() as u64, ..Counters::default() };
        self.counters.submits += cost.submits;
        self.counters.draws += cost.draws;
        Ok(FrameTicket { serial: FrameSerial(self.counters.submits), fence: None, cost })
    }

    fn completed(&mut self) -> Result<FrameSerial, RenderError> {
        Ok(FrameSerial(self.counters.submits))
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn drain(&mut self, released: &mut dyn FnMut(BufferId)) -> Result<(), RenderError> {
        self.read.drain(..).for_each(released);
        Ok(())
    }

    fn capture(&mut self, target: TargetId, part: Rect) -> Result<CaptureId, RenderError> {
        let target = self.target(target)?;
        let there = Some(&target.canvas).filter(|_| target.age > 0);
        let pixels = there.and_then(|canvas| canvas.part(part));
        let pixels = pixels.ok_or_else(|| RenderError::Unsupported("a capture of nothing".into()))?;
        let id = CaptureId(self.next_id());
        self.captures.insert(id, pixels);
        Ok(id)
    }

    fn take_capture(&mut self, capture: CaptureId) -> Result<Option<Pixels>, RenderError> {
        self.captures.remove(&capture).map(Some).ok_or(RenderError::Unknown)
    }

    fn wait_idle(&mut self, _: u64) -> Result<(), RenderError> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn holdings(&self) -> Holdings {
        let texels: u64 = self.textures.values().map(|(texture, _)| texture.size().area()).sum();
        Holdings {
            textures: self.textures.len() as u64,
            texture_bytes: texels * size_of::<super::texel::Rgba>() as u64,
            targets: self.targets.len() as u64,
            ..Holdings::default()
        }
    }
}
