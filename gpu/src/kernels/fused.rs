//! A bias and an activation in one pass, and PReLU with a slope for each channel. Both have one number for each row of a
//! column-major matrix: a line that is repeated.

use cuda_std::{Global, GlobalMut, kernel};

use crate::elementwise::{self, Extents, Function, Lines, functions_of_activations};
use crate::{Activation, Element, Real};

functions_of_activations! {
    /// (x, b) ↦ f(x + b)
    BiasedForward<Activation>, 2 to 1: |f, [x, b], _| [f.forward(x + b)];
    /// (x, b, dy) ↦ f'(x + b)·dy
    BiasedBackward<Activation>, 3 to 1: |f, [x, b, dy], _| [f.backward(x + b, dy)];
}

/// `y[j, i] = f(x[j, i] + bias[i])`
#[kernel(module = "fused")]
pub fn bias_activation_forward<A: Activation, T: Element>(
    activation: A,
    extents: Extents,
    x: Global<T>,
    bias: Global<T>,
    y: GlobalMut<T>,
) {
    let inputs = [Lines::read(&x, 0, extents.len, extents), Lines::read(&bias, 0, 0, extents)];
    let outputs = [Lines::written(&y, 0, extents.len, extents)];
    // SAFETY: the views are checked above; y is this launch's alone.
    unsafe { elementwise::each::<T, 2, 1>(inputs, outputs, extents, BiasedForward::<T::Math, A>::new(activation)) }
}

/// `dx[j, i] = f'(x[j, i] + bias[i])·dy[j, i]`. The bias's gradient is the sum over the lines of dx.
#[kernel(module = "fused")]
pub fn bias_activation_backward<A: Activation, T: Element>(
    activation: A,
    extents: Extents,
    x: Global<T>,
    bias: Global<T>,
    dy: Global<T>,
    dx: GlobalMut<T>,
) {
    let [x, dy] = [x, dy].map(|input| Lines::read(&input, 0, extents.len, extents));
    let inputs = [x, Lines::read(&bias, 0, 0, extents), dy];
    let outputs = [Lines::written(&dx, 0, extents.len, extents)];
    // SAFETY: the views are checked above; dx is this launch's alone.
    unsafe { elementwise::each::<T, 3, 1>(inputs, outputs, extents, BiasedBackward::<T::Math, A>::new(activation)) }
}

/// (x, slope) ↦ x for x > 0, slope·x otherwise
#[derive(Clone, Copy, Debug)]
pub struct ChannelPrelu;

impl<C: Real> Function<C, 2> for ChannelPrelu {
    #[inline(always)]
    fn apply(&self, [x, slope]: [C; 2], _: u32) -> [C; 1] {
        [C::select(x > C::constant(0.0), x, x * slope)]
    }
}

/// (x, slope, dy) ↦ (the gradient with respect to x, the element's part of the one with respect to the slope)
#[derive(Clone, Copy, Debug)]
pub struct ChannelPreluBackward;

impl<C: Real> Function<C, 3, 2> for ChannelPreluBackward {
    #[inline(always)]
    fn apply(&self, [x, slope, dy]: [C; 3], _: u32) -> [C; 2] {
        let above = x > C::constant(0.0);
        let dx = C::select(above, dy, dy * slope);
        let dslope = C::select(above, C::constant(0.0), dy * x);
        [C::select(x.is_nan(), x, dx), C::select(x.is_nan(), x, dslope)]
    }
}

/// `y[j, i] = x[j, i]` where that is above 0, `slope[i]·x[j, i]` elsewhere; He et al., arXiv:1502.01852.
#[kernel(module = "fused")]
pub fn prelu_forward<T: Element>(extents: Extents, x: Global<T>, slope: Global<T>, y: GlobalMut<T>) {
    let inputs = [Lines::read(&x, 0, extents.len, extents), Lines::read(&slope, 0, 0, extents)];
    let outputs = [Lines::written(&y, 0, extents.len, extents)];
    // SAFETY: the views are checked above; y is this launch's alone.
    unsafe { elementwise::each::<T, 2, 1>(inputs, outputs, extents, ChannelPrelu) }
}

/// The gradient of [`prelu_forward()`] with respect to x, and each element's part of the slopes': their gradient is the sum over
/// the lines of `dslope`.
#[kernel(module = "fused")]
pub fn prelu_backward<T: Element>(
    extents: Extents,
    x: Global<T>,
    slope: Global<T>,
    dy: Global<T>,
    dx: GlobalMut<T>,
    dslope: GlobalMut<T>,
) {
    let [x, dy] = [x, dy].map(|input| Lines::read(&input, 0, extents.len, extents));
    let inputs = [x, Lines::read(&slope, 0, 0, extents), dy];
    let outputs = [&dx, &dslope].map(|output| Lines::written(output, 0, extents.len, extents));
    // SAFETY: the views are checked above; two views that a launch may write never overlap.
    unsafe { elementwise::each::<T, 3, 2>(inputs, outputs, extents, ChannelPreluBackward) }
}
