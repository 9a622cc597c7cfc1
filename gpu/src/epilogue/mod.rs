//! [`Epilogue`]: what happens to each sum of a matrix product before it is stored, in the same kernel.
//!
//! Epilogues are composed like activations, at compile time: `Sum.bias().activation(GeluErf)` is a value of the type
//! `Activated<Biased<Sum>, GeluErf>`, and a kernel that is generic over it contains just those operations.
//!
//! | | |
//! | --- | --- |
//! | [`Sum`] | the sum itself: what every composition begins with |
//! | [`scaled`](Epilogue::scaled) | times a factor (alpha) |
//! | [`bias`](Epilogue::bias), [`column_bias`](Epilogue::column_bias) | plus a bias for each row or for each column |
//! | [`add_source`](Epilogue::add_source) | plus beta times another matrix (C, or the residual) |
//! | [`activation`](Epilogue::activation) | any [`Activation`] |
//! | [`Activated::save_preactivation`], [`Activated::save_mask`] | and keeps what the gradient needs |
//! | [`times_derivative`](Epilogue::times_derivative), [`masked`](Epilogue::masked) | the gradient, from what was kept |
//! | [`dropout`](Epilogue::dropout) | zeroes elements by a counter-based generator; the same call belongs into the gradient |
//! | [`gated`](Epilogue::gated) | pairs of rows become one: SwiGLU and its kin |
//! | [`sum_rows`](Epilogue::sum_rows) and the other `sum_`s | bias gradients beside the result |
//!
//! Rows and columns are those of the result **as it lies in memory**, column after column: `row` is the index that runs along
//! memory. A row-major result is its transpose's column-major one, so that a kernel knows one layout only; the launcher swaps
//! the factors. A bias for each row is then one for each feature in both conventions: nalgebra's, where a sample is a column,
//! and PyTorch's, where it is a row.

mod activated;
mod dropout;
mod gated;
mod linear;
mod sums;

pub use activated::{Activated, Masked, Saved, SavedMask, TimesDerivative};
use cuda_std::DeviceCopy;
pub use dropout::Dropout;
pub use gated::Gated;
pub use linear::{AddSource, Biased, ColumnBiased, Scaled, Sum};
pub use sums::{SumColumns, SumFactor, SumRows};

use crate::random::NotAProbability;
use crate::{Activation, Real};

/// What a matrix product does to each element before it is stored.
///
/// A kernel calls [`apply`](Self::apply) once for each element; it is a pure function. The constants say which operands it
/// uses: the kernel loads and stores these and no others, and all memory traffic is the kernel's.
///
/// Compose one from [`Sum`], or write your own. Its state is plain data, passed to the kernel by value:
///
/// ```
/// use cuda_std::DeviceCopy;
/// use warpsmith_gpu::Real;
/// use warpsmith_gpu::epilogue::{Axis, Epilogue, Finished, Operands};
///
/// /// limit · tanh((sum + bias) / limit): logits that can't run away.
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct SoftCap {
///     limit: f32,
/// }
///
/// impl Epilogue for SoftCap {
///     const BIAS: Axis = Axis::Rows;
///
///     fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
///         (at.sum + at.bias).scale(1.0 / self.limit).tanh().scale(self.limit).into()
///     }
/// }
///
/// let at = Operands { bias: 0.5, ..Operands::of_sum(0.5_f32) };
/// assert!((SoftCap { limit: 10.0 }.apply(at).value - 0.9966799).abs() < 1e-6);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no epilogue",
    label = "`Epilogue` is not implemented for it",
    note = "a type parameter needs the bound `{Self}: Epilogue`",
    note = "an epilogue begins with `Sum`: an activation `f` becomes one by `Sum.activation(f)`"
)]
pub trait Epilogue: DeviceCopy + Send + Sync + 'static {
    /// Whether [`Operands::bias`] is used, and which index it has.
    const BIAS: Axis = Axis::None;
    /// Whether [`Operands::source`] is used.
    const SOURCE: bool = false;
    /// What [`Operands::aux`] or [`Finished::aux`] is.
    const AUX: Aux = Aux::None;
    /// What is summed up beside the result.
    const SUMS: Sums = Sums::None;
    /// Whether rows 2i and 2i + 1, value and gate, make row i of the result, by [`join`](Self::join). Bias, source, aux and sums
    /// keep the indices of the product.
    const GATED: bool = false;
    /// How the factors lie in the products that this epilogue is for, so that the fastest kernels need not be compiled for others.
    /// Products that lie otherwise are computed too, by a slower kernel.
    const LAYOUTS: Layouts = Layouts::Forward;

    /// The element's final value, and what is kept of it.
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R>;

    /// The result of a pair, from the final values of its rows. Called if [`GATED`](Self::GATED) is set.
    #[inline(always)]
    fn join<R: Real>(&self, value: R, gate: R) -> R {
        let _ = gate;
        value
    }

    /// Times a constant.
    fn scaled(self, factor: f64) -> Scaled<Self> {
        Scaled { inner: self, factor }
    }

    /// Plus a bias for each row.
    fn bias(self) -> Biased<Self> {
        Biased { inner: self }
    }

    /// Plus a bias for each column.
    fn column_bias(self) -> ColumnBiased<Self> {
        ColumnBiased { inner: self }
    }

    /// Plus `beta` times the source, with one rounding.
    fn add_source(self, beta: f64) -> AddSource<Self> {
        AddSource { inner: self, beta }
    }

    /// An activation of the value so far.
    fn activation<A: Activation>(self, activation: A) -> Activated<Self, A> {
        Activated { inner: self, activation }
    }

    /// Times the activation's derivative at the pre-activation that the forward pass saved.
    fn times_derivative<A: Activation>(self, activation: A) -> TimesDerivative<Self, A> {
        TimesDerivative { inner: self, activation }
    }

    /// Zero where the mask that the forward pass saved has no bit: the gradient of relu.
    fn masked(self) -> Masked<Self> {
        Masked { inner: self }
    }

    /// Zeroes each element with this probability and divides the others by 1 - `probability`. The same seed gives the same
    /// elements, whatever the kernel and its tiles.
    ///
    /// # Errors
    /// [`NotAProbability`], unless `probability` is in 0..=1.
    fn dropout(self, probability: f64, seed: u64) -> Result<Dropout<Self>, NotAProbability> {
        Dropout::new(self, probability, seed)
    }

    /// Pairs of rows: value · activation(gate). Comes last.
    fn gated<A: Activation>(self, activation: A) -> Gated<Self, A> {
        Gated { inner: self, activation }
    }

    /// Beside the result, the sum of the values of each row: the gradient of a bias for each row.
    fn sum_rows(self) -> SumRows<Self> {
        SumRows { inner: self }
    }

    /// Beside the result, the sum of the values of each column.
    fn sum_columns(self) -> SumColumns<Self> {
        SumColumns { inner: self }
    }

    /// Beside the result, the sum of each row of the left factor, or of each column of the right one.
    fn sum_factor(self) -> SumFactor<Self> {
        SumFactor { inner: self }
    }
}

/// What is known of one element. Operands that the epilogue doesn't declare are zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operands<R> {
    /// The sum of the products.
    pub sum: R,
    /// The bias of the element's row or column.
    pub bias: R,
    /// The element of the source.
    pub source: R,
    /// The saved pre-activation; of a mask 1 where the bit is set, else 0.
    pub aux: R,
    /// The element's row in the product, from 0.
    pub row: usize,
    /// The element's column in the product, from 0.
    pub column: usize,
    /// The element's number: row + column · rows, and on through the batch; independent of leading dimensions.
    pub index: usize,
}

impl<R: Real> Operands<R> {
    /// A sum at the origin, without other operands.
    #[inline(always)]
    pub fn of_sum(sum: R) -> Self {
        let zero = R::constant(0.0);
        Self { sum, bias: zero, source: zero, aux: zero, row: 0, column: 0, index: 0 }
    }
}

/// What becomes of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished<R> {
    /// What is stored, rounded to the result's type.
    pub value: R,
    /// What is kept for the gradient, if [`Epilogue::AUX`] says so; of a mask not 0 where the bit is to be set.
    pub aux: R,
}

impl<R: Real> From<R> for Finished<R> {
    /// A value, with nothing to keep.
    #[inline(always)]
    fn from(value: R) -> Self {
        Self { value, aux: R::constant(0.0) }
    }
}

impl<R> Finished<R> {
    /// The same with another value.
    #[inline(always)]
    pub fn map(self, f: impl FnOnce(R) -> R) -> Self {
        Self { value: f(self.value), aux: self.aux }
    }
}

/// How the factors of a product lie. In PyTorch's words, all matrices row-major: `x` is samples x inputs, `w` outputs x inputs, `dy` samples x
/// outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layouts {
    /// k is contiguous in both: y = x · wᵀ.
    Forward,
    /// k is contiguous in the right one only: dx = dy · w.
    Gradient,
    /// Any: also dw = dyᵀ · x, where it is in neither.
    All,
}

/// Which index a vector has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// There is no vector.
    None,
    /// One element for each row.
    Rows,
    /// One element for each column.
    Columns,
}

/// What is kept by a forward pass for the gradient: a matrix of the product's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aux {
    /// Nothing.
    None,
    /// Numbers are read.
    Read,
    /// Numbers are written, rounded to the factors' type.
    Written,
    /// Bits are read. Bit r % 8 of byte r / 8 of a column is that of row r.
    MaskRead,
    /// Bits are written; those beyond the last row are zero.
    MaskWritten,
}

/// A vector of sums that the kernel makes beside the result, in the precision of the arithmetic and in a fixed order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// None.
    None,
    /// The sum of the values of each row.
    Rows,
    /// The sum of the values of each column.
    Columns,
    /// The sum of each row of the left factor along k, or of each column of the right one; the launch says of which.
    Factor,
}

/// The constants of a combinator: those of the epilogue it extends.
macro_rules! inherit {
    ($inner:ident: $($name:ident)*) => { $(inherit!(@ $inner $name);)* };
    (@ $inner:ident BIAS) => { const BIAS: Axis = $inner::BIAS; };
    (@ $inner:ident SOURCE) => { const SOURCE: bool = $inner::SOURCE; };
    (@ $inner:ident AUX) => { const AUX: Aux = $inner::AUX; };
    (@ $inner:ident LAYOUTS) => { const LAYOUTS: Layouts = $inner::LAYOUTS; };
    (@ $inner:ident SUMS) => { const SUMS: Sums = $inner::SUMS; };
    (@ $inner:ident GATED) => {
        // A pair's result exists after `join` only, where nothing else can be applied.
        const GATED: bool = { assert!(!$inner::GATED, "gated pairs must come last"); false };
    };
}
use inherit;

/// There is one operand of each kind.
const fn first(used_before: bool) {
    assert!(!used_before, "the epilogue already has a bias, a source, an aux or sums: there is one of each");
}

#[cfg(test)]
mod tests;
