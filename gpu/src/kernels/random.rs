//! Dropout, the randomised leaky ReLU, and a bias, an activation and dropout in one pass.

use cuda_std::{Global, GlobalMut, kernel};

use crate::elementwise::{self, Extents, Lines};
use crate::kernels::fused::{BiasedBackward, BiasedForward};
use crate::random::{Dropout, Dropped, RandomRelu, RandomReluBackward};
use crate::{Activation, Element};

/// `y[i] = dropout(x[i])`. The gradient is the same function of dy.
#[kernel(module = "dropout")]
pub fn dropout<T: Element>(mask: Dropout, x: Global<T>, y: GlobalMut<T>) {
    elementwise::map([x], y, mask);
}

/// `y[i] = x[i]` where that is above 0, a drawn slope times it otherwise.
#[kernel(module = "dropout")]
pub fn rrelu_forward<T: Element>(relu: RandomRelu, x: Global<T>, y: GlobalMut<T>) {
    elementwise::map([x], y, relu);
}

/// `dx[i] = dy[i]` times the slope that [`rrelu_forward()`] drew.
#[kernel(module = "dropout")]
pub fn rrelu_backward<T: Element>(relu: RandomRelu, x: Global<T>, dy: Global<T>, dx: GlobalMut<T>) {
    elementwise::map([x, dy], dx, RandomReluBackward(relu));
}

/// `y[j, i] = dropout(f(x[j, i] + bias[i]))`
#[kernel(module = "fused")]
pub fn bias_activation_dropout_forward<A: Activation, T: Element>(
    activation: A,
    dropout: Dropout,
    extents: Extents,
    x: Global<T>,
    bias: Global<T>,
    y: GlobalMut<T>,
) {
    let inputs = [Lines::read(&x, 0, extents.len, extents), Lines::read(&bias, 0, 0, extents)];
    let outputs = [Lines::written(&y, 0, extents.len, extents)];
    let function = Dropped { function: BiasedForward::<T::Math, A>::new(activation), dropout };
    // SAFETY: the views are checked above; y is this launch's alone.
    unsafe { elementwise::each::<T, 2, 1>(inputs, outputs, extents, function) }
}

/// `dx[j, i] = dropout(dy[j, i] * f'(x[j, i] + bias[i]))`, with the mask of the forward pass.
#[kernel(module = "fused")]
pub fn bias_activation_dropout_backward<A: Activation, T: Element>(
    activation: A,
    dropout: Dropout,
    extents: Extents,
    x: Global<T>,
    bias: Global<T>,
    dy: Global<T>,
    dx: GlobalMut<T>,
) {
    let [x, dy] = [x, dy].map(|input| Lines::read(&input, 0, extents.len, extents));
    let inputs = [x, Lines::read(&bias, 0, 0, extents), dy];
    let outputs = [Lines::written(&dx, 0, extents.len, extents)];
    let function = Dropped { function: BiasedBackward::<T::Math, A>::new(activation), dropout };
    // SAFETY: the views are checked above; dx is this launch's alone.
    unsafe { elementwise::each::<T, 3, 1>(inputs, outputs, extents, function) }
}
