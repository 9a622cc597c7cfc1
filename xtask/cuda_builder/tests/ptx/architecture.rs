// `__nvvm_reflect("__CUDA_ARCH")` is a constant when a kernel is optimised: only the architecture's own branch is left.
// ARCH: sm_90a
// CHECK: hopper branch
// CHECK-NOT: ampere branch
// CHECK-NOT: __nvvm_reflect
use core::arch::asm;

unsafe extern "C" {
    fn __nvvm_reflect(name: *const u8) -> u32;
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=architecture")]
pub unsafe extern "ptx-kernel" fn by_architecture(x: *mut u32) {
    unsafe {
        if __nvvm_reflect(c"__CUDA_ARCH".as_ptr().cast()) >= 900 {
            asm!("// hopper branch");
            *x = 90;
        } else {
            asm!("// ampere branch");
            *x = 80;
        }
    }
}
