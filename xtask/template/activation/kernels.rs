//! The device code: an activation, and the kernels that it is compiled into. The derivative follows from the body.
#![cfg_attr(target_os = "cuda", no_std)]

use cuda_std::prelude::*;
use warpsmith_gpu::activation;
use warpsmith_gpu::kernels::{map_backward, map_forward};

activation! {
    /// x + sin²(a·x) / a: Ziyin, Hartwig, Ueda, arXiv:2006.08195.
    pub struct Snake { a: f32 = 1.0 } |x| x + (x * a).sin().squared() / a
}

kernels! {
    map_forward<Snake, f32>;
    map_backward<Snake, f32>;
}
