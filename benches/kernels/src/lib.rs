//! [`scan`](scan()): the largest errors of an activation over any part of f32, measured where 2^32 inputs take seconds.
#![cfg_attr(target_os = "cuda", no_std)]

use cuda_std::{GlobalMut, kernel, kernels, thread};
use warpsmith_gpu::Activation;
use warpsmith_gpu::accuracy::{Digits, Terms};
use warpsmith_gpu::activations::*;

/// Numbers for each slot of [`scan`](scan()): the largest errors of f and f' in last places of the result, and both in last places of the
/// largest term.
pub const ERRORS: usize = 4;

/// For each of `worst.len() / ERRORS` slots the largest errors over its share of the inputs whose bits are `first..end` and whose magnitude is
/// at most `largest`: an error's f32 bits above the input's, so that the largest of these words is the largest error. f32 is
/// compared with f64.
#[kernel(module = "scan", block = 256)]
pub fn scan<A: Activation>(activation: A, terms: Terms, largest: f64, first: u64, end: u64, mut worst: GlobalMut<u64>) {
    let slots = worst.len() / ERRORS;
    for slot in thread::elements(slots) {
        let slot = slot.get();
        let mut errors = [0_u64; ERRORS];
        let mut i = first + slot as u64;
        while i < end {
            let x = f32::from_bits(i as u32);
            let wide = f64::from(x);
            // NaN is not beyond it.
            let beyond = wide.abs() > largest;
            if !beyond {
                let (value, slope) = (activation.forward(x), activation.derivative(x));
                let (want, want_slope) = (activation.forward(wide), activation.derivative(wide));
                let [term, slope_term] = terms.at(&activation, wide);
                let found = [
                    value.ulp(want, 0.0),
                    slope.ulp(want_slope, 0.0),
                    value.ulp(want, term),
                    slope.ulp(want_slope, slope_term),
                ];
                for (error, found) in errors.iter_mut().zip(found) {
                    let word = (u64::from((found as f32).to_bits()) << 32) | (i & 0xffff_ffff);
                    *error = word.max(*error);
                }
            }
            i += slots as u64;
        }
        for (k, error) in errors.into_iter().enumerate() {
            // SAFETY: the slot belongs to this thread alone.
            unsafe { worst.write(slot * ERRORS + k, error) };
        }
    }
}

kernels! {
    /// [`scan`](scan()) of the whole catalogue.
    pub struct Scans;
    scan<{
        Identity, Threshold, Relu, Relu6, LeakyRelu, Prelu, Rrelu, SquaredRelu, Hardtanh, Hardsigmoid, Hardswish, Hardshrink, Softshrink,
        Tanhshrink, Sigmoid, LogSigmoid, Tanh, Softsign, Silu, Mish, Swish, GeluErf, GeluTanh, QuickGelu, Elu, Celu, Selu, Exponential,
        Gaussian, Softplus, Squareplus, Sine, Snake
    }>;
}

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use cuda_std::simulator;
    use warpsmith_gpu::accuracy::{largest_input, measure, terms};

    use super::*;

    /// The simulated kernel finds what the host finds.
    #[test]
    fn finds_the_worst_input() {
        let (first, end) = (0x3e36_0000_u64, 0x3e37_0000);
        for (any, activation) in [(Any::from(Silu), Silu)] {
            let mut worst = [0; 64 * ERRORS];
            let arguments = (activation, terms(any), largest_input(any), first, end, GlobalMut::from_slice(&mut worst));
            simulator::launch::<scan<Silu>>(simulator::Shape::new(2, 256), arguments).unwrap();
            let report =
                measure::<_, f32, f32>(&activation, (first..end).map(|i| f32::from_bits(i as u32)), terms(any));
            let largest = |k: usize| worst.iter().skip(k).step_by(ERRORS).max().copied().unwrap_or(0);
            for (k, want) in [report.forward, report.derivative, report.forward_of_term, report.derivative_of_term]
                .iter()
                .enumerate()
            {
                assert_eq!(f32::from_bits((largest(k) >> 32) as u32), want.ulp as f32, "{k}");
            }
        }
    }
}
