//! An activation applied to each element, and its gradient.

use cuda_std::{Global, GlobalMut, kernel};

use crate::elementwise::{self, Backward, BackwardFromOutput, Forward};
use crate::{Activation, Element, Fast, FromOutput};

/// `y[i] = f(x[i])`
#[kernel(module = "map")]
pub fn map_forward<A: Activation, T: Element>(activation: A, x: Global<T>, y: GlobalMut<T>) {
    elementwise::map([x], y, Forward::<T::Math, A>::new(activation));
}

/// `x[i] = f(x[i])`
#[kernel(module = "map")]
pub fn map_in_place<A: Activation, T: Element>(activation: A, x: GlobalMut<T>) {
    elementwise::map_in_place(x, Forward::<T::Math, A>::new(activation));
}

/// `dx[i] = dy[i] * f'(x[i])`
#[kernel(module = "map")]
pub fn map_backward<A: Activation, T: Element>(activation: A, x: Global<T>, dy: Global<T>, dx: GlobalMut<T>) {
    elementwise::map([x, dy], dx, Backward::<T::Math, A>::new(activation));
}

/// `y[i] = f(x[i])` with y of another type than x: computed as y's type asks for.
#[kernel(module = "map")]
pub fn map_convert<A: Activation, I, O>(activation: A, x: Global<I>, y: GlobalMut<O>)
where
    I: Element<Compute = O::Compute>,
    O: Element,
{
    elementwise::convert([x], y, Forward::<O::Math, A>::new(activation));
}

/// `dx[i] = dy[i] * f'(x[i])` with dx of another type than x and dy: computed as dx's type asks for.
#[kernel(module = "map")]
pub fn map_backward_convert<A: Activation, I, O>(activation: A, x: Global<I>, dy: Global<I>, dx: GlobalMut<O>)
where
    I: Element<Compute = O::Compute>,
    O: Element,
{
    elementwise::convert([x, dy], dx, Backward::<O::Math, A>::new(activation));
}

/// `dx[i] = dy[i] * f'(x)`, given `y[i] = f(x)`: see [`FromOutput`].
#[kernel(module = "map")]
pub fn map_backward_from_output<A: FromOutput, T: Element>(
    activation: A,
    y: Global<T>,
    dy: Global<T>,
    dx: GlobalMut<T>,
) {
    elementwise::map([y, dy], dx, BackwardFromOutput::<T::Math, A>::new(activation));
}

/// [`map_forward()`] in f32 with [`Fast`] mathematics.
#[kernel(module = "map_fast")]
pub fn map_forward_fast<A: Activation>(activation: A, x: Global<f32>, y: GlobalMut<f32>) {
    elementwise::map([x], y, Forward::<Fast, A>::new(activation));
}

/// [`map_backward()`] in f32 with [`Fast`] mathematics.
#[kernel(module = "map_fast")]
pub fn map_backward_fast<A: Activation>(activation: A, x: Global<f32>, dy: Global<f32>, dx: GlobalMut<f32>) {
    elementwise::map([x, dy], dx, Backward::<Fast, A>::new(activation));
}
