//! Inputs. Never zeros: they toggle fewer bits, so that a GPU that power limits takes them up to a fifth faster.

use warpsmith::{Element, bf16, f16};
use warpsmith_gpu::accuracy::Digits;

/// A type whose results can be compared with f64.
pub trait Value: Digits {
    /// The nearest value.
    fn of(value: f32) -> Self;
}

impl Value for f32 {
    fn of(value: f32) -> Self {
        value
    }
}
impl Value for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}
impl Value for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

/// The exact value.
pub fn wide<T: Element<Compute = f32>>(value: T) -> f64 {
    f64::from(value.load())
}

/// Spread over -8..8.
pub fn spread<T: Value>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::of(((i * 2_654_435_761) % 16_000_057) as f32 / 1e6 - 8.0)).collect()
}

/// A well mixed word for each number (SplitMix64, Steele, Lea and Flood 2014).
pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Normally distributed numbers (Box and Muller 1958) of this standard deviation. From 2^18 on the same ones come again, each time from
/// another place on.
pub fn normal<T: Value>(seed: u64, n: usize, deviation: f64) -> Vec<T> {
    const BLOCK: usize = 1 << 18;
    let unit = |number: u64| (mix((seed << 40) + number) >> 11) as f64 * 2_f64.powi(-53);
    let block: Vec<T> = (0..n.min(BLOCK) as u64)
        .map(|i| {
            let (u, v) = (1.0 - unit(2 * i), unit(2 * i + 1));
            T::of((deviation * (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos()) as f32)
        })
        .collect();
    let mut values = Vec::with_capacity(n);
    let mut turn = 0;
    while values.len() < n {
        let (begin, end) = block.split_at(turn % block.len());
        values.extend_from_slice(&end[..end.len().min(n - values.len())]);
        values.extend_from_slice(&begin[..begin.len().min(n - values.len())]);
        turn += 40_503;
    }
    values
}

/// The largest error in last places; near a root, in those of 1/16.
pub fn worst<T: Value>(pairs: impl Iterator<Item = (T, f64)>) -> f64 {
    pairs.map(|(got, want)| got.ulp(want, 0.0625)).fold(0.0, f64::max)
}
