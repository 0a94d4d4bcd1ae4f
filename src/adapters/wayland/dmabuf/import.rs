//! The images themselves: imported once with the renderer lent, kept while somebody shows them.
//!
//! An image lives while its wl_buffer does, a surface commit that has not taken effect brings it, or a surface shows it,
//! whichever is longest: each of the former two has the wl_buffer's data, and with it the image's [`Life`]. A texture belongs to one
//! renderer: after a loss it is imported again from the descriptors, which stay open, when it is next shown. What the
//! device refuses is `failed` and shows nothing; its client chose it from what was on offer, so it is told and not
//! killed, and the log has it once for each format and modifier.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use smithay::reexports::wayland_protocols::wp::linux_dmabuf::zv1::server::zwp_linux_buffer_params_v1::ZwpLinuxBufferParamsV1;
use smithay::reexports::wayland_server::protocol::wl_buffer::WlBuffer;
use smithay::reexports::wayland_server::{Client, DisplayHandle, Resource};

use super::BufferData;
use crate::adapters::dmabuf as kernel;
use crate::adapters::wayland::state::State;
use crate::adapters::wayland::upload::DeviceLost;
use crate::domain::buffer::{BufferId, TextureId};
use crate::domain::dmabuf::Modifier;
use crate::domain::format::Fourcc;
use crate::ports::renderer::{Dmabuf, FenceError, ImportError, Renderer};

/// Who waits for an image's import, oldest first.
#[derive(Debug)]
struct Waiting {
    image: BufferId,
    params: ZwpLinuxBufferParamsV1,
    /// Whose wl_buffer is made after the import (zwp_linux_buffer_params_v1.create); `None` where it is there already
    /// (create_immed).
    client: Option<(Client, Life)>,
}

/// While it is there somebody may yet show the image. It goes where no state can be reached: in the drop of smithay's
/// last copy of a wl_buffer.
#[derive(Debug)]
pub(super) struct Life {
    image: BufferId,
    ended: Arc<Mutex<Vec<BufferId>>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(self.image);
    }
}

#[derive(Debug)]
struct Image {
    dmabuf: Dmabuf,
    texture: Option<TextureId>,
    /// The device did not take it: it shows nothing.
    failed: bool,
    /// Its [`Life`] is there.
    alive: bool,
    /// Surfaces whose content it is.
    shown: u32,
    /// The next frame that shows it waits for this.
    fence: Option<OwnedFd>,
}

/// What a frame may show of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adapters::wayland) enum Latched {
    /// This; nothing where the device did not take it.
    Ready(Option<TextureId>),
    /// Nothing before its fence signals.
    Unfinished,
}

/// See the module's docs.
#[derive(Debug, Default)]
pub struct Images {
    all: HashMap<BufferId, Image>,
    waiting: VecDeque<Waiting>,
    /// Whose [`Life`] ended.
    ended: Arc<Mutex<Vec<BufferId>>>,
    /// What was complained about.
    refused: HashSet<(Fourcc, Modifier)>,
}

impl Images {
    pub(super) fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// A surface shows an image from now on.
    pub(in crate::adapters::wayland) fn show(&mut self, id: BufferId) {
        if let Some(image) = self.all.get_mut(&id) {
            image.shown += 1;
        }
    }

    /// A surface shows it no more. Gives back the texture of one that is gone for good.
    #[must_use]
    pub(in crate::adapters::wayland) fn hide(&mut self, id: BufferId) -> Option<TextureId> {
        let image = self.all.get_mut(&id)?;
        image.shown = image.shown.saturating_sub(1);
        self.remove_unused(id)
    }

    /// Whether [`Images::forget_ended`] has something to do.
    pub(in crate::adapters::wayland) fn has_ended(&self) -> bool {
        !self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Forgets images that nobody can show any more; their textures go to `garbage`.
    pub(in crate::adapters::wayland) fn forget_ended(&mut self, garbage: &mut Vec<TextureId>) {
        let ended = self.ended.clone();
        for id in ended.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if let Some(image) = self.all.get_mut(&id) {
                image.alive = false;
            }
            garbage.extend(self.remove_unused(id));
        }
    }

    fn remove_unused(&mut self, id: BufferId) -> Option<TextureId> {
        let image = self.all.get(&id)?;
        if image.alive || image.shown > 0 {
            return None;
        }
        self.all.remove(&id)?.texture
    }

    /// The texture to show, imported if it is not yet; `None` where there is none.
    ///
    /// # Errors
    /// [`DeviceLost`].
    pub(in crate::adapters::wayland) fn texture(
        &mut self,
        id: BufferId,
        renderer: &mut dyn Renderer,
    ) -> Result<Option<TextureId>, DeviceLost> {
        let Some(image) = self.all.get_mut(&id) else { return Ok(None) };
        if image.texture.is_some() || image.failed {
            return Ok(image.texture);
        }
        match renderer.import_dmabuf(&image.dmabuf, id) {
            Ok(texture) => image.texture = Some(texture),
            Err(ImportError::DeviceLost) => return Err(DeviceLost),
            Err(error) => {
                image.failed = true;
                let (format, modifier) = (image.dmabuf.layout.format(), image.dmabuf.layout.modifier());
                if self.refused.insert((format, modifier)) {
                    tracing::warn!(%error, %format, %modifier, "dma-buf images that the device does not take");
                }
            }
        }
        Ok(image.texture)
    }

    /// The texture to show in the frame that is about to be rendered, which is told to wait for what the image still
    /// waits for.
    ///
    /// # Errors
    /// [`DeviceLost`].
    pub(in crate::adapters::wayland) fn latch(
        &mut self,
        id: BufferId,
        renderer: &mut dyn Renderer,
    ) -> Result<Latched, DeviceLost> {
        let Some(texture) = self.texture(id, renderer)? else { return Ok(Latched::Ready(None)) };
        let Some(image) = self.all.get_mut(&id) else { return Ok(Latched::Ready(None)) };
        let Some(fence) = image.fence.take() else { return Ok(Latched::Ready(Some(texture))) };
        if kernel::is_signalled(fence.as_fd()) {
            return Ok(Latched::Ready(Some(texture)));
        }
        match renderer.wait_for(texture, fence) {
            Ok(()) => Ok(Latched::Ready(Some(texture))),
            Err(FenceError::NotTaken { fence, source }) => {
                tracing::debug!(?source, "a frame cannot wait for a fence: the surface is left out of it");
                image.fence = Some(fence);
                Ok(Latched::Unfinished)
            }
            Err(FenceError::Unknown(_)) => Ok(Latched::Ready(None)),
            Err(FenceError::DeviceLost) => Err(DeviceLost),
        }
    }

    /// The next frame that shows an image waits for `fence` too.
    ///
    /// # Errors
    /// Where it cannot be added to what the image waits for already, which stays: out of descriptors.
    pub(in crate::adapters::wayland) fn add_fence(&mut self, id: BufferId, fence: &OwnedFd) -> io::Result<()> {
        if let Some(image) = self.all.get_mut(&id) {
            image.fence = Some(match &image.fence {
                Some(pending) => kernel::merge(pending, fence)?,
                None => fence.try_clone()?,
            });
        }
        Ok(())
    }

    /// A descriptor of each different dma-buf of an image.
    pub(in crate::adapters::wayland) fn distinct_fds(&self, id: BufferId) -> impl Iterator<Item = &Arc<OwnedFd>> {
        let image = self.all.get(&id);
        image.into_iter().flat_map(|image| image.dmabuf.distinct_fds())
    }

    /// Its texture, where it has one.
    pub(in crate::adapters::wayland) fn imported(&self, id: BufferId) -> Option<TextureId> {
        self.all.get(&id)?.texture
    }

    /// The renderer is gone, and all textures with it.
    pub(in crate::adapters::wayland) fn renderer_lost(&mut self) {
        self.all.values_mut().for_each(|image| image.texture = None);
    }

    /// Keeps an image, to be imported after the dispatch, for a wl_buffer of `client` or for the one that the returned
    /// life becomes part of.
    pub(super) fn insert(
        &mut self,
        id: BufferId,
        dmabuf: Dmabuf,
        params: ZwpLinuxBufferParamsV1,
        client: Option<Client>,
    ) -> Option<Life> {
        self.all.insert(id, Image { dmabuf, texture: None, failed: false, alive: true, shown: 0, fence: None });
        let life = Life { image: id, ended: self.ended.clone() };
        let (client, life) = match client {
            Some(client) => (Some((client, life)), None),
            None => (None, Some(life)),
        };
        self.waiting.push_back(Waiting { image: id, params, client });
        life
    }
}

impl State {
    /// Whether [`State::import_dmabufs`] has something to do.
    pub fn has_imports(&self) -> bool {
        !self.core.dmabufs.images.waiting.is_empty()
    }

    /// Imports what clients asked for since the last call and answers them. To be called after each dispatch, before
    /// anything is latched; without a renderer what waits goes on waiting.
    ///
    /// # Errors
    /// [`DeviceLost`]; what was not imported waits for the next renderer.
    pub fn import_dmabufs(&mut self, renderer: &mut dyn Renderer) -> Result<(), DeviceLost> {
        while let Some(image) = self.core.dmabufs.images.waiting.front().map(|waiting| waiting.image) {
            let texture = self.core.dmabufs.images.texture(image, renderer)?;
            let Some(waiting) = self.core.dmabufs.images.waiting.pop_front() else { break };
            let display = self.core.display.clone();
            self.answer(&display, waiting, texture);
        }
        Ok(())
    }

    fn answer(&mut self, display: &DisplayHandle, waiting: Waiting, texture: Option<TextureId>) {
        let Waiting { image: id, params, client } = waiting;
        let Some((client, life)) = client else {
            if texture.is_none() && self.core.dmabufs.images.all.contains_key(&id) {
                params.failed();
            }
            return;
        };
        let image = self.core.dmabufs.images.all.get(&id).filter(|_| texture.is_some() && params.is_alive());
        let data = image.map(|image| BufferData::new(id, &image.dmabuf.layout, life));
        let buffer = data.and_then(|data| client.create_resource::<WlBuffer, _, Self>(display, 1, data).ok());
        match buffer {
            Some(buffer) => params.created(&buffer),
            None => {
                // The image's life ended with what it was to be part of.
                self.core.buffers.destroyed();
                params.failed();
            }
        }
    }
}
