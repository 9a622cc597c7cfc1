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
    /// 2ˣ, relative error 2^-22.
    exp2(x) = "ex2.approx.f32 {}, {};", super::exp2(x);
    /// 1 / x, 1 ulp.
    recip(x) = "rcp.approx.f32 {}, {};", 1.0 / x;
    /// 1 / x for 2^-126 <= x < 2^126: what a flush would touch does not occur.
    recip_moderate(x) = "rcp.approx.ftz.f32 {}, {};", 1.0 / x;
    /// √x, relative error 2^-23.
    sqrt(x) = "sqrt.approx.f32 {}, {};", super::machine::sqrt(x);
    /// a / b, 2 ulp.
    divide(a, b) = "div.full.f32 {}, {}, {};", a / b;
}

/// eˣ. The rounded product costs up to 2^-17 at the ends of the range.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * LOG2_E)
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

/// e = exp(-|x|) and r = 1 / (1 + e), from which the sigmoid and all that follows from it are made.
#[inline(always)]
fn logistic(x: f32) -> (f32, f32) {
    let e = exp2(abs(x) * -LOG2_E);
    (e, recip_moderate(1.0 + e))
}

/// σ(x), e·r in the lower tail.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let (e, r) = logistic(x);
    if x < 0.0 { e * r } else { r }
}

/// σ(x)·σ(-x)
#[inline(always)]
pub fn sigmoid_derivative(x: f32) -> f32 {
    let (e, r) = logistic(x);
    e * r * r
}

/// 0 where the gate has become 0, also for an infinite x.
#[inline(always)]
fn gated(x: f32, gate: f32) -> f32 {
    if gate == 0.0 { 0.0 } else { x * gate }
}

/// x·σ(z)
#[inline(always)]
pub fn swish(x: f32, z: f32) -> f32 {
    gated(x, sigmoid(z))
}

/// σ(z)·(1 + w·σ(-z)), for w = 0 wherever σ(-z) is 0 or σ(z) is.
#[inline(always)]
fn swish_slope(z: f32, w: f32) -> f32 {
    let (e, r) = logistic(z);
    let (low, high) = (e * r, r);
    let (gate, other) = if z < 0.0 { (low, high) } else { (high, low) };
    gate * fma(w, other, 1.0)
}

/// The derivative of z·σ(z).
#[inline(always)]
pub fn silu_derivative(z: f32) -> f32 {
    let z = copy_sign(at_most(abs(z), END), z);
    swish_slope(z, z)
}

/// Beyond it e⁻ˣ is 0 also when multiplied by x.
const END: f32 = 120.0;
/// 2√(2/π) and 0.044715 times it.
const GELU_1: f32 = 1.595_769;
const GELU_3: f32 = 0.071_354_82;

/// x·σ(2u), 2u = GELU_1·x + GELU_3·x³
#[inline(always)]
pub fn gelu_tanh(x: f32) -> f32 {
    gated(x, sigmoid(x * fma(GELU_3, x * x, GELU_1)))
}

/// σ(2u)·(1 + x·2u'·σ(-2u))
#[inline(always)]
pub fn gelu_tanh_derivative(x: f32) -> f32 {
    let x = copy_sign(at_most(abs(x), 16.0), x);
    let square = x * x;
    swish_slope(x * fma(GELU_3, square, GELU_1), x * fma(3.0 * GELU_3, square, GELU_1))
}

/// ln(1 + eˣ) = max(x, 0) + ln(1 + e) with e = exp(-|x|).
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    let e = exp2(abs(x) * -LOG2_E);
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
    (exp2(t * t * (-0.5 * LOG2_E)), s * q)
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
    let t = at_most(abs(x), NORMAL_END);
    let (e, m) = normal_tail(t);
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
    exp2(x * x * -LOG2_E)
}

/// Numerator n and denominator d of tanh(ln(1 + eˣ)), with e = exp(-|x|): below 0, n = e·(e + 2) and d = n + 2; above,
/// n = 1 + 2e and d = n + 2e².
#[inline(always)]
fn mish_parts(x: f32) -> (f32, f32, f32) {
    let e = exp2(abs(x) * -LOG2_E);
    let below = x < 0.0;
    let n = if below { e * (e + 2.0) } else { fma(2.0, e, 1.0) };
    let d = n + if below { 2.0 } else { 2.0 * e * e };
    (e, n, recip_moderate(d))
}

/// x·n/d
#[inline(always)]
pub fn mish(x: f32) -> f32 {
    let (_, n, r) = mish_parts(x);
    gated(x, n * r)
}

/// n/d + 4x·g·(1 + e)/d² with g = e below 0 and e² above.
#[inline(always)]
pub fn mish_derivative(x: f32) -> f32 {
    let x = copy_sign(at_most(abs(x), END), x);
    let (e, n, r) = mish_parts(x);
    let g = if x < 0.0 { e } else { e * e };
    let slope = x * (g * fma(4.0, e, 4.0)) * r;
    (n + slope) * r
}
