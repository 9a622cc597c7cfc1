//! One bit for each element: whether relu let it pass.

use crate::{Buffer, Matrix, Result, Runtime};

/// Bytes that a column is padded to, as cuBLASLt pads them.
const ALIGNMENT: usize = 16;

/// Where relu's argument was positive, one bit an element; for [`Linear::save_mask`](super::Linear::save_mask) and
/// [`Linear::masked`](super::Linear::masked). A sixteenth of a saved pre-activation in 16 bits.
///
/// Column after column: bit r % 8 of byte r / 8 is that of feature r. A column is padded to a multiple of 16 bytes.
///
/// ```
/// use warpsmith::ops::ReluMask;
/// use warpsmith::Runtime;
///
/// let mask = ReluMask::new(&Runtime::cpu(), 100, 3)?;
/// println!("{mask:?}");
/// # Ok::<(), warpsmith::Error>(())
/// ```
#[derive(Debug)]
pub struct ReluMask {
    bytes: Buffer<u8>,
    features: usize,
    samples: usize,
    pitch: usize,
}

impl ReluMask {
    /// A mask without bits. `features` is the size of the result along memory: the rows of a column-major result, the columns
    /// of a row-major one; `samples` is the other.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`](crate::Error::SizeOverflow), [`Error::OutOfMemory`](crate::Error::OutOfMemory)
    pub fn new(runtime: &Runtime, features: usize, samples: usize) -> Result<Self> {
        let pitch = features.div_ceil(8).next_multiple_of(ALIGNMENT);
        let bytes = Matrix::<u8>::zeros(runtime, pitch, samples)?.into_buffer();
        Ok(Self { bytes, features, samples, pitch })
    }

    /// Features and samples.
    pub fn shape(&self) -> (usize, usize) {
        (self.features, self.samples)
    }

    /// Bytes from one column to the next.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The bytes.
    pub fn bytes(&self) -> &Buffer<u8> {
        &self.bytes
    }

    /// The bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut Buffer<u8> {
        &mut self.bytes
    }

    /// The bits as they are now.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also for errors of earlier kernels.
    pub fn to_vec(&self) -> Result<Vec<bool>> {
        let bytes = self.bytes.to_vec()?;
        let bit = |feature: usize, sample: usize| bytes[sample * self.pitch + feature / 8] >> (feature % 8) & 1 == 1;
        Ok((0..self.samples)
            .flat_map(|sample| (0..self.features).map(move |f| (f, sample)))
            .map(|(f, s)| bit(f, s))
            .collect())
    }
}
