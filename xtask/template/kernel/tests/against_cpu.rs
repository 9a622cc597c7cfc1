//! The kernel against a loop in plain Rust, in the simulator and on the GPU if there is one.

use warpsmith::{Error, Runtime};

use {{crate}}::axpy;

fn devices() -> Vec<Runtime> {
    let gpu = Runtime::cuda(0).map_err(|reason| println!("SKIPPED on a GPU: {reason}"));
    [Runtime::simulator()].into_iter().chain(gpu.ok()).collect()
}

#[test]
fn every_element_at_every_size() -> warpsmith::Result<()> {
    for runtime in devices() {
        for n in [0, 1, 255, 256, 257, 1000] {
            let x: Vec<f32> = (0..n).map(|i| i as f32 / 7.0).collect();
            let y: Vec<f32> = (0..n).map(|i| 1.0 - i as f32).collect();
            let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5 * x + y).collect();
            let (x, mut y) = (runtime.buffer_from(&x)?, runtime.buffer_from(&y)?);
            axpy(&runtime.default_stream(), 2.5, &x, &mut y)?;
            assert_eq!(y.to_vec()?, expected, "{n} elements on {runtime}");
        }
    }
    Ok(())
}

#[test]
fn lengths_must_agree() -> warpsmith::Result<()> {
    let runtime = Runtime::simulator();
    let (x, mut y) = (runtime.zeros(3)?, runtime.zeros(4)?);
    let error = axpy(&runtime.default_stream(), 1.0, &x, &mut y).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { left: 3, right: 4, .. }), "{error}");
    Ok(())
}
