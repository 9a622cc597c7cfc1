//! Two kernels written by hand, so that the runtime is checked without the device toolchain.

use std::path::PathBuf;

use cuda_std::{Global, GlobalMut, Has, Kernel, RawParameter, SafeKernel};

use crate::{Library, Runtime};

/// `y[i] += a * x[i]`, i in x's bounds, any grid.
pub struct Axpy;
/// Six arguments, no work.
pub struct Nothing;
/// Not in the library.
pub struct Missing;
/// Declared otherwise than it was built.
pub struct Mismatched;

macro_rules! kernel {
    ($kernel:ty, $name:literal, $entry:literal, $parameters:ty, [$($raw:expr),*]) => {
        impl Kernel for $kernel {
            const NAME: &'static str = $name;
            type Parameters<'a> = $parameters;
            const RAW_PARAMETERS: &'static [RawParameter] = &[$($raw),*];

            unsafe fn simulate(_: &Self::Parameters<'_>) {
                unimplemented!("this kernel exists as PTX only")
            }
        }
        impl SafeKernel for $kernel {}
        // SAFETY: the entry in `PTX` has these parameters.
        unsafe impl Has<$kernel> for Checks {
            const ENTRY: &'static str = $entry;
            const MODULE: &'static str = "checks";
        }
    };
}

/// The library of the kernels above.
pub struct Checks;
impl cuda_std::Library for Checks {
    const CRATE: &'static str = "warpsmith-checks";
}

const X: RawParameter = RawParameter::pointer("x");
const N: RawParameter = RawParameter::length("x");
const A: RawParameter = RawParameter::value::<f32>("a");
const B: RawParameter = RawParameter::value::<u32>("b");

kernel!(Axpy, "axpy", "check_axpy", (f32, Global<'a, f32>, GlobalMut<'a, f32>), [A, X, N, X, N]);
kernel!(Nothing, "nothing", "check_nothing", (f32, *const f32, *const f32, *mut f32, u32, u32), [A, X, X, X, B, B]);
kernel!(Missing, "axpx", "check_axpx", (f32,), [A]);
kernel!(Mismatched, "axpy", "check_axpy", (u64, Global<'a, f32>, GlobalMut<'a, f32>), [N, X, N, X, N]);

pub(crate) const MANIFEST: &str = r#"{"format":1,"crate_name":"warpsmith_checks","compiler":"by hand","llvm":"none","modules":[
{"name":"checks","arch":"sm_80","ptx_isa":"7.0","file":"sm_80/checks.ptx","entries":[
{"name":"check_axpy","parameters":[{"size":4,"align":4,"offset":0},{"size":8,"align":8,"offset":8},
{"size":8,"align":8,"offset":16},{"size":8,"align":8,"offset":24},{"size":8,"align":8,"offset":32}],
"reqntid":null,"maxntid":null,"minctasm":null,"maxnreg":null,"cluster":null,"static_shared_bytes":0},
{"name":"check_nothing","parameters":[{"size":4,"align":4,"offset":0},{"size":8,"align":8,"offset":8},
{"size":8,"align":8,"offset":16},{"size":8,"align":8,"offset":24},{"size":4,"align":4,"offset":32},
{"size":4,"align":4,"offset":36}],
"reqntid":null,"maxntid":null,"minctasm":null,"maxnreg":null,"cluster":null,"static_shared_bytes":0}]}]}"#;

/// Product and sum are rounded separately.
pub(crate) const PTX: &str = "
.version 7.0
.target sm_80
.address_size 64

.visible .entry check_axpy(
    .param .f32 a, .param .u64 x, .param .u64 x_len, .param .u64 y, .param .u64 y_len
) {
    .reg .pred %p<3>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %d<12>;
    ld.param.f32 %f1, [a];
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [x_len];
    ld.param.u64 %d3, [y];
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d3, %d3;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %nctaid.x;
    mul.wide.u32 %d4, %r1, %r2;
    cvt.u64.u32 %d5, %r3;
    add.s64 %d4, %d4, %d5;
    mul.wide.u32 %d6, %r4, %r2;
LOOP:
    setp.ge.u64 %p1, %d4, %d2;
    @%p1 bra DONE;
    shl.b64 %d7, %d4, 2;
    add.s64 %d8, %d1, %d7;
    add.s64 %d9, %d3, %d7;
    ld.global.f32 %f2, [%d8];
    ld.global.f32 %f3, [%d9];
    mul.rn.f32 %f2, %f2, %f1;
    add.rn.f32 %f3, %f3, %f2;
    st.global.f32 [%d9], %f3;
    add.s64 %d4, %d4, %d6;
    bra LOOP;
DONE:
    ret;
}

.visible .entry check_nothing(
    .param .f32 a, .param .u64 x, .param .u64 y, .param .u64 z, .param .u32 m, .param .u32 n
) {
    ret;
}
";

/// Writes the library into a folder of its own, and opens it.
pub fn library(runtime: &Runtime) -> Result<Library<Checks>, Box<dyn std::error::Error>> {
    let folder: PathBuf = std::env::temp_dir().join(format!("warpsmith-checks-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sm_80"))?;
    // Whole or not at all: other threads may be reading.
    for (name, text) in [("manifest.json", MANIFEST), ("sm_80/checks.ptx", PTX)] {
        let unique = folder.join(format!("{name}.{:?}", std::thread::current().id()));
        std::fs::write(&unique, text)?;
        std::fs::rename(&unique, folder.join(name))?;
    }
    Ok(runtime.library_from_dir(folder)?)
}
