// A static in shared memory is accessed by ld.shared and st.shared only, never generically, and is not made private.
// CHECK: .shared .align 4 .b8
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: ld.shared
// CHECK-NOT: cvta.shared
// CHECK-NOT: .local
// CHECK-NOT: ld.b32
// CHECK-NOT: st.b32
use core::mem::MaybeUninit;

use crate::device::*;

#[unsafe(link_section = ".shared")]
static mut REVERSED: [MaybeUninit<f32>; 128] = [MaybeUninit::uninit(); 128];

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=shared_static")]
pub unsafe extern "ptx-kernel" fn reverse(x: *mut f32) {
    unsafe {
        let t = _thread_idx_x() as usize;
        let tile = &raw mut REVERSED as *mut f32;
        *tile.add(t) = *x.add(t);
        barrier();
        *x.add(t) = *tile.add(127 - t);
    }
}
