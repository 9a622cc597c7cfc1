//! Data sets in host memory, ready to be split, shuffled and put on a device.

mod digits;

pub use digits::digits;
use rand::seq::SliceRandom;

use crate::{Matrix, Result, Runtime};

/// Samples with labels. The features of a sample lie together, so that a sample is a column of [`Matrix`].
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    features: Vec<f32>,
    labels: Vec<u32>,
    per_sample: usize,
    classes: usize,
}

impl Dataset {
    /// `labels.len()` samples of `features.len() / labels.len()` features.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless every sample has the same number of features.
    pub fn new(features: Vec<f32>, labels: Vec<u32>, classes: usize) -> Result<Self> {
        let per_sample = features.len().checked_div(labels.len()).unwrap_or(0);
        crate::ops::expect_equal(
            "make a data set",
            ("features", features.len()),
            ("samples times features of each", per_sample * labels.len()),
        )?;
        Ok(Self { features, labels, per_sample, classes })
    }

    /// Samples.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Features of a sample.
    pub fn features(&self) -> usize {
        self.per_sample
    }

    /// Classes; labels are smaller.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The labels.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The samples in another order.
    pub fn shuffle(&mut self, random: &mut impl rand::Rng) {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.shuffle(random);
        *self = self.select(&order);
    }

    /// Every `n`th sample, and all the others: (others, every `n`th).
    pub fn hold_out(&self, n: usize) -> (Self, Self) {
        let (held, kept): (Vec<usize>, Vec<usize>) = (0..self.len()).partition(|i| (i + 1).is_multiple_of(n.max(1)));
        (self.select(&kept), self.select(&held))
    }

    /// The samples as images of `width` columns, each also moved by one pixel to the left, right, up and down: five times as
    /// many to learn from. Pixels that move in are 0.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless the features are rows of `width` pixels.
    pub fn with_moved_images(&self, width: usize) -> Result<Self> {
        let rows = self.per_sample.checked_div(width).unwrap_or(0);
        let (features, pixels) = (("features", self.per_sample), ("rows times width", rows * width));
        crate::ops::expect_equal("move images", features, pixels)?;
        let (mut features, mut labels) = (Vec::with_capacity(5 * self.features.len()), Vec::new());
        for (right, down) in [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)] {
            for image in self.features.chunks_exact(self.per_sample.max(1)) {
                features.extend((0..self.per_sample).map(|pixel| {
                    let column = (pixel % width).checked_add_signed(-right).filter(|&column| column < width);
                    let row = (pixel / width).checked_add_signed(-down).filter(|&row| row < rows);
                    row.zip(column).map_or(0.0, |(row, column)| image[row * width + column])
                }));
            }
            labels.extend_from_slice(&self.labels);
        }
        Self::new(features, labels, self.classes)
    }

    fn select(&self, samples: &[usize]) -> Self {
        let features = samples.iter().flat_map(|&i| &self.features[i * self.per_sample..][..self.per_sample]);
        let labels = samples.iter().map(|&i| self.labels[i]);
        Self { features: features.copied().collect(), labels: labels.collect(), ..*self }
    }

    /// The features as a matrix, a sample a column.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver)
    pub fn to_matrix(&self, runtime: &Runtime) -> Result<Matrix<f32>> {
        Matrix::from_columns(runtime, self.per_sample, self.len(), &self.features)
    }

    /// All features, sample after sample.
    pub fn as_slice(&self) -> &[f32] {
        &self.features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_move_by_one_pixel() {
        // 1 2 3
        // 4 5 6
        let image = Dataset::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![7], 10).unwrap();
        let moved = image.with_moved_images(3).unwrap();
        assert_eq!((moved.len(), moved.labels()), (5, &[7; 5][..]));
        let expected = [
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            [0.0, 1.0, 2.0, 0.0, 4.0, 5.0],
            [2.0, 3.0, 0.0, 5.0, 6.0, 0.0],
            [0.0, 0.0, 0.0, 1.0, 2.0, 3.0],
            [4.0, 5.0, 6.0, 0.0, 0.0, 0.0],
        ];
        assert_eq!(moved.as_slice(), expected.as_flattened());
        assert!(image.with_moved_images(4).is_err());
        assert!(image.with_moved_images(0).is_err());
    }

    #[test]
    fn holding_out_and_shuffling_lose_nothing() {
        let data = Dataset::new((0..22).map(|i| i as f32).collect(), (0..11).collect(), 11).unwrap();
        let (kept, held) = data.hold_out(5);
        assert_eq!((kept.len(), held.labels(), held.as_slice()), (9, &[4, 9][..], &[8.0, 9.0, 18.0, 19.0][..]));
        let mut shuffled = data.clone();
        shuffled.shuffle(&mut <rand_chacha::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(1));
        let mut labels = shuffled.labels().to_vec();
        assert_ne!(labels, data.labels());
        labels.sort_unstable();
        assert_eq!(labels, data.labels());
        let together = |(features, &label): (&[f32], &u32)| features == [2.0 * label as f32, 2.0 * label as f32 + 1.0];
        assert!(shuffled.as_slice().chunks(2).zip(shuffled.labels()).all(together));
    }
}
