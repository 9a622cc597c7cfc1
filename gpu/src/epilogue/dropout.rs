//! Dropout (Srivastava et al., JMLR 15, 2014), inverted: what is kept is scaled up, so that inference needs nothing.
//!
//! Whether an element is dropped depends on the seed and on its number alone, by [`Philox`]: no state, no order, nothing to
//! save for the gradient.

use cuda_std::DeviceCopy;

use super::{Aux, Axis, Epilogue, Finished, Layouts, Operands, Sums, inherit};
use crate::random::NotAProbability;
use crate::{Philox, Real};

/// Zeroes elements at random. See [`Epilogue::dropout`].
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Dropout<E> {
    /// What comes before.
    pub inner: E,
    /// The generator.
    philox: Philox,
    /// Elements whose random number is below are dropped.
    threshold: u64,
    /// The factor of the others.
    scale: f64,
}

impl<E> Dropout<E> {
    /// Drops with this probability, which must be in 0..=1 and is rounded to a multiple of 2⁻³².
    ///
    /// # Errors
    /// [`NotAProbability`]
    pub fn new(inner: E, probability: f64, seed: u64) -> Result<Self, NotAProbability> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(NotAProbability(probability));
        }
        let kept = 1.0 - probability;
        let scale = if kept == 0.0 { 0.0 } else { 1.0 / kept };
        Ok(Self { philox: Philox::new(seed), threshold: (probability * 4_294_967_296.0 + 0.5) as u64, scale, inner })
    }

    /// Drops nothing.
    pub fn nothing(inner: E) -> Self {
        Self { inner, philox: Philox::new(0), threshold: 0, scale: 1.0 }
    }
}

impl<E: Epilogue> Epilogue for Dropout<E> {
    inherit!(E: BIAS SOURCE AUX SUMS GATED LAYOUTS);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        let dropped = u64::from(self.philox.number(at.index as u64)) < self.threshold;
        // A dropped NaN stays NaN.
        self.inner.apply(at).map(|value| {
            let zero = dropped && !value.is_nan();
            R::select(zero, R::constant(0.0), value.scale(self.scale))
        })
    }
}
