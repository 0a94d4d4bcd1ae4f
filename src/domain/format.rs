//! Pixel formats of client storage, by their DRM fourcc, with the place of every channel.
//!
//! The table says what a texel *means* (drm_fourcc.h: little-endian words, first letter highest bits); which of them a
//! device samples is the renderer's to say. Names are those of drm_fourcc.h without the prefix.

use std::fmt;

/// A DRM format code (drm_fourcc.h). wl_shm's two own codes 0 and 1 are translated by [`Fourcc::from_shm`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fourcc(pub u32);

impl Fourcc {
    /// From its four letters.
    pub const fn new(code: &[u8; 4]) -> Self {
        Self(u32::from_le_bytes(*code))
    }

    /// From a wl_shm.format value: 0 is ARGB8888, 1 is XRGB8888, all others are fourccs already.
    pub const fn from_shm(format: u32) -> Self {
        match format {
            0 => ARGB8888,
            1 => XRGB8888,
            other => Self(other),
        }
    }

    /// The wl_shm.format value.
    pub const fn to_shm(self) -> u32 {
        match self {
            ARGB8888 => 0,
            XRGB8888 => 1,
            other => other.0,
        }
    }

    /// What its texels mean, where it is in the table.
    pub fn info(self) -> Option<&'static FormatInfo> {
        TABLE.iter().find(|info| info.fourcc == self)
    }
}

impl fmt::Debug for Fourcc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Fourcc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.info() {
            Some(info) => f.write_str(info.name),
            None => write!(f, "0x{:08x}", self.0),
        }
    }
}

/// How a channel's bits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Unsigned, all ones is 1.0.
    Unorm,
    /// IEEE binary16.
    Half,
}

/// A channel's place in the texel's little-endian word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Lowest bit.
    pub shift: u8,
    /// Number of bits; 0 where the format lacks the channel (colour reads 0, alpha reads 1).
    pub bits: u8,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// The code.
    pub fourcc: Fourcc,
    /// The name in drm_fourcc.h.
    pub name: &'static str,
    /// Bytes of one texel.
    pub texel_bytes: u32,
    /// How channels are read.
    pub encoding: Encoding,
    /// Red, green, blue, alpha.
    pub channels: [Channel; 4],
}

impl FormatInfo {
    /// Whether texels can be translucent.
    pub const fn has_alpha(&self) -> bool {
        self.channels[3].bits > 0
    }
}

const fn row(
    code: &[u8; 4],
    name: &'static str,
    texel_bytes: u32,
    encoding: Encoding,
    rgba: [(u8, u8); 4],
) -> FormatInfo {
    let [r, g, b, a] = rgba;
    FormatInfo {
        fourcc: Fourcc::new(code),
        name,
        texel_bytes,
        encoding,
        channels: [
            Channel { shift: r.0, bits: r.1 },
            Channel { shift: g.0, bits: g.1 },
            Channel { shift: b.0, bits: b.1 },
            Channel { shift: a.0, bits: a.1 },
        ],
    }
}

/// 8 bits a channel, alpha highest: the format every client and every output knows.
pub const ARGB8888: Fourcc = Fourcc::new(b"AR24");
/// As [`ARGB8888`] with the alpha byte unused.
pub const XRGB8888: Fourcc = Fourcc::new(b"XR24");
/// 8 bits a channel, red lowest.
pub const ABGR8888: Fourcc = Fourcc::new(b"AB24");
/// As [`ABGR8888`] with the alpha byte unused.
pub const XBGR8888: Fourcc = Fourcc::new(b"XB24");

const NONE: (u8, u8) = (0, 0);
use Encoding::{Half, Unorm};

/// Every format whose texels this house can read.
#[rustfmt::skip]
pub const TABLE: &[FormatInfo] = &[
    row(b"AR24", "ARGB8888", 4, Unorm, [(16, 8), (8, 8), (0, 8), (24, 8)]),
    row(b"XR24", "XRGB8888", 4, Unorm, [(16, 8), (8, 8), (0, 8), NONE]),
    row(b"AB24", "ABGR8888", 4, Unorm, [(0, 8), (8, 8), (16, 8), (24, 8)]),
    row(b"XB24", "XBGR8888", 4, Unorm, [(0, 8), (8, 8), (16, 8), NONE]),
    row(b"RA24", "RGBA8888", 4, Unorm, [(24, 8), (16, 8), (8, 8), (0, 8)]),
    row(b"RX24", "RGBX8888", 4, Unorm, [(24, 8), (16, 8), (8, 8), NONE]),
    row(b"BA24", "BGRA8888", 4, Unorm, [(8, 8), (16, 8), (24, 8), (0, 8)]),
    row(b"BX24", "BGRX8888", 4, Unorm, [(8, 8), (16, 8), (24, 8), NONE]),
    row(b"RG24", "RGB888", 3, Unorm, [(16, 8), (8, 8), (0, 8), NONE]),
    row(b"BG24", "BGR888", 3, Unorm, [(0, 8), (8, 8), (16, 8), NONE]),
    row(b"AR30", "ARGB2101010", 4, Unorm, [(20, 10), (10, 10), (0, 10), (30, 2)]),
    row(b"XR30", "XRGB2101010", 4, Unorm, [(20, 10), (10, 10), (0, 10), NONE]),
    row(b"AB30", "ABGR2101010", 4, Unorm, [(0, 10), (10, 10), (20, 10), (30, 2)]),
    row(b"XB30", "XBGR2101010", 4, Unorm, [(0, 10), (10, 10), (20, 10), NONE]),
    row(b"RG16", "RGB565", 2, Unorm, [(11, 5), (5, 6), (0, 5), NONE]),
    row(b"BG16", "BGR565", 2, Unorm, [(0, 5), (5, 6), (11, 5), NONE]),
    row(b"AR15", "ARGB1555", 2, Unorm, [(10, 5), (5, 5), (0, 5), (15, 1)]),
    row(b"XR15", "XRGB1555", 2, Unorm, [(10, 5), (5, 5), (0, 5), NONE]),
    row(b"RA15", "RGBA5551", 2, Unorm, [(11, 5), (6, 5), (1, 5), (0, 1)]),
    row(b"RX15", "RGBX5551", 2, Unorm, [(11, 5), (6, 5), (1, 5), NONE]),
    row(b"BA15", "BGRA5551", 2, Unorm, [(1, 5), (6, 5), (11, 5), (0, 1)]),
    row(b"BX15", "BGRX5551", 2, Unorm, [(1, 5), (6, 5), (11, 5), NONE]),
    row(b"AR12", "ARGB4444", 2, Unorm, [(8, 4), (4, 4), (0, 4), (12, 4)]),
    row(b"XR12", "XRGB4444", 2, Unorm, [(8, 4), (4, 4), (0, 4), NONE]),
    row(b"AB12", "ABGR4444", 2, Unorm, [(0, 4), (4, 4), (8, 4), (12, 4)]),
    row(b"XB12", "XBGR4444", 2, Unorm, [(0, 4), (4, 4), (8, 4), NONE]),
    row(b"RA12", "RGBA4444", 2, Unorm, [(12, 4), (8, 4), (4, 4), (0, 4)]),
    row(b"RX12", "RGBX4444", 2, Unorm, [(12, 4), (8, 4), (4, 4), NONE]),
    row(b"BA12", "BGRA4444", 2, Unorm, [(4, 4), (8, 4), (12, 4), (0, 4)]),
    row(b"BX12", "BGRX4444", 2, Unorm, [(4, 4), (8, 4), (12, 4), NONE]),
    row(b"AB48", "ABGR16161616", 8, Unorm, [(0, 16), (16, 16), (32, 16), (48, 16)]),
    row(b"XB48", "XBGR16161616", 8, Unorm, [(0, 16), (16, 16), (32, 16), NONE]),
    row(b"AR48", "ARGB16161616", 8, Unorm, [(32, 16), (16, 16), (0, 16), (48, 16)]),
    row(b"XR48", "XRGB16161616", 8, Unorm, [(32, 16), (16, 16), (0, 16), NONE]),
    row(b"AB4H", "ABGR16161616F", 8, Half, [(0, 16), (16, 16), (32, 16), (48, 16)]),
    row(b"XB4H", "XBGR16161616F", 8, Half, [(0, 16), (16, 16), (32, 16), NONE]),
    row(b"AR4H", "ARGB16161616F", 8, Half, [(32, 16), (16, 16), (0, 16), (48, 16)]),
    row(b"XR4H", "XRGB16161616F", 8, Half, [(32, 16), (16, 16), (0, 16), NONE]),
    row(b"R8  ", "R8", 1, Unorm, [(0, 8), NONE, NONE, NONE]),
    row(b"GR88", "GR88", 2, Unorm, [(0, 8), (8, 8), NONE, NONE]),
    row(b"R16 ", "R16", 2, Unorm, [(0, 16), NONE, NONE, NONE]),
    row(b"GR32", "GR1616", 4, Unorm, [(0, 16), (16, 16), NONE, NONE]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_formats_has_disjoint_channels_inside_the_texel() {
        for info in TABLE {
            let mut seen = 0u64;
            for channel in info.channels.iter().filter(|c| c.bits > 0) {
                let bits = ((1u64 << channel.bits) - 1) << channel.shift;
                assert_eq!(seen & bits, 0, "{}: channels overlap", info.name);
                seen |= bits;
            }
            assert!(info.texel_bytes == 8 || seen >> (info.texel_bytes * 8) == 0, "{}", info.name);
        }
    }

    #[test]
    fn table_of_formats_names_each_code_once() {
        for (i, a) in TABLE.iter().enumerate() {
            assert!(TABLE[..i].iter().all(|b| a.fourcc != b.fourcc && a.name != b.name), "{}", a.name);
        }
    }

    #[test]
    fn shm_codes_zero_and_one_round_trip() {
        assert_eq!(Fourcc::from_shm(0), ARGB8888);
        assert_eq!(XRGB8888.to_shm(), 1);
        assert_eq!(Fourcc::from_shm(ABGR8888.0).to_shm(), ABGR8888.0);
        assert_eq!(ARGB8888.to_string(), "ARGB8888");
    }
}
