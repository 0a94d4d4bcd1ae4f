//! Pictures of our own that go on screen with the clients': the cursor theme's.
//!
//! A picture is stored as a client's would be, in a sealed file behind a [`Pool`](crate::ports::pool::Pool), so the
//! renderer takes it like any other. Its texture is made when it is first shown.

use std::num::NonZeroUsize;
use std::sync::Arc;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::pool::ShmPool;
use crate::domain::buffer::{BufferId, ShmLayout, TextureId};
use crate::domain::format::ARGB8888;
use crate::domain::geometry::Size;
use crate::ports::pool::ShmBuffer;

/// A picture's name in [`Images`]. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageId(u32);

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The bytes are not the picture's.
    #[error("{bytes} bytes do not make a picture of {size:?}")]
    Size {
        /// Bytes given.
        bytes: usize,
        /// Size said.
        size: Size,
    },
    /// No memory file.
    #[error("cannot store a picture")]
    Store(#[source] std::io::Error),
}

/// One picture.
#[derive(Debug)]
pub(super) struct Image {
    id: ImageId,
    pub(super) buffer: BufferId,
    pub(super) shm: ShmBuffer,
    pub(super) texture: Option<TextureId>,
    /// An upload failed, and was warned of.
    pub(super) upload_failed: bool,
}

/// All pictures.
#[derive(Debug, Default)]
pub struct Images {
    list: Vec<Image>,
    last_id: u32,
}

impl Images {
    /// Stores a picture: ARGB8888, premultiplied, rows without padding. `buffer` is a name that no other buffer has.
    pub(super) fn insert(&mut self, size: Size, argb: &[u8], buffer: BufferId) -> Result<ImageId, ImageError> {
        let wrong = || ImageError::Size { bytes: argb.len(), size };
        let stride = size.w.checked_mul(4).ok_or_else(wrong)?;
        let layout = ShmLayout::new(argb.len(), 0, size, stride, ARGB8888).map_err(|_| wrong())?;
        let len = NonZeroUsize::new(argb.len()).ok_or_else(wrong)?;
        let store = |error: std::io::Error| ImageError::Store(error);
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let fd = memfd_create(c"transom-image", flags).map_err(|errno| store(errno.into()))?;
        let mut file = std::fs::File::from(fd);
        std::io::Write::write_all(&mut file, argb).map_err(store)?;
        let pool =
            ShmPool::new(file.into(), len, Default::default()).map_err(|error| store(std::io::Error::other(error)))?;
        self.last_id += 1;
        let id = ImageId(self.last_id);
        let shm = ShmBuffer { pool: Arc::new(pool), layout };
        self.list.push(Image { id, buffer, shm, texture: None, upload_failed: false });
        Ok(id)
    }

    /// Removes a picture; its texture is the caller's to forget.
    pub(super) fn remove(&mut self, id: ImageId) -> Option<TextureId> {
        let index = self.list.iter().position(|image| image.id == id)?;
        self.list.swap_remove(index).texture
    }

    /// A picture's size in texels.
    pub fn size(&self, id: ImageId) -> Option<Size> {
        self.get(id).map(|image| image.shm.layout.size())
    }

    pub(super) fn get(&self, id: ImageId) -> Option<&Image> {
        self.list.iter().find(|image| image.id == id)
    }

    pub(super) fn get_mut(&mut self, id: ImageId) -> Option<&mut Image> {
        self.list.iter_mut().find(|image| image.id == id)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Image> {
        self.list.iter_mut()
    }
}
