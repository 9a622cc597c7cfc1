// Atomic updates are one instruction of their order, scope and space; only bf16's sum on old architectures is a loop.
// CHECK-LABEL: updated
// CHECK: atom.relaxed.gpu.global.add.u32
// CHECK: atom.acq_rel.cta.shared.exch.b32
// CHECK: ld.acquire.gpu.global.b32
// CHECK: st.release.sys.global.b32
// CHECK: atom.relaxed.gpu.global.add.noftz.f16
// CHECK: atom.relaxed.gpu.global.cas.b16
// CHECK-NOT: atom.relaxed.gpu.global.add.noftz.bf16
use cuda_std::atomic::Ordering;
use cuda_std::prelude::*;
use cuda_std::{bf16, f16};

#[kernel(module = "atomics")]
pub fn updated(x: GlobalAtomic<u32>, y: GlobalAtomic<f16>, z: GlobalAtomic<bf16>) {
    let array = shared_array![u32; 4];
    x.atomic(0).fetch_add(3, Scope::Device);
    array.atomic(1).ordered(Ordering::AcqRel).exchange(3, Scope::Block);
    let found = x.atomic(1).ordered(Ordering::Acquire).load(Scope::Device);
    x.atomic(2).ordered(Ordering::Release).store(found, Scope::System);
    y.atomic(0).fetch_add(f16::from_bits(1), Scope::Device);
    z.atomic(0).fetch_add(bf16::from_bits(1), Scope::Device);
}

kernels! { pub struct Atomics; updated; }
