//! Gated linear units (Dauphin et al., arXiv:1612.08083; Shazeer, arXiv:2002.05202): value · f(gate), in the same kernel.
//!
//! Value and gate are neighbouring rows of one product, 2i and 2i + 1, whose weights are interleaved that way: a thread that
//! holds neighbouring rows needs nobody else for it.

use cuda_std::DeviceCopy;

use super::{Aux, Axis, Epilogue, Finished, Operands, Sums, inherit};
use crate::{Activation, Real};

/// Pairs of rows: value · f(gate). With silu it is SwiGLU, with gelu GEGLU, with sigmoid GLU. See [`Epilogue::gated`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Gated<E, A> {
    /// What comes before, for each row.
    pub inner: E,
    /// The gate's activation f.
    pub activation: A,
}

impl<E: Epilogue, A: Activation> Epilogue for Gated<E, A> {
    inherit!(E: BIAS SOURCE AUX SUMS);
    const GATED: bool = {
        assert!(!E::GATED, "gated pairs must come last");
        true
    };

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        self.inner.apply(at)
    }

    #[inline(always)]
    fn join<R: Real>(&self, value: R, gate: R) -> R {
        value * self.activation.forward(gate)
    }
}

impl<E: Epilogue, A: Activation> Gated<E, A> {
    /// Keeps values and gates, for the gradient.
    pub fn save_preactivation(self) -> Gated<super::Saved<E>, A> {
        Gated { inner: super::Saved { inner: self.inner }, activation: self.activation }
    }
}
