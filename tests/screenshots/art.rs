//! What the pictures are made of: small paintings, each a function of a point of the unit square.
//!
//! Painted from points, not texels, so one painting fills a buffer of any size or scale.

use crate::support::texel::Rgba;

/// A painting. `u` and `v` run from 0 to 1, to the right and downwards; colours premultiplied.
pub(crate) type Art = fn(u: f64, v: f64) -> Rgba;

const INK: Rgba = [0.08, 0.09, 0.12, 1.0];
const PAPER: Rgba = [0.96, 0.95, 0.9, 1.0];

fn opaque(r: f64, g: f64, b: f64) -> Rgba {
    [r as f32, g as f32, b as f32, 1.0]
}

fn times(color: Rgba, a: f64) -> Rgba {
    color.map(|channel| channel * a as f32)
}

fn within(v: f64, from: f64, to: f64) -> bool {
    from <= v && v < to
}

/// Opaque. The letter F on four colours: no two of the eight transforms give the same picture.
pub(crate) fn letter(u: f64, v: f64) -> Rgba {
    let stem = within(u, 0.3, 0.42) && within(v, 0.15, 0.85);
    let bars = within(u, 0.3, 0.75) && within(v, 0.15, 0.27) || within(u, 0.3, 0.62) && within(v, 0.44, 0.56);
    match (u < 0.5, v < 0.5) {
        _ if stem || bars => PAPER,
        (true, true) => opaque(0.8, 0.15, 0.15),
        (false, true) => opaque(0.1, 0.55, 0.2),
        (true, false) => opaque(0.15, 0.3, 0.8),
        (false, false) => opaque(0.75, 0.6, 0.1),
    }
}

/// Opaque. Red to the right, green downwards, blue across.
pub(crate) fn gradient(u: f64, v: f64) -> Rgba {
    opaque(u, v, (1.0 - u + v) / 2.0)
}

/// Opaque. An even grey from dark to light, to the right: what banding shows on.
pub(crate) fn ramp(u: f64, v: f64) -> Rgba {
    let shade = if v < 0.5 { u } else { 0.35 + u * 0.1 };
    opaque(shade, shade, shade)
}

/// Opaque. A board of 8 by 8 fields.
pub(crate) fn board(u: f64, v: f64) -> Rgba {
    if ((u * 8.0) as i32 + (v * 8.0) as i32) % 2 == 0 { PAPER } else { opaque(0.25, 0.35, 0.45) }
}

/// Opaque. Fine rings, which any slip of a filter shows on.
pub(crate) fn rings(u: f64, v: f64) -> Rgba {
    let wave = 0.5 + 0.5 * ((u * u + v * v) * 40.0).cos();
    opaque(wave, 0.3 + 0.4 * wave, 1.0 - wave)
}

/// Opaque. A window: a title bar with three knobs, lines of text.
pub(crate) fn window(u: f64, v: f64) -> Rgba {
    let knob = |at: f64| (u - at).abs() < 0.035 && (v - 0.08).abs() < 0.045;
    let line = (v * 12.0) as i32;
    let length = 0.35 + f64::from(line * 37 % 11) / 20.0;
    let text = (3..11).contains(&line) && v * 12.0 % 1.0 < 0.5 && within(u, 0.08, 0.08 + length);
    match () {
        () if knob(0.07) => opaque(0.9, 0.3, 0.25),
        () if knob(0.17) => opaque(0.95, 0.75, 0.2),
        () if knob(0.27) => opaque(0.3, 0.75, 0.3),
        () if v < 0.16 => opaque(0.22 + 0.1 * u, 0.25 + 0.1 * u, 0.32 + 0.1 * u),
        () if text => INK,
        () => PAPER,
    }
}

/// Opaque. A still of a film: a hill before an evening sky.
pub(crate) fn film(u: f64, v: f64) -> Rgba {
    let hill = 0.65 + 0.15 * (u * 5.0).sin();
    let sun = ((u - 0.7).powi(2) + (v - 0.35).powi(2)).sqrt();
    match () {
        () if v > hill => opaque(0.05, 0.2 + 0.2 * (v - hill), 0.15),
        () if sun < 0.12 => opaque(1.0, 0.85, 0.5),
        () => opaque(0.3 + 0.6 * v, 0.25 + 0.35 * v, 0.55 - 0.2 * v),
    }
}

/// Translucent. A disc with a soft rim.
pub(crate) fn disc(u: f64, v: f64) -> Rgba {
    let far = ((u - 0.5).powi(2) + (v - 0.5).powi(2)).sqrt();
    times(opaque(0.2 + 0.8 * u, 0.4, 1.0 - 0.7 * v), ((0.5 - far) * 8.0).clamp(0.0, 0.85))
}

/// Translucent. Opaque at the left, gone at the right.
pub(crate) fn fade(u: f64, v: f64) -> Rgba {
    times(if (v * 6.0) as i32 % 2 == 0 { opaque(0.9, 0.2, 0.3) } else { opaque(0.2, 0.7, 0.9) }, 1.0 - u)
}

/// Translucent. Light that adds without covering: alpha 0 under colour.
pub(crate) fn glow(u: f64, v: f64) -> Rgba {
    let far = ((u - 0.5).powi(2) + (v - 0.5).powi(2)).sqrt();
    let light = (0.5 - far).max(0.0) as f32;
    [light, light * 0.8, light * 0.2, 0.0]
}

/// Translucent. A card with round corners and a soft shadow; opaque from (0.15, 0.15) to (0.85, 0.8).
pub(crate) fn card(u: f64, v: f64) -> Rgba {
    let beyond = |dy: f64| {
        let (x, y) = ((u - 0.5).abs() - 0.32, (v - 0.475 - dy).abs() - 0.295);
        (x.max(0.0).powi(2) + y.max(0.0).powi(2)).sqrt()
    };
    if beyond(0.0) < 0.06 {
        return if within(u, 0.2, 0.7) && within(v * 8.0 % 1.0, 0.3, 0.6) { opaque(0.35, 0.4, 0.5) } else { PAPER };
    }
    [0.0, 0.0, 0.0, (0.5 - beyond(0.04) * 3.0).max(0.0) as f32]
}

/// Translucent. A pointer, its tip at the top left.
pub(crate) fn pointer(u: f64, v: f64) -> Rgba {
    let inside = |grow: f64| u > 0.06 - grow && u < v * 0.75 + grow * 0.5 && v < 1.05 - u * 0.9 + grow;
    match () {
        () if inside(0.0) => PAPER,
        () if inside(0.09) => INK,
        () => [0.0; 4],
    }
}
