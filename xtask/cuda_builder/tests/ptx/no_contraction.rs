// A product and a sum are two roundings unless mul_add is written: the CPU gives the same bits.
// CHECK-LABEL: separate
// CHECK: mul.rn.f32
// CHECK: add.rn.f32
// CHECK-NOT: fma
// CHECK-LABEL: fused
// CHECK: fma.rn.f32
// CHECK-NOT: .ftz
#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=no_contraction")]
pub unsafe extern "ptx-kernel" fn separate(x: *mut f32, a: f32) {
    unsafe { *x = *x * a + 1.5 };
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=no_contraction")]
pub unsafe extern "ptx-kernel" fn fused(x: *mut f32, a: f32) {
    unsafe { *x = core::f32::math::mul_add(*x, a, 1.5) };
}
