//! Softmax and cross-entropy in one pass, with the gradient.

use cuda_std::{Global, GlobalMut, kernel, thread};

use crate::{Element, math};

/// Loss and gradient of one sample: returns `ln Σₖ exp(z[k]) - z[label]` and hands `softmax(z)[k] - (k = label)` to `gradient`
/// for each class k.
///
/// The largest logit is subtracted first, so that nothing overflows, and its own term, which is 1, is kept apart from the sum of the others:
/// where the label's logit is far above them, loss and gradient consist of that sum alone. A label that is no class gives NaN, not garbage.
#[inline(always)]
pub fn cross_entropy(
    classes: usize,
    label: usize,
    logit: impl Fn(usize) -> f32,
    mut gradient: impl FnMut(usize, f32),
) -> f32 {
    let (mut largest, mut peak) = (f32::NEG_INFINITY, 0);
    for class in 0..classes {
        let z = logit(class);
        // Not `max`, which would drop NaN.
        (largest, peak) = if z <= largest { (largest, peak) } else { (z, class) };
    }
    let term = |class: usize| math::exp(logit(class) - largest);
    let mut others = 0.0;
    for class in 0..classes {
        others += if class == peak { 0.0 } else { term(class) };
    }
    // 0, or NaN if the largest is not finite.
    let zero = 0.0 * largest;
    let sum = (1.0 + zero) + others;
    let valid = label < classes;
    for class in 0..classes {
        let target = if class == label { 1.0 } else { 0.0 };
        let slope = if class == label && class == peak { -(others / sum) } else { term(class) / sum - target };
        gradient(class, if valid { slope } else { f32::NAN });
    }
    let own = if valid { logit(label) } else { f32::NAN };
    math::ln_1p(others + zero) + (largest - own)
}

/// For each sample j (a column of `logits`): `loss[j]` and `gradient[.., j]` as [`cross_entropy`] gives them, the gradient times
/// `scale`. One thread a sample: this is the simple version, for few classes.
#[kernel(module = "loss")]
pub fn softmax_cross_entropy<T: Element<Compute = f32>>(
    logits: Global<T>,
    labels: Global<u32>,
    scale: f32,
    mut loss: GlobalMut<f32>,
    mut gradient: GlobalMut<T>,
) {
    let samples = labels.len();
    if samples == 0 {
        return;
    }
    let classes = logits.len() / samples;
    for sample in thread::elements(samples) {
        let start = sample.get() * classes;
        let value = cross_entropy(
            classes,
            labels[sample] as usize,
            |class| logits[start + class].load(),
            // SAFETY: the sample's column belongs to this thread alone.
            |class, slope| unsafe { gradient.write(start + class, T::store(slope * scale)) },
        );
        loss.set(sample, value);
    }
}

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;

    /// A prediction that is certain and right: loss and gradient are what the others' probabilities add up to.
    #[test]
    fn small_losses_are_exact() {
        let logits = [-17.5_f32, -50.0, 8.25, -25.0, f32::NEG_INFINITY];
        let others: f64 = [-25.75_f64, -58.25, -33.25].map(f64::exp).iter().sum();
        let mut gradient = [0.0; 5];
        let loss = cross_entropy(5, 2, |class| logits[class], |class, slope| gradient[class] = slope);
        let near = |got: f32, want: f64| assert!((f64::from(got) / want - 1.0).abs() < 3e-7, "{got:e}, not {want:e}");
        near(loss, others.ln_1p());
        near(gradient[2], -others / (1.0 + others));
        near(gradient[0], (-25.75_f64).exp() / (1.0 + others));
        assert_eq!(gradient[4], 0.0);
    }

    #[test]
    fn numbers_that_are_none() {
        for logits in [
            [f32::NAN, 1.0, 2.0],
            [1.0, f32::NAN, 0.0],
            [1.0, 0.0, f32::NAN],
            [f32::INFINITY, 0.0, 1.0],
            [f32::NEG_INFINITY; 3],
        ] {
            let loss = cross_entropy(3, 1, |class| logits[class], |_, slope| assert!(slope.is_nan(), "{logits:?}"));
            assert!(loss.is_nan(), "{logits:?}");
        }
    }
}
