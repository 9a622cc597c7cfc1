//! What loading kernels costs: PTX, which the driver compiles, beside cubins, which it doesn't.

use std::time::{Duration, Instant};

use warpsmith::activations::{GeluTanh, Relu, Silu, Tanh};
use warpsmith::kernels::{column_sum, map_backward};
use warpsmith::{Kernels, Runtime};
use warpsmith_benches::gpu;

static PTX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ptx.zip"));
static CUBINS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cubins.zip"));

/// The time until one kernel of each of five modules is there.
fn load(runtime: &Runtime, archive: &'static [u8]) -> warpsmith::Result<Duration> {
    let start = Instant::now();
    let library = runtime.library::<Kernels>(archive)?;
    library.kernel::<map_backward<Relu, f32>>()?;
    library.kernel::<map_backward<GeluTanh, f32>>()?;
    library.kernel::<map_backward<Silu, f32>>()?;
    library.kernel::<map_backward<Tanh, f32>>()?;
    library.kernel::<column_sum<f32>>()?;
    Ok(start.elapsed())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The driver keeps what it has compiled; the first start of a program is what is measured.
    // SAFETY: no other thread is running yet.
    unsafe { std::env::set_var("CUDA_CACHE_DISABLE", "1") };
    let Some(runtime) = gpu("load") else { return Ok(()) };
    println!("loading five modules on {runtime}");
    for _ in 0..5 {
        let (ptx, cubins) = (load(&runtime, PTX)?, load(&runtime, CUBINS)?);
        println!("PTX {ptx:?}, cubins {cubins:?}, ratio {:.1}", ptx.as_secs_f64() / cubins.as_secs_f64());
    }
    Ok(())
}
