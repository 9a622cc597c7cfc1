//! Activations that are learned as a whole: a quotient of polynomials, and straight pieces between knots.
//! Not part of [`Any`](super::Any): their state is too much for a name in a configuration file.

use cuda_std::DeviceCopy;

use crate::{Activation, Real, Scalar, Trainable, activation};

activation! {
    /// x ↦ (p0 + p1·x + ... + p5·x⁵) / (1 + |q1·x + ... + q4·x⁴|), the safe Padé activation unit; Molina, Schramowski and
    /// Kersting, arXiv:1907.06732. The defaults are close to a leaky ReLU. Beyond ±1 it is computed in 1/x, so that no power
    /// overflows. It has no bar of accuracy: its terms can cancel anywhere.
    pub struct Rational {
        /// The numerator's coefficients.
        trainable p0: f32 = 0.029_792_46,
        /// Of x.
        trainable p1: f32 = 0.618_377_4,
        /// Of x².
        trainable p2: f32 = 2.323_352,
        /// Of x³.
        trainable p3: f32 = 3.052_026_6,
        /// Of x⁴.
        trainable p4: f32 = 1.485_48,
        /// Of x⁵.
        trainable p5: f32 = 0.251_037_17,
        /// The denominator's coefficients: of x.
        trainable q1: f32 = 1.142_012_2,
        /// Of x².
        trainable q2: f32 = 4.393_228_5,
        /// Of x³.
        trainable q3: f32 = 0.871_544_5,
        /// Of x⁴.
        trainable q4: f32 = 0.347_206_52,
    } |x| if x.abs() > 1.0 {
        let z = x.recip();
        let numerator = ((((z * p0 + p1) * z + p2) * z + p3) * z + p4) * z + p5;
        let denominator = z.squared().squared() + (((z * q1 + q2) * z + q3) * z + q4).abs();
        x * (numerator / denominator)
    } else {
        let numerator = ((((x * p5 + p4) * x + p3) * x + p2) * x + p1) * x + p0;
        numerator / (((((x * q4 + q3) * x + q2) * x + q1) * x).abs() + 1.0)
    };
}

/// Straight pieces between `N` knots at equal distances from `left` to `right`, where the function has the given values; beyond
/// the ends the outer pieces go on. At a knot the gradient with respect to x is that of the piece below.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct PiecewiseLinear<const N: usize> {
    /// The first knot.
    pub left: f32,
    /// The last knot.
    pub right: f32,
    /// The values at the knots, which are learned.
    pub values: [f32; N],
}

// SAFETY: floats, laid out as in C.
unsafe impl<const N: usize> DeviceCopy for PiecewiseLinear<N> {}

impl<const N: usize> PiecewiseLinear<N> {
    /// The pieces that agree with `f` at the knots. `N` must be at least 2.
    pub fn of(f: &impl Activation, left: f32, right: f32) -> Self {
        const { assert!(N >= 2, "a piece lies between two knots") };
        let step = (f64::from(right) - f64::from(left)) / (N - 1) as f64;
        let values = core::array::from_fn(|k| f.forward(f64::from(left) + k as f64 * step) as f32);
        Self { left, right, values }
    }

    /// How much of piece k lies to the left of x, in 0..=1; below 0 in the first piece, above 1 in the last.
    #[inline(always)]
    fn share<R: Real>(&self, k: usize, x: R) -> R {
        let (left, right) = (f64::from(self.left), f64::from(self.right));
        let step = (right - left) / (N - 1) as f64;
        let t = x.shift(-(left + k as f64 * step)).scale(1.0 / step);
        let t = if k == 0 { t } else { t.max(0.0) };
        if k + 2 == N { t } else { R::select(t > Scalar::new(1.0), R::constant(1.0), t) }
    }

    /// The sum of the pieces' rises, given each piece's rise by its number.
    #[inline(always)]
    fn sum<R: Real>(&self, x: R, first: R, rise: impl Fn(usize) -> R) -> R {
        let mut sum = first;
        for k in 0..N - 1 {
            // A level piece stays level at infinity.
            let rise = rise(k);
            let level = rise == Scalar::new(0.0);
            sum = sum + R::select(level, rise, rise * self.share(k, x));
        }
        R::select(x.is_nan(), x, sum)
    }
}

impl<const N: usize> Activation for PiecewiseLinear<N> {
    const NAME: &'static str = "piecewise_linear";

    #[inline(always)]
    fn forward<R: Real>(&self, x: R) -> R {
        let value = |k: usize| Scalar::from(self.values[k]).to_f64();
        self.sum(x, R::constant(value(0)), |k| R::constant(value(k + 1) - value(k)))
    }

    /// The slope of the piece in which x lies.
    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        let (left, right) = (f64::from(self.left), f64::from(self.right));
        let step = (right - left) / (N - 1) as f64;
        let slope = |k: usize| R::constant((f64::from(self.values[k + 1]) - f64::from(self.values[k])) / step);
        let mut result = slope(0);
        for k in 1..N - 1 {
            result = R::select(x > Scalar::new(left + k as f64 * step), slope(k), result);
        }
        R::select(x.is_nan(), x, result)
    }
}

impl<const N: usize> Trainable<N> for PiecewiseLinear<N> {
    fn parameters(&self) -> [f64; N] {
        self.values.map(f64::from)
    }

    fn with_parameters(self, parameters: [f64; N]) -> Self {
        Self { values: parameters.map(|value| value as f32), ..self }
    }

    #[inline(always)]
    fn forward_of_parameters<R: Real>(&self, parameters: [R; N], x: R) -> R {
        self.sum(x, parameters[0], |k| parameters[k + 1] - parameters[k])
    }

    /// share(k - 1) - share(k)
    #[inline(always)]
    fn parameter_derivatives<R: Real>(&self, x: R) -> [R; N] {
        core::array::from_fn(|k| {
            let before = if k == 0 { R::constant(1.0) } else { self.share(k - 1, x) };
            let after = if k + 1 == N { R::constant(0.0) } else { self.share(k, x) };
            R::select(x.is_nan(), x, before - after)
        })
    }
}
