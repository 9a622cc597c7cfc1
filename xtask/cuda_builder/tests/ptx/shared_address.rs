// The 32-bit address of shared memory is the variable's own, and a pointer made of an address is a native access again.
// CHECK: mbarrier.init.shared.b64
// CHECK: st.shared
// CHECK-NOT: cvta.shared
// CHECK-NOT: cvta.to.shared
// CHECK-NOT: __warpsmith_shared
use core::mem::MaybeUninit;

use crate::device::*;

unsafe extern "C" {
    fn __warpsmith_shared_address(pointer: *const u8) -> u32;
    fn __warpsmith_shared_pointer(address: u32) -> *mut u8;
}

#[unsafe(link_section = ".shared")]
static mut WORDS: MaybeUninit<[u64; 4]> = MaybeUninit::uninit();

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=shared_address")]
pub unsafe extern "ptx-kernel" fn addresses(x: u64) {
    unsafe {
        let address = __warpsmith_shared_address(&raw const WORDS as *const u8);
        core::arch::asm!("mbarrier.init.shared.b64 [{}], 1;", in(reg32) address, options(nostack));
        barrier();
        let word = __warpsmith_shared_pointer(address + 8 * (1 + _thread_idx_x() as u32 % 2)) as *mut u64;
        word.write(x);
    }
}
