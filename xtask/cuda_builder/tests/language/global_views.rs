// Views of global memory are read and written by ld.global and st.global, never generically; a bounds check is a plain trap.
// CHECK-LABEL: through_views
// CHECK: ld.global.b32
// CHECK: st.global.b32
// CHECK-NOT: ld.b32
// CHECK-NOT: st.b32
// CHECK-NOT: call
// CHECK: trap
// CHECK-LABEL: through_slices
// CHECK: ld.global
// CHECK-NOT: ld.b32
use cuda_std::prelude::*;

#[kernel(module = "global_views")]
pub fn through_views(x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        let old = y[i];
        y.set(i, x[i.get() / 2] + old);
    }
}

#[kernel(module = "global_views")]
pub fn through_slices(x: &[f32], mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        y.set(i, x[i.get() / 2]);
    }
}

kernels! { pub struct GlobalViews; through_views; through_slices; }
