// A static in constant memory is read by ld.const; one that the host writes keeps its name and is not folded.
// CHECK: .visible .const .align 4 .b8 HOST_WRITTEN[4]
// CHECK-COUNT-2: ld.const
use crate::device::*;

#[unsafe(link_section = ".constant")]
static TABLE: [f32; 8] = [1.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

#[unsafe(no_mangle)]
#[unsafe(link_section = ".constant")]
static mut HOST_WRITTEN: [f32; 1] = [0.0];

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=constant")]
pub unsafe extern "ptx-kernel" fn look_up(x: *mut f32) {
    unsafe {
        let t = _thread_idx_x() as usize;
        *x.add(t) = TABLE[t & 7] + *(&raw const HOST_WRITTEN as *const f32);
    }
}
