//! Activations with a sine. The product of factor and x is not rounded before its sine is taken, whatever its size.

use crate::{Real, Scalar, activation};

activation! {
    /// x ↦ sin(omega·x); Sitzmann et al. (SIREN, whose omega is the default), arXiv:2006.09661. NaN at the infinities.
    pub struct Sine {
        /// The angular frequency.
        omega: f32 = 30.0,
    } |x| x.sin_scaled(omega);

    /// x ↦ x + sin²(a·x) / a; Ziyin, Hartwig and Ueda, arXiv:2006.08195. The derivative has no limit at the infinities.
    pub struct Snake {
        /// The angular frequency.
        a: f32 = 1.0,
    } |x| snake(x, a), derivative |x| x.sin_scaled(a * 2.0) + 1.0;
}

/// x + sin²(a·x) / a, also at the infinities, where the sine is NaN.
#[inline(always)]
fn snake<R: Real>(x: R, a: Scalar) -> R {
    let wave = x + x.sin_scaled(a).squared().scale(a.recip());
    R::select(x.abs() < Scalar::new(f64::INFINITY), wave, x)
}
