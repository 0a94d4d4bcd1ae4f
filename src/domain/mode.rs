//! A display mode: a size and a refresh rate, exact to the millihertz.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::geometry::Size;

/// Greatest width and height, pixels.
const MAX_SIDE: i32 = 16_384;
/// Greatest refresh rate, mHz.
const MAX_REFRESH_MHZ: u32 = 1_000_000;

/// A size and a refresh rate. Written `WxH@Hz`, e.g. `1920x1080@59.94`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mode {
    /// Physical pixels, before the output's transform.
    pub size: Size,
    /// Refresh rate in mHz, as wl_output.mode counts it; never zero.
    pub refresh_mhz: u32,
}

impl Mode {
    /// Time from refresh to refresh, rounded down; [`Mode::refresh_at_ns`] does not add the rounding up.
    pub const fn period_ns(self) -> u64 {
        1_000_000_000_000 / self.refresh_mhz as u64
    }

    /// When the `n`th refresh comes, counted from the zeroth, without the drift that adding periods makes.
    pub const fn refresh_at_ns(self, n: u64) -> u64 {
        (n as u128 * 1_000_000_000_000 / self.refresh_mhz as u128) as u64
    }
}

/// Why a text is no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a mode: write WIDTHxHEIGHT@HERTZ, e.g. 1920x1080@60 or 1920x1080@59.94 (each side 1 to 16384, 0.001 to 1000 Hz)"
)]
pub struct ModeError(String);

impl FromStr for Mode {
    type Err = ModeError;

    /// Reads `WxH` (60 Hz) or `WxH@Hz` with at most three decimals.
    fn from_str(text: &str) -> Result<Self, ModeError> {
        parse(text).ok_or_else(|| ModeError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Mode> {
    let (size, rate) = text.split_once('@').unwrap_or((text, "60"));
    let (w, h) = size.split_once('x')?;
    let side = |s: &str| s.parse::<i32>().ok().filter(|n| digits(s) && (1..=MAX_SIDE).contains(n));
    let (whole, decimals) = rate.split_once('.').unwrap_or((rate, "0"));
    if !digits(whole) || !digits(decimals) || decimals.len() > 3 {
        return None;
    }
    let thousandths = decimals.parse::<u32>().ok()? * 10u32.pow(3 - decimals.len() as u32);
    let refresh_mhz = whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(thousandths)?;
    let mode = Mode { size: Size::new(side(w)?, side(h)?), refresh_mhz };
    (1..=MAX_REFRESH_MHZ).contains(&refresh_mhz).then_some(mode)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

impl TryFrom<String> for Mode {
    type Error = ModeError;

    fn try_from(text: String) -> Result<Self, ModeError> {
        text.parse()
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.to_string()
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}@{}", self.size.w, self.size.h, self.refresh_mhz / 1000)?;
        let thousandths = self.refresh_mhz % 1000;
        if thousandths > 0 {
            let padded = format!("{thousandths:03}");
            write!(f, ".{}", padded.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_with_decimals_is_exact_and_round_trips() {
        for (text, mhz) in [("1920x1080@59.94", 59_940), ("1x1@0.001", 1), ("640x480@143.856", 143_856)] {
            let mode: Mode = text.parse().unwrap();
            assert_eq!(mode.refresh_mhz, mhz);
            assert_eq!(mode.to_string(), text);
        }
        assert_eq!("800x600".parse::<Mode>().unwrap().refresh_mhz, 60_000);
    }

    #[test]
    fn mode_out_of_range_or_malformed_is_refused() {
        for text in [
            "",
            "x",
            "0x1",
            "1x0@60",
            "-1x5",
            "+1x5",
            "16385x1",
            "1x1@0",
            "1x1@1000.001",
            "1x1@60.",
            "1x1@.5",
            "1x1@60.0001",
            "1x1@4294967296",
            "1x1@-60",
            "1 x1",
            "1x1x1",
            "1x1@60@60",
        ] {
            assert!(text.parse::<Mode>().is_err(), "{text}");
        }
    }

    #[test]
    fn refresh_of_an_hour_has_not_drifted() {
        let mode: Mode = "1x1@59.94".parse().unwrap();
        // 59.94 Hz is 215,784 refreshes an hour, exactly.
        assert_eq!(mode.refresh_at_ns(215_784), 3_600_000_000_000);
        assert!(mode.period_ns() * 215_784 < 3_600_000_000_000);
    }
}
