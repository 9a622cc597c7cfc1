// Dynamic shared memory is one external array, aligned for TMA, and accessed by ld.shared and st.shared only.
// CHECK: .extern .shared .align 1024 .b8 __warpsmith_dynamic_shared[]
// CHECK: st.shared
// CHECK: ld.shared
// CHECK-NOT: cvta.shared
// CHECK-NOT: ld.b32
// CHECK-NOT: st.b32
use core::mem::MaybeUninit;

use crate::device::*;

unsafe extern "C" {
    static mut __warpsmith_dynamic_shared: [MaybeUninit<u8>; 0];
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=shared_dynamic")]
pub unsafe extern "ptx-kernel" fn reverse_dynamic(x: *mut f32, n: usize) {
    unsafe {
        let t = _thread_idx_x() as usize;
        let tile = &raw mut __warpsmith_dynamic_shared as *mut f32;
        *tile.add(t) = *x.add(t);
        barrier();
        *x.add(t) = *tile.add(n - 1 - t);
    }
}
