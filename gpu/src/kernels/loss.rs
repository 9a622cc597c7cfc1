//! Softmax and cross-entropy in one pass, with the gradient.

use cuda_std::{Global, GlobalMut, kernel, thread};

use crate::{Element, math};

/// Loss and gradient of one sample: returns `ln Σₖ exp(z[k]) - z[label]` and hands `softmax(z)[k] - (k = label)` to `gradient`
/// for each class k.
///
/// The largest logit is subtracted first, so that nothing overflows. A label that is no class gives NaN, not garbage.
#[inline(always)]
pub fn cross_entropy(
    classes: usize,
    label: usize,
    logit: impl Fn(usize) -> f32,
    mut gradient: impl FnMut(usize, f32),
) -> f32 {
    let mut largest = f32::NEG_INFINITY;
    for class in 0..classes {
        let z = logit(class);
        // Not `max`, which would drop NaN.
        largest = if z <= largest { largest } else { z };
    }
    let mut sum = 0.0;
    for class in 0..classes {
        sum += math::exp(logit(class) - largest);
    }
    let valid = label < classes;
    for class in 0..classes {
        let probability = math::exp(logit(class) - largest) / sum;
        let target = if class == label { 1.0 } else { 0.0 };
        gradient(class, if valid { probability - target } else { f32::NAN });
    }
    let own = if valid { logit(label) } else { f32::NAN };
    math::ln(sum) + (largest - own)
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
