//! Brightness and colour difference: what the numbers of a YUV image mean, and the sums that make colours of them.
//!
//! [`Description`] is what a client says of its image, or what is taken where it says nothing; [`Conversion`] is the
//! same as twelve numbers, by which a sample of any depth becomes R'G'B' with three dot products, on a CPU or in a
//! shader. Sources: ITU-T H.273 (MatrixCoefficients, VideoFullRangeFlag, Chroma420SampleLocType), BT.601, BT.709 and
//! BT.2020 (non-constant luminance). Transfer functions and primaries are deliberately absent: what comes out is
//! encoded as what went in. Where the planes lie: `domain::dmabuf`.

use super::dmabuf::PlaneFormat;

/// How much of brightness is red and how much is blue (H.273, MatrixCoefficients).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// 5 and 6: standard definition.
    #[default]
    Bt601,
    /// 1: high definition.
    Bt709,
    /// 9: ultra high definition.
    Bt2020,
}

impl Matrix {
    /// The parts of red and of blue; what is left is green.
    const fn weights(self) -> (f64, f64) {
        match self {
            Self::Bt601 => (0.299, 0.114),
            Self::Bt709 => (0.2126, 0.0722),
            Self::Bt2020 => (0.2627, 0.0593),
        }
    }
}

/// Which numbers stand for black and for white (H.273, VideoFullRangeFlag).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Range {
    /// Of 8 bits, 16 to 235 for brightness and 16 to 240 for colour difference.
    #[default]
    Limited,
    /// All of them.
    Full,
}

/// Where samples of halved colour lie between those of brightness (H.273, Chroma420SampleLocType). An axis that is not
/// halved has none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Siting {
    /// 0: on the left column, between the rows. What MPEG-2 and its successors take where nothing is said.
    #[default]
    Left,
    /// 1: between columns and rows (JPEG, MPEG-1).
    Center,
    /// 2: on the left column and the upper row.
    TopLeft,
    /// 3: between the columns, on the upper row.
    Top,
    /// 4: on the left column and the lower row.
    BottomLeft,
    /// 5: between the columns, on the lower row.
    Bottom,
}

impl Siting {
    /// What to add to half a position to find it among the samples of colour, in those, across and down.
    pub const fn shift(self) -> [f32; 2] {
        match self {
            Self::Left => [0.25, 0.0],
            Self::Center => [0.0, 0.0],
            Self::TopLeft => [0.25, 0.25],
            Self::Top => [0.0, 0.25],
            Self::BottomLeft => [0.25, -0.25],
            Self::Bottom => [0.0, -0.25],
        }
    }

    /// The place in `plane` of a place in the image, both in texels with centres at a half.
    pub fn texel(self, plane: PlaneFormat, [x, y]: [f32; 2]) -> [f32; 2] {
        let [across, down] = self.shift();
        let on = |at: f32, step: u32, shift: f32| if step == 2 { at / 2.0 + shift } else { at };
        [on(x, plane.across, across), on(y, plane.down, down)]
    }
}

/// What a YUV image's numbers mean. The default is what is taken where a client says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Description {
    /// The parts of brightness.
    pub matrix: Matrix,
    /// Black and white.
    pub range: Range,
    /// Where samples of colour lie.
    pub siting: Siting,
}

/// How a sample is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// A byte.
    Eight,
    /// The upper ten bits of two bytes; the others are zero.
    TenOfSixteen,
}

/// R', G' and B' of samples (Y, Cb, Cr, 1), each row one of them; samples as a unorm image of their storage gives them,
/// 0.0 to 1.0. What comes out may lie outside 0.0 to 1.0 and is clamped by who uses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion(pub [[f32; 4]; 3]);

impl Conversion {
    /// For samples of `depth`.
    pub fn new(matrix: Matrix, range: Range, depth: Depth) -> Self {
        // Codes that a sample of 1.0 is, and the codes of eight bits by which a code of this depth is counted.
        let (bits, codes) = match depth {
            Depth::Eight => (8, 255.0),
            Depth::TenOfSixteen => (10, 65535.0 / 64.0),
        };
        let finer = f64::from(1_u32 << (bits - 8));
        let top = f64::from((1_u32 << bits) - 1);
        let (black, luma, chroma) = match range {
            Range::Limited => (16.0 * finer, 219.0 * finer, 224.0 * finer),
            Range::Full => (0.0, top, top),
        };
        let middle = 128.0 * finer;
        let (r, b) = matrix.weights();
        let g = 1.0 - r - b;
        let (red, blue) = (2.0 * (1.0 - r), 2.0 * (1.0 - b));
        let row = |cb: f64, cr: f64| {
            let constant = -black / luma - middle * (cb + cr) / chroma;
            [codes / luma, cb * codes / chroma, cr * codes / chroma, constant].map(|one| one as f32)
        };
        Self([row(0.0, red), row(-blue * b / g, -red * r / g), row(blue, 0.0)])
    }

    /// The colour of one sample, not clamped.
    pub fn rgb(&self, [y, cb, cr]: [f32; 3]) -> [f32; 3] {
        self.0.map(|row| row[0] * y + row[1] * cb + row[2] * cr + row[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRICES: [Matrix; 3] = [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020];

    fn near(have: [f32; 3], want: [f32; 3], off: f32) -> bool {
        have.iter().zip(want).all(|(have, want)| (have.clamp(0.0, 1.0) - want).abs() <= off)
    }

    #[test]
    fn conversion_of_test_bar_colours_gives_those_of_the_standards_tables() {
        let bytes = |matrix, range, yuv: [u8; 3]| {
            Conversion::new(matrix, range, Depth::Eight).rgb(yuv.map(|byte| f32::from(byte) / 255.0))
        };
        let off = 1.5 / 255.0;
        assert!(near(bytes(Matrix::Bt601, Range::Limited, [81, 90, 240]), [1.0, 0.0, 0.0], off));
        assert!(near(bytes(Matrix::Bt601, Range::Limited, [145, 54, 34]), [0.0, 1.0, 0.0], off));
        assert!(near(bytes(Matrix::Bt601, Range::Full, [76, 85, 255]), [1.0, 0.0, 0.0], off));
        assert!(near(bytes(Matrix::Bt709, Range::Limited, [63, 102, 240]), [1.0, 0.0, 0.0], off));
        assert!(near(bytes(Matrix::Bt709, Range::Limited, [32, 240, 118]), [0.0, 0.0, 1.0], off));
        let ten = Conversion::new(Matrix::Bt2020, Range::Limited, Depth::TenOfSixteen);
        let word = |code: u16| f32::from(code << 6) / 65535.0;
        assert!(near(ten.rgb([940, 512, 512].map(word)), [1.0; 3], 1e-5));
        assert!(near(ten.rgb([64, 512, 512].map(word)), [0.0; 3], 1e-5));
        assert!(near(ten.rgb([294, 387, 960].map(word)), [1.0, 0.0, 0.0], 1.5 / 1023.0));
    }

    /// The standards' own direction, colours to codes, written apart from what it checks.
    fn codes(matrix: Matrix, range: Range, bits: u32, [r, g, b]: [f64; 3]) -> [f64; 3] {
        let (kr, kb) = matrix.weights();
        let y = kr * r + (1.0 - kr - kb) * g + kb * b;
        let (cb, cr) = ((b - y) / (1.0 - kb) / 2.0, (r - y) / (1.0 - kr) / 2.0);
        let (unit, top) = (f64::from(bits - 8).exp2(), f64::from(bits).exp2() - 1.0);
        match range {
            Range::Limited => {
                [219.0 * y + 16.0, 224.0 * cb + 128.0, 224.0 * cr + 128.0].map(|one| (one * unit).round())
            }
            Range::Full => [top * y, top * cb + 128.0 * unit, top * cr + 128.0 * unit].map(|one| one.round().min(top)),
        }
    }

    #[test]
    fn conversion_undoes_the_standards_equations_for_each_matrix_range_and_depth() {
        for (matrix, range) in MATRICES.into_iter().flat_map(|m| [(m, Range::Limited), (m, Range::Full)]) {
            for step in 0..125_u32 {
                let rgb = [step % 5, step / 5 % 5, step / 25].map(|part| f64::from(part) / 4.0);
                let want = rgb.map(|one| one as f32);
                let eight = codes(matrix, range, 8, rgb).map(|code| (code / 255.0) as f32);
                let have = Conversion::new(matrix, range, Depth::Eight).rgb(eight);
                assert!(near(have, want, 2.0 / 255.0), "{matrix:?} {range:?} {rgb:?}: {have:?}");
                let ten = codes(matrix, range, 10, rgb).map(|code| (code * 64.0 / 65535.0) as f32);
                let have = Conversion::new(matrix, range, Depth::TenOfSixteen).rgb(ten);
                assert!(near(have, want, 2.0 / 1023.0), "{matrix:?} {range:?} of ten bits {rgb:?}: {have:?}");
            }
        }
    }

    #[test]
    fn siting_puts_the_centre_of_a_colour_sample_on_its_place_among_those_of_brightness() {
        let halved = PlaneFormat { texel_bytes: 2, across: 2, down: 2 };
        // Sample (1, 1) covers columns and rows 2 and 3, whose centres are 2.5 and 3.5.
        for (siting, place) in [
            (Siting::Left, [2.5, 3.0]),
            (Siting::Center, [3.0, 3.0]),
            (Siting::TopLeft, [2.5, 2.5]),
            (Siting::Top, [3.0, 2.5]),
            (Siting::BottomLeft, [2.5, 3.5]),
            (Siting::Bottom, [3.0, 3.5]),
        ] {
            assert_eq!(siting.texel(halved, place), [1.5, 1.5], "{siting:?}");
        }
        let rows_kept = PlaneFormat { down: 1, ..halved };
        assert_eq!(Siting::TopLeft.texel(rows_kept, [2.5, 2.5]), [1.5, 2.5]);
    }
}
