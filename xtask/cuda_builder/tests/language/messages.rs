// An assertion's record is found by the host: a visible constant; the function that writes it is called, not copied.
// CHECK: .visible .const .align 8 .b8 __warpsmith_fault_record[8]
// CHECK-COUNT-1: atom.relaxed.gpu.cas.b32
// CHECK-LABEL: asserted
// CHECK: call.uni
// CHECK-LABEL: printed
// CHECK: vprintf
use cuda_std::prelude::*;

#[kernel(module = "messages")]
pub fn asserted(x: Global<f32>) {
    for i in thread::elements(x.len()) {
        gpu_assert!(x[i] > 0.0, "x[{}] is {}", i.get(), x[i]);
        gpu_assert!(x[i] < 9.0);
    }
}

#[kernel(module = "messages")]
pub fn printed(n: i32) {
    gpu_println!("{} and {:08x}", n, n as u64);
}

kernels! { pub struct Messages; asserted; printed; }
