//! Launches, their limits, and the errors of looking kernels up and loading them.

use super::kernels::{Axpy, Checks, Mismatched, Missing, Nothing, PTX, library};
use super::{Outcome, ensure, ensure_error};
use crate::{Error, Runtime, Shape};

pub fn launch(runtime: &Runtime) -> Outcome {
    let library = library(runtime)?;
    let axpy = library.kernel::<Axpy>()?;
    let stream = runtime.default_stream();
    let x = runtime.buffer_from(&[1f32, 2.0, 3.0, 4.0, 5.0])?;
    let mut y = runtime.filled(5, 10f32)?;
    axpy.launch(&stream, Shape::for_elements(5, 32)?, (2.0, &x, &mut y))?;
    ensure!(y.to_vec()? == [12.0, 14.0, 16.0, 18.0, 20.0], "{:?}", y.to_vec());
    // Pieces, and nothing at all: no launch, and the next one succeeds.
    axpy.launch(&stream, Shape::for_elements(2, 32)?, (1.0, x.slice(1..3)?, y.slice_mut(3..)?))?;
    axpy.launch(&stream, Shape::for_elements(0, 32)?, (1.0, x.slice(..0)?, y.slice_mut(..0)?))?;
    axpy.launch(&stream, Shape::for_elements(1, 32)?, (1.0, &x.slice(..0)?, &mut y))?;
    ensure!(y.to_vec()? == [12.0, 14.0, 16.0, 20.0, 23.0], "{:?}", y.to_vec());
    ensure!(axpy.blocks_per_multiprocessor(Shape::new([1; 3], [256, 1, 1]))? > 0, "occupancy");
    let other = Runtime::cpu().zeros::<f32>(5)?;
    ensure_error!(axpy.launch(&stream, Shape::for_elements(5, 32)?, (2.0, &other, &mut y)), Error::WrongRuntime { .. });
    Ok(())
}

pub fn limits(runtime: &Runtime) -> Outcome {
    let nothing = library(runtime)?.kernel::<Nothing>()?;
    let stream = runtime.default_stream();
    let (x, mut y) = (runtime.zeros::<f32>(4)?, runtime.zeros::<f32>(4)?);
    let mut with = |shape: Shape| nothing.launch(&stream, shape, (1.0, &x, &x, &mut y, 2, 3));
    with(Shape::new([1; 3], [1024, 1, 1]))?;
    with(Shape::new([1, 65535, 1], [32, 1, 1]))?;
    ensure_error!(with(Shape::new([1; 3], [1025, 1, 1])), Error::LaunchShape { got: 1025, limit: 1024, .. });
    ensure_error!(with(Shape::new([1; 3], [1, 1, 65])), Error::LaunchShape { got: 65, limit: 64, .. });
    ensure_error!(with(Shape::new([1; 3], [1024, 2, 1])), Error::LaunchShape { got: 2048, .. });
    ensure_error!(with(Shape::new([1; 3], [0, 1, 1])), Error::LaunchShape { got: 0, .. });
    ensure_error!(with(Shape::new([1, 65536, 1], [1; 3])), Error::LaunchShape { got: 65536, limit: 65535, .. });
    ensure_error!(with(Shape::new([1 << 31, 1, 1], [1; 3])), Error::LaunchShape { got: 0x8000_0000, .. });
    let most = nothing.shared_limit();
    ensure!(most >= 48 << 10, "{most} bytes of dynamic shared memory");
    with(Shape::new([1; 3], [32, 1, 1]).with_shared_bytes(64 << 10))?;
    with(Shape::new([1; 3], [32, 1, 1]).with_shared_bytes(most))?;
    ensure_error!(
        with(Shape::new([1; 3], [32, 1, 1]).with_shared_bytes(most + 1)),
        Error::LaunchShape { what: "dynamic shared memory in bytes", .. }
    );
    runtime.synchronize()?;
    Ok(())
}

pub fn look_up_errors(runtime: &Runtime) -> Outcome {
    let library = library(runtime)?;
    match library.kernel::<Missing>() {
        Err(Error::KernelMissing { near, .. }) => ensure!(near[0] == "check_axpy", "{near:?}"),
        other => return Err(format!("{other:?}").into()),
    }
    ensure_error!(library.kernel::<Mismatched>(), Error::ManifestMismatch { .. });
    ensure_error!(runtime.kernel::<super::kernels::Checks, Missing>(), Error::LibraryUnknown { .. });
    let unbuilt = runtime.library::<Checks>(b"for a reason")?;
    ensure_error!(unbuilt.kernel::<Axpy>(), Error::NoDeviceCode { .. });
    Ok(())
}

pub fn forged_version(runtime: &Runtime) -> Outcome {
    let forged = PTX.replace(".version 7.0", ".version 99.0");
    let error = crate::module::load_text(runtime, "forged", &forged).expect_err("no driver reads PTX 99.0");
    let text = error.to_string();
    let driver = runtime.device().cuda().map(|properties| properties.driver_version_text()).unwrap_or_default();
    ensure!(matches!(error, Error::ModuleLoad { .. }), "{text}");
    ensure!(text.contains("99.0") && text.contains(&format!("CUDA {driver}")), "{text}");
    crate::module::load_text(runtime, "as it should be", PTX)?;
    Ok(())
}

pub fn many_threads(runtime: &Runtime) -> Outcome {
    let library = library(runtime)?;
    let ones = runtime.filled(10_000, 1f32)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| -> Result<(), String> {
                    let work = || -> Outcome {
                        // All at once: the module is loaded once.
                        let axpy = library.kernel::<Axpy>()?;
                        let stream = runtime.stream()?;
                        let mut sum = stream.zeros::<f32>(10_000)?;
                        for _ in 0..200 {
                            axpy.launch(&stream, Shape::for_elements(10_000, 256)?, (1.0, &ones, &mut sum))?;
                            drop(stream.zeros::<f32>(500)?);
                        }
                        ensure!(sum.to_vec()? == [200.0; 10_000], "a thread's sum");
                        Ok(())
                    };
                    work().map_err(|error| error.to_string())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?.map_err(Into::into))
    })
}
