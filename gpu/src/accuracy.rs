//! How exact an activation is in f32: its forward and its derivative against its own f64 form, over inputs that take every
//! exponent alike. Host only.
//!
//! Hazard: near a root a result has no relative accuracy to speak of; there the error counts in units of the last place of
//! the largest term that the result is the sum of, which the caller names.

use core::fmt;

use crate::Activation;
use crate::math::ulp;

/// The largest error of a function, and where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// The error in units in the last place of the result, or of the largest term where that is larger.
    pub ulp: f64,
    /// The argument.
    pub at: f32,
    /// The f32 result.
    pub got: f32,
    /// The f64 result.
    pub want: f64,
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

/// The largest terms of f(x) and of f'(x), as magnitudes; 0 where the result itself counts.
pub type Terms = fn(f64) -> [f64; 2];

/// The accuracy of `activation` over `inputs`, for instance [`ulp::stratified`]; NaN where it belongs counts as exact.
pub fn measure<A: Activation>(activation: &A, inputs: impl Iterator<Item = f32> + Clone, terms: Terms) -> Report {
    let forward = |x: f64| activation.forward(x);
    let derivative = |x: f64| activation.derivative(x);
    let worst = |f: &dyn Fn(f32) -> f32, exact: &dyn Fn(f64) -> f64, term: &dyn Fn(f64) -> f64| {
        let (ulp, at) = ulp::largest_error(inputs.clone(), f, |x| (exact(x), term(x)));
        Worst { ulp, at, got: f(at), want: exact(f64::from(at)) }
    };
    let (forward_f32, derivative_f32) = (|x: f32| activation.forward(x), |x: f32| activation.derivative(x));
    Report {
        forward: worst(&forward_f32, &forward, &|_| 0.0),
        derivative: worst(&derivative_f32, &derivative, &|_| 0.0),
        forward_of_term: worst(&forward_f32, &forward, &|x| terms(x)[0]),
        derivative_of_term: worst(&derivative_f32, &derivative, &|x| terms(x)[1]),
    }
}
