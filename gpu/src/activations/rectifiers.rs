//! Pieces of straight lines (and one parabola): the rectified units and the "hard" forms.
//! Hazards: NaN must pass the comparisons; the gradient at a kink is a convention; infinity times zero in `hardswish`.

use super::fixed;
use crate::activation;

activation! {
    /// x ↦ x
    pub struct Identity |x| x;

    /// x ↦ x for x > threshold, value otherwise. PyTorch has no defaults; these make it relu.
    pub struct Threshold {
        /// Up to here the value is given.
        threshold: f32 = 0.0,
        /// The value there.
        value: f32 = 0.0,
    } |x| if x <= threshold { fixed(x, value) } else { x };

    /// x ↦ max(x, 0)
    pub struct Relu |x| x.max(0.0);

    /// x ↦ min(max(x, 0), 6); Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010.
    pub struct Relu6 |x| x.clamp(0.0, 6.0);

    /// x ↦ x for x > 0, alpha·x otherwise; the gradient at 0 is alpha. Maas, Hannun and Ng, 2013.
    pub struct LeakyRelu {
        /// The slope for negative x.
        alpha: f32 = 0.01,
    } |x| if x > 0.0 { x } else { x * alpha };

    /// [`LeakyRelu`] whose slope is learned, one for the tensor; He et al., arXiv:1502.01852.
    pub struct Prelu {
        /// The slope for negative x.
        trainable alpha: f32 = 0.25,
    } |x| if x > 0.0 { x } else { x * alpha };

    /// x ↦ x for x > 0, (lower + upper)/2·x otherwise: the randomised leaky ReLU in evaluation; Xu et al., arXiv:1505.00853. In
    /// training each element's slope is drawn: [`RandomRelu`](crate::random::RandomRelu).
    pub struct Rrelu {
        /// The least slope that training draws.
        lower: f32 = 0.125,
        /// The largest.
        upper: f32 = 1.0 / 3.0,
    } |x| if x > 0.0 { x } else { x * ((lower + upper) * 0.5) };

    /// x ↦ max(x, 0)²; So et al. (Primer), arXiv:2109.08668.
    pub struct SquaredRelu |x| x.max(0.0).squared(), derivative |x| x.max(0.0) * 2.0;

    /// x ↦ min(max(x, low), high)
    pub struct Hardtanh {
        /// The least value.
        low: f32 = -1.0,
        /// The largest value.
        high: f32 = 1.0,
    } |x| x.clamp(low, high);

    /// x ↦ min(max(x + 3, 0), 6) / 6; the gradient at ±3 is 0. PyTorch's form; Courbariaux et al., arXiv:1511.00363.
    // Limiting x and not x + 3, whose rounding would move the kink at 3.
    pub struct Hardsigmoid |x| (x.clamp(-3.0, 3.0) + 3.0) / 6.0;

    /// x ↦ x·hardsigmoid(x); the gradient is 0 at -3 and 1 at 3. Howard et al. (MobileNetV3), arXiv:1905.02244.
    pub struct Hardswish |x| if x >= 3.0 { x } else { let x = x.max(-3.0); x * (x + 3.0) / 6.0 },
        derivative |x| if x <= -3.0 { fixed(x, 0.0) } else if x >= 3.0 { fixed(x, 1.0) } else { (x * 2.0 + 3.0) / 6.0 };
}

impl Rrelu {
    /// The slope for negative x.
    pub fn mean(&self) -> f64 {
        (f64::from(self.lower) + f64::from(self.upper)) * 0.5
    }
}
