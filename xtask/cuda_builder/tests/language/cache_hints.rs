// Hints and vectors are one instruction each.
// ARCH: sm_90a
// CHECK-LABEL: hinted
// CHECK-COUNT-1: ld.global.nc.v2.b64
// CHECK-COUNT-1: ld.global.cg.b64
// CHECK-COUNT-1: ld.global.cs.b32
// CHECK-COUNT-1: ld.global.L1::evict_last.b16
// CHECK-COUNT-1: st.global.cs.v2.b64
// CHECK-COUNT-1: st.global.wt.b32
// CHECK-NOT: .local
use cuda_std::cache::{Load, Store};
use cuda_std::{bf16, prelude::*};

#[kernel(module = "cache_hints")]
pub fn hinted(x: Global<f32>, z: Global<bf16>, mut y: GlobalMut<f32>) {
    let t = thread::thread_idx_x() as usize;
    let [a, b, c, d] = x.load_vector::<4>(4 * t, Load::ReadOnly);
    let [e, f] = x.load_vector::<2>(2 * t, Load::L2);
    let g = x.load(t, Load::Streaming);
    let h = z.load(t, Load::Keep).to_f32();
    // SAFETY: this thread's own elements.
    unsafe { y.store_vector(4 * t, [a + e, b + f, c + g, d + h], Store::Streaming) };
    for i in thread::elements(y.len()) {
        y.store(i, g, Store::WriteThrough);
    }
}

kernels! { pub struct CacheHints; hinted; }
