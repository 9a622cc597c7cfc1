//! [`Fast`]: f32 with approximate instructions. 16-bit activations are computed in it, because their results can't show the
//! difference; for f32 it is an option that has to be asked for by name.

use core::cmp::Ordering;
use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::math::{self, fast};
use crate::{Real, Scalar};

/// An f32 whose functions have relative errors around 2^-16 (see [`math::fast`]); operators other than division, and functions
/// that have no approximate form, are those of f32.
///
/// ```
/// use warpsmith_gpu::activations::Silu;
/// use warpsmith_gpu::{Activation, Fast};
///
/// let (fast, precise) = (Silu.forward(Fast(1.5)).0, Silu.forward(1.5_f32));
/// assert!((fast - precise).abs() <= precise * 1e-4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct Fast(pub f32);

impl From<f32> for Fast {
    #[inline(always)]
    fn from(value: f32) -> Self {
        Self(value)
    }
}

impl From<Fast> for f32 {
    #[inline(always)]
    fn from(value: Fast) -> Self {
        value.0
    }
}

impl Neg for Fast {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        impl $operator for Fast {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self.0, other.0);
                Self($value)
            }
        }

        impl $operator<Scalar> for Fast {
            type Output = Self;
            #[inline(always)]
            fn $method(self, c: Scalar) -> Self {
                self.$method(Self(c.to_f32()))
            }
        }
    )*};
}

operators! {
    Add add |a, b| a + b;
    Sub sub |a, b| a - b;
    Mul mul |a, b| a * b;
    Div div |a, b| fast::divide(a, b);
}

impl PartialEq<Scalar> for Fast {
    #[inline(always)]
    fn eq(&self, other: &Scalar) -> bool {
        self.0 == other.to_f32()
    }
}

impl PartialOrd<Scalar> for Fast {
    #[inline(always)]
    fn partial_cmp(&self, other: &Scalar) -> Option<Ordering> {
        self.0.partial_cmp(&other.to_f32())
    }
    #[inline(always)]
    fn lt(&self, other: &Scalar) -> bool {
        self.0 < other.to_f32()
    }
    #[inline(always)]
    fn le(&self, other: &Scalar) -> bool {
        self.0 <= other.to_f32()
    }
    #[inline(always)]
    fn gt(&self, other: &Scalar) -> bool {
        self.0 > other.to_f32()
    }
    #[inline(always)]
    fn ge(&self, other: &Scalar) -> bool {
        self.0 >= other.to_f32()
    }
}

/// Functions of self, from the module that is named.
macro_rules! functions {
    ($($module:path: $($function:ident)*;)*) => {$($(
        #[inline(always)]
        fn $function(self) -> Self {
            use $module as module;
            Self(module::$function(self.0))
        }
    )*)*};
}

/// Functions of c·self, whose rounding is below their own error.
macro_rules! scaled {
    ($($function:ident = $of_product:ident;)*) => {$(
        #[inline(always)]
        fn $function(self, c: impl Into<Scalar>) -> Self {
            self.scale(c).$of_product()
        }
    )*};
}

impl Real for Fast {
    #[inline(always)]
    fn constant(c: impl Into<Scalar>) -> Self {
        Self(c.into().to_f32())
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
        Self(math::machine::fma(self.0, factor.0, addend.0))
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0.is_nan()
    }
    functions! {
        fast: recip sqrt exp exp_m1 tanh sigmoid sigmoid_derivative softplus normal_cdf exp_neg_square silu_derivative
              gelu_tanh gelu_tanh_derivative gelu_erf gelu_erf_derivative mish mish_derivative;
        math: ln ln_1p erf erfc sin cos;
        math::machine: abs;
    }
    scaled! {
        exp_scaled = exp;
        sigmoid_scaled = sigmoid;
        softplus_scaled = softplus;
        swish_derivative = silu_derivative;
    }
    #[inline(always)]
    fn silu(self) -> Self {
        Self(fast::silu(self.0))
    }
    #[inline(always)]
    fn swish(self, c: impl Into<Scalar>) -> Self {
        Self(fast::swish(self.0, self.scale(c).0))
    }
    #[inline(always)]
    fn sin_scaled(self, c: impl Into<Scalar>) -> Self {
        Self(self.0.sin_scaled(c))
    }
    #[inline(always)]
    fn cos_scaled(self, c: impl Into<Scalar>) -> Self {
        Self(self.0.cos_scaled(c))
    }
}
