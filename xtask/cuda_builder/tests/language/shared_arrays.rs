// Shared arrays, static and carved, are accessed in the shared space; barriers keep their number in divergent code.
// CHECK: .extern .shared .align 1024
// CHECK-LABEL: through_shared
// CHECK: st.shared.b32
// CHECK: ld.shared.b32
// CHECK-NOT: ld.b32
// CHECK-NOT: st.b32
// CHECK-NOT: .local
// CHECK-COUNT-2: bar.sync
use cuda_std::prelude::*;

#[kernel(module = "shared_arrays")]
pub fn through_shared(x: Global<f32>, mut y: GlobalMut<f32>) {
    let array = shared_array![f32; 128];
    let carved = shared::Dynamic::new().take::<f32>(128);
    let t = thread::thread_idx_x() as usize;
    let first = t < 64;
    // SAFETY: own elements before each barrier, another thread's after it.
    unsafe {
        if first {
            array.write(t, x[t]);
        }
        thread::sync_threads();
        if first {
            carved.write(t, array.read(63 - t));
        } else {
            carved.write(t, 1.0);
        }
        thread::sync_threads();
        y.write(t, carved.read(127 - t));
    }
}

kernels! { pub struct SharedArrays; through_shared; }
