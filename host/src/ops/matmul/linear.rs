//! [`Linear`]: a matrix product under construction. Each method adds to the epilogue's type, so that the finished type names
//! the one kernel that does it all.

use std::marker::PhantomData;

use warpsmith_gpu::activations::Relu;
use warpsmith_gpu::epilogue::{
    Activated, AddSource, Biased, ColumnBiased, Dropout, Gated, Masked, Saved, SavedMask, Scaled, Sum, SumColumns,
    SumFactor, SumRows, TimesDerivative,
};
use warpsmith_gpu::{Activation, Element, Epilogue};

use super::factor::result_view;
use super::plan::GemmPlan;
use super::problem::{Operands, Problem};
use super::{Gemm, GemmElement, HasGemm, IntoFactor, IntoVector, Package, ReluMask};
use crate::ops::Ops;
use crate::{Matrix, MatrixView, MatrixViewMut, Result, ViewMut};

/// A matrix product and what is to be done to it; begun by [`Ops::linear`]. Nothing runs before [`into`](Self::into) or
/// [`run`](Self::run).
///
/// Two words for the two indices of the result, whatever its layout: a **feature** is what runs along memory (a row of a
/// column-major result, a column of a row-major one), a **sample** is the other. So a [`bias`](Self::bias) has one element for
/// each feature in nalgebra's convention, y = W·x, and in PyTorch's, y = x·Wᵀ.
///
/// The epilogue `E` is a type, and its kernel must have been compiled: [`HasGemm`] says how to add one. Errors in operands, such as a
/// copy that failed, appear when it runs.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// use warpsmith::activations::Relu;
/// use warpsmith::{Matrix, Runtime, ops::Ops};
///
/// let runtime = Runtime::new();
/// let ops = Ops::new(&runtime);
/// let w = Matrix::from_columns(&runtime, 2, 2, &[1.0f32, 0.0, 0.0, -1.0])?;
/// let x = Matrix::from_columns(&runtime, 2, 1, &[3.0f32, 4.0])?;
/// let bias = runtime.buffer_from(&[0.5f32, 0.5])?;
/// let mut y = Matrix::zeros(&runtime, 2, 1)?;
/// ops.linear(&w, &x).bias(&bias).activation(Relu).into(&mut y)?;
/// assert_eq!(y.as_view().to_vec()?, [3.5, 0.0]);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is computed before `into` or `run`"]
pub struct Linear<'a, L, T: GemmElement, O: Element, E, P> {
    pub(super) ops: &'a Ops<L>,
    pub(super) epilogue: E,
    pub(super) operands: Result<Operands<'a, T, O>>,
    package: PhantomData<fn() -> P>,
}

impl<'a, L, T, O, P> Linear<'a, L, T, O, Sum, P>
where
    L: cuda_std::Library,
    T: GemmElement,
    O: Element<Compute = T::Compute>,
{
    pub(super) fn new(ops: &'a Ops<L>, a: impl IntoFactor<'a, T>, b: impl IntoFactor<'a, T>) -> Self {
        let runtime = ops.runtime();
        let factors = a.into_factor(runtime).and_then(|a| Ok((a, b.into_factor(runtime)?)));
        let operands = factors.map(|(a, b)| Operands::of(a, b));
        Self { ops, epilogue: Sum, operands, package: PhantomData }
    }
}

impl<'a, L, T, O, E, P> Linear<'a, L, T, O, E, P>
where
    L: cuda_std::Library,
    T: GemmElement,
    O: Element<Compute = T::Compute>,
    E: Epilogue,
{
    fn extend<F>(
        self,
        epilogue: impl FnOnce(E) -> F,
        operands: impl FnOnce(&mut Operands<'a, T, O>) -> Result<()>,
    ) -> Linear<'a, L, T, O, F, P> {
        let operands = self.operands.and_then(|mut all| operands(&mut all).map(|()| all));
        Linear { ops: self.ops, epilogue: epilogue(self.epilogue), operands, package: PhantomData }
    }

    /// Times a factor.
    pub fn scaled(self, factor: f64) -> Linear<'a, L, T, O, Scaled<E>, P> {
        self.extend(|epilogue| epilogue.scaled(factor), |_| Ok(()))
    }

    /// Plus a bias for each feature. Of a batch it may have one after the other, or one for all.
    pub fn bias(self, bias: impl IntoVector<'a, T>) -> Linear<'a, L, T, O, Biased<E>, P> {
        let runtime = self.ops.runtime();
        self.extend(E::bias, |operands| {
            operands.bias = Some(bias.into_vector(runtime)?);
            Ok(())
        })
    }

    /// Plus a bias for each sample.
    pub fn sample_bias(self, bias: impl IntoVector<'a, T>) -> Linear<'a, L, T, O, ColumnBiased<E>, P> {
        let runtime = self.ops.runtime();
        self.extend(E::column_bias, |operands| {
            operands.bias = Some(bias.into_vector(runtime)?);
            Ok(())
        })
    }

    /// Plus `beta` times another matrix of the product's shape, in any layout.
    pub fn add(self, beta: f64, source: impl Into<MatrixView<'a, O>>) -> Linear<'a, L, T, O, AddSource<E>, P> {
        self.extend(
            |epilogue| epilogue.add_source(beta),
            |operands| {
                operands.source = Some(source.into());
                Ok(())
            },
        )
    }

    /// Plus another matrix: the skip connection of a residual network.
    pub fn residual(self, source: impl Into<MatrixView<'a, O>>) -> Linear<'a, L, T, O, AddSource<E>, P> {
        self.add(1.0, source)
    }

    /// Plus `beta` times what the result holds before.
    pub fn accumulate(self, beta: f64) -> Linear<'a, L, T, O, AddSource<E>, P> {
        self.extend(
            |epilogue| epilogue.add_source(beta),
            |operands| {
                operands.in_place = true;
                Ok(())
            },
        )
    }

    /// An activation.
    pub fn activation<A: Activation>(self, activation: A) -> Linear<'a, L, T, O, Activated<E, A>, P> {
        self.extend(|epilogue| epilogue.activation(activation), |_| Ok(()))
    }

    /// Pairs of features: value · activation(gate), with features 2i and 2i + 1 of the product making feature i of the result.
    /// With `Silu` it is SwiGLU. Comes last.
    pub fn gated<A: Activation>(self, activation: A) -> Linear<'a, L, T, O, Gated<E, A>, P> {
        self.extend(|epilogue| epilogue.gated(activation), |_| Ok(()))
    }

    /// Times the activation's derivative at the pre-activation that a forward pass saved, in the layout of the result.
    pub fn times_derivative<A: Activation>(
        self,
        activation: A,
        preactivation: impl Into<MatrixView<'a, T>>,
    ) -> Linear<'a, L, T, O, TimesDerivative<E, A>, P> {
        self.extend(
            |epilogue| epilogue.times_derivative(activation),
            |operands| {
                operands.aux_in = Some(preactivation.into());
                Ok(())
            },
        )
    }

    /// Zero where the mask that a forward pass saved has no bit: times the derivative of relu.
    pub fn masked(self, mask: &'a ReluMask) -> Linear<'a, L, T, O, Masked<E>, P> {
        self.extend(E::masked, |operands| {
            operands.mask_in = Some(mask);
            Ok(())
        })
    }

    /// Zeroes elements with this probability, from 0 to 1, and scales the others up. The gradient's call needs the same seed. Another
    /// number is [`Error::NotAProbability`](crate::Error::NotAProbability) when the product is asked for.
    pub fn dropout(self, probability: f64, seed: u64) -> Linear<'a, L, T, O, Dropout<E>, P> {
        let dropout = self.epilogue.dropout(probability, seed);
        // With an error nothing runs.
        self.extend(|epilogue| dropout.unwrap_or(Dropout::nothing(epilogue)), |_| Ok(dropout.map(drop)?))
    }

    /// Beside the result, the sum of each feature over the samples, before it is rounded: a bias's gradient, if the result is
    /// that of the pre-activation. In a fixed order.
    pub fn bias_gradient(self, sums: impl Into<ViewMut<'a, T::Compute>>) -> Linear<'a, L, T, O, SumRows<E>, P> {
        self.extend(E::sum_rows, |operands| {
            operands.sums = Some(sums.into());
            Ok(())
        })
    }

    /// Beside the result, the sum of each sample over the features.
    pub fn sample_bias_gradient(
        self,
        sums: impl Into<ViewMut<'a, T::Compute>>,
    ) -> Linear<'a, L, T, O, SumColumns<E>, P> {
        self.extend(E::sum_columns, |operands| {
            operands.sums = Some(sums.into());
            Ok(())
        })
    }

    /// Beside the result, the sum of each row of the first factor: a bias's gradient, in the product that gives the weights' one.
    pub fn sum_left(self, sums: impl Into<ViewMut<'a, T::Compute>>) -> Linear<'a, L, T, O, SumFactor<E>, P> {
        self.extend(E::sum_factor, |operands| {
            operands.sum_right = false;
            operands.sums = Some(sums.into());
            Ok(())
        })
    }

    /// Beside the result, the sum of each column of the second factor.
    pub fn sum_right(self, sums: impl Into<ViewMut<'a, T::Compute>>) -> Linear<'a, L, T, O, SumFactor<E>, P> {
        self.extend(E::sum_factor, |operands| {
            operands.sum_right = true;
            operands.sums = Some(sums.into());
            Ok(())
        })
    }

    /// An epilogue of your own in the place of the one composed so far, with the operands given so far.
    pub fn epilogue<F: Epilogue>(self, epilogue: F) -> Linear<'a, L, T, O, F, P> {
        self.extend(|_| epilogue, |_| Ok(()))
    }

    /// By this kernel, instead of the one that is chosen by itself: to measure, or to compare. On the CPU it changes nothing.
    pub fn using(mut self, kernel: Gemm) -> Self {
        if let Ok(operands) = &mut self.operands {
            operands.kernel = Some(kernel);
        }
        self
    }

    /// Adds up the sums along k in the same order in all places of the result: equal rows of factors then give equal rows of results.
    ///
    /// By default `gemm_wgmma` goes through k ≥ 2048 forwards in one tile and backwards in the next, whose first factors are still in the
    /// cache then. That too is the same in each run of a shape on a device. Another shape may be computed by another kernel, with an order
    /// of its own; [`using`](Self::using) fixes the kernel.
    pub fn same_order(mut self) -> Self {
        if let Ok(operands) = &mut self.operands {
            operands.same_order = true;
        }
        self
    }

    /// Computes it into `out`, column- or row-major, with any leading dimension.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch), [`Error::MatrixLayout`](crate::Error::MatrixLayout), those of a
    /// launch and of allocating the partial sums of a bias gradient: see [`GemmPlan`] to have them once.
    pub fn into<'o>(self, out: impl Into<MatrixViewMut<'o, O>>) -> Result<()>
    where
        L: HasGemm<E, T, O>,
    {
        let (mut operands, mut out) = (self.operands?, out.into());
        let problem = Problem::new(&operands, &out, self.epilogue)?;
        let mut plan = GemmPlan::new(self.ops, problem)?;
        plan.launch(self.ops, problem, &mut operands, out.reborrow())
    }

    /// What running it again needs, computed and allocated once; nothing runs yet.
    ///
    /// # Errors
    /// As [`into`](Self::into).
    pub fn plan<'o>(&self, out: impl Into<MatrixViewMut<'o, O>>) -> Result<GemmPlan<L, T, O, E>>
    where
        L: HasGemm<E, T, O>,
    {
        let operands = self.operands.as_ref().map_err(|error| crate::Error::MatrixLayout {
            operation: "plan a matrix product",
            matrix: "an operand",
            found: format!("could not be prepared ({error})"),
            rule: "see that error",
        })?;
        GemmPlan::new(self.ops, Problem::new(operands, &out.into(), self.epilogue)?)
    }
}

impl<'a, L, T, E, P> Linear<'a, L, T, T, E, P>
where
    L: cuda_std::Library + HasGemm<E, T, T>,
    T: GemmElement,
    E: Epilogue,
    P: Package<T>,
{
    /// Computes it into a new matrix, which comes back in the form of the first factor: on the device, as nalgebra's or as
    /// ndarray's. It is column-major, an ndarray array row-major.
    ///
    /// # Errors
    /// As [`into`](Self::into), and those of making the matrix.
    pub fn run(self) -> Result<P::Matrix> {
        let runtime = self.ops.runtime().clone();
        let (m, n) = match &self.operands {
            Ok(operands) => operands.product_shape(),
            Err(_) => (0, 0),
        };
        let joined = |size: usize| if E::GATED { size / 2 } else { size };
        let (features, samples) = if P::ROW_MAJOR { (joined(n), m) } else { (joined(m), n) };
        let mut out = Matrix::zeros(&runtime, features, samples)?;
        self.into(result_view(&mut out, P::ROW_MAJOR))?;
        P::package(out)
    }
}

impl<'a, L, T, O, E, A, P> Linear<'a, L, T, O, Activated<E, A>, P>
where
    L: cuda_std::Library,
    T: GemmElement,
    O: Element<Compute = T::Compute>,
    E: Epilogue,
    A: Activation,
{
    /// Keeps the activation's argument, for [`times_derivative`](Linear::times_derivative), in the layout of the result.
    pub fn save_preactivation(
        self,
        preactivation: impl Into<MatrixViewMut<'a, T>>,
    ) -> Linear<'a, L, T, O, Activated<Saved<E>, A>, P> {
        self.extend(Activated::save_preactivation, |operands| {
            operands.aux_out = Some(preactivation.into());
            Ok(())
        })
    }
}

impl<'a, L, T, O, E, A, P> Linear<'a, L, T, O, Gated<E, A>, P>
where
    L: cuda_std::Library,
    T: GemmElement,
    O: Element<Compute = T::Compute>,
    E: Epilogue,
    A: Activation,
{
    /// Keeps values and gates, in the layout of the result.
    pub fn save_preactivation(
        self,
        preactivation: impl Into<MatrixViewMut<'a, T>>,
    ) -> Linear<'a, L, T, O, Gated<Saved<E>, A>, P> {
        self.extend(Gated::save_preactivation, |operands| {
            operands.aux_out = Some(preactivation.into());
            Ok(())
        })
    }
}

impl<'a, L, T, O, E, P> Linear<'a, L, T, O, Activated<E, Relu>, P>
where
    L: cuda_std::Library,
    T: GemmElement,
    O: Element<Compute = T::Compute>,
    E: Epilogue,
{
    /// Keeps one bit of relu's argument, for [`masked`](Linear::masked).
    pub fn save_mask(self, mask: &'a mut ReluMask) -> Linear<'a, L, T, O, Activated<SavedMask<E>, Relu>, P> {
        self.extend(Activated::save_mask, |operands| {
            operands.mask_out = Some(mask);
            Ok(())
        })
    }
}

impl<L, T: GemmElement, O: Element, E, P> std::fmt::Debug for Linear<'_, L, T, O, E, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Linear<{}, {}, {}>", T::NAME, O::NAME, std::any::type_name::<E>())
    }
}
