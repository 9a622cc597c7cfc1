//! Runs the kernel once.

use {{crate}}::{axpy, runtime};

fn main() -> warpsmith::Result<()> {
    let runtime = runtime();
    println!("on {runtime}");
    let x = runtime.buffer_from(&[1.0f32, 2.0, 3.0])?;
    let mut y = runtime.buffer_from(&[10.0f32, 20.0, 30.0])?;
    axpy(&runtime.default_stream(), 2.0, &x, &mut y)?;
    println!("2 x + y = {:?}", y.to_vec()?);
    Ok(())
}
