//! Compiles the examples' kernels.

use cuda_builder::{Arch, CudaBuilder};

fn main() {
    CudaBuilder::new("kernels").arch(Arch::SM_80).embed("kernels.zip");
}
