// A block reduction has two barriers, and 32-bit integers are reduced by one instruction a warp.
// CHECK-LABEL: reduced
// CHECK: redux.sync.add.s32
// CHECK-COUNT-2: bar.sync
// CHECK-NOT: shfl.sync
// CHECK-NOT: ld.b32
use cuda_std::prelude::*;
use cuda_std::reduce::{WarpReductionOp, block_reduce};

#[kernel(module = "reductions")]
pub fn reduced(x: Global<i32>, mut y: GlobalMut<i32>) {
    let sum = block_reduce(x[thread::index()], WarpReductionOp::Add);
    for i in thread::elements(y.len()) {
        y.set(i, sum);
    }
}

kernels! { pub struct Reductions; reduced; }
