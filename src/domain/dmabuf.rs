//! Client images in dma-bufs: what may be said of their planes, and what is made of it.
//!
//! [`Params`] collects planes as zwp_linux_buffer_params_v1.add brings them, in any order; [`Params::finish`] checks
//! them together against the format, the size of the image and the real sizes of the dma-bufs. A [`Layout`] is only
//! ever built there, so a renderer may trust that a linear image lies inside its dma-bufs. How many planes a format has
//! under a modifier of a vendor's own is the device's to say ([`Pair`]).

use std::fmt;

use arrayvec::ArrayVec;

use super::format::Fourcc;
use super::geometry::Size;

/// Planes that one image has at most (zwp_linux_buffer_params_v1.add, drmModeAddFB2).
pub const MAX_PLANES: usize = 4;

/// How texels lie in memory (drm_fourcc.h, DRM_FORMAT_MOD_*).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modifier(pub u64);

impl Modifier {
    /// Rows after one another, a stride apart.
    pub const LINEAR: Self = Self(0);
    /// Not said: whatever the driver that allocated it and the driver that imports it silently agree on.
    pub const INVALID: Self = Self(0x00ff_ffff_ffff_ffff);

    /// From the halves that protocols carry.
    pub const fn from_halves(high: u32, low: u32) -> Self {
        Self((high as u64) << 32 | low as u64)
    }

    /// Bits 63..32 and 31..0.
    pub const fn halves(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, self.0 as u32)
    }
}

impl fmt::Debug for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LINEAR => f.write_str("LINEAR"),
            Self::INVALID => f.write_str("INVALID"),
            Self(other) => write!(f, "0x{other:016x}"),
        }
    }
}

/// A format and modifier that a device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The format.
    pub format: Fourcc,
    /// The modifier; [`Modifier::INVALID`] where images without one are taken.
    pub modifier: Modifier,
    /// Planes of memory that such an image has; for [`Modifier::INVALID`] those of the format.
    pub planes: u8,
}

/// What lies in one plane of a format: `texel_bytes` for each block of `across` by `down` pixels. The last block of a row
/// and the last row of blocks may stand for fewer: an image of odd size has its colours all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneFormat {
    /// Bytes of one block.
    pub texel_bytes: u32,
    /// Pixels of the image from one block to the next in a row.
    pub across: u32,
    /// Rows of the image from one row of blocks to the next.
    pub down: u32,
}

impl PlaneFormat {
    /// Bytes of a row of an image `w` pixels wide. For positive `w`, as in [`Self::rows`].
    fn row_bytes(&self, w: i32) -> u64 {
        u64::from((w as u32).div_ceil(self.across)) * u64::from(self.texel_bytes)
    }

    /// Rows of blocks of an image `h` pixels high.
    fn rows(&self, h: i32) -> u64 {
        u64::from((h as u32).div_ceil(self.down))
    }
}

const fn plane(texel_bytes: u32, across: u32, down: u32) -> PlaneFormat {
    PlaneFormat { texel_bytes, across, down }
}

/// A format of brightness and colour difference (drm_fourcc.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YuvFormat {
    /// The code.
    pub fourcc: Fourcc,
    /// The name in drm_fourcc.h.
    pub name: &'static str,
    /// What lies in each plane, in the order of the code.
    pub planes: &'static [PlaneFormat],
}

/// Every format of brightness and colour difference that this house can read.
#[rustfmt::skip]
pub const YUV: &[YuvFormat] = &[
    YuvFormat { fourcc: Fourcc::new(b"NV12"), name: "NV12", planes: &[plane(1, 1, 1), plane(2, 2, 2)] },
    YuvFormat { fourcc: Fourcc::new(b"P010"), name: "P010", planes: &[plane(2, 1, 1), plane(4, 2, 2)] },
    YuvFormat { fourcc: Fourcc::new(b"YU12"), name: "YUV420", planes: &[plane(1, 1, 1), plane(1, 2, 2), plane(1, 2, 2)] },
    YuvFormat { fourcc: Fourcc::new(b"YUYV"), name: "YUYV", planes: &[plane(4, 2, 1)] },
];

/// What lies in a format's planes, where the house can read it.
pub fn planes_of(format: Fourcc) -> Option<ArrayVec<PlaneFormat, MAX_PLANES>> {
    if let Some(info) = format.info() {
        return Some(std::iter::once(plane(info.texel_bytes, 1, 1)).collect());
    }
    YUV.iter().find(|yuv| yuv.fourcc == format).map(|yuv| yuv.planes.iter().copied().collect())
}

/// Where a plane lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plane {
    /// First byte, from the start of its dma-buf.
    pub offset: u32,
    /// Bytes from row to row; under other modifiers than [`Modifier::LINEAR`] what the allocating driver says.
    pub stride: u32,
}

/// What a client did wrong, by the error of zwp_linux_buffer_params_v1 that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// plane_idx.
    #[error("plane index {0} is more than 3")]
    PlaneIndex(u32),
    /// plane_set.
    #[error("plane {0} was given already")]
    PlaneSet(u32),
    /// incomplete.
    #[error("{given} planes were given, {wanted} are wanted, from 0 on")]
    Incomplete {
        /// Planes given.
        given: usize,
        /// Planes that the format has under its modifier.
        wanted: usize,
    },
    /// invalid_format.
    #[error("format {format} with modifier {modifier} is not on offer")]
    Format {
        /// The format asked for.
        format: Fourcc,
        /// The modifier asked for.
        modifier: Modifier,
    },
    /// invalid_format.
    #[error("planes with modifiers {0} and {1}")]
    MixedModifiers(Modifier, Modifier),
    /// invalid_dimensions.
    #[error("size {w}x{h} is not positive")]
    Size {
        /// Width asked for.
        w: i32,
        /// Height asked for.
        h: i32,
    },
    /// out_of_bounds.
    #[error("plane {plane}: offset {offset} and {bytes} bytes go past the dma-buf's {size}")]
    Bounds {
        /// Which plane.
        plane: usize,
        /// First byte asked for.
        offset: u32,
        /// Bytes that the plane needs.
        bytes: u64,
        /// Bytes that the dma-buf has.
        size: u64,
    },
    /// out_of_bounds.
    #[error("plane {plane}: stride {stride} does not hold rows of {row_bytes} bytes")]
    Stride {
        /// Which plane.
        plane: usize,
        /// Bytes from row to row asked for.
        stride: u32,
        /// Bytes that a row needs.
        row_bytes: u64,
    },
}

/// Planes as they arrive. `T` is what comes with each: its descriptor.
#[derive(Debug)]
pub struct Params<T> {
    planes: [Option<(Plane, T)>; MAX_PLANES],
    modifier: Option<Modifier>,
}

impl<T> Default for Params<T> {
    fn default() -> Self {
        Self { planes: [None, None, None, None], modifier: None }
    }
}

impl<T> Params<T> {
    /// Takes one more plane.
    ///
    /// # Errors
    /// [`LayoutError::PlaneIndex`], [`LayoutError::PlaneSet`], [`LayoutError::MixedModifiers`].
    pub fn add(&mut self, index: u32, plane: Plane, modifier: Modifier, with: T) -> Result<(), LayoutError> {
        let slot = self.planes.get_mut(index as usize).ok_or(LayoutError::PlaneIndex(index))?;
        if slot.is_some() {
            return Err(LayoutError::PlaneSet(index));
        }
        match self.modifier.replace(modifier) {
            Some(other) if other != modifier => return Err(LayoutError::MixedModifiers(other, modifier)),
            _ => {}
        }
        *slot = Some((plane, with));
        Ok(())
    }

    /// The layout of an image of `size` pixels, with what came along its planes, in their order. `offered` finds the
    /// pair among those on offer; `bytes_of` tells how large the dma-buf of a plane is.
    ///
    /// # Errors
    /// [`LayoutError`], of everything that only all planes together can tell.
    pub fn finish(
        self,
        size: Size,
        format: Fourcc,
        offered: impl FnOnce(Fourcc, Modifier) -> Option<Pair>,
        bytes_of: impl Fn(&T) -> u64,
    ) -> Result<(Layout, ArrayVec<T, MAX_PLANES>), LayoutError> {
        let modifier = self.modifier.unwrap_or(Modifier::INVALID);
        let unknown = LayoutError::Format { format, modifier };
        let formats = planes_of(format).ok_or(unknown)?;
        let given = self.planes.iter().flatten().count();
        let consecutive = self.planes.iter().take_while(|plane| plane.is_some()).count();
        if given == 0 {
            return Err(LayoutError::Incomplete { given, wanted: formats.len() });
        }
        let pair = offered(format, modifier).ok_or(unknown)?;
        let wanted = usize::from(pair.planes);
        if given != wanted || consecutive != wanted {
            return Err(LayoutError::Incomplete { given, wanted });
        }
        if size.is_empty() {
            return Err(LayoutError::Size { w: size.w, h: size.h });
        }
        let (mut planes, mut with) = (ArrayVec::new(), ArrayVec::new());
        for (index, (plane, one)) in self.planes.into_iter().flatten().enumerate() {
            let linear = (modifier == Modifier::LINEAR).then(|| formats.get(index)).flatten();
            check(index, plane, linear, size, bytes_of(&one))?;
            planes.push(plane);
            with.push(one);
        }
        Ok((Layout { size, format, modifier, planes }, with))
    }
}

/// Whether a plane lies inside its dma-buf of `bytes`. Of planes that are not linear only the start can be judged here.
fn check(index: usize, plane: Plane, linear: Option<&PlaneFormat>, size: Size, bytes: u64) -> Result<(), LayoutError> {
    let (offset, stride) = (u64::from(plane.offset), u64::from(plane.stride));
    let need = match linear {
        Some(format) => {
            let row_bytes = format.row_bytes(size.w);
            // Rows of three-byte texels are padded to what a machine likes.
            let whole = format.texel_bytes == 3 || stride.is_multiple_of(u64::from(format.texel_bytes));
            if stride < row_bytes || !whole {
                return Err(LayoutError::Stride { plane: index, stride: plane.stride, row_bytes });
            }
            // Below 2^32 * 2^31 + 2^35: no overflow.
            (format.rows(size.h) - 1) * stride + row_bytes
        }
        None if stride == 0 => return Err(LayoutError::Stride { plane: index, stride: 0, row_bytes: 1 }),
        None => 1,
    };
    if offset + need > bytes {
        return Err(LayoutError::Bounds { plane: index, offset: plane.offset, bytes: need, size: bytes });
    }
    Ok(())
}

/// Where an image lies in its dma-bufs. Built only by [`Params::finish`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    size: Size,
    format: Fourcc,
    modifier: Modifier,
    planes: ArrayVec<Plane, MAX_PLANES>,
}

impl Layout {
    /// Pixels.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The format.
    pub const fn format(&self) -> Fourcc {
        self.format
    }

    /// How texels lie in memory.
    pub const fn modifier(&self) -> Modifier {
        self.modifier
    }

    /// The planes, in order; at least one.
    pub fn planes(&self) -> &[Plane] {
        &self.planes
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::{ARGB8888, XRGB8888};
    use super::*;

    const NV12: Fourcc = Fourcc::new(b"NV12");
    const YU12: Fourcc = Fourcc::new(b"YU12");

    fn pair(format: Fourcc, modifier: Modifier) -> Option<Pair> {
        let planes = match modifier {
            Modifier::LINEAR | Modifier::INVALID => planes_of(format)?.len() as u8,
            Modifier(7) => 2,
            _ => return None,
        };
        Some(Pair { format, modifier, planes })
    }

    fn finish(
        planes: &[(u32, u32, u32, u64)],
        modifier: Modifier,
        size: Size,
        format: Fourcc,
    ) -> Result<Layout, LayoutError> {
        let mut params = Params::default();
        for &(index, offset, stride, bytes) in planes {
            params.add(index, Plane { offset, stride }, modifier, bytes)?;
        }
        params.finish(size, format, pair, |bytes| *bytes).map(|(layout, _)| layout)
    }

    #[test]
    fn planes_in_any_order_come_out_in_theirs() {
        let mut params = Params::default();
        for index in [2u32, 0, 1] {
            let plane = Plane { offset: index * 10_000, stride: 64 };
            params.add(index, plane, Modifier::LINEAR, index).unwrap();
        }
        let (layout, with) = params.finish(Size::new(64, 64), YU12, pair, |_| 1 << 20).unwrap();
        assert_eq!(layout.planes().iter().map(|plane| plane.offset).collect::<Vec<_>>(), [0, 10_000, 20_000]);
        assert_eq!(with.as_slice(), [0, 1, 2]);
    }

    #[test]
    fn planes_missing_doubled_or_too_many_name_the_error() {
        let size = Size::new(64, 64);
        let linear = Modifier::LINEAR;
        assert_eq!(finish(&[(4, 0, 256, 99)], linear, size, XRGB8888), Err(LayoutError::PlaneIndex(4)));
        let twice = finish(&[(0, 0, 256, 99), (0, 0, 256, 99)], linear, size, XRGB8888);
        assert_eq!(twice, Err(LayoutError::PlaneSet(0)));
        for (planes, given) in [(&[(1, 0, 64, 99)][..], 1), (&[(0, 0, 64, 9999), (2, 0, 64, 99)], 2), (&[], 0)] {
            assert_eq!(finish(planes, linear, size, NV12), Err(LayoutError::Incomplete { given, wanted: 2 }));
        }
        let spare = finish(&[(0, 0, 256, 99_999), (1, 0, 256, 99_999)], linear, size, XRGB8888);
        assert_eq!(spare, Err(LayoutError::Incomplete { given: 2, wanted: 1 }));
    }

    #[test]
    fn planes_of_different_modifiers_are_refused() {
        let mut params = Params::default();
        params.add(0, Plane { offset: 0, stride: 64 }, Modifier::LINEAR, ()).unwrap();
        let mixed = params.add(1, Plane { offset: 0, stride: 64 }, Modifier(7), ());
        assert_eq!(mixed, Err(LayoutError::MixedModifiers(Modifier::LINEAR, Modifier(7))));
    }

    #[test]
    fn pair_that_is_not_on_offer_is_refused() {
        let other = finish(&[(0, 0, 256, 1 << 20)], Modifier(9), Size::new(64, 64), ARGB8888);
        assert_eq!(other, Err(LayoutError::Format { format: ARGB8888, modifier: Modifier(9) }));
        let unknown = finish(&[(0, 0, 256, 1 << 20)], Modifier::LINEAR, Size::new(64, 64), Fourcc(1));
        assert!(matches!(unknown, Err(LayoutError::Format { .. })));
    }

    #[test]
    fn image_of_an_exact_fit_is_taken_and_one_byte_less_is_not() {
        let size = Size::new(10, 4);
        let fit = |bytes| finish(&[(0, 96, 64, bytes)], Modifier::LINEAR, size, XRGB8888);
        assert!(fit(96 + 3 * 64 + 40).is_ok());
        assert!(matches!(fit(96 + 3 * 64 + 39), Err(LayoutError::Bounds { plane: 0, bytes: 232, .. })));
    }

    #[test]
    fn image_with_overflowing_arguments_names_the_argument() {
        let max = u32::MAX;
        let new =
            |offset, stride, w, h| finish(&[(0, offset, stride, 4096)], Modifier::LINEAR, Size::new(w, h), ARGB8888);
        assert!(matches!(new(max, 256, 64, 4), Err(LayoutError::Bounds { .. })));
        assert!(matches!(new(0, max - 3, 64, i32::MAX), Err(LayoutError::Bounds { .. })));
        assert!(matches!(new(0, 256, i32::MAX, 4), Err(LayoutError::Stride { .. })));
        assert!(matches!(new(0, 255, 8, 4), Err(LayoutError::Stride { .. })));
        assert!(matches!(new(0, 256, 0, 4), Err(LayoutError::Size { .. })));
        assert!(matches!(new(0, 256, 4, -4), Err(LayoutError::Size { .. })));
    }

    #[test]
    fn image_of_halved_colour_wants_whole_planes() {
        let planes = [(0, 0, 64, 64 * 64 + 64 * 32), (1, 64 * 64, 64, 64 * 64 + 64 * 32)];
        assert!(finish(&planes, Modifier::LINEAR, Size::new(64, 64), NV12).is_ok());
        let short = [(0, 0, 64, 64 * 64), (1, 64 * 64, 64, 64 * 64 + 64 * 32 - 1)];
        let error = finish(&short, Modifier::LINEAR, Size::new(64, 64), NV12);
        assert!(matches!(error, Err(LayoutError::Bounds { plane: 1, .. })));
    }

    #[test]
    fn image_of_odd_size_has_colours_for_its_last_column_and_row() {
        // 5x3 pixels: 3x2 blocks of colour, rows 8 bytes apart.
        let new = |format, planes: &[_]| finish(planes, Modifier::LINEAR, Size::new(5, 3), format);
        assert!(new(NV12, &[(0, 0, 8, 21), (1, 0, 8, 14)]).is_ok());
        let no_last_row = new(NV12, &[(0, 0, 8, 21), (1, 0, 8, 13)]);
        assert!(matches!(no_last_row, Err(LayoutError::Bounds { plane: 1, bytes: 14, .. })));
        let no_last_column = new(NV12, &[(0, 0, 8, 21), (1, 0, 4, 99)]);
        assert!(matches!(no_last_column, Err(LayoutError::Stride { plane: 1, row_bytes: 6, .. })));
        assert!(new(YU12, &[(0, 0, 8, 21), (1, 0, 3, 6), (2, 0, 3, 6)]).is_ok());
        let yuyv = Fourcc::new(b"YUYV");
        assert!(new(yuyv, &[(0, 0, 12, 36)]).is_ok());
        assert!(matches!(new(yuyv, &[(0, 0, 8, 99)]), Err(LayoutError::Stride { row_bytes: 12, .. })));
    }

    #[test]
    fn image_of_a_vendors_modifier_has_the_planes_that_the_device_says() {
        let size = Size::new(64, 64);
        assert!(finish(&[(0, 0, 64, 4096), (1, 4000, 8, 4096)], Modifier(7), size, XRGB8888).is_ok());
        let outside = finish(&[(0, 0, 64, 4096), (1, 4096, 8, 4096)], Modifier(7), size, XRGB8888);
        assert!(matches!(outside, Err(LayoutError::Bounds { plane: 1, .. })));
        let no_stride = finish(&[(0, 0, 0, 4096), (1, 0, 8, 4096)], Modifier(7), size, XRGB8888);
        assert!(matches!(no_stride, Err(LayoutError::Stride { plane: 0, .. })));
    }

    #[test]
    fn modifier_halves_round_trip() {
        let modifier = Modifier(0x0123_4567_89ab_cdef);
        let (high, low) = modifier.halves();
        assert_eq!(Modifier::from_halves(high, low), modifier);
        assert_eq!((Modifier::LINEAR.to_string(), Modifier::INVALID.to_string()), ("LINEAR".into(), "INVALID".into()));
    }
}
