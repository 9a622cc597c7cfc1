//! Sums of two f32 that stand for one more precise number ("double-f32"): `hi + lo` with |lo| much below |hi|.
//! Source: T. J. Dekker, A floating-point technique for extending the available precision, 1971; Knuth's TwoSum.

use super::machine::fma;

/// The unevaluated sum `hi + lo`.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The leading part.
    pub hi: f32,
    /// The rest.
    pub lo: f32,
}

/// A pair from its parts.
#[inline(always)]
pub fn pair(hi: f32, lo: f32) -> Pair {
    Pair { hi, lo }
}

/// `a + b` exactly, where |a| >= |b| or a = 0.
#[inline(always)]
pub fn fast_two_sum(a: f32, b: f32) -> Pair {
    let hi = a + b;
    pair(hi, b - (hi - a))
}

/// `a + b` exactly.
#[inline(always)]
pub fn two_sum(a: f32, b: f32) -> Pair {
    let hi = a + b;
    let a_part = hi - b;
    let b_part = hi - a_part;
    pair(hi, (a - a_part) + (b - b_part))
}

/// `a * b` exactly (unless it underflows).
#[inline(always)]
pub fn two_product(a: f32, b: f32) -> Pair {
    let hi = a * b;
    pair(hi, fma(a, b, -hi))
}

/// `a * b + c` with the rounding error of the sum in `lo`, where |c| >= |a * b|.
#[inline(always)]
pub fn fma_pair(a: f32, b: f32, c: f32) -> Pair {
    let hi = fma(a, b, c);
    pair(hi, fma(a, b, c - hi))
}

impl Pair {
    /// The same number with `hi` its rounding to f32.
    #[inline(always)]
    pub fn normalized(self) -> Pair {
        fast_two_sum(self.hi, self.lo)
    }

    /// The number rounded to f32.
    #[inline(always)]
    pub fn value(self) -> f32 {
        self.hi + self.lo
    }

    /// `self * other`.
    #[inline(always)]
    pub fn times(self, other: Pair) -> Pair {
        let hi = self.hi * other.hi;
        pair(hi, fma(self.hi, other.hi, -hi) + fma(self.hi, other.lo, self.lo * other.hi))
    }

    /// `self * factor`.
    #[inline(always)]
    pub fn times_f32(self, factor: f32) -> Pair {
        let hi = self.hi * factor;
        pair(hi, fma(self.lo, factor, fma(self.hi, factor, -hi)))
    }

    /// `self * factor`, where that is exact: a power of two.
    #[inline(always)]
    pub fn scaled(self, factor: f32) -> Pair {
        pair(self.hi * factor, self.lo * factor)
    }

    /// `self / denominator`, given 1 / denominator to a relative error of 2^-15 or better.
    #[inline(always)]
    pub fn divided_by(self, denominator: Pair, reciprocal: f32) -> Pair {
        let hi = self.hi * reciprocal;
        let rest = fma(-hi, denominator.lo, fma(-hi, denominator.hi, self.hi)) + self.lo;
        pair(hi, rest * reciprocal)
    }
}
