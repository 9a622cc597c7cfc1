//! [`Scalar`]: a constant or a plain parameter as it enters a formula.
//!
//! A constant lifted to a dual number has the derivative 0, and 0 * inf is NaN: the derivative of `0.5 * f(x)` would be NaN
//! wherever f(x) is infinite. A `Scalar` is never lifted. It scales value and derivative alike, or shifts the value alone.

use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::Real;

/// A number that no derivative is taken with respect to. Held in f64, so that f64 formulas keep all digits; for f32 formulas
/// the compiler folds the conversions away.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Scalar(f64);

impl Scalar {
    /// The constant `value`.
    #[inline(always)]
    pub const fn new(value: f64) -> Self {
        Self(value)
    }

    /// In double precision.
    #[inline(always)]
    pub fn to_f64(self) -> f64 {
        self.0
    }

    /// In single precision.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        self.0 as f32
    }

    /// 1 / self.
    #[inline(always)]
    pub fn recip(self) -> Self {
        Self(1.0 / self.0)
    }

    /// self².
    #[inline(always)]
    pub fn squared(self) -> Self {
        Self(self.0 * self.0)
    }
}

impl From<f32> for Scalar {
    #[inline(always)]
    fn from(value: f32) -> Self {
        Self(f64::from(value))
    }
}

impl From<f64> for Scalar {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl Neg for Scalar {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $token:tt |$scalar:ident, $real:ident| $mixed:expr;)*) => {$(
        impl $operator for Scalar {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0 $token other.0)
            }
        }

        impl<R: Real> $operator<R> for Scalar {
            type Output = R;
            #[inline(always)]
            fn $method(self, $real: R) -> R {
                let $scalar = self;
                $mixed
            }
        }
    )*};
}

operators! {
    Add add + |c, x| x.shift(c);
    Sub sub - |c, x| (-x).shift(c);
    Mul mul * |c, x| x.scale(c);
    Div div / |c, x| x.recip().scale(c);
}
