//! The same functions with approximate instructions: relative errors around 2^-16, in the forms that keep relative accuracy in
//! the tails, and subnormals where a result can be one. What 16-bit results need, at a third of the price.
//!
//! On the device `ex2.approx`, `rcp.approx`, `sqrt.approx`, `div.full`; never `tanh.approx`, whose error of 2^-11 shows in f16.
//! On the host the exact operations stand in for them, so the two differ in the last bits of f32. Coefficients are minimax fits
//! of the relative error.

use core::f32::consts::LOG2_E;

use super::machine::{abs, at_most, copy_sign, fma};

macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident($($x:ident),+) = $text:literal, $host:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($($x: f32),+) -> f32 {
            #[cfg(target_os = "cuda")]
            {
                let y: f32;
                // SAFETY: arithmetic on registers.
                unsafe {
                    core::arch::asm!($text, out(reg32) y, $(in(reg32) $x),+, options(pure, nomem, nostack, preserves_flags));
                }
                y
            }
            #[cfg(not(target_os = "cuda"))]
            $host
        }
    )*};
}

instructions! {
    /// 2ˣ, relative error 2^-22; 0 where that is subnormal.
    exp2(x) = "ex2.approx.ftz.f32 {}, {};", {
        let y = super::exp2(x);
        if y < f32::MIN_POSITIVE { 0.0 } else { y }
    };
    /// 1 / x, 1 ulp.
    recip(x) = "rcp.approx.f32 {}, {};", 1.0 / x;
    /// 1 / x for 2^-126 <= x <= 2^126; 0 beyond.
    recip_moderate(x) = "rcp.approx.ftz.f32 {}, {};", 1.0 / x;
    /// √x, relative error 2^-23.
    sqrt(x) = "sqrt.approx.f32 {}, {};", super::machine::sqrt(x);
    /// a / b, 2 ulp.
    divide(a, b) = "div.full.f32 {}, {}, {};", a / b;
}

// `ex2` itself keeps subnormals only with three instructions more. Where they are wanted, its result is kept away from them by a power of two
// that a multiplication takes back.

/// 2^64 as an exponent, and 2^-64.
const UP: f32 = 64.0;
const DOWN: f32 = 1.0 / (1u128 << 64) as f32;

/// eˣ, the square of its root. The rounded product costs up to 2^-17 at the ends of the range.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let root = exp2(x * (0.5 * LOG2_E));
    root * root
}

/// exp(-t) for t >= 0.
#[inline(always)]
fn falling(t: f32) -> f32 {
    exp2(fma(t, -LOG2_E, UP)) * DOWN
}

/// eˣ - 1.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let q = fma(x, 0.008_333_286, 0.042_100_63);
    let q = fma(x, q, 0.166_678_35);
    let q = fma(x, q, 0.499_973_1);
    let q = fma(x, q, 0.999_999_5);
    if abs(x) < 0.5 { x * q } else { exp(x) - 1.0 }
}

/// 1 / (1 + 2^y) of y - 64.
#[inline(always)]
fn logistic(y_down: f32) -> f32 {
    recip_moderate(exp2(y_down) + DOWN) * DOWN
}

/// σ(x)
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    logistic(fma(x, -LOG2_E, -UP))
}

/// σ(-|x|), the smaller of the two.
#[inline(always)]
fn lower_sigmoid(x: f32) -> f32 {
    logistic(fma(abs(x), LOG2_E, -UP))
}

/// σ(x)·σ(-x)
#[inline(always)]
pub fn sigmoid_derivative(x: f32) -> f32 {
    let low = lower_sigmoid(x);
    fma(-low, low, low)
}

/// x times a gate that is 0 for an infinite x below, and NaN for NaN.
#[inline(always)]
fn gated(x: f32, gate: f32) -> f32 {
    x.max(f32::MIN) * gate
}

/// x·σ(x)
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    gated(x, sigmoid(x))
}

/// x·σ(z); 0 where the gate has become 0, also for an infinite x: of either sign, for z may be -x.
#[inline(always)]
pub fn swish(x: f32, z: f32) -> f32 {
    let gate = sigmoid(z);
    if gate == 0.0 { 0.0 } else { x * gate }
}

/// σ(z)·(1 + w·σ(-z)) from σ(-|z|).
#[inline(always)]
fn swish_slope(z: f32, w: f32, low: f32) -> f32 {
    let high = 1.0 - low;
    let (gate, other) = if z < 0.0 { (low, high) } else { (high, low) };
    gate * fma(w, other, 1.0)
}

/// The derivative of z·σ(z).
#[inline(always)]
pub fn silu_derivative(z: f32) -> f32 {
    let z = copy_sign(at_most(abs(z), END), z);
    swish_slope(z, z, lower_sigmoid(z))
}

/// Beyond it e⁻ˣ is 0 also when multiplied by x.
const END: f32 = 120.0;
/// 2√(2/π) and 0.044715 times it.
const GELU_1: f32 = 1.595_769;
const GELU_3: f32 = 0.071_354_82;

/// 2u·log2(e) / x from x², with 2u = GELU_1·x + GELU_3·x³.
#[inline(always)]
fn gelu_exponent(square: f32) -> f32 {
    fma(square, GELU_3 * LOG2_E, GELU_1 * LOG2_E)
}

/// x·σ(2u)
#[inline(always)]
pub fn gelu_tanh(x: f32) -> f32 {
    gated(x, logistic(fma(-x, gelu_exponent(x * x), -UP)))
}

/// σ(2u)·(1 + x·2u'·σ(-2u))
#[inline(always)]
pub fn gelu_tanh_derivative(x: f32) -> f32 {
    let x = copy_sign(at_most(abs(x), 16.0), x);
    let square = x * x;
    let low = logistic(fma(abs(x), gelu_exponent(square), -UP));
    swish_slope(x, x * fma(3.0 * GELU_3, square, GELU_1), low)
}

/// ln(1 + eˣ) = max(x, 0) + ln(1 + e) with e = exp(-|x|).
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    let e = falling(abs(x));
    // ln(1 + e) / e, degree 5 on 0 <= e <= 1, relative error 2^-16.9.
    let q = fma(e, -0.023_865_067, 0.101_212_44);
    let q = fma(e, q, -0.210_040_8);
    let q = fma(e, q, 0.325_204_46);
    let q = fma(e, q, -0.499_361_28);
    let q = fma(e, q, 0.999_991_6);
    fma(e, q, if x <= 0.0 { 0.0 } else { x })
}

/// (1 - e) / (1 + e) with e = exp(-2|x|); below 0.1, where 1 - e cancels, x - x³/3 + 2x⁵/15.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let e = exp2(abs(x) * (-2.0 * LOG2_E));
    let large = copy_sign((1.0 - e) * recip_moderate(1.0 + e), x);
    let z = x * x;
    let small = fma(x * z, fma(z, 2.0 / 15.0, -1.0 / 3.0), x);
    if abs(x) < 0.1 { small } else { large }
}

/// E = exp(-t²/2), and m with Φ(-t) = E·m, for t >= 0.
#[inline(always)]
fn normal_tail(t: f32) -> (f32, f32) {
    // m / s as a polynomial in s = 1 / (1 + 0.3t); relative error 2^-16.8 up to t = 14.5.
    let s = recip_moderate(fma(t, 0.3, 1.0));
    let q = fma(s, -0.076_699_935, 0.214_847_02);
    let q = fma(s, q, -0.015_595_272);
    let q = fma(s, q, 0.143_472_05);
    let q = fma(s, q, 0.113_923_2);
    let q = fma(s, q, 0.120_057_38);
    (exp2(fma(t * t, -0.5 * LOG2_E, UP)) * DOWN, s * q)
}

/// Beyond it Φ(-t) is 0, also when multiplied by t.
const NORMAL_END: f32 = 16.0;

/// Φ(x)
#[inline(always)]
pub fn normal_cdf(x: f32) -> f32 {
    let (e, m) = normal_tail(at_most(abs(x), NORMAL_END));
    if x < 0.0 { e * m } else { 1.0 - e * m }
}

/// x·Φ(x) = max(x, 0) - t·Φ(-t) with t = |x|.
#[inline(always)]
pub fn gelu_erf(x: f32) -> f32 {
    let t = abs(x).min(NORMAL_END);
    let (e, m) = normal_tail(t);
    // NaN comes from here.
    fma(-t, e * m, if x <= 0.0 { 0.0 } else { x })
}

/// Φ(x) + x·φ(x)
#[inline(always)]
pub fn gelu_erf_derivative(x: f32) -> f32 {
    const INV_SQRT_TAU: f32 = 0.398_942_3;
    let t = at_most(abs(x), NORMAL_END);
    let (e, m) = normal_tail(t);
    let d = e * fma(t, INV_SQRT_TAU, -m);
    if x < 0.0 { -d } else { 1.0 + d }
}

/// exp(-x²)
#[inline(always)]
pub fn exp_neg_square(x: f32) -> f32 {
    let root = exp2(x * x * (-0.5 * LOG2_E));
    root * root
}

/// x·tanh(ln(1 + eˣ)) = x·n / (n + 2) with n = eˣ·(eˣ + 2).
#[inline(always)]
pub fn mish(x: f32) -> f32 {
    // Of e and n the 2^64-fold; from 20 on the quotient is 1.
    let e = exp2(fma(at_most(x, 20.0), LOG2_E, UP));
    let n = e * fma(e, DOWN, 2.0);
    gated(x, n * recip_moderate(fma(n, DOWN, 2.0)) * DOWN)
}

/// n/d + 4x·g·(1 + e)/d², of tanh(ln(1 + eˣ)) = n/d with e = exp(-|x|): below 0, n = e·(e + 2), d = n + 2 and g = e; above, n = 1 + 2e,
/// d = n + 2e² and g = e².
#[inline(always)]
pub fn mish_derivative(x: f32) -> f32 {
    let x = copy_sign(at_most(abs(x), END), x);
    let e = falling(abs(x));
    let (n, rest, g) = if x < 0.0 { (e * (e + 2.0), 2.0, e) } else { (fma(2.0, e, 1.0), 2.0 * e * e, e * e) };
    let r = recip_moderate(n + rest);
    let slope = x * (g * fma(4.0, e, 4.0)) * r;
    (n + slope) * r
}
