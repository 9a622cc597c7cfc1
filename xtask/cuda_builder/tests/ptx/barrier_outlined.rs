// A barrier in a function that is not inlined is as safe as one in place: the call must not be copied into branches.
// CHECK-LABEL: calls_outlined
// CHECK-COUNT-1: call.uni
use crate::device::*;

#[inline(never)]
fn outlined(x: *mut u32) {
    barrier();
    unsafe { *x.add(_thread_idx_x() as usize) += 1 };
    barrier();
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=barrier_outlined")]
pub unsafe extern "ptx-kernel" fn calls_outlined(x: *mut u32, y: *mut u32) {
    unsafe {
        let t = _thread_idx_x() as usize;
        let above = *x.add(t) > 7;
        if above {
            *x.add(t + 1024) = 1;
        }
        outlined(y);
        if above {
            *x.add(t + 2048) = 2;
        } else {
            *x.add(t + 2048) = 3;
        }
    }
}
