// Arrays indexed by constants, and structs passed by value, stay in registers: no local memory.
// CHECK-LABEL: polynomial
// CHECK-NOT: .local
// CHECK-NOT: __local_depot
use crate::device::*;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Coefficients([f32; 4]);

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=no_local_memory")]
pub unsafe extern "ptx-kernel" fn polynomial(coefficients: Coefficients, x: *mut f32) {
    unsafe {
        let t = _thread_idx_x() as usize;
        let mut power = 1.0;
        let mut terms = [0.0; 4];
        for i in 0..4 {
            terms[i] = coefficients.0[i] * power;
            power *= *x.add(t);
        }
        *x.add(t) = terms.iter().sum();
    }
}
