// A barrier in a loop with an invariant divergent condition stays one barrier: no unswitching, no unrolling of it.
// CHECK-LABEL: unswitched
// CHECK-COUNT-1: bar.sync
use crate::device::*;

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=barrier_unswitch")]
pub unsafe extern "ptx-kernel" fn unswitched(x: *mut u32, n: u32) {
    unsafe {
        let t = _thread_idx_x() as u32;
        let above = *x.add(t as usize) > 7;
        let mut i = 0;
        while i < n {
            if above {
                *x.add((t + i) as usize) = i;
            }
            barrier();
            i += 1;
        }
    }
}
