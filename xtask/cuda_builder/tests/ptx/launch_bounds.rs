// Every launch bound of the marker is a directive of the entry.
// ARCH: sm_90a
// CHECK-LABEL: bounded
// CHECK: .reqntid 384, 1, 1
// CHECK: .minnctapersm 1
// CHECK: .maxnreg 168
// CHECK: .reqnctapercluster 2, 1, 1
// CHECK-LABEL: limited
// CHECK: .maxntid 256, 1, 1
#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=launch_bounds,reqntid=384x1x1,minctasm=1,maxnreg=168,cluster=2x1x1,arch=sm_90a")]
pub unsafe extern "ptx-kernel" fn bounded(x: *mut f32) {
    unsafe { *x = 1.0 };
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=launch_bounds,maxntid=256")]
pub unsafe extern "ptx-kernel" fn limited(x: *mut f32) {
    unsafe { *x = 1.0 };
}
