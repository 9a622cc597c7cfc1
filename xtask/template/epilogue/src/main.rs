//! Runs the product once, on numbers that would be large without the cap.

use warpsmith::{Matrix, Runtime};

use {{crate}}::{SoftCap, capped, operations};

fn main() -> warpsmith::Result<()> {
    let runtime = Runtime::new(); // the GPU, or else the CPU
    println!("on {runtime}");
    let w = Matrix::from_columns(&runtime, 2, 3, &[1.0f32, -1.0, 2.0, -2.0, 3.0, -3.0])?;
    let x = Matrix::from_columns(&runtime, 3, 2, &[0.1f32, 0.1, 0.1, 10.0, 10.0, 10.0])?;
    let bias = runtime.buffer_from(&[0.5f32, 0.5])?;
    let mut y = Matrix::zeros(&runtime, 2, 2)?;
    capped(&operations(&runtime)?, SoftCap { limit: 30.0 }, &w, &x, &bias, &mut y)?;
    println!("30 tanh((w x + b) / 30), column after column: {:?}", y.as_view().to_vec()?);
    Ok(())
}
