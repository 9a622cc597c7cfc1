//! Gated units, forward and backward: gate and value in two tensors, or as the halves of each line of one.

use cuda_std::{Global, GlobalMut, kernel};

use crate::elementwise::{self, Extents, Lines, functions_of_activations};
use crate::{Element, GatedUnit};

functions_of_activations! {
    /// (gate, value) ↦ f(gate, value)
    GatedForward<GatedUnit>, 2 to 1: |f, [gate, value], _| [f.forward(gate, value)];
    /// (gate, value, dy) ↦ the gradients with respect to gate and value
    GatedBackward<GatedUnit>, 3 to 2: |f, [gate, value, dy], _| f.backward(gate, value, dy);
}

/// `y[i] = f(gate[i], value[i])`
#[kernel(module = "gated")]
pub fn gated_forward<G: GatedUnit, T: Element>(unit: G, gate: Global<T>, value: Global<T>, y: GlobalMut<T>) {
    elementwise::map([gate, value], y, GatedForward::<T::Math, G>::new(unit));
}

/// `(dgate[i], dvalue[i]) = dy[i]·(∂f/∂gate, ∂f/∂value)`
#[kernel(module = "gated")]
pub fn gated_backward<G: GatedUnit, T: Element>(
    unit: G,
    gate: Global<T>,
    value: Global<T>,
    dy: Global<T>,
    dgate: GlobalMut<T>,
    dvalue: GlobalMut<T>,
) {
    let extents = Extents::flat(dgate.len());
    let inputs = [gate, value, dy].map(|input| Lines::read(&input, 0, 0, extents));
    let outputs = [Lines::written(&dgate, 0, 0, extents), Lines::written(&dvalue, 0, 0, extents)];
    // SAFETY: two views that a launch may write, which never overlap.
    unsafe { elementwise::each::<T, 3, 2>(inputs, outputs, extents, GatedBackward::<T::Math, G>::new(unit)) }
}

/// Where the halves of a line of 2·len elements begin: (gate, value).
#[inline(always)]
fn halves(extents: Extents, value_first: u32) -> (usize, usize) {
    if value_first == 0 { (0, extents.len) } else { (extents.len, 0) }
}

/// `y[j, i] = f(gate, value)` with gate and value in the halves of line j of x: the gate first, or the value if `value_first` is
/// not 0.
#[kernel(module = "gated")]
pub fn gated_halves_forward<G: GatedUnit, T: Element>(
    unit: G,
    extents: Extents,
    value_first: u32,
    x: Global<T>,
    y: GlobalMut<T>,
) {
    let (gate, value) = halves(extents, value_first);
    let pitch = 2 * extents.len;
    let inputs = [gate, value].map(|offset| Lines::read(&x, offset, pitch, extents));
    let outputs = [Lines::written(&y, 0, extents.len, extents)];
    // SAFETY: the views are checked above; y is this launch's alone.
    unsafe { elementwise::each::<T, 2, 1>(inputs, outputs, extents, GatedForward::<T::Math, G>::new(unit)) }
}

/// The gradients of [`gated_halves_forward()`] in the halves of dx.
#[kernel(module = "gated")]
pub fn gated_halves_backward<G: GatedUnit, T: Element>(
    unit: G,
    extents: Extents,
    value_first: u32,
    x: Global<T>,
    dy: Global<T>,
    dx: GlobalMut<T>,
) {
    let (gate, value) = halves(extents, value_first);
    let pitch = 2 * extents.len;
    let [gate_in, value_in] = [gate, value].map(|offset| Lines::read(&x, offset, pitch, extents));
    let inputs = [gate_in, value_in, Lines::read(&dy, 0, extents.len, extents)];
    let outputs = [gate, value].map(|offset| Lines::written(&dx, offset, pitch, extents));
    // SAFETY: the views are checked above; the halves of a line don't overlap.
    unsafe { elementwise::each::<T, 3, 2>(inputs, outputs, extents, GatedBackward::<T::Math, G>::new(unit)) }
}
