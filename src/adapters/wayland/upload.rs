//! Uploading: client bytes into the renderer's textures, for what the latched frame shows.
//!
//! Called after the latch, once the frame is known to be composited. A buffer whose bytes were copied is released at
//! once; one that the device still reads, once the renderer drained it. A failure costs its own surface its new
//! content (or its client the connection, where the client lied), never the frame. Next of the walk: `ports::renderer`.

use smithay::reexports::wayland_server::Resource;
use smithay::reexports::wayland_server::protocol::{wl_shm, wl_surface};

use super::buffer::{Buffers, Holder};
use super::image::{Image, ImageError, ImageId};
use super::latch::{NO_TEXTURE, Source};
use super::state::{Core, State};
use super::surface::{Content, Surface, Texture};
use crate::domain::buffer::{BufferId, TextureId};
use crate::domain::geometry::{Rect, Size};
use crate::domain::output::OutputId;
use crate::domain::scene::Scene;
use crate::ports::renderer::{BufferUse, ImportError, Renderer};

/// The device is lost: nothing can be uploaded before there is another renderer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device was lost")]
pub struct DeviceLost;

impl State {
    /// Brings every texture of the scene latched last for `output` up to date and puts it into `scene`.
    ///
    /// # Errors
    /// [`DeviceLost`]; what was uploaded until then is of no use any more.
    pub fn upload(
        &mut self,
        output: OutputId,
        renderer: &mut dyn Renderer,
        scene: &mut Scene,
    ) -> Result<(), DeviceLost> {
        self.forget_garbage(renderer);
        let Core { outputs, surfaces, images, dmabufs, buffers, scratch, .. } = &mut self.core;
        let Some(entry) = outputs.get(output) else { return Ok(()) };
        for &(index, source) in &entry.latch.sources {
            let texture = match source {
                Source::Surface(key) => match surfaces.get_mut(key) {
                    Some(Surface { content: Some(Content::Dmabuf { id, .. }), .. }) => {
                        dmabufs.images.latch(*id, renderer)?
                    }
                    Some(surface) => upload_surface(surface, renderer, buffers, scratch)?,
                    None => None,
                },
                Source::Image(name) => match images.get_mut(name) {
                    Some(image) => upload_image(image, renderer)?,
                    None => None,
                },
            };
            scene.set_texture(index, texture.unwrap_or(NO_TEXTURE));
        }
        Ok(())
    }

    /// The scene latched last for `output` is about to be rendered: the renderer holds the dma-bufs in it until it gives
    /// each back ([`State::renderer_released`]), whatever comes of the frame.
    pub fn hold_scene(&mut self, output: OutputId) {
        let Core { outputs, surfaces, dmabufs, buffers, .. } = &mut self.core;
        let Some(entry) = outputs.get(output) else { return };
        for (_, source) in &entry.latch.sources {
            if let Source::Surface(key) = source
                && let Some(Content::Dmabuf { id, .. }) = surfaces.get(*key).and_then(|s| s.content.as_ref())
                && dmabufs.images.is_imported(*id)
            {
                buffers.hold_for_renderer(*id);
            }
        }
    }

    /// Whether [`State::forget_garbage`] has something to do.
    pub fn has_garbage(&self) -> bool {
        !self.core.garbage.is_empty()
    }

    /// Lets the renderer forget the textures of what is gone. To be called now and then, frames or not.
    pub fn forget_garbage(&mut self, renderer: &mut dyn Renderer) {
        self.core.garbage.drain(..).for_each(|texture| renderer.forget(texture));
    }

    /// The renderer no longer reads a buffer: what [`Renderer::drain`] tells.
    pub fn renderer_released(&mut self, buffer: BufferId) {
        self.core.buffers.end(buffer, Holder::Renderer);
    }

    /// The renderer is gone with all its textures: everything is imported anew at the next upload.
    pub fn renderer_lost(&mut self) {
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

/// Brings one surface's texture up to date; `None` where it has none to show.
fn upload_surface(
    surface: &mut Surface,
    renderer: &mut dyn Renderer,
    buffers: &mut Buffers,
    scratch: &mut Vec<Rect>,
) -> Result<Option<TextureId>, DeviceLost> {
    let newest = surface.history.newest();
    let old = surface.texture;
    if old.is_some_and(|texture| texture.uploaded == newest) {
        return Ok(old.map(|texture| texture.id));
    }
    let Some(Content::Shm { id, buffer, shm, held }) = &mut surface.content else { return Ok(None) };
    scratch.clear();
    let changes = surface.history.since(old.map(|texture| texture.uploaded));
    scratch.extend(changes.rects(Rect::from_size(shm.layout.size())));
    let updated = match old {
        Some(texture) if scratch.is_empty() => Ok((texture.id, BufferUse::Copied)),
        Some(texture) => match renderer.update_shm(texture.id, shm, *id, scratch) {
            Ok(usage) => Ok((texture.id, usage)),
            Err(ImportError::Incompatible | ImportError::Unknown(_)) => {
                renderer.forget(texture.id);
                surface.texture = None;
                renderer.import_shm(shm, *id)
            }
            Err(error) => Err(error),
        },
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
            Ok(Some(texture))
        }
        Err(ImportError::DeviceLost) => Err(DeviceLost),
        Err(ImportError::Pool(error)) => {
            // As libwayland does: the buffer is to blame.
            buffer.post_error(wl_shm::Error::InvalidFd, error.to_string());
            Ok(surface.texture.map(|texture| texture.id))
        }
        Err(ImportError::Unsupported { reason }) => {
            surface.wl.post_error(wl_surface::Error::InvalidSize, reason);
            Ok(surface.texture.map(|texture| texture.id))
        }
        Err(error) => {
            if !std::mem::replace(&mut surface.upload_failed, true) {
                tracing::warn!(%error, surface = ?surface.wl.id(), "surface keeps its old content");
            }
            Ok(surface.texture.map(|texture| texture.id))
        }
    }
}

fn upload_image(image: &mut Image, renderer: &mut dyn Renderer) -> Result<Option<TextureId>, DeviceLost> {
    if image.texture.is_some() {
        return Ok(image.texture);
    }
    match renderer.import_shm(&image.shm, image.buffer) {
        Ok((texture, _)) => {
            image.texture = Some(texture);
            Ok(image.texture)
        }
        Err(ImportError::DeviceLost) => Err(DeviceLost),
        Err(error) => {
            tracing::warn!(%error, "a picture of our own is not shown");
            Ok(None)
        }
    }
}
