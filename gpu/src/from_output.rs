//! Derivatives computed from an activation's output, so that the input need not be kept for the backward pass.
//!
//! Possible where the output tells which input it came from, as far as the derivative is concerned. It costs accuracy where the
//! output is flat: tanh(x) rounds to 1 from x = 9 on, and then its derivative is 0. Elsewhere it is refused, with the reason.

use crate::activations::*;
use crate::{Activation, Real, Scalar};

/// An activation that knows whether its derivative follows from its output.
pub trait FromOutput: Activation {
    /// Nothing, or why this activation with this state has no derivative from its output.
    fn refusal(&self) -> Option<&'static str>;

    /// f'(x) given y = f(x). NaN gives NaN. Only meaningful without a [`refusal`](Self::refusal).
    fn derivative_from_output<R: Real>(&self, y: R) -> R;

    /// The gradient with respect to x, given y = f(x). NaN where y is NaN.
    #[inline(always)]
    fn backward_from_output<R: Real>(&self, y: R, upstream: R) -> R {
        R::select(y.is_nan(), y, self.derivative_from_output(y) * upstream)
    }
}

const BOTH_WAYS: &str = "it falls and rises, so that an output can come from two inputs with different derivatives";
const NEGATIVE_SLOPE: &str = "below 0 it must rise: with a slope of 0 or less an output can come from either side of 0";
const NO_FORMULA: &str = "it rises everywhere, but its inverse has no closed form";

/// 1 where `condition` holds, else `otherwise`.
#[inline(always)]
fn one_if<R: Real>(condition: bool, otherwise: R) -> R {
    R::select(condition, R::constant(1.0), otherwise)
}

/// 1 between the limits and 0 at and beyond them.
#[inline(always)]
fn between<R: Real>(y: R, low: impl Into<Scalar>, high: impl Into<Scalar>) -> R {
    one_if(y > low.into() && y < high.into(), R::constant(0.0))
}

macro_rules! from_output {
    ($($activation:ident |$a:pat_param, $y:ident| $value:expr $(, unless $($condition:expr => $reason:expr),+)?;)*) => {$(
        impl FromOutput for $activation {
            #[inline]
            fn refusal(&self) -> Option<&'static str> {
                $({
                    let $a = self;
                    $(if $condition {
                        return Some($reason);
                    })+
                })?
                None
            }

            #[inline(always)]
            fn derivative_from_output<R: Real>(&self, $y: R) -> R {
                let $a = self;
                $value
            }
        }
    )*};
}

from_output! {
    Identity |_, _y| R::constant(1.0);
    Threshold |a, y| one_if(y > Scalar::from(a.threshold), R::constant(0.0)),
        unless a.value > a.threshold => "its value must not exceed the threshold: outputs of that size can come from both sides";
    Relu |_, y| one_if(y > Scalar::new(0.0), R::constant(0.0));
    Relu6 |_, y| between(y, 0.0, 6.0);
    LeakyRelu |a, y| one_if(y > Scalar::new(0.0), R::constant(a.alpha)), unless a.alpha <= 0.0 => NEGATIVE_SLOPE;
    Prelu |a, y| one_if(y > Scalar::new(0.0), R::constant(a.alpha)), unless a.alpha <= 0.0 => NEGATIVE_SLOPE;
    Rrelu |a, y| one_if(y > Scalar::new(0.0), R::constant(a.mean())), unless a.mean() <= 0.0 => NEGATIVE_SLOPE;
    SquaredRelu |_, y| y.sqrt().scale(2.0);
    Hardtanh |a, y| between(y, a.low, a.high);
    Hardsigmoid |_, y| between(y, 0.0, 1.0).scale(1.0 / 6.0);
    Hardshrink |_, y| one_if(y.abs() > Scalar::new(0.0), R::constant(0.0));
    Softshrink |_, y| one_if(y.abs() > Scalar::new(0.0), R::constant(0.0));
    Sigmoid |_, y| y * (-y).shift(1.0);
    LogSigmoid |_, y| -y.exp_m1();
    Tanh |_, y| y.shift(1.0) * (-y).shift(1.0);
    Softsign |_, y| (-y.abs()).shift(1.0).squared();
    Elu |a, y| one_if(y > Scalar::new(0.0), y.shift(a.alpha)), unless a.alpha <= 0.0 => NEGATIVE_SLOPE;
    Celu |a, y| one_if(y > Scalar::new(0.0), y.scale(Scalar::from(a.alpha).recip()).shift(1.0)),
        unless a.alpha <= 0.0 => NEGATIVE_SLOPE;
    Selu |_, y| R::select(y > Scalar::new(0.0), R::constant(SELU_SCALE), y.shift(SELU_SCALED_ALPHA));
    Exponential |_, y| y;
    Softplus |a, y| one_if(y.scale(a.beta) > Scalar::from(a.threshold), -y.scale(-a.beta).exp_m1()),
        unless a.beta <= 0.0 => "with a beta of 0 or less it is no softplus";
    // y²/(y² + b/4): the root is y + b/4y.
    Squareplus |a, y| { let square = y.squared(); R::select(y > Scalar::new(1e15), R::constant(1.0), square / square.shift(0.25 * a.b)) },
        unless a.b <= 0.0 => "with b = 0 both sides of 0 give 0";
    Silu |_, y| y, unless true => BOTH_WAYS;
    Mish |_, y| y, unless true => BOTH_WAYS;
    Swish |_, y| y, unless true => BOTH_WAYS;
    GeluErf |_, y| y, unless true => BOTH_WAYS;
    GeluTanh |_, y| y, unless true => BOTH_WAYS;
    QuickGelu |_, y| y, unless true => BOTH_WAYS;
    Hardswish |_, y| y, unless true => BOTH_WAYS;
    Gaussian |_, y| y, unless true => BOTH_WAYS;
    Sine |_, y| y, unless true => BOTH_WAYS;
    Tanhshrink |_, y| y, unless true => NO_FORMULA;
    Snake |_, y| y, unless true => NO_FORMULA;
}
