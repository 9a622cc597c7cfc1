//! Layers in a row, and a classifier's training loop.

use cuda_std::Has;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use warpsmith_gpu::kernels::{map_backward, map_forward, softmax_cross_entropy};
use warpsmith_gpu::{Activation, Kernels};

use super::layer::fit;
use super::{Activate, Layer, Linear, Sgd};
use crate::data::Dataset;
use crate::ops::Ops;
use crate::{Buffer, Matrix, Result, Runtime};

/// A classifier: layers, and softmax with cross-entropy on top. The same seed and data give the same network, bit for bit on
/// the same device.
///
/// ```
/// use warpsmith::activations::Silu;
/// use warpsmith::nn::{Network, Sgd};
/// use warpsmith::{Runtime, data};
///
/// # fn main() -> warpsmith::Result<()> {
/// let (train, test) = data::digits()?.hold_out(5);
/// let mut network = Network::new(&Runtime::new(), 1)?.linear(64, 32)?.activation(Silu)?.linear(32, 10)?;
/// for _ in 0..5 {
///     network.train_epoch(&train, 64, &Sgd { rate: 0.05, momentum: 0.9 })?;
/// }
/// assert!(network.accuracy(&test)? > 0.8);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Network {
    ops: Ops,
    random: ChaCha8Rng,
    layers: Vec<Box<dyn Layer>>,
    batch: Batch,
}

/// The matrices that a training step works on.
#[derive(Debug)]
struct Batch {
    input: Matrix<f32>,
    labels: Buffer<u32>,
    loss: Buffer<f32>,
    gradient: Matrix<f32>,
}

impl Network {
    /// A network without layers. `seed` determines the weights and the order of the samples.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver)
    pub fn new(runtime: &Runtime, seed: u64) -> Result<Self> {
        Ok(Self {
            ops: Ops::new(runtime),
            random: ChaCha8Rng::seed_from_u64(seed),
            layers: Vec::new(),
            batch: Batch {
                input: Matrix::zeros(runtime, 0, 0)?,
                labels: runtime.zeros(0)?,
                loss: runtime.zeros(0)?,
                gradient: Matrix::zeros(runtime, 0, 0)?,
            },
        })
    }

    /// Adds a fully connected layer.
    ///
    /// # Errors
    /// As [`Linear::new`].
    pub fn linear(mut self, inputs: usize, outputs: usize) -> Result<Self> {
        let layer = Linear::new(self.ops.runtime(), inputs, outputs, &mut self.random)?;
        Ok(self.layer(layer))
    }

    /// Adds one of the activations that Warpsmith compiles.
    ///
    /// # Errors
    /// As [`Activate::new`].
    pub fn activation<A: Activation>(self, activation: A) -> Result<Self>
    where
        Kernels: Has<map_forward<A, f32>> + Has<map_backward<A, f32>>,
    {
        let layer = Activate::<A>::new(self.ops.runtime(), activation)?;
        Ok(self.layer(layer))
    }

    /// Adds any layer.
    #[must_use]
    pub fn layer(mut self, layer: impl Layer + 'static) -> Self {
        self.layers.push(Box::new(layer));
        self
    }

    /// The kernels that training launches on a GPU, by entry point, each once.
    pub fn kernels(&self) -> Vec<&'static str> {
        let mut kernels: Vec<_> = self.layers.iter().flat_map(|layer| layer.kernels()).collect();
        kernels.push(<Kernels as Has<softmax_cross_entropy<f32>>>::ENTRY);
        kernels.sort_unstable();
        kernels.dedup();
        kernels
    }

    /// One pass over the data in random order, in batches of `batch` samples (the last may be smaller). Returns the mean loss.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) if the data doesn't fit the first layer; errors of launches.
    pub fn train_epoch(&mut self, data: &Dataset, batch: usize, optimizer: &Sgd) -> Result<f64> {
        let mut data = data.clone();
        data.shuffle(&mut self.random);
        let mut total = 0.0;
        let (features, batch) = (data.features(), batch.max(1));
        for (labels, samples) in data.labels().chunks(batch).zip(data.as_slice().chunks(batch * features)) {
            self.load(features, samples, labels)?;
            self.train_step(optimizer)?;
            total += self.batch.loss.to_vec()?.iter().map(|&loss| f64::from(loss)).sum::<f64>();
        }
        Ok(total / data.len().max(1) as f64)
    }

    /// Puts a batch on the device; nothing is allocated if it's as large as the one before.
    fn load(&mut self, features: usize, samples: &[f32], labels: &[u32]) -> Result<()> {
        let (runtime, batch) = (self.ops.runtime(), &mut self.batch);
        fit(&mut batch.input, features, labels.len())?;
        if batch.labels.len() != labels.len() {
            batch.labels = runtime.zeros(labels.len())?;
            batch.loss = runtime.zeros(labels.len())?;
        }
        batch.input.as_view_mut().copy_from_slice(samples)?;
        batch.labels.copy_from_slice(labels)
    }

    /// Forward, backward and one step of the optimizer on the batch that is loaded.
    fn train_step(&mut self, optimizer: &Sgd) -> Result<()> {
        let Self { ops, layers, batch, .. } = self;
        forward(ops, layers, &batch.input)?;
        let logits = layers.last().map_or(&batch.input, |layer| layer.output());
        let scale = 1.0 / batch.labels.len() as f32;
        fit(&mut batch.gradient, logits.rows(), logits.columns())?;
        ops.softmax_cross_entropy(logits, &batch.labels, scale, &mut batch.loss, &mut batch.gradient)?;
        for index in (0..layers.len()).rev() {
            let (below, rest) = layers.split_at_mut(index);
            let (layer, above) = rest.split_first_mut().expect("the index is a layer's");
            let input = below.last().map_or(&batch.input, |layer| layer.output());
            let upstream = above.first().map_or(&batch.gradient, |layer| layer.input_gradient());
            layer.backward(ops, input, upstream, index > 0)?;
        }
        layers.iter_mut().try_for_each(|layer| layer.step(ops, optimizer))
    }

    /// The network's output for each sample (a column of `input`): one logit for each class.
    ///
    /// # Errors
    /// As [`train_epoch`](Self::train_epoch).
    pub fn forward<'a>(&'a mut self, input: &'a Matrix<f32>) -> Result<&'a Matrix<f32>> {
        forward(&self.ops, &mut self.layers, input)?;
        Ok(self.layers.last().map_or(input, |layer| layer.output()))
    }

    /// The class with the largest logit for each sample.
    ///
    /// # Errors
    /// As [`train_epoch`](Self::train_epoch).
    pub fn predict(&mut self, data: &Dataset) -> Result<Vec<u32>> {
        let input = data.to_matrix(self.ops.runtime())?;
        let logits = self.forward(&input)?;
        let (classes, logits) = (logits.rows(), logits.as_view().to_vec()?);
        let largest = |sample: &[f32]| (0..sample.len()).max_by(|&a, &b| sample[a].total_cmp(&sample[b]));
        Ok(logits.chunks(classes.max(1)).map(|sample| largest(sample).unwrap_or(0) as u32).collect())
    }

    /// The share of samples whose label is predicted.
    ///
    /// # Errors
    /// As [`train_epoch`](Self::train_epoch).
    pub fn accuracy(&mut self, data: &Dataset) -> Result<f64> {
        let predictions = self.predict(data)?;
        let right = predictions.iter().zip(data.labels()).filter(|(predicted, label)| predicted == label).count();
        Ok(right as f64 / data.len().max(1) as f64)
    }
}

fn forward(ops: &Ops, layers: &mut [Box<dyn Layer>], input: &Matrix<f32>) -> Result<()> {
    for index in 0..layers.len() {
        let (below, rest) = layers.split_at_mut(index);
        let input = below.last().map_or(input, |layer| layer.output());
        rest[0].forward(ops, input)?;
    }
    Ok(())
}
