//! How the configuration's values are written: serde functions for the types of `domain` that know no serde.
//!
//! Every check of a range or a spelling is here, so that a value which was read is right.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::action::Action;
use crate::domain::binding::{Bindings, Chord, Modifiers};
use crate::domain::geometry::{Point, Scale, Size};
use crate::domain::scene::Color;
use crate::domain::transform::Transform;

/// wl_output.transform's names.
const TRANSFORMS: [&str; 8] = ["normal", "90", "180", "270", "flipped", "flipped-90", "flipped-180", "flipped-270"];

/// A transform as the file names it.
pub fn transform_name(transform: Transform) -> &'static str {
    TRANSFORMS[transform.to_wire() as usize]
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(d: D) -> Result<T, D::Error> {
    String::deserialize(d)?.parse().map_err(D::Error::custom)
}

fn in_range<'de, D: Deserializer<'de>>(d: D, what: &str, low: f64, high: f64) -> Result<f64, D::Error> {
    let value = f64::deserialize(d)?;
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(D::Error::custom(format_args!("{what} {value} is not in {low} to {high}")))
}

pub(super) mod scale {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(scale: &Option<Scale>, s: S) -> Result<S::Ok, S::Error> {
        scale.map(Scale::as_f64).serialize(s)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Scale>, D::Error> {
        in_range(d, "scale", 0.25, 10.0).map(|factor| Some(Scale::from_f64(factor)))
    }
}

pub(super) fn scroll_factor<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    in_range(d, "scroll factor", 0.01, 100.0)
}

pub(super) fn workspace_count<'de, D: Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
    let count = u32::deserialize(d)?;
    if (1..=100).contains(&count) {
        return Ok(count);
    }
    Err(D::Error::custom(format_args!("{count} workspaces are not in 1 to 100")))
}

pub(super) mod transform {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(transform: &Transform, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(transform_name(*transform))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Transform, D::Error> {
        let text = String::deserialize(d)?;
        let index = TRANSFORMS.iter().position(|name| *name == text);
        index
            .map(|i| Transform::ALL[i])
            .ok_or_else(|| D::Error::custom(format_args!("no transform '{text}'; there are {}", TRANSFORMS.join(", "))))
    }
}

pub(super) mod position {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(at: &Option<Point>, s: S) -> Result<S::Ok, S::Error> {
        at.map(|at| [at.x, at.y]).serialize(s)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Point>, D::Error> {
        let [x, y] = <[i32; 2]>::deserialize(d)?;
        for value in [x, y] {
            if value.unsigned_abs() > 1_000_000 {
                return Err(D::Error::custom(format_args!("{value} is not in -1000000 to 1000000")));
            }
        }
        Ok(Some(Point::new(x, y)))
    }
}

pub(super) mod size {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(size: &Size, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{}x{}", size.w, size.h))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Size, D::Error> {
        let text = String::deserialize(d)?;
        let side = |s: &str| s.parse().ok().filter(|n| (1..=16_384).contains(n));
        let size = text.split_once('x').and_then(|(w, h)| Some(Size::new(side(w)?, side(h)?)));
        size.ok_or_else(|| D::Error::custom(format_args!("'{text}' is not a size: write WIDTHxHEIGHT, e.g. 1280x720")))
    }
}

pub(super) mod modifiers {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(held: &Modifiers, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(held)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Modifiers, D::Error> {
        parsed(d)
    }
}

pub(super) mod colour {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(colour: &Color, s: S) -> Result<S::Ok, S::Error> {
        let byte = |v: f32| (v * 255.0).round() as u8;
        let (r, g, b) = (byte(colour.r), byte(colour.g), byte(colour.b));
        s.collect_str(&format_args!("#{r:02x}{g:02x}{b:02x}"))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Color, D::Error> {
        let text = String::deserialize(d)?;
        let digits = text.strip_prefix('#').filter(|t| t.len() == 6 && t.bytes().all(|b| b.is_ascii_hexdigit()));
        let word = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let [_, r, g, b] = word
            .ok_or_else(|| D::Error::custom(format_args!("'{text}' is not a colour: write #rrggbb")))?
            .to_be_bytes();
        Ok(super::super::rgb(r, g, b))
    }
}

pub(super) mod bindings {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(bindings: &Bindings, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(bindings.iter())
    }

    /// Lays the table that is read over the default one.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Bindings, D::Error> {
        let mut bindings = Bindings::default();
        for (chord, action) in BTreeMap::<Chord, Action>::deserialize(d)? {
            bindings.bind(chord, action);
        }
        Ok(bindings)
    }
}
