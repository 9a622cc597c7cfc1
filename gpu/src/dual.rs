//! [`Dual`]: a value and its derivative, which every operation carries along (forward-mode automatic differentiation).
//!
//! (a + a'ε)(b + b'ε) = ab + (a'b + ab')ε with ε² = 0; Clifford 1873. Dual numbers nest: the derivative part of
//! `Dual<Dual<f32>>` holds second derivatives.

use core::cmp::Ordering;
use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::{Real, Scalar};

/// A value with its derivative.
///
/// `GUARDED` numbers treat a derivative of exactly 0 as the absence of a dependence: 0 times any factor is then 0, also if
/// the factor is infinite. Gradients with respect to parameters use them, because there the input is a number that doesn't
/// depend on the parameter. Unguarded numbers are shorter by a select for each product.
///
/// ```
/// use warpsmith_gpu::Dual;
///
/// let x = Dual::<f64>::variable(3.0);
/// let y = x * x * x;
/// assert_eq!((y.value, y.derivative), (27.0, 27.0)); // x³ and 3x²
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dual<R, const GUARDED: bool = false> {
    /// The value.
    pub value: R,
    /// The derivative of the value.
    pub derivative: R,
}

impl<R: Real, const GUARDED: bool> Dual<R, GUARDED> {
    /// A value with a known derivative.
    #[inline(always)]
    pub fn new(value: R, derivative: R) -> Self {
        Self { value, derivative }
    }

    /// What the derivative is taken with respect to.
    #[inline(always)]
    pub fn variable(value: R) -> Self {
        Self::new(value, R::constant(1.0))
    }

    /// A value that doesn't depend on the variable.
    #[inline(always)]
    pub fn independent(value: R) -> Self {
        Self::new(value, R::constant(0.0))
    }

    /// f(self), given f's value and slope here.
    #[inline(always)]
    pub(crate) fn chain(self, value: R, slope: R) -> Self {
        Self::new(value, Self::times(self.derivative, slope))
    }

    /// A derivative times a factor.
    #[inline(always)]
    pub(crate) fn times(derivative: R, factor: R) -> R {
        if GUARDED {
            R::select(derivative == Scalar::new(0.0), R::constant(0.0), derivative * factor)
        } else {
            derivative * factor
        }
    }
}

impl<R: PartialEq, const GUARDED: bool> PartialEq for Dual<R, GUARDED> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<R: PartialOrd, const GUARDED: bool> PartialOrd for Dual<R, GUARDED> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
    #[inline(always)]
    fn lt(&self, other: &Self) -> bool {
        self.value < other.value
    }
    #[inline(always)]
    fn le(&self, other: &Self) -> bool {
        self.value <= other.value
    }
    #[inline(always)]
    fn gt(&self, other: &Self) -> bool {
        self.value > other.value
    }
    #[inline(always)]
    fn ge(&self, other: &Self) -> bool {
        self.value >= other.value
    }
}

impl<R: Real, const GUARDED: bool> PartialEq<Scalar> for Dual<R, GUARDED> {
    #[inline(always)]
    fn eq(&self, other: &Scalar) -> bool {
        self.value == *other
    }
}

impl<R: Real, const GUARDED: bool> PartialOrd<Scalar> for Dual<R, GUARDED> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Scalar) -> Option<Ordering> {
        self.value.partial_cmp(other)
    }
    #[inline(always)]
    fn lt(&self, other: &Scalar) -> bool {
        self.value < *other
    }
    #[inline(always)]
    fn le(&self, other: &Scalar) -> bool {
        self.value <= *other
    }
    #[inline(always)]
    fn gt(&self, other: &Scalar) -> bool {
        self.value > *other
    }
    #[inline(always)]
    fn ge(&self, other: &Scalar) -> bool {
        self.value >= *other
    }
}

impl<R: Real, const GUARDED: bool> Neg for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.value, -self.derivative)
    }
}

impl<R: Real, const GUARDED: bool> Add for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.value + other.value, self.derivative + other.derivative)
    }
}

impl<R: Real, const GUARDED: bool> Sub for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.value - other.value, self.derivative - other.derivative)
    }
}

impl<R: Real, const GUARDED: bool> Mul for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let derivative = if GUARDED {
            Self::times(self.derivative, other.value) + Self::times(other.derivative, self.value)
        } else {
            self.derivative.mul_add(other.value, self.value * other.derivative)
        };
        Self::new(self.value * other.value, derivative)
    }
}

impl<R: Real, const GUARDED: bool> Div for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        let derivative = (self.derivative - Self::times(other.derivative, quotient)) / other.value;
        Self::new(quotient, derivative)
    }
}

impl<R: Real, const GUARDED: bool> Add<Scalar> for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn add(self, c: Scalar) -> Self {
        self.shift(c)
    }
}

impl<R: Real, const GUARDED: bool> Sub<Scalar> for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, c: Scalar) -> Self {
        self.shift(-c)
    }
}

impl<R: Real, const GUARDED: bool> Mul<Scalar> for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, c: Scalar) -> Self {
        self.scale(c)
    }
}

impl<R: Real, const GUARDED: bool> Div<Scalar> for Dual<R, GUARDED> {
    type Output = Self;
    #[inline(always)]
    fn div(self, c: Scalar) -> Self {
        Self::new(self.value / c, self.derivative / c)
    }
}
