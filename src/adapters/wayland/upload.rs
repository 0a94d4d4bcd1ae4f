//! Uploading: client bytes into the renderer's textures, for what the latched frame shows.
//!
//! Called after the latch, once the frame is known to be composited. A buffer whose bytes were copied is released at
//! once; one that the device still reads, once the renderer drained it. A failure costs its own surface its new
//! content (or its client the connection, where the client lied), never the frame: the scene then says which content
//! the surface still shows, so that its damage is not taken for painted, and the caller is told to come again. So it is
//! where a dma-buf is unfinished and no frame can wait for it: the surface is left out until its fence signals.
//!
//! A new texture costs the device's driver far more than its bytes do, so a client gets so many in one frame
//! ([`MAX_NEW`], [`MAX_NEW_BYTES`]) and the rest in those that follow, front to back: one that shows thousands of
//! surfaces at once comes to be seen bit by bit, and nobody else waits for it. What has a texture already is updated in
//! any case. Next of the walk: `ports::renderer`.

use std::collections::HashMap;

use smithay::reexports::wayland_server::Resource;
use smithay::reexports::wayland_server::backend::ClientId;
use smithay::reexports::wayland_server::protocol::{wl_shm, wl_surface};

use super::buffer::{Buffers, Holder};
use super::dmabuf::Latched;
use super::image::{Image, ImageError, ImageId};
use super::latch::{NO_TEXTURE, Source};
use super::state::{Core, State};
use super::surface::{Content, Surface, Texture};
use crate::domain::buffer::{BufferId, ShmLayout, TextureId};
use crate::domain::geometry::{Rect, Size};
use crate::domain::output::OutputId;
use crate::domain::region::Region;
use crate::domain::scene::{ContentSerial, Scene};
use crate::ports::renderer::{BufferUse, FrameTicket, ImportError, RenderError, Renderer, TargetId};

/// Textures made for one client in one frame.
pub const MAX_NEW: u32 = 128;
/// Their bytes, past which there is no other one in the same frame.
const MAX_NEW_BYTES: u64 = 128 << 20;

/// Stands for content that was never shown: everything is newer.
const NEVER: ContentSerial = ContentSerial(u64::MAX);

/// How far an upload came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploaded {
    /// The scene shows all that is newest.
    All,
    /// There was no room for some of it: that is to be tried again.
    Part,
    /// Some client had its share: the next frame goes on.
    Share,
}

/// What of one element went up.
#[derive(Clone, Copy)]
enum Shown {
    /// Its newest content, or what its client must do without.
    Newest(Option<TextureId>),
    /// This older content, for now.
    Older(Option<Texture>),
    /// This older content, until the next frame.
    Next(Option<Texture>),
}

/// The textures made for each client in the present frame. Storage is kept; nobody is in it in a frame without new ones.
#[derive(Debug, Default)]
pub(super) struct Shares(HashMap<ClientId, (u32, u64)>);

impl Shares {
    /// Takes a new texture for the surface from its client's share; false where that is used up.
    fn take(&mut self, surface: &wl_surface::WlSurface, layout: &ShmLayout) -> bool {
        // One whose client left goes with the next dispatch.
        let Some(client) = surface.client() else { return false };
        let (count, bytes) = self.0.entry(client.id()).or_default();
        let has = *count < MAX_NEW && *bytes < MAX_NEW_BYTES;
        if has {
            *count += 1;
            *bytes += layout.size().area() * layout.texel_bytes() as u64;
        }
        has
    }
}

/// The device is lost: nothing can be uploaded before there is another renderer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device was lost")]
pub struct DeviceLost;

impl State {
    /// Brings every texture of the scene latched last for `output` up to date and puts it into `scene`; where that has
    /// to wait, the content that the texture still has.
    ///
    /// # Errors
    /// [`DeviceLost`]; what was uploaded until then is of no use any more.
    pub fn upload(
        &mut self,
        output: OutputId,
        renderer: &mut dyn Renderer,
        scene: &mut Scene,
    ) -> Result<Uploaded, DeviceLost> {
        self.forget_garbage(renderer);
        let Core { outputs, surfaces, images, dmabufs, buffers, scratch, shares, .. } = &mut self.core;
        shares.0.clear();
        let mut uploaded = Uploaded::All;
        let Some(entry) = outputs.get(output) else { return Ok(uploaded) };
        for &(index, source) in &entry.latch.sources {
            let shown = match source {
                Source::Surface(key) => match surfaces.get_mut(key) {
                    Some(Surface { content: Some(Content::Dmabuf { id, .. }), .. }) => {
                        match dmabufs.images.latch(*id, renderer)? {
                            Latched::Ready(texture) => Shown::Newest(texture),
                            Latched::Unfinished => Shown::Older(None),
                        }
                    }
                    Some(surface) => upload_surface(surface, renderer, buffers, scratch, shares)?,
                    None => Shown::Newest(None),
                },
                Source::Image(name) => match images.get_mut(name) {
                    Some(image) => upload_image(image, renderer)?,
                    None => Shown::Newest(None),
                },
            };
            let texture = match shown {
                Shown::Newest(texture) => texture,
                Shown::Older(texture) | Shown::Next(texture) => {
                    uploaded = match (uploaded, shown) {
                        (Uploaded::Share, _) | (_, Shown::Next(_)) => Uploaded::Share,
                        _ => Uploaded::Part,
                    };
                    scene.set_content(index, texture.map_or(NEVER, |texture| texture.uploaded));
                    texture.map(|texture| texture.id)
                }
            };
            scene.set_texture(index, texture.unwrap_or(NO_TEXTURE));
        }
        Ok(uploaded)
    }

    /// Renders the scene latched and uploaded last for `output` onto an acquired target. The renderer holds the dma-bufs
    /// that the scene shows until it gives each back ([`State::renderer_released`]), whatever comes of the frame; one that
    /// was left out is not held by it. The only way to a frame with clients in it.
    ///
    /// # Errors
    /// As [`Renderer::render`].
    pub fn render(
        &mut self,
        output: OutputId,
        renderer: &mut dyn Renderer,
        target: TargetId,
        scene: &Scene,
        damage: &Region,
    ) -> Result<FrameTicket, RenderError> {
        self.hold_scene(output, scene);
        renderer.render(target, scene, damage)
    }

    fn hold_scene(&mut self, output: OutputId, scene: &Scene) {
        let Core { outputs, surfaces, dmabufs, buffers, .. } = &mut self.core;
        let Some(entry) = outputs.get(output) else { return };
        for (index, source) in &entry.latch.sources {
            if let Source::Surface(key) = source
                && let Some(Content::Dmabuf { id, .. }) = surfaces.get(*key).and_then(|s| s.content.as_ref())
                && let Some(texture) = dmabufs.images.imported(*id)
                && scene.elements().get(*index).is_some_and(|element| element.paint.texture() == Some(texture))
            {
                buffers.hold_for_renderer(*id);
            }
        }
    }

    /// Whether [`State::forget_garbage`] has something to do.
    pub fn has_garbage(&self) -> bool {
        !self.core.garbage.is_empty() || self.core.dmabufs.images.has_ended()
    }

    /// Lets the renderer forget the textures of what is gone. To be called now and then, frames or not.
    pub fn forget_garbage(&mut self, renderer: &mut dyn Renderer) {
        self.core.forget_ended();
        self.core.garbage.drain(..).for_each(|texture| renderer.forget(texture));
    }

    /// The renderer no longer reads a buffer: what [`Renderer::drain`] tells.
    pub fn renderer_released(&mut self, buffer: BufferId) {
        self.core.buffers.end(buffer, Holder::Renderer);
        // It may have been all that kept an image.
        self.core.forget_ended();
    }

    /// The renderer is gone with all its textures: everything is imported anew at the next upload.
    pub fn renderer_lost(&mut self) {
        self.core.forget_ended();
        self.core.garbage.clear();
        self.core.surfaces.iter_mut().for_each(|(_, surface)| surface.texture = None);
        self.core.images.iter_mut().for_each(|image| image.texture = None);
        self.core.dmabufs.images.renderer_lost();
        self.core.buffers.end_all(Holder::Renderer);
    }

    /// Stores a picture of our own: ARGB8888, premultiplied, rows without padding.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn add_image(&mut self, size: Size, argb: &[u8]) -> Result<ImageId, ImageError> {
        let buffer = self.core.buffers.name();
        self.core.images.insert(size, argb, buffer)
    }

    /// Removes a picture of our own.
    pub fn remove_image(&mut self, image: ImageId) {
        self.core.garbage.extend(self.core.images.remove(image));
    }
}

impl Core {
    /// Forgets images that nobody can show any more.
    pub(super) fn forget_ended(&mut self) {
        self.dmabufs.images.forget_ended(&mut self.garbage);
    }
}

/// Brings one surface's texture up to date.
fn upload_surface(
    surface: &mut Surface,
    renderer: &mut dyn Renderer,
    buffers: &mut Buffers,
    scratch: &mut Vec<Rect>,
    shares: &mut Shares,
) -> Result<Shown, DeviceLost> {
    let newest = surface.history.newest();
    let old = surface.texture;
    if old.is_some_and(|texture| texture.uploaded == newest) {
        return Ok(Shown::Newest(old.map(|texture| texture.id)));
    }
    let Some(Content::Shm { id, buffer, shm, held }) = &mut surface.content else { return Ok(Shown::Newest(None)) };
    scratch.clear();
    let changes = surface.history.since(old.map(|texture| texture.uploaded));
    scratch.extend(changes.rects(Rect::from_size(shm.layout.size())));
    let updated = match old {
        Some(texture) if scratch.is_empty() => Ok((texture.id, BufferUse::Copied)),
        Some(texture) => match renderer.update_shm(texture.id, shm, *id, scratch) {
            Ok(usage) => Ok((texture.id, usage)),
            Err(ImportError::Incompatible | ImportError::Unknown(_)) => {
                if !shares.take(&surface.wl, &shm.layout) {
                    return Ok(Shown::Next(old));
                }
                renderer.forget(texture.id);
                surface.texture = None;
                renderer.import_shm(shm, *id)
            }
            Err(error) => Err(error),
        },
        None if !shares.take(&surface.wl, &shm.layout) => return Ok(Shown::Next(None)),
        None => renderer.import_shm(shm, *id),
    };
    match updated {
        Ok((texture, usage)) => {
            surface.texture = Some(Texture { id: texture, uploaded: newest });
            surface.upload_failed = false;
            if usage == BufferUse::Held {
                buffers.hold(*id, buffer, Holder::Renderer);
            }
            if std::mem::take(held) {
                buffers.end(*id, Holder::Surface);
            }
            Ok(Shown::Newest(Some(texture)))
        }
        Err(ImportError::DeviceLost) => Err(DeviceLost),
        Err(ImportError::Pool(error)) => {
            // As libwayland does: the buffer is to blame.
            buffer.post_error(wl_shm::Error::InvalidFd, error.to_string());
            Ok(Shown::Newest(surface.texture.map(|texture| texture.id)))
        }
        Err(ImportError::Unsupported { reason }) => {
            surface.wl.post_error(wl_surface::Error::InvalidSize, reason);
            Ok(Shown::Newest(surface.texture.map(|texture| texture.id)))
        }
        Err(error) => {
            if !std::mem::replace(&mut surface.upload_failed, true) {
                tracing::warn!(%error, surface = ?surface.wl.id(), "surface keeps its old content");
            }
            Ok(Shown::Older(surface.texture))
        }
    }
}

fn upload_image(image: &mut Image, renderer: &mut dyn Renderer) -> Result<Shown, DeviceLost> {
    if image.texture.is_some() {
        return Ok(Shown::Newest(image.texture));
    }
    match renderer.import_shm(&image.shm, image.buffer) {
        Ok((texture, _)) => {
            image.texture = Some(texture);
            Ok(Shown::Newest(image.texture))
        }
        Err(ImportError::DeviceLost) => Err(DeviceLost),
        Err(error) => {
            if !std::mem::replace(&mut image.upload_failed, true) {
                tracing::warn!(%error, "a picture of our own is not shown yet");
            }
            Ok(Shown::Older(None))
        }
    }
}
