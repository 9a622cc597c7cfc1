//! An activation applied to each element, and its gradient.

use cuda_std::{Global, GlobalMut, kernel};

use crate::elementwise::{self, Backward, Forward};
use crate::{Activation, Element};

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
