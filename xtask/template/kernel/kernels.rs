//! The device code: a kernel, and its instances.
#![cfg_attr(target_os = "cuda", no_std)]

use cuda_std::prelude::*;

/// `y[i] = a * x[i] + y[i]`
#[kernel]
pub fn axpy(a: f32, x: Global<f32>, mut y: GlobalMut<f32>) {
    // This thread's elements, whatever the grid: nobody else may write them, so nothing here is unsafe.
    for i in thread::elements(y.len()) {
        let sum = a * x[i] + y[i];
        y.set(i, sum);
    }
}

kernels! {
    axpy;
}
