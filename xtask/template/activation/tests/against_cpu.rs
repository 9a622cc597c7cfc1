//! The activation and its gradient against their formulas, written down separately in f64, on every device that there is.

use warpsmith::Runtime;

use {{crate}}::{Snake, operations};

fn forward(a: f64, x: f64) -> f64 {
    x + (a * x).sin().powi(2) / a
}

/// By hand: 2 sin(ax) cos(ax) = sin(2ax).
fn derivative(a: f64, x: f64) -> f64 {
    1.0 + (2.0 * a * x).sin()
}

fn devices() -> Vec<Runtime> {
    let gpu = Runtime::cuda(0).map_err(|reason| println!("SKIPPED on a GPU: {reason}"));
    [Runtime::cpu(), Runtime::simulator()].into_iter().chain(gpu.ok()).collect()
}

#[test]
fn formula_and_derivative() -> warpsmith::Result<()> {
    let places: Vec<f32> = (-400..=400).map(|i| i as f32 / 50.0).collect();
    for runtime in devices() {
        let ops = operations(&runtime)?;
        let x = runtime.buffer_from(&places)?;
        let upstream = runtime.filled(x.len(), 3.0f32)?;
        let (mut y, mut dx) = (runtime.zeros(x.len())?, runtime.zeros(x.len())?);
        for a in [0.5, 1.0, 4.0] {
            ops.map_forward(Snake { a }, &x, &mut y)?;
            ops.map_backward(Snake { a }, &x, &upstream, &mut dx)?;
            let results = y.to_vec()?.into_iter().zip(dx.to_vec()?);
            for (&x, (y, dx)) in places.iter().zip(results) {
                let (a, x) = (f64::from(a), f64::from(x));
                close(&format!("snake({x}) with a = {a} on {runtime}"), y, forward(a, x));
                close(&format!("snake'({x}) with a = {a} on {runtime}"), dx, 3.0 * derivative(a, x));
            }
        }
    }
    Ok(())
}

/// Within a few roundings of what is added up: numbers of up to 32 = |a·x|, whose sine is taken.
fn close(what: &str, got: f32, expected: f64) {
    let difference = (f64::from(got) - expected).abs();
    assert!(difference <= 32.0 * f64::from(f32::EPSILON), "{what} is {got}, expected {expected}");
}
