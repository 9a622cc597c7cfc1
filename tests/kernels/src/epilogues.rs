//! An epilogue of one's own: what a crate needs for it is an implementation, and one line for the instance.

use cuda_std::DeviceCopy;
use warpsmith_gpu::Real;
use warpsmith_gpu::epilogue::{Axis, Epilogue, Finished, Operands};

/// limit · tanh((sum + bias) / limit): logits that can't run away; Gemma Team, arXiv:2408.00118.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct SoftCap {
    /// The largest magnitude.
    pub limit: f32,
}

impl Epilogue for SoftCap {
    const BIAS: Axis = Axis::Rows;

    #[inline(always)]
    fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
        (at.sum + at.bias).scale(1.0 / f64::from(self.limit)).tanh().scale(self.limit).into()
    }
}
