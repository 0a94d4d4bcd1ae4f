//! Pictures: compared, written and read as PNG.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use transom::domain::geometry::{Point, Size};
use transom::ports::renderer::Pixels;

/// The pixel at `p`: red, green, blue.
pub(crate) fn rgb(pixels: &Pixels, p: Point) -> [u8; 3] {
    let at = (p.y as usize * pixels.size.w as usize + p.x as usize) * 4;
    let [b, g, r] = [0, 1, 2].map(|i| pixels.bytes[at + i]);
    [r, g, b]
}

/// Every pixel's place, row by row.
pub(crate) fn points(size: Size) -> impl Iterator<Item = Point> {
    (0..size.h).flat_map(move |y| (0..size.w).map(move |x| Point::new(x, y)))
}

/// How two pictures of the same size differ.
#[derive(Clone, Debug)]
pub(crate) enum Difference {
    /// Not even in size: actual, expected.
    Size(Size, Size),
    /// Pixels beyond the tolerance.
    Pixels {
        /// How many.
        count: usize,
        /// The greatest error of a channel, in 255ths.
        worst: u8,
        /// Where it is.
        at: Point,
        /// Which channel.
        channel: char,
        /// What is there: red, green, blue.
        actual: [u8; 3],
        /// What should be.
        expected: [u8; 3],
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(actual, expected) => {
                write!(f, "the picture is {}x{}, not {}x{}", actual.w, actual.h, expected.w, expected.h)
            }
            Self::Pixels { count, worst, at, channel, actual, expected } => {
                let place = format!("{channel} at ({}, {})", at.x, at.y);
                write!(f, "{count} pixels differ, worst by {worst}/255 in {place}: {actual:?}, not {expected:?}")
            }
        }
    }
}

/// Compares every pixel that `counts`; a channel may be off by `tolerance` 255ths.
pub(crate) fn differences(
    actual: &Pixels,
    expected: &Pixels,
    tolerance: u8,
    counts: impl Fn(Point) -> bool,
) -> Option<Difference> {
    if actual.size != expected.size {
        return Some(Difference::Size(actual.size, expected.size));
    }
    let off = points(actual.size).filter(|&p| counts(p)).filter_map(|p| {
        let (a, e) = (rgb(actual, p), rgb(expected, p));
        let (error, channel) = (0..3).map(|i| (a[i].abs_diff(e[i]), ['R', 'G', 'B'][i])).max_by_key(|c| c.0)?;
        (error > tolerance).then_some((error, channel, p))
    });
    let off: Vec<_> = off.collect();
    let &(worst, channel, at) = off.iter().max_by_key(|o| o.0)?;
    let (actual, expected) = (rgb(actual, at), rgb(expected, at));
    Some(Difference::Pixels { count: off.len(), worst, at, channel, actual, expected })
}

/// A picture of where two of the same size differ: black where they are equal, brighter the more they are not.
pub(crate) fn difference_picture(actual: &Pixels, expected: &Pixels) -> Pixels {
    let louder = |(a, e): (&u8, &u8)| match a.abs_diff(*e) {
        0 => 0,
        d => d.saturating_mul(8).max(64),
    };
    let mut bytes: Vec<u8> = actual.bytes.iter().zip(&expected.bytes).map(louder).collect();
    bytes.iter_mut().skip(3).step_by(4).for_each(|x| *x = 255);
    Pixels { size: actual.size, bytes }
}

/// Where pictures of failures go: `target/screenshots` of the target directory that this test was built in.
pub(crate) fn failures_dir() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    std::fs::create_dir_all(&directory).expect("a directory for pictures");
    directory
}

/// Writes an opaque PNG.
pub(crate) fn write_png(path: &Path, pixels: &Pixels) {
    let file = BufWriter::new(File::create(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
    let mut encoder = png::Encoder::new(file, pixels.size.w as u32, pixels.size.h as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let bytes: Vec<u8> = points(pixels.size).flat_map(|p| rgb(pixels, p)).collect();
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&bytes));
    written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Reads a PNG that [`write_png`] wrote; `None` where there is no such file.
pub(crate) fn read_png(path: &Path) -> Option<Pixels> {
    let file = BufReader::new(File::open(path).ok()?);
    let mut reader = png::Decoder::new(file).read_info().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut bytes = vec![0; reader.output_buffer_size().expect("a picture that fits memory")];
    let info = reader.next_frame(&mut bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight), "{}", path.display());
    let bytes = bytes[..info.buffer_size()].chunks_exact(3).flat_map(|c| [c[2], c[1], c[0], 255]).collect();
    Some(Pixels { size: Size::new(info.width as i32, info.height as i32), bytes })
}
