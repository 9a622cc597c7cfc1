//! Prints the activation and its derivative at a few places.

use warpsmith::Runtime;

use {{crate}}::{Snake, operations};

fn main() -> warpsmith::Result<()> {
    let runtime = Runtime::new(); // the GPU, or else the CPU
    println!("on {runtime}");
    let ops = operations(&runtime)?;

    let places: Vec<f32> = (-4..=4).map(|i| i as f32 / 2.0).collect();
    let x = runtime.buffer_from(&places)?;
    let upstream = runtime.filled(x.len(), 1.0f32)?;
    let (mut y, mut dx) = (runtime.zeros(x.len())?, runtime.zeros(x.len())?);
    let snake = Snake { a: 2.0 };
    ops.map_forward(snake, &x, &mut y)?;
    ops.map_backward(snake, &x, &upstream, &mut dx)?;

    println!("{:>6} {:>10} {:>10}", "x", "f(x)", "f'(x)");
    for ((x, y), dx) in places.iter().zip(y.to_vec()?).zip(dx.to_vec()?) {
        println!("{x:>6} {y:>10.6} {dx:>10.6}");
    }
    Ok(())
}
