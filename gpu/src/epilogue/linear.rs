//! The linear part: alpha · sum + bias + beta · source.

use cuda_std::DeviceCopy;

use super::{Aux, Axis, Epilogue, Finished, Layouts, Operands, Sums, first, inherit};
use crate::Real;

/// The sum of the products as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Sum;

impl Epilogue for Sum {
    const LAYOUTS: Layouts = Layouts::All;

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        at.sum.into()
    }
}

/// Times a constant. See [`Epilogue::scaled`].
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Scaled<E> {
    /// What comes before.
    pub inner: E,
    /// The constant.
    pub factor: f64,
}

impl<E: Epilogue> Epilogue for Scaled<E> {
    inherit!(E: BIAS SOURCE AUX SUMS GATED LAYOUTS);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        self.inner.apply(at).map(|value| value.scale(self.factor))
    }
}

/// Plus a bias for each row. See [`Epilogue::bias`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Biased<E> {
    /// What comes before.
    pub inner: E,
}

impl<E: Epilogue> Epilogue for Biased<E> {
    const BIAS: Axis = {
        first(!matches!(E::BIAS, Axis::None));
        Axis::Rows
    };
    inherit!(E: SOURCE AUX SUMS GATED);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        self.inner.apply(at).map(|value| value + at.bias)
    }
}

/// Plus a bias for each column. See [`Epilogue::column_bias`].
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct ColumnBiased<E> {
    /// What comes before.
    pub inner: E,
}

impl<E: Epilogue> Epilogue for ColumnBiased<E> {
    const BIAS: Axis = {
        first(!matches!(E::BIAS, Axis::None));
        Axis::Columns
    };
    inherit!(E: SOURCE AUX SUMS GATED);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        self.inner.apply(at).map(|value| value + at.bias)
    }
}

/// Plus a multiple of the source. See [`Epilogue::add_source`].
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct AddSource<E> {
    /// What comes before.
    pub inner: E,
    /// The source's factor. The source is read also where this is 0.
    pub beta: f64,
}

impl<E: Epilogue> Epilogue for AddSource<E> {
    const SOURCE: bool = {
        first(E::SOURCE);
        true
    };
    inherit!(E: BIAS AUX SUMS GATED LAYOUTS);

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        self.inner.apply(at).map(|value| R::constant(self.beta).mul_add(at.source, value))
    }
}
