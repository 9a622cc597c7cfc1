//! A matrix product's last step, written by its user: attention scores that don't look ahead.

use cuda_std::DeviceCopy;
use warpsmith_gpu::Real;
use warpsmith_gpu::epilogue::{Epilogue, Finished, Operands};

/// Scores of keys for queries: `scale` · k·q for keys up to the query's own position, -∞ for later ones, which softmax turns to 0.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct CausalScores {
    /// Usually 1 / √(length of a key).
    pub scale: f32,
}

impl Epilogue for CausalScores {
    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        // Keys run along memory, so they are the rows.
        let (key, query) = (at.row, at.column);
        if key <= query { at.sum.scale(self.scale).into() } else { R::constant(f64::NEG_INFINITY).into() }
    }
}
