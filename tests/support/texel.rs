//! Texels to colours and back, by the channel places of `domain::format`, in the plainest way.

use transom::domain::format::{Channel, Encoding, FormatInfo};

/// Red, green, blue, alpha; colours premultiplied.
pub(crate) type Rgba = [f32; 4];

/// The colour of one texel (`info.texel_bytes` bytes).
pub(crate) fn decode(info: &FormatInfo, texel: &[u8]) -> Rgba {
    let word = texel.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    let read = |channel: Channel, absent: f32| {
        let bits = word >> channel.shift & ones(channel);
        match info.encoding {
            _ if channel.bits == 0 => absent,
            Encoding::Unorm => bits as f32 / ones(channel) as f32,
            Encoding::Half => half_to_f32(bits as u16),
        }
    };
    let [r, g, b, a] = info.channels;
    [read(r, 0.0), read(g, 0.0), read(b, 0.0), read(a, 1.0)]
}

/// Appends the texel of a colour. What the format lacks is left out; unused bits are ones, to be seen if they are read.
pub(crate) fn encode(info: &FormatInfo, color: Rgba, out: &mut Vec<u8>) {
    let mut word = u64::MAX;
    for (channel, value) in info.channels.into_iter().zip(color).filter(|(channel, _)| channel.bits > 0) {
        let bits = match info.encoding {
            Encoding::Unorm => (value.clamp(0.0, 1.0) * ones(channel) as f32).round() as u64,
            Encoding::Half => u64::from(half_from_f32(value)),
        };
        word = word & !(ones(channel) << channel.shift) | bits << channel.shift;
    }
    out.extend_from_slice(&word.to_le_bytes()[..info.texel_bytes as usize]);
}

fn ones(channel: Channel) -> u64 {
    (1 << channel.bits) - 1
}

/// IEEE binary16 to binary32.
pub(crate) fn half_to_f32(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f32::from(half & 0x3ff) / 1024.0;
    sign * match half >> 10 & 0x1f {
        0 => fraction * 2f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1.0 + fraction) * 2f32.powi(i32::from(exponent) - 15),
    }
}

/// The binary16 nearest to `value`; values past the largest become infinite.
pub(crate) fn half_from_f32(value: f32) -> u16 {
    if value > 65519.0 {
        return 0x7c00;
    }
    let magnitudes = 0..0x7c00u16;
    let distance = |half: u16| (half_to_f32(half) - value.abs()).abs();
    // Magnitudes ascend with their codes: bisect, then look at both neighbours.
    let above = partition_point(magnitudes, |half| half_to_f32(half) < value.abs());
    let nearest =
        [above.saturating_sub(1), above.min(0x7bff)].into_iter().min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
    nearest.unwrap_or(0) | if value.is_sign_negative() { 0x8000 } else { 0 }
}

fn partition_point(range: std::ops::Range<u16>, below: impl Fn(u16) -> bool) -> u16 {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if below(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
