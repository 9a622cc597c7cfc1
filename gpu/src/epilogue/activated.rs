//! Activations in epilogues: forward, with what the gradient needs of it, and the gradient.

use cuda_std::DeviceCopy;

use super::{Aux, Axis, Epilogue, Finished, Layouts, Operands, Sums, first, inherit};
use crate::activations::Relu;
use crate::{Activation, Real, Scalar};

/// An activation of the value. See [`Epilogue::activation`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Activated<E, A> {
    /// What comes before.
    pub inner: E,
    /// The activation.
    pub activation: A,
}

impl<E: Epilogue, A: Activation> Epilogue for Activated<E, A> {
    inherit!(E: BIAS SOURCE AUX SUMS GATED);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        self.inner.apply(at).map(|value| self.activation.forward(value))
    }
}

impl<E: Epilogue, A: Activation> Activated<E, A> {
    /// Keeps the pre-activation, for [`Epilogue::times_derivative`].
    pub fn save_preactivation(self) -> Activated<Saved<E>, A> {
        Activated { inner: Saved { inner: self.inner }, activation: self.activation }
    }
}

impl<E: Epilogue> Activated<E, Relu> {
    /// Keeps one bit of the pre-activation, whether it is positive, for [`Epilogue::masked`].
    pub fn save_mask(self) -> Activated<SavedMask<E>, Relu> {
        Activated { inner: SavedMask { inner: self.inner }, activation: self.activation }
    }
}

/// Keeps the value so far. See [`Activated::save_preactivation`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Saved<E> {
    /// What comes before.
    pub inner: E,
}

impl<E: Epilogue> Epilogue for Saved<E> {
    const AUX: Aux = {
        first(!matches!(E::AUX, Aux::None));
        Aux::Written
    };
    inherit!(E: BIAS SOURCE SUMS GATED);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        let value = self.inner.apply(at).value;
        Finished { value, aux: value }
    }
}

/// Keeps whether the value so far is positive. See [`Activated::save_mask`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct SavedMask<E> {
    /// What comes before.
    pub inner: E,
}

impl<E: Epilogue> Epilogue for SavedMask<E> {
    const AUX: Aux = {
        first(!matches!(E::AUX, Aux::None));
        Aux::MaskWritten
    };
    inherit!(E: BIAS SOURCE SUMS GATED);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        let value = self.inner.apply(at).value;
        // NaN has its bit set, so that a NaN that comes back as its gradient isn't hidden.
        let aux = R::select(value <= Scalar::new(0.0), R::constant(0.0), R::constant(1.0));
        Finished { value, aux }
    }
}

/// Times f'(saved pre-activation). See [`Epilogue::times_derivative`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct TimesDerivative<E, A> {
    /// What comes before: the gradient with respect to f(x).
    pub inner: E,
    /// The activation f.
    pub activation: A,
}

impl<E: Epilogue, A: Activation> Epilogue for TimesDerivative<E, A> {
    const AUX: Aux = {
        first(!matches!(E::AUX, Aux::None));
        Aux::Read
    };
    const LAYOUTS: Layouts = Layouts::Gradient;
    inherit!(E: BIAS SOURCE SUMS GATED);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        self.inner.apply(at).map(|upstream| self.activation.backward(at.aux, upstream))
    }
}

/// Zero where the mask has no bit. See [`Epilogue::masked`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Masked<E> {
    /// What comes before: the gradient with respect to relu(x).
    pub inner: E,
}

impl<E: Epilogue> Epilogue for Masked<E> {
    const AUX: Aux = {
        first(!matches!(E::AUX, Aux::None));
        Aux::MaskRead
    };
    const LAYOUTS: Layouts = Layouts::Gradient;
    inherit!(E: BIAS SOURCE SUMS GATED);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        let set = at.aux > Scalar::new(0.0);
        self.inner.apply(at).map(|upstream| R::select(set, upstream, R::constant(0.0)))
    }
}
