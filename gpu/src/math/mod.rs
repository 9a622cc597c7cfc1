//! Precise mathematics on f32 (and, in `f64`, on f64): at most 1 ulp, the same bits on CPU and GPU.
//!
//! The f32 primitives were measured over all 2^32 inputs; `softplus` and the functions ending in `_hilo`, `_scaled` or
//! `_derivative`, as they are now, on stratified samples.
//!
//! Only IEEE additions, products, quotients, square roots, fused multiply-adds, integers and selects are used: no
//! approximate instructions, no tables, no branches (except in `sin` and `cos` beyond 2^17, and `powi`), so that loops
//! vectorise and warps stay together. NaN gives NaN, infinities give the limits, subnormals and signed zeros are kept.
//! `gelu_*`, `silu`, `mish` and their derivatives are here because plain composition of rounded parts loses up to
//! hundreds of ulp: they carry high and low parts through to one rounding and reach 2 ulp.

mod exp;
pub mod f64;
pub mod fast;
mod gelu;
mod log;
pub mod machine;
mod normal;
pub mod pair;
mod power;
mod sigmoid;
mod swish;
mod tanh;
mod trig;
#[cfg(not(target_os = "cuda"))]
pub mod ulp;

pub use exp::{exp, exp_hilo, exp_m1, exp_neg_square, exp_neg_square_derivative, exp_neg_square_hilo, exp2};
pub use gelu::{gelu_erf, gelu_erf_derivative, gelu_tanh, gelu_tanh_derivative};
pub use log::{ln, ln_1p, log2};
pub use normal::{erf, erfc, normal_cdf, normal_cdf_hilo};
pub use power::{powi, recip, sqrt};
pub use sigmoid::{log_sigmoid, sigmoid, sigmoid_derivative, sigmoid_hilo, softplus, softplus_hilo, tanh_derivative};
pub use swish::{mish, mish_derivative, silu, silu_derivative, silu_derivative_hilo, swish};
pub use tanh::tanh;
pub use trig::{MODERATE_ANGLE, cos, cos_hilo, cos_moderate, sin, sin_hilo, sin_moderate};

/// x c as high and low part, for the functions that take those.
#[inline(always)]
pub fn product(x: f32, c: ::core::primitive::f64) -> (f32, f32) {
    let high = c as f32;
    let low = (c - ::core::primitive::f64::from(high)) as f32;
    let hi = x * high;
    (hi, machine::fma(x, low, machine::fma(x, high, -hi)))
}
