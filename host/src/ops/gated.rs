//! Gated units, forward and backward.

use cuda_std::{Global, GlobalMut, Has};
use warpsmith_gpu::elementwise::{Extents, Lines};
use warpsmith_gpu::kernels::{
    GatedBackward, GatedForward, gated_backward, gated_forward, gated_halves_backward, gated_halves_forward,
};
use warpsmith_gpu::{Element, GatedUnit, Packed};

use super::{Ops, expect_equal, native};
use crate::{Error, Matrix, Result, View, ViewMut};

/// Which half of the features is the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halves {
    /// The first, as in most SwiGLU layers.
    GateFirst,
    /// The second, as in PyTorch's `glu`.
    ValueFirst,
}

impl Halves {
    /// Where (gate, value) begin in a line.
    fn offsets(self, len: usize) -> [usize; 2] {
        match self {
            Self::GateFirst => [0, len],
            Self::ValueFirst => [len, 0],
        }
    }
}

/// # Gated units
impl<L: cuda_std::Library> Ops<L> {
    /// `y[i] = f(gate[i], value[i])`
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], and those of a launch.
    pub fn gated_forward<'a, G, T>(
        &self,
        unit: G,
        gate: impl Into<View<'a, T>>,
        value: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        G: GatedUnit,
        T: Element,
        L: Has<gated_forward<G, T>>,
    {
        let (gate, value, y) = (gate.into(), value.into(), y.into());
        expect_equal("gated_forward", ("gate", gate.len()), ("y", y.len()))?;
        expect_equal("gated_forward", ("value", value.len()), ("y", y.len()))?;
        if !self.runtime().runs_kernels() {
            let inputs = [self.slice("gated_forward", gate)?, self.slice("gated_forward", value)?];
            native::map(inputs, self.slice_mut("gated_forward", y)?, GatedForward::<T::Math, G>::new(unit));
            return Ok(());
        }
        let shape = self.covering(Extents::flat(y.len()), T::Pack::LANES);
        self.kernel::<gated_forward<G, T>>()?.launch(&self.stream, shape, (unit, gate, value, y))
    }

    /// `(dgate[i], dvalue[i]) = dy[i]·(∂f/∂gate, ∂f/∂value)`
    ///
    /// # Errors
    /// As [`gated_forward`](Self::gated_forward).
    pub fn gated_backward<'a, G, T>(
        &self,
        unit: G,
        gate: impl Into<View<'a, T>>,
        value: impl Into<View<'a, T>>,
        dy: impl Into<View<'a, T>>,
        dgate: impl Into<ViewMut<'a, T>>,
        dvalue: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        G: GatedUnit,
        T: Element,
        L: Has<gated_backward<G, T>>,
    {
        const OPERATION: &str = "gated_backward";
        let (gate, value, dy, dgate, dvalue) = (gate.into(), value.into(), dy.into(), dgate.into(), dvalue.into());
        let len = dgate.len();
        for (name, other) in [("gate", gate.len()), ("value", value.len()), ("dy", dy.len()), ("dvalue", dvalue.len())]
        {
            expect_equal(OPERATION, (name, other), ("dgate", len))?;
        }
        let extents = Extents::flat(len);
        if !self.runtime().runs_kernels() {
            let inputs = [self.slice(OPERATION, gate)?, self.slice(OPERATION, value)?, self.slice(OPERATION, dy)?];
            let inputs = inputs.map(|input| Lines::read(&Global::from_slice(input), 0, 0, extents));
            let outputs = [self.slice_mut(OPERATION, dgate)?, self.slice_mut(OPERATION, dvalue)?];
            let outputs = outputs.map(|output| Lines::written(&GlobalMut::from_slice(output), 0, 0, extents));
            // SAFETY: both outputs are exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, GatedBackward::<T::Math, G>::new(unit)) };
            return Ok(());
        }
        let shape = self.covering(extents, T::Pack::LANES);
        let kernel = self.kernel::<gated_backward<G, T>>()?;
        kernel.launch(&self.stream, shape, (unit, gate, value, dy, dgate, dvalue))
    }

    /// `y[i, j] = f(gate, value)` with gate and value in the two halves of column j of x: x has twice as many rows as y.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], and those of a launch.
    pub fn gated_halves_forward<G, T>(&self, unit: G, halves: Halves, x: &Matrix<T>, y: &mut Matrix<T>) -> Result<()>
    where
        G: GatedUnit,
        T: Element,
        L: Has<gated_halves_forward<G, T>>,
    {
        const OPERATION: &str = "gated_halves_forward";
        let extents = extents(OPERATION, x, ("y", y))?;
        if !self.runtime().runs_kernels() {
            let x = Global::from_slice(self.slice(OPERATION, x.as_view())?);
            let offsets = halves.offsets(extents.len);
            let inputs = offsets.map(|offset| Lines::read(&x, offset, 2 * extents.len, extents));
            let y = GlobalMut::from_slice(self.slice_mut(OPERATION, y.as_view_mut())?);
            let outputs = [Lines::written(&y, 0, extents.len, extents)];
            // SAFETY: the output is exclusively borrowed.
            unsafe { native::each(inputs, outputs, extents, GatedForward::<T::Math, G>::new(unit)) };
            return Ok(());
        }
        let shape = self.covering(extents, T::Pack::LANES);
        let kernel = self.kernel::<gated_halves_forward<G, T>>()?;
        kernel.launch(&self.stream, shape, (unit, extents, u32::from(halves == Halves::ValueFirst), x, y))
    }

    /// The gradient of [`gated_halves_forward`](Self::gated_halves_forward) with respect to x, in its halves.
    ///
    /// # Errors
    /// As there.
    pub fn gated_halves_backward<G, T>(
        &self,
        unit: G,
        halves: Halves,
        x: &Matrix<T>,
        dy: &Matrix<T>,
        dx: &mut Matrix<T>,
    ) -> Result<()>
    where
        G: GatedUnit,
        T: Element,
        L: Has<gated_halves_backward<G, T>>,
    {
        const OPERATION: &str = "gated_halves_backward";
        let extents = extents(OPERATION, x, ("dy", dy))?;
        super::expect_same_shape(OPERATION, ("x", x), ("dx", dx))?;
        if !self.runtime().runs_kernels() {
            let offsets = halves.offsets(extents.len);
            let x = Global::from_slice(self.slice(OPERATION, x.as_view())?);
            let [gate, value] = offsets.map(|offset| Lines::read(&x, offset, 2 * extents.len, extents));
            let dy = Global::from_slice(self.slice(OPERATION, dy.as_view())?);
            let inputs = [gate, value, Lines::read(&dy, 0, extents.len, extents)];
            let dx = GlobalMut::from_slice(self.slice_mut(OPERATION, dx.as_view_mut())?);
            let outputs = offsets.map(|offset| Lines::written(&dx, offset, 2 * extents.len, extents));
            // SAFETY: the output is exclusively borrowed, and its halves don't overlap.
            unsafe { native::each(inputs, outputs, extents, GatedBackward::<T::Math, G>::new(unit)) };
            return Ok(());
        }
        let shape = self.covering(extents, T::Pack::LANES);
        let kernel = self.kernel::<gated_halves_backward<G, T>>()?;
        kernel.launch(&self.stream, shape, (unit, extents, u32::from(halves == Halves::ValueFirst), x, dy, dx))
    }
}

/// The lines of a result whose input has twice as many rows.
fn extents<T: Element>(
    operation: &'static str,
    x: &Matrix<T>,
    (name, half): (&'static str, &Matrix<T>),
) -> Result<Extents> {
    if x.rows() != 2 * half.rows() || x.columns() != half.columns() {
        return Err(Error::ShapeMismatch {
            operation,
            left_name: "x",
            left: x.shape(),
            right_name: name,
            right: half.shape(),
            rule: "x has twice as many rows, for gates and values, and as many columns",
        });
    }
    Ok(Extents { len: half.rows(), lines: half.columns() })
}
