// A tensor map passed by value lies at a multiple of 64 bytes, as TMA demands, whatever precedes it.
// CHECK: .param .u8 mapped_param_0
// CHECK: .param .align 64 .b8 mapped_param_1[128]
#[repr(C, align(16))]
pub struct TensorMap([u64; 16]);

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=tensor_map")]
pub unsafe extern "ptx-kernel" fn mapped(first: u8, map: TensorMap, x: *mut u64) {
    unsafe { *x = map.0[3] + first as u64 };
}
