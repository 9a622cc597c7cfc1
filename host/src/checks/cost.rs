//! What a launch costs the host, beside the bare driver call.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use super::kernels::{Nothing, library};
use crate::{Runtime, Shape};

/// Host time of one launch of an empty kernel with six arguments: the median of several rounds.
#[derive(Clone, Copy, Debug)]
pub struct LaunchCost {
    /// Through [`TypedKernel::launch`](crate::TypedKernel::launch).
    pub typed: Duration,
    /// Through cuLaunchKernel, with arguments packed beforehand.
    pub bare: Duration,
}

/// Measures both, alternating. Launches are submitted in bursts short enough that the driver's queue does not fill.
pub fn launch_cost(runtime: &Runtime) -> Result<LaunchCost, Box<dyn std::error::Error>> {
    const BURST: u32 = 200;
    let nothing = library(runtime)?.kernel::<Nothing>()?;
    let stream = runtime.default_stream();
    let shape = Shape::new([1; 3], [32, 1, 1]);
    let (x, mut y) = (runtime.zeros::<f32>(4)?, runtime.zeros::<f32>(4)?);
    let (function, cuda) = (nothing.function(), runtime.cuda_state().ok_or("a GPU is needed")?);
    let (a, address, n) = (1f32, x.device_address(), 3u32);
    let value = |pointer: *const c_void| pointer.cast_mut();
    let (a, address, n) = (&raw const a, &raw const address, &raw const n);
    let mut pointers = [
        value(a.cast()),
        value(address.cast()),
        value(address.cast()),
        value(address.cast()),
        value(n.cast()),
        value(n.cast()),
    ];

    let (mut typed, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        runtime.synchronize()?;
        let start = Instant::now();
        for _ in 0..BURST {
            nothing.launch(&stream, shape, (1.0, &x, &x, &mut y, 2, 3))?;
        }
        typed.push(start.elapsed() / BURST);
        runtime.synchronize()?;
        let (start, raw) = (Instant::now(), stream.as_raw());
        for _ in 0..BURST {
            // SAFETY: six parameters of the kernel's types, alive here; the kernel does nothing.
            unsafe {
                let no_extra = std::ptr::null_mut();
                cuda.driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, raw, pointers.as_mut_ptr(), no_extra)
            }?;
        }
        bare.push(start.elapsed() / BURST);
    }
    runtime.synchronize()?;
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    Ok(LaunchCost { typed: median(&mut typed), bare: median(&mut bare) })
}
