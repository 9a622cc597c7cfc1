//! How exact an activation is: forward and derivative, in any storage type and way of computing, against its own f64 form.
//!
//! Hazard: near a root a result has no relative accuracy to speak of; there the error counts in units of the last place of
//! the largest term that the result is the sum of.

use core::fmt;

use cuda_std::DeviceCopy;

#[cfg(not(target_os = "cuda"))]
use crate::activations::Any;
use crate::{Activation, Element, Real, bf16, f16};

/// A storage type whose last places are counted.
pub trait Digits: Element<Compute = f32> {
    /// Binary digits after the leading one.
    const DIGITS: i32;
    /// Exponents of the least normal and of the largest number.
    const EXPONENTS: (i32, i32);

    /// The spacing of numbers at `x`; never below the least subnormal's.
    fn spacing(x: f64) -> f64 {
        let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let exponent = exponent.clamp(Self::EXPONENTS.0, Self::EXPONENTS.1) - Self::DIGITS;
        f64::from_bits(((exponent + 1023) as u64) << 52)
    }

    /// The distance to the exact value in units of the spacing at it, or at `term` where that is larger. Infinity counts as the
    /// number after the largest. Two NaNs agree; one NaN is an infinite error.
    fn ulp(self, want: f64, term: f64) -> f64 {
        let got = f64::from(self.load());
        if got.is_nan() || want.is_nan() {
            return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
        }
        let end = f64::from_bits(((Self::EXPONENTS.1 + 1 + 1023) as u64) << 52);
        let (got, want) = (got.clamp(-end, end), want.clamp(-end, end));
        (got - want).abs() / Self::spacing(want.abs().max(term.abs()))
    }
}

macro_rules! digits {
    ($($element:ident: $digits:literal, $exponents:expr;)*) => {$(
        impl Digits for $element {
            const DIGITS: i32 = $digits;
            const EXPONENTS: (i32, i32) = $exponents;
        }
    )*};
}
digits! {
    f32: 23, (-126, 127);
    f16: 10, (-14, 15);
    bf16: 7, (-126, 127);
}

/// The largest error of a function, and where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// The error in units in the last place of the result, or of the largest term where that is larger; negative before the
    /// first measurement.
    pub ulp: f64,
    /// The argument.
    pub at: f32,
    /// The result.
    pub got: f32,
    /// The f64 result.
    pub want: f64,
}

impl Worst {
    const NONE: Self = Self { ulp: -1.0, at: 0.0, got: 0.0, want: 0.0 };

    fn larger(self, other: Self) -> Self {
        if other.ulp > self.ulp { other } else { self }
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { ulp, at, got, want } = self;
        write!(f, "{ulp:.2} ulp at {at:e}: {got:e} instead of {want:e}")
    }
}

/// The accuracy of an activation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Of f(x), in ulp of the result.
    pub forward: Worst,
    /// Of f'(x), in ulp of the result.
    pub derivative: Worst,
    /// Of f(x), in ulp of the largest term.
    pub forward_of_term: Worst,
    /// Of f'(x), in ulp of the largest term.
    pub derivative_of_term: Worst,
}

impl Report {
    /// Of no inputs.
    pub const NONE: Self = Self {
        forward: Worst::NONE,
        derivative: Worst::NONE,
        forward_of_term: Worst::NONE,
        derivative_of_term: Worst::NONE,
    };

    /// Of the inputs of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            forward: self.forward.larger(other.forward),
            derivative: self.derivative.larger(other.derivative),
            forward_of_term: self.forward_of_term.larger(other.forward_of_term),
            derivative_of_term: self.derivative_of_term.larger(other.derivative_of_term),
        }
    }
}

/// The terms whose sum f(x) or f'(x) is, where they cancel: a result near a root is exact to their last places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct Terms {
    /// Whether f(x) = x·gate(x), so that f' = gate + x·gate'.
    pub gate: bool,
    /// Whether f(x) is x plus a wave.
    pub wave: bool,
}

impl Terms {
    /// The largest terms of f(x) and of f'(x); 0 where the result itself counts.
    #[inline(always)]
    pub fn at<A: Activation>(self, activation: &A, x: f64) -> [f64; 2] {
        if self.gate {
            [0.0, activation.forward(x) / x]
        } else if self.wave {
            [x, 1.0]
        } else {
            [0.0; 2]
        }
    }
}

/// Those of the catalogue's functions.
#[cfg(not(target_os = "cuda"))]
pub fn terms(any: Any) -> Terms {
    let gate = matches!(
        any,
        Any::Silu(_) | Any::Mish(_) | Any::Swish(_) | Any::QuickGelu(_) | Any::GeluErf(_) | Any::GeluTanh(_)
    );
    Terms { gate, wave: matches!(any, Any::Snake(_)) }
}

/// Beyond it an angle overflows in f32, and sine and snake are functions of some other angle; infinite for all others.
#[cfg(not(target_os = "cuda"))]
pub fn largest_input(any: Any) -> f64 {
    if matches!(any, Any::Sine(_) | Any::Snake(_)) { 5e36 } else { f64::INFINITY }
}

/// The accuracy of `activation` computed in `R` over `inputs`, for instance [`stratified`](crate::math::ulp::stratified); NaN
/// where it belongs counts as exact.
pub fn measure<A, T, R>(activation: &A, inputs: impl Iterator<Item = T>, terms: Terms) -> Report
where
    A: Activation,
    T: Digits,
    R: Real + From<f32> + Into<f32>,
{
    inputs.fold(Report::NONE, |report, x| {
        let (single, exact) = (x.load(), f64::from(x.load()));
        let [term, derivative_term] = terms.at(activation, exact);
        let worst = |got: R, want: f64, term: f64| {
            let got = T::store(got.into());
            Worst { ulp: got.ulp(want, term), at: single, got: got.load(), want }
        };
        let (value, slope) = (activation.forward(R::from(single)), activation.derivative(R::from(single)));
        let (want, want_slope) = (activation.forward(exact), activation.derivative(exact));
        report.and(Report {
            forward: worst(value, want, 0.0),
            derivative: worst(slope, want_slope, 0.0),
            forward_of_term: worst(value, want, term),
            derivative_of_term: worst(slope, want_slope, derivative_term),
        })
    })
}
