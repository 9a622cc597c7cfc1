//! Compiles the crate `kernels/` to PTX, for every GPU since Ampere.

use cuda_builder::{Arch, CudaBuilder};

fn main() {
    CudaBuilder::new("kernels").arch(Arch::SM_80).embed("kernels.zip");
}
