// A 16-byte aligned struct that is read and written by element moves in one 16-byte access.
// CHECK: ld.global.v4
// CHECK: st.global.v4
// CHECK-NOT: ld.global.b32
// CHECK-NOT: st.global.b32
use crate::device::*;

#[repr(C, align(16))]
pub struct Four([f32; 4]);

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=vector_access")]
pub unsafe extern "ptx-kernel" fn double_four(x: *const Four, y: *mut Four) {
    unsafe {
        let t = _thread_idx_x() as usize;
        let [a, b, c, d] = (*x.add(t)).0;
        *y.add(t) = Four([a + a, b + b, c + c, d + d]);
    }
}
