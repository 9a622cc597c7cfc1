//! Optimizer steps.

use cuda_std::{Global, GlobalMut, kernel, thread};

use crate::Element;
use crate::elementwise::{self, Accumulate, Descend, Function};

/// Gradient descent: `w[i] -= rate * g[i]`.
#[kernel(module = "optim")]
pub fn sgd<T: Element>(step: Descend, gradient: Global<T>, parameters: GlobalMut<T>) {
    elementwise::update(parameters, gradient, step);
}

/// Gradient descent with momentum: `v[i] = momentum * v[i] + g[i]`, then `w[i] -= rate * v[i]`.
#[kernel(module = "optim")]
pub fn sgd_momentum<T: Element>(
    step: Descend,
    momentum: Accumulate,
    gradient: Global<T>,
    mut velocity: GlobalMut<T>,
    mut parameters: GlobalMut<T>,
) {
    for i in thread::elements(parameters.len()) {
        let [v]: [T::Compute; 1] = momentum.apply([velocity[i].load(), gradient[i].load()], 0);
        let [w]: [T::Compute; 1] = step.apply([parameters[i].load(), v], 0);
        velocity.set(i, T::store(v));
        parameters.set(i, T::store(w));
    }
}
