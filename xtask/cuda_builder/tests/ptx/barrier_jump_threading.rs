// A barrier between two tests of one condition stays one barrier: jump threading must not copy it into both branches.
// CHECK-LABEL: threaded_assembly
// CHECK-COUNT-1: bar.sync
// CHECK-LABEL: threaded_intrinsic
// CHECK-COUNT-1: bar.sync
use crate::device::*;

macro_rules! body {
    ($x:ident, $barrier:expr) => {
        unsafe {
            let t = _thread_idx_x() as usize;
            let above = *$x.add(t) > 7;
            if above {
                *$x.add(t + 1024) = 1;
            }
            $barrier;
            if above {
                *$x.add(t + 2048) = 2;
            } else {
                *$x.add(t + 2048) = 3;
            }
        }
    };
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=barrier_jump_threading")]
pub unsafe extern "ptx-kernel" fn threaded_assembly(x: *mut u32) {
    body!(x, barrier());
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=barrier_jump_threading")]
pub unsafe extern "ptx-kernel" fn threaded_intrinsic(x: *mut u32) {
    body!(x, _syncthreads());
}
