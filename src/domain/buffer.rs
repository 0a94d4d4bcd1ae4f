//! Client storage as the renderer sees it: identities and layouts, no memory.

use super::format::Fourcc;
use super::geometry::Size;

/// A texture of a renderer, from its import until it is forgotten. Never reused within a renderer's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextureId(pub u64);

/// The caller's name for a client's buffer (`wl_buffer`), given with an upload or a scene element so that the renderer
/// or the output can say when they no longer read it. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u64);

/// Where an image lies in a wl_shm pool. Built only by [`ShmLayout::new`], so every one is in bounds of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShmLayout {
    offset: usize,
    stride: usize,
    size: Size,
    format: Fourcc,
    texel_bytes: usize,
}

/// Why a layout cannot be. Each names the argument at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The format is not in the table.
    #[error("format {0} is not supported")]
    Format(Fourcc),
    /// Width or height is below 1.
    #[error("size {w}x{h} is not positive")]
    Size {
        /// Width asked for.
        w: i32,
        /// Height asked for.
        h: i32,
    },
    /// A row does not fit its stride, or the stride is not a whole number of texels.
    #[error("stride {stride} does not hold rows of {row_bytes} bytes in whole texels")]
    Stride {
        /// Bytes from row to row asked for.
        stride: i32,
        /// Bytes that a row needs.
        row_bytes: u64,
    },
    /// The offset is negative or the image ends past the pool.
    #[error("offset {offset} and {bytes} bytes do not fit a pool of {pool} bytes")]
    Bounds {
        /// First byte asked for.
        offset: i32,
        /// Bytes from the first to the last texel.
        bytes: u64,
        /// Bytes in the pool.
        pool: usize,
    },
}

impl ShmLayout {
    /// Checks what a client asked of wl_shm_pool.create_buffer against the pool's size in bytes.
    ///
    /// # Errors
    /// [`LayoutError`], naming the argument at fault; the caller maps it to wl_shm.error.
    pub fn new(pool_bytes: usize, offset: i32, size: Size, stride: i32, format: Fourcc) -> Result<Self, LayoutError> {
        let info = format.info().ok_or(LayoutError::Format(format))?;
        if size.is_empty() {
            return Err(LayoutError::Size { w: size.w, h: size.h });
        }
        let texel_bytes = u64::from(info.texel_bytes);
        let row_bytes = size.w as u64 * texel_bytes;
        let whole = stride > 0 && (stride as u64).is_multiple_of(texel_bytes);
        if !whole || (stride as u64) < row_bytes {
            return Err(LayoutError::Stride { stride, row_bytes });
        }
        // At most 2^31 * 2^31 + 2^34: no overflow in 64 bits.
        let bytes = (size.h as u64 - 1) * stride as u64 + row_bytes;
        if offset < 0 || offset as u64 + bytes > pool_bytes as u64 {
            return Err(LayoutError::Bounds { offset, bytes, pool: pool_bytes });
        }
        Ok(Self {
            offset: offset as usize,
            stride: stride as usize,
            size,
            format,
            texel_bytes: info.texel_bytes as usize,
        })
    }

    /// First byte of the first row, from the pool's start.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Bytes from row to row.
    pub const fn stride(&self) -> usize {
        self.stride
    }

    /// Texels.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The format of a texel.
    pub const fn format(&self) -> Fourcc {
        self.format
    }

    /// Bytes of a texel.
    pub const fn texel_bytes(&self) -> usize {
        self.texel_bytes
    }

    /// Bytes of a row without padding.
    pub const fn row_bytes(&self) -> usize {
        self.size.w as usize * self.texel_bytes
    }

    /// The pool's bytes from the first texel to the last.
    pub const fn byte_range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + (self.size.h as usize - 1) * self.stride + self.row_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::{ARGB8888, Fourcc, XRGB8888};
    use super::*;

    #[test]
    fn layout_of_an_exact_fit_is_taken() {
        let layout = ShmLayout::new(4096, 96, Size::new(10, 100), 40, ARGB8888).unwrap();
        assert_eq!(layout.byte_range(), 96..4096);
    }

    #[test]
    fn layout_whose_last_row_is_unpadded_is_taken() {
        assert!(ShmLayout::new(64 + 40, 0, Size::new(10, 2), 64, XRGB8888).is_ok());
    }

    #[test]
    fn layout_with_overflowing_arguments_names_the_argument() {
        let max = i32::MAX;
        let new = |offset, w, h, stride| ShmLayout::new(4096, offset, Size::new(w, h), stride, ARGB8888);
        assert!(matches!(new(0, max, max, max), Err(LayoutError::Stride { .. })));
        assert!(matches!(new(max, 1, max, max - 3), Err(LayoutError::Bounds { .. })));
        assert!(matches!(new(-1, 1, 1, 4), Err(LayoutError::Bounds { .. })));
        assert!(matches!(new(0, 0, 1, 4), Err(LayoutError::Size { .. })));
        assert!(matches!(new(0, 1, -1, 4), Err(LayoutError::Size { .. })));
        assert!(matches!(new(0, 2, 2, 9), Err(LayoutError::Stride { .. })));
        assert!(matches!(new(0, 2, 2, -8), Err(LayoutError::Stride { .. })));
        let unknown = Fourcc(0xdead_beef);
        assert_eq!(ShmLayout::new(64, 0, Size::new(1, 1), 4, unknown), Err(LayoutError::Format(unknown)));
    }
}
