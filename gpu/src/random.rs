//! Element-wise functions with random numbers: dropout, and the randomised leaky ReLU.
//!
//! Element i has word i mod 4 of Philox at counter i / 4, keyed by the seed. So a mask depends on the seed and on where the element
//! lies, and on nothing else: not on the launch, the device, the element type, or on what was drawn before.

use cuda_std::DeviceCopy;

use crate::Real;
use crate::elementwise::Function;
use crate::philox::philox4x32_10;

/// Where random numbers come from. Another `stream` of the same seed has other numbers: one for each layer, for instance, or for
/// each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct Seed {
    /// The key.
    pub key: u64,
    /// Which of 2^64 sequences.
    pub stream: u64,
}

impl Seed {
    /// Stream 0 of a key.
    pub const fn new(key: u64) -> Self {
        Self { key, stream: 0 }
    }

    /// The words of elements 4·quad to 4·quad + 3.
    #[inline(always)]
    pub fn words(self, quad: u64) -> [u32; 4] {
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        let ([a, b], [c, d]) = (halves(quad), halves(self.stream));
        philox4x32_10([a, b, c, d], halves(self.key))
    }
}

/// Why a probability is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotAProbability(
    /// What was given.
    pub f64,
);

impl core::fmt::Display for NotAProbability {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} is not a probability: give one from 0 to 1", self.0)
    }
}

impl core::error::Error for NotAProbability {}

/// Dropout: an element is 0 with probability p, and else divided by 1 - p; NaN stays NaN. Srivastava et al., JMLR 15, 2014.
///
/// It is its own gradient: the same seed applied to the upstream gradient.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Dropout {
    /// An element is kept if its word is below; 2^32 keeps all.
    threshold: u64,
    seed: Seed,
    scale: f32,
    /// For the layout.
    unused: u32,
}

impl Dropout {
    /// Elements are dropped with this probability, which must be in 0..=1.
    ///
    /// # Errors
    /// [`NotAProbability`]
    pub fn new(probability: f64, seed: Seed) -> Result<Self, NotAProbability> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(NotAProbability(probability));
        }
        let kept = 1.0 - probability;
        let scale = if kept == 0.0 { 0.0 } else { (1.0 / kept) as f32 };
        // Rounded by hand: `round` is no part of `core`.
        Ok(Self { threshold: (kept * 4_294_967_296.0 + 0.5) as u64, seed, scale, unused: 0 })
    }

    /// Whether the element with this random word is kept.
    #[inline(always)]
    pub fn keeps(&self, word: u32) -> bool {
        u64::from(word) < self.threshold
    }

    #[inline(always)]
    fn applied<C: Real>(&self, x: C, word: u32) -> C {
        let dropped = C::select(x.is_nan(), x, C::constant(0.0));
        C::select(self.keeps(word), x.scale(self.scale), dropped)
    }
}

impl<C: Real> Function<C, 1> for Dropout {
    const RANDOM: bool = true;

    #[inline(always)]
    fn random(&self, quad: u64) -> [u32; 4] {
        self.seed.words(quad)
    }

    #[inline(always)]
    fn apply(&self, [x]: [C; 1], word: u32) -> [C; 1] {
        [self.applied(x, word)]
    }
}

/// A function whose result goes through dropout.
#[derive(Clone, Copy, Debug)]
pub struct Dropped<F> {
    /// The function, itself without random numbers.
    pub function: F,
    /// What follows it.
    pub dropout: Dropout,
}

impl<C: Real, F: Function<C, N>, const N: usize> Function<C, N> for Dropped<F> {
    const RANDOM: bool = true;

    #[inline(always)]
    fn random(&self, quad: u64) -> [u32; 4] {
        self.dropout.seed.words(quad)
    }

    #[inline(always)]
    fn apply(&self, x: [C; N], word: u32) -> [C; 1] {
        let [y] = self.function.apply(x, word);
        [self.dropout.applied(y, word)]
    }
}

/// The randomised leaky ReLU in training: x for x > 0, slope·x otherwise, with a slope for each element drawn evenly from
/// lower..upper; Xu et al., arXiv:1505.00853. In evaluation it is [`Rrelu`](crate::activations::Rrelu).
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct RandomRelu {
    /// Where the slopes are drawn.
    pub seed: Seed,
    /// The least slope.
    pub lower: f32,
    /// The largest slope.
    pub upper: f32,
}

impl RandomRelu {
    /// The slope below 0.
    #[inline(always)]
    pub fn slope(&self, word: u32) -> f32 {
        // 24 bits, so that the product is exact before it is rounded once.
        let fraction = (word >> 8) as f32 * (1.0 / 16_777_216.0);
        crate::math::machine::fma(self.upper - self.lower, fraction, self.lower)
    }
}

/// The gradient of [`RandomRelu`]: (x, dy) ↦ f'(x)·dy.
#[derive(Clone, Copy, Debug)]
pub struct RandomReluBackward(pub RandomRelu);

impl<C: Real> Function<C, 1> for RandomRelu {
    const RANDOM: bool = true;

    #[inline(always)]
    fn random(&self, quad: u64) -> [u32; 4] {
        self.seed.words(quad)
    }

    #[inline(always)]
    fn apply(&self, [x]: [C; 1], word: u32) -> [C; 1] {
        [C::select(x > C::constant(0.0), x, x.scale(self.slope(word)))]
    }
}

impl<C: Real> Function<C, 2> for RandomReluBackward {
    const RANDOM: bool = true;

    #[inline(always)]
    fn random(&self, quad: u64) -> [u32; 4] {
        self.0.seed.words(quad)
    }

    #[inline(always)]
    fn apply(&self, [x, dy]: [C; 2], word: u32) -> [C; 1] {
        let dx = C::select(x > C::constant(0.0), dy, dy.scale(self.0.slope(word)));
        [C::select(x.is_nan(), x, dx)]
    }
}
