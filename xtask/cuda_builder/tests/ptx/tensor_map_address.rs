// A reference to a tensor map is a parameter that stays where it is: its address is taken, nothing is copied.
// ARCH: sm_90a
// CHECK: .param .align 64 .b8 addressed_param_1[128]
// CHECK: cvta.param.u64
// CHECK: prefetch.tensormap
// CHECK-NOT: .local
#[repr(C, align(64))]
pub struct TensorMap([u64; 16]);

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=tensor_map_address,ptx=8.0,arch=sm_90")]
pub unsafe extern "ptx-kernel" fn addressed(_first: u8, map: &'static TensorMap) {
    unsafe { core::arch::asm!("prefetch.tensormap [{}];", in(reg64) &raw const *map, options(nostack)) }
}
