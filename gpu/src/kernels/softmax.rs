//! Softmax and its kin over each line, a column of a column-major matrix: one block a line, or one warp where lines are short.
//!
//! The largest element is subtracted first, so that nothing overflows; for a logarithm its own term is kept apart, so that log-softmax is
//! exact to the last places also near 0. Sums are f32, in an order that depends on the line's length
//! alone: partial sums of every 32nd or 256th element, then pairwise. The line is read three times; only the first reading comes
//! from memory as long as the lines at work fit into the caches.

use cuda_std::{Global, GlobalMut, kernel, shared_array, thread, warp};

use crate::{Element, math};

/// Which of the family.
pub trait Normalizer: 'static {
    /// The name in tables and messages.
    const NAME: &'static str;
    /// Whether x counts negated.
    const NEGATED: bool = false;
    /// Whether the result is the logarithm.
    const LOGARITHM: bool = false;
    /// Whether a line of nothing but -inf gives zeros, and not NaN.
    const MASKED: bool = false;
}

macro_rules! normalizers {
    ($($(#[$doc:meta])* $name:ident = $text:literal $({ $($constant:ident)* })?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Normalizer for $name {
            const NAME: &'static str = $text;
            $($(const $constant: bool = true;)*)?
        }
    )*};
}

normalizers! {
    /// exp(x) / Σ exp(x). A line of nothing but -inf gives NaN.
    Softmax = "softmax";
    /// ln softmax(x), without taking the logarithm of a softmax.
    LogSoftmax = "log_softmax" { LOGARITHM };
    /// softmax(-x)
    Softmin = "softmin" { NEGATED };
    /// Softmax with -inf for what is masked out: zero there, and zeros for a line of which nothing is left. NaN stays NaN.
    MaskedSoftmax = "masked_softmax" { MASKED };
}

/// Lines up to this length have a warp each, with 32 partial sums; longer ones a block of 256 threads, with 256.
pub const SHORT_LINE: usize = 1024;
/// Threads of a block.
pub const SOFTMAX_BLOCK: usize = 256;
const WARP: usize = 32;

/// Partial sums for lines of this length.
pub const fn partial_sums(len: usize) -> usize {
    if len <= SHORT_LINE { WARP } else { SOFTMAX_BLOCK }
}

/// The larger; NaN if either is.
#[inline(always)]
pub fn larger(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// Element x less the largest: the numerator's exponent.
#[inline(always)]
fn shifted<K: Normalizer>(x: f32, largest: f32) -> f32 {
    let x = if K::NEGATED { -x } else { x };
    // A masked line of nothing but -inf: exp(-inf - 0) = 0.
    let largest = if K::MASKED && largest == f32::NEG_INFINITY { 0.0 } else { largest };
    x - largest
}

/// What an element adds to two sums: the numerators, and, if a logarithm is to be taken, how often the largest occurs. Its numerators,
/// which are 1, are then not among the former: beside them the others would lose the digits that the logarithm of a sum near 1 consists of.
#[inline(always)]
pub fn summands<K: Normalizer>(x: f32, largest: f32) -> [f32; 2] {
    let shifted = shifted::<K>(x, largest);
    if K::LOGARITHM && shifted == 0.0 { [0.0, 1.0] } else { [math::exp(shifted), 0.0] }
}

/// What the numerators are divided by, or the logarithm of that.
#[inline(always)]
pub fn denominator<K: Normalizer>([numerators, peaks]: [f32; 2]) -> f32 {
    if K::LOGARITHM { math::ln_1p(numerators + (peaks - 1.0)) } else { numerators }
}

/// The result for an element, given the [`denominator`].
#[inline(always)]
pub fn normalized<K: Normalizer>(x: f32, largest: f32, denominator: f32) -> f32 {
    let shifted = shifted::<K>(x, largest);
    if K::LOGARITHM {
        // Neither is positive: nothing cancels.
        shifted - denominator
    } else if K::MASKED && denominator == 0.0 {
        0.0
    } else {
        math::exp(shifted) / denominator
    }
}

/// What an element adds to the sum of the backward pass.
#[inline(always)]
pub fn backward_term<K: Normalizer>(y: f32, dy: f32) -> f32 {
    if K::LOGARITHM { dy } else { dy * y }
}

/// The gradient of an element, given that sum.
#[inline(always)]
pub fn backward_element<K: Normalizer>(y: f32, dy: f32, sum: f32) -> f32 {
    let dx = if K::LOGARITHM { dy - math::exp(y) * sum } else { y * (dy - sum) };
    if K::NEGATED { -dx } else { dx }
}

/// The threads that share a line: a warp or a block.
struct Team {
    /// The calling thread's number in the team.
    number: usize,
    /// Threads of the team.
    size: usize,
    /// The first line of the team, and how many teams there are.
    line: usize,
    teams: usize,
}

impl Team {
    #[inline(always)]
    fn new(len: usize) -> Self {
        let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
        let size = partial_sums(len);
        let per_block = SOFTMAX_BLOCK / size;
        Self {
            number: t % size,
            size,
            line: block * per_block + t / size,
            teams: thread::grid_dim_x() as usize * per_block,
        }
    }

    /// The team's values combined pairwise, known to all of it: lanes 16, 8, 4, 2 and 1 apart, then the warps' results one after the
    /// other. All threads of the block must call it together if the team is a block.
    #[inline(always)]
    fn combine(&self, value: f32, f: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        let mut value = value;
        let mut distance = WARP as u32 / 2;
        while distance > 0 {
            let (other, _) = warp::warp_shuffle_xor(u32::MAX, value, distance, WARP as u32);
            // The same order in both lanes, so that both have the same bits.
            value = if warp::lane_id() & distance == 0 { f(value, other) } else { f(other, value) };
            distance /= 2;
        }
        if self.size == WARP {
            return value;
        }
        let results = shared_array![f32; SOFTMAX_BLOCK / WARP];
        let t = self.number;
        thread::sync_threads();
        if t.is_multiple_of(WARP) {
            // SAFETY: one thread of each warp writes the warp's element, between two barriers.
            unsafe { results.write(t / WARP, value) };
        }
        thread::sync_threads();
        // SAFETY: written before the barrier, and not again before the next call's first one.
        unsafe {
            let mut combined = results.read(0);
            for warp in 1..SOFTMAX_BLOCK / WARP {
                combined = f(combined, results.read(warp));
            }
            combined
        }
    }
}

/// `y[j, ..]` = softmax or its kin of `x[j, ..]`, for each line j of `len` elements.
#[kernel(module = "softmax", block = 256)]
pub fn softmax_forward<K: Normalizer, T: Element<Compute = f32>>(len: usize, x: Global<T>, mut y: GlobalMut<T>) {
    if len == 0 {
        return;
    }
    let lines = y.len() / len;
    let team = Team::new(len);
    let mut line = team.line;
    // Every thread of a block makes as many rounds, because of the barriers.
    let mut first = line - team.line % (SOFTMAX_BLOCK / team.size);
    while first < lines {
        let (start, count) = if line < lines { (line * len, len) } else { (0, 0) };
        let mut largest = f32::NEG_INFINITY;
        let mut i = team.number;
        while i < count {
            let value = x[start + i].load();
            largest = larger(if K::NEGATED { -value } else { value }, largest);
            i += team.size;
        }
        let largest = team.combine(largest, larger);
        let (mut numerators, mut peaks) = (0.0, 0.0);
        let mut i = team.number;
        while i < count {
            let [numerator, peak] = summands::<K>(x[start + i].load(), largest);
            numerators += numerator;
            peaks += peak;
            i += team.size;
        }
        let numerators = team.combine(numerators, |a, b| a + b);
        let peaks = if K::LOGARITHM { team.combine(peaks, |a, b| a + b) } else { 0.0 };
        let denominator = denominator::<K>([numerators, peaks]);
        let mut i = team.number;
        while i < count {
            let value = normalized::<K>(x[start + i].load(), largest, denominator);
            // SAFETY: the element belongs to this thread alone.
            unsafe { y.write(start + i, T::store(value)) };
            i += team.size;
        }
        line += team.teams;
        first += team.teams;
    }
}

/// The gradient with respect to x, given the result y and the gradient dy with respect to it.
#[kernel(module = "softmax", block = 256)]
pub fn softmax_backward<K: Normalizer, T: Element<Compute = f32>>(
    len: usize,
    y: Global<T>,
    dy: Global<T>,
    mut dx: GlobalMut<T>,
) {
    if len == 0 {
        return;
    }
    let lines = dx.len() / len;
    let team = Team::new(len);
    let mut line = team.line;
    let mut first = line - team.line % (SOFTMAX_BLOCK / team.size);
    while first < lines {
        let (start, count) = if line < lines { (line * len, len) } else { (0, 0) };
        let mut sum = 0.0;
        let mut i = team.number;
        while i < count {
            sum += backward_term::<K>(y[start + i].load(), dy[start + i].load());
            i += team.size;
        }
        let sum = team.combine(sum, |a, b| a + b);
        let mut i = team.number;
        while i < count {
            let value = backward_element::<K>(y[start + i].load(), dy[start + i].load(), sum);
            // SAFETY: the element belongs to this thread alone.
            unsafe { dx.write(start + i, T::store(value)) };
            i += team.size;
        }
        line += team.teams;
        first += team.teams;
    }
}
