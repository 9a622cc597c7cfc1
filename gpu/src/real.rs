//! [`Real`]: the numbers that an activation is generic over, and their functions for f32 and f64.
//!
//! `f32` and `f64` are precise: f32 functions come from [`math`](crate::math), which uses correctly rounded operations only,
//! so that a GPU and a CPU give the same bits. [`Dual`](crate::Dual) carries a derivative along.

use core::cmp::Ordering;
use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::math;
use crate::{Dual, Scalar};

/// A real number: `f32`, `f64`, or a dual number over one of them.
///
/// Operators and functions follow IEEE 754: NaN propagates, infinities give limits. Comparisons look at values only, not at
/// derivatives. [`Scalar`] operands are constants and plain parameters.
///
/// In code that is *not* generic, `x.exp()` on an `f32` is the standard library's function, whose bits differ from machine
/// to machine: there call [`math::exp`](crate::math::exp) or `Real::exp(x)`.
///
/// ```
/// use warpsmith_gpu::{Dual, Real};
///
/// fn softcap<R: Real>(x: R) -> R {
///     (x.scale(0.1)).tanh().scale(10.0)
/// }
///
/// assert!((softcap(3.0_f64) - 10.0 * 0.3_f64.tanh()).abs() < 1e-14);
/// assert_eq!(softcap(Dual::<f32>::variable(0.0)).derivative, 1.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no real number",
    label = "`Real` is not implemented for it",
    note = "real numbers are `f32`, `f64`, `Fast` and `Dual` of these; `f16` and `bf16` are storage, computed in `f32`",
    note = "a constant `c` in generic code is `R::constant(c)`; `x.scale(c)` and `x.shift(c)` need none"
)]
pub trait Real:
    Copy
    + Debug
    + PartialOrd
    + PartialOrd<Scalar>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<Scalar, Output = Self>
    + Sub<Scalar, Output = Self>
    + Mul<Scalar, Output = Self>
    + Div<Scalar, Output = Self>
    + 'static
{
    /// The constant `c`. Prefer [`scale`](Self::scale) and [`shift`](Self::shift): see [`Scalar`].
    fn constant(c: impl Into<Scalar>) -> Self;
    /// `c` * self.
    fn scale(self, c: impl Into<Scalar>) -> Self;
    /// self + `c`.
    fn shift(self, c: impl Into<Scalar>) -> Self;
    /// self * `factor` + `addend` with one rounding.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// Whether the value is NaN.
    fn is_nan(self) -> bool;
    /// |self|; the derivative at 0 is 0.
    fn abs(self) -> Self;
    /// 1 / self.
    fn recip(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// eˣ.
    fn exp(self) -> Self;
    /// eˣ - 1, accurate near 0.
    fn exp_m1(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// ln(1 + x), accurate near 0.
    fn ln_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// 1 / (1 + e⁻ˣ), with relative accuracy in the lower tail.
    fn sigmoid(self) -> Self;
    /// The derivative of [`sigmoid`](Self::sigmoid), σ(x)·σ(-x).
    #[inline(always)]
    fn sigmoid_derivative(self) -> Self {
        self.sigmoid() * (-self).sigmoid()
    }
    /// The derivative of [`tanh`](Self::tanh), 4·σ(2x)·σ(-2x), which keeps relative accuracy where tanh is near ±1.
    #[inline(always)]
    fn tanh_derivative(self) -> Self {
        self.scale(2.0).sigmoid_derivative().scale(4.0)
    }
    /// ln(1 + eˣ), without overflow and with relative accuracy in the lower tail.
    fn softplus(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// 1 - erf(x), with relative accuracy in the upper tail.
    fn erfc(self) -> Self;
    /// The normal distribution function Φ(x) = erfc(-x / √2) / 2, with relative accuracy in the lower tail.
    fn normal_cdf(self) -> Self;
    /// exp(-x²), with relative accuracy in the tails.
    fn exp_neg_square(self) -> Self;
    /// The derivative of [`exp_neg_square`](Self::exp_neg_square), -2x·exp(-x²).
    #[inline(always)]
    fn exp_neg_square_derivative(self) -> Self {
        // inf * 0 at the infinities, where the limit is 0.
        let y = self.exp_neg_square();
        Self::select(y == Scalar::new(0.0), y, (self * y).scale(-2.0))
    }
    /// The sine, for every finite argument.
    fn sin(self) -> Self;
    /// The cosine, for every finite argument.
    fn cos(self) -> Self;

    /// exp(c·x); unlike `x.scale(c).exp()` it doesn't suffer from the product's rounding. So do the other `_scaled`.
    fn exp_scaled(self, c: impl Into<Scalar>) -> Self;
    /// σ(c·x).
    fn sigmoid_scaled(self, c: impl Into<Scalar>) -> Self;
    /// ln(1 + exp(c·x)).
    fn softplus_scaled(self, c: impl Into<Scalar>) -> Self;
    /// sin(c·x). An angle that overflows is limited to the largest number.
    fn sin_scaled(self, c: impl Into<Scalar>) -> Self;
    /// cos(c·x). An angle that overflows is limited to the largest number.
    fn cos_scaled(self, c: impl Into<Scalar>) -> Self;
    /// x·σ(c·x).
    fn swish(self, c: impl Into<Scalar>) -> Self;
    /// The derivative of [`swish`](Self::swish), σ(c·x)·(1 + c·x·σ(-c·x)).
    #[inline(always)]
    fn swish_derivative(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        self.sigmoid_scaled(c) * (self.scale(c).clamp(-TAIL, TAIL) * self.sigmoid_scaled(-c)).shift(1.0)
    }

    /// `a` where `condition` holds, else `b`; compiles to a select, not to a branch.
    #[inline(always)]
    fn select(condition: bool, a: Self, b: Self) -> Self {
        if condition { a } else { b }
    }

    /// x².
    #[inline(always)]
    fn squared(self) -> Self {
        self * self
    }

    /// xⁿ by repeated squaring.
    #[inline(always)]
    fn powi(self, n: i32) -> Self {
        let (mut result, mut base, mut left) = (Self::constant(1.0), self, n.unsigned_abs());
        while left > 0 {
            if left & 1 == 1 {
                result = result * base;
            }
            left >>= 1;
            if left > 0 {
                base = base * base;
            }
        }
        if n < 0 { result.recip() } else { result }
    }

    /// The larger of self and `c`. NaN stays NaN; where they are equal the result is `c`, so the derivative is 0.
    #[inline(always)]
    fn max(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        Self::select(self <= c, Self::constant(c), self)
    }

    /// The smaller of self and `c`. NaN stays NaN; where they are equal the result is `c`, so the derivative is 0.
    #[inline(always)]
    fn min(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        Self::select(self >= c, Self::constant(c), self)
    }

    /// Limited to `low..=high`. NaN stays NaN; the derivative at the limits is 0.
    #[inline(always)]
    fn clamp(self, low: impl Into<Scalar>, high: impl Into<Scalar>) -> Self {
        self.max(low).min(high)
    }

    /// x·σ(x), known as SiLU or Swish.
    #[inline(always)]
    fn silu(self) -> Self {
        let x = self.max(-TAIL);
        Self::select(self >= Scalar::new(-TAIL), self, x) * x.sigmoid()
    }

    /// The derivative of [`silu`](Self::silu): σ(x)·(1 + x·σ(-x)).
    #[inline(always)]
    fn silu_derivative(self) -> Self {
        let x = self.clamp(-TAIL, TAIL);
        x.sigmoid() * (x * (-x).sigmoid()).shift(1.0)
    }

    /// GELU by the tanh formula, x·σ(2u) with u = √(2/π)·(x + 0.044715·x³); Hendrycks and Gimpel, arXiv:1606.08415.
    #[inline(always)]
    fn gelu_tanh(self) -> Self {
        let x = self.max(-GELU_TAIL);
        let u = (x * x.squared()).scale(GELU_CUBE).shift_by(x).scale(2.0 * SQRT_2_OVER_PI);
        Self::select(self >= Scalar::new(-GELU_TAIL), self, x) * u.sigmoid()
    }

    /// The derivative of [`gelu_tanh`](Self::gelu_tanh): σ(2u)·(1 + x·σ(-2u)·2u').
    #[inline(always)]
    fn gelu_tanh_derivative(self) -> Self {
        let x = self.clamp(-GELU_TAIL, GELU_TAIL);
        let u = (x * x.squared()).scale(GELU_CUBE).shift_by(x).scale(2.0 * SQRT_2_OVER_PI);
        let slope = x.squared().scale(3.0 * GELU_CUBE).shift(1.0).scale(2.0 * SQRT_2_OVER_PI);
        u.sigmoid() * (x * (-u).sigmoid() * slope).shift(1.0)
    }

    /// GELU, x·Φ(x); Hendrycks and Gimpel, arXiv:1606.08415.
    #[inline(always)]
    fn gelu_erf(self) -> Self {
        let x = self.max(-NORMAL_TAIL);
        Self::select(self >= Scalar::new(-NORMAL_TAIL), self, x) * x.normal_cdf()
    }

    /// The derivative of [`gelu_erf`](Self::gelu_erf): Φ(x) + x·exp(-x²/2)/√(2π).
    #[inline(always)]
    fn gelu_erf_derivative(self) -> Self {
        let x = self.clamp(-NORMAL_TAIL, NORMAL_TAIL);
        let density = x.scale(core::f64::consts::FRAC_1_SQRT_2).exp_neg_square().scale(ONE_OVER_SQRT_2_PI);
        x.normal_cdf() + x * density
    }

    /// x·tanh(ln(1 + eˣ)).
    #[inline(always)]
    fn mish(self) -> Self {
        let x = self.max(-TAIL);
        Self::select(self >= Scalar::new(-TAIL), self, x) * x.softplus().tanh()
    }

    /// The derivative of [`mish`](Self::mish): tanh(s) + x·σ(x)·(1 - tanh²(s)) with s = ln(1 + eˣ), where 1 - tanh²(s) =
    /// 4·σ(2s)·σ(-2s).
    #[inline(always)]
    fn mish_derivative(self) -> Self {
        let x = self.clamp(-TAIL, TAIL);
        let s = x.softplus();
        let twice = s.scale(2.0);
        s.tanh() + (x * x.sigmoid()) * (twice.sigmoid() * (-twice).sigmoid()).scale(4.0)
    }

    /// self + `other`; reads better at the end of a chain.
    #[doc(hidden)]
    #[inline(always)]
    fn shift_by(self, other: Self) -> Self {
        self + other
    }
}

/// Beyond it σ is 0 or 1 in f64: e⁻⁸⁰⁰ underflows.
const TAIL: f64 = 800.0;
/// Beyond it 2u of `gelu_tanh` exceeds [`TAIL`].
const GELU_TAIL: f64 = 24.0;
/// Beyond it x·Φ(-x) and x·exp(-x²/2) are 0 in f64.
const NORMAL_TAIL: f64 = 40.0;
const GELU_CUBE: f64 = 0.044715;
/// √(2/π)
const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;

macro_rules! scalar_operators {
    ($($float:ident)*) => {$(
        scalar_operators!(@ $float Add add +);
        scalar_operators!(@ $float Sub sub -);
        scalar_operators!(@ $float Mul mul *);
        scalar_operators!(@ $float Div div /);

        impl PartialEq<Scalar> for $float {
            #[inline(always)]
            fn eq(&self, other: &Scalar) -> bool {
                *self == other.to_f64() as $float
            }
        }

        impl PartialOrd<Scalar> for $float {
            #[inline(always)]
            fn partial_cmp(&self, other: &Scalar) -> Option<Ordering> {
                self.partial_cmp(&(other.to_f64() as $float))
            }
            #[inline(always)]
            fn lt(&self, other: &Scalar) -> bool {
                *self < other.to_f64() as $float
            }
            #[inline(always)]
            fn le(&self, other: &Scalar) -> bool {
                *self <= other.to_f64() as $float
            }
            #[inline(always)]
            fn gt(&self, other: &Scalar) -> bool {
                *self > other.to_f64() as $float
            }
            #[inline(always)]
            fn ge(&self, other: &Scalar) -> bool {
                *self >= other.to_f64() as $float
            }
        }
    )*};
    (@ $float:ident $operator:ident $method:ident $token:tt) => {
        impl $operator<Scalar> for $float {
            type Output = Self;
            #[inline(always)]
            fn $method(self, c: Scalar) -> Self {
                self $token c.to_f64() as $float
            }
        }
    };
}
scalar_operators!(f32 f64);

macro_rules! real {
    ($float:ident, $math:path, $fma:path) => {
        impl Real for $float {
            #[inline(always)]
            fn constant(c: impl Into<Scalar>) -> Self {
                c.into().to_f64() as $float
            }
            #[inline(always)]
            fn scale(self, c: impl Into<Scalar>) -> Self {
                self * c.into()
            }
            #[inline(always)]
            fn shift(self, c: impl Into<Scalar>) -> Self {
                self + c.into()
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                $fma(self, factor, addend)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $float::is_nan(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }
            #[inline(always)]
            fn recip(self) -> Self {
                1.0 / self
            }
            real!(@functions $math; sqrt exp exp_m1 ln ln_1p tanh sigmoid softplus erf erfc normal_cdf exp_neg_square
                  exp_neg_square_derivative sigmoid_derivative tanh_derivative sin cos silu silu_derivative gelu_tanh gelu_tanh_derivative gelu_erf
                  gelu_erf_derivative mish mish_derivative);
            real!(@scaled $math; exp_scaled exp_hilo, sigmoid_scaled sigmoid_hilo, softplus_scaled softplus_hilo,
                  sin_scaled sin_hilo, cos_scaled cos_hilo, swish_derivative silu_derivative_hilo);
            #[inline(always)]
            fn swish(self, c: impl Into<Scalar>) -> Self {
                use $math as math;
                let (hi, lo) = math::product(self, c.into().to_f64());
                math::swish(self, hi, lo)
            }
        }
    };
    (@scaled $math:path; $($function:ident $of_pair:ident),*) => {$(
        #[inline(always)]
        fn $function(self, c: impl Into<Scalar>) -> Self {
            use $math as math;
            let (hi, lo) = math::product(self, c.into().to_f64());
            math::$of_pair(hi, lo)
        }
    )*};
    (@functions $math:path; $($function:ident)*) => {$(
        #[inline(always)]
        fn $function(self) -> Self {
            use $math as math;
            math::$function(self)
        }
    )*};
}
real!(f32, crate::math, math::machine::fma);
real!(f64, crate::math::f64, math::machine::fma_f64);

/// Functions of dual numbers: value and derivative rule side by side. `(x, d)` are the argument and its derivative.
impl<R: Real, const GUARDED: bool> Real for Dual<R, GUARDED> {
    #[inline(always)]
    fn constant(c: impl Into<Scalar>) -> Self {
        Self::new(R::constant(c), R::constant(0.0))
    }
    #[inline(always)]
    fn scale(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        Self::new(self.value.scale(c), self.derivative.scale(c))
    }
    #[inline(always)]
    fn shift(self, c: impl Into<Scalar>) -> Self {
        Self::new(self.value.shift(c), self.derivative)
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        let value = self.value.mul_add(factor.value, addend.value);
        let product = Self::times(self.derivative, factor.value) + Self::times(factor.derivative, self.value);
        Self::new(value, product + addend.derivative)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.value.is_nan()
    }
    #[inline(always)]
    fn abs(self) -> Self {
        let Self { value: x, derivative: d } = self;
        let positive = x > Scalar::new(0.0);
        let negative = x < Scalar::new(0.0);
        Self::new(x.abs(), R::select(positive, d, R::select(negative, -d, R::constant(0.0))))
    }
    #[inline(always)]
    fn recip(self) -> Self {
        let y = self.value.recip();
        self.chain(y, -y.squared())
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let y = self.value.sqrt();
        self.chain(y, y.recip().scale(0.5))
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let y = self.value.exp();
        self.chain(y, y)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        self.chain(self.value.exp_m1(), self.value.exp())
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), self.value.recip())
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        self.chain(self.value.ln_1p(), self.value.shift(1.0).recip())
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        self.chain(self.value.tanh(), self.value.tanh_derivative())
    }
    #[inline(always)]
    fn sigmoid(self) -> Self {
        self.chain(self.value.sigmoid(), self.value.sigmoid_derivative())
    }
    #[inline(always)]
    fn softplus(self) -> Self {
        self.chain(self.value.softplus(), self.value.sigmoid())
    }
    #[inline(always)]
    fn erf(self) -> Self {
        self.chain(self.value.erf(), self.value.exp_neg_square().scale(TWO_OVER_SQRT_PI))
    }
    #[inline(always)]
    fn erfc(self) -> Self {
        self.chain(self.value.erfc(), self.value.exp_neg_square().scale(-TWO_OVER_SQRT_PI))
    }
    #[inline(always)]
    fn normal_cdf(self) -> Self {
        // The density exp(-x²/2) / √(2π).
        let density = self.value.scale(core::f64::consts::FRAC_1_SQRT_2).exp_neg_square().scale(ONE_OVER_SQRT_2_PI);
        self.chain(self.value.normal_cdf(), density)
    }
    #[inline(always)]
    fn exp_neg_square(self) -> Self {
        self.chain(self.value.exp_neg_square(), self.value.exp_neg_square_derivative())
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.chain(self.value.sin(), self.value.cos())
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.chain(self.value.cos(), -self.value.sin())
    }
    #[inline(always)]
    fn exp_scaled(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        let y = self.value.exp_scaled(c);
        self.chain(y, y.scale(c))
    }
    #[inline(always)]
    fn sigmoid_scaled(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        let y = self.value.sigmoid_scaled(c);
        self.chain(y, (y * self.value.sigmoid_scaled(-c)).scale(c))
    }
    #[inline(always)]
    fn softplus_scaled(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        self.chain(self.value.softplus_scaled(c), self.value.sigmoid_scaled(c).scale(c))
    }
    #[inline(always)]
    fn sin_scaled(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        self.chain(self.value.sin_scaled(c), self.value.cos_scaled(c).scale(c))
    }
    #[inline(always)]
    fn cos_scaled(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        self.chain(self.value.cos_scaled(c), self.value.sin_scaled(c).scale(-c))
    }
    #[inline(always)]
    fn swish(self, c: impl Into<Scalar>) -> Self {
        let c = c.into();
        self.chain(self.value.swish(c), self.value.swish_derivative(c))
    }
    #[inline(always)]
    fn gelu_erf(self) -> Self {
        self.chain(self.value.gelu_erf(), self.value.gelu_erf_derivative())
    }
    #[inline(always)]
    fn mish(self) -> Self {
        self.chain(self.value.mish(), self.value.mish_derivative())
    }
    #[inline(always)]
    fn silu(self) -> Self {
        self.chain(self.value.silu(), self.value.silu_derivative())
    }
    #[inline(always)]
    fn gelu_tanh(self) -> Self {
        self.chain(self.value.gelu_tanh(), self.value.gelu_tanh_derivative())
    }
}

/// 2/√π
const TWO_OVER_SQRT_PI: f64 = core::f64::consts::FRAC_2_SQRT_PI;
/// 1/√(2π)
const ONE_OVER_SQRT_2_PI: f64 = 0.398_942_280_401_432_7;
