//! An activation with state: `LeakyRelu { alpha: 0.1 }` is plain data and reaches the kernel by value, forward and backward.

use warpsmith::Runtime;
use warpsmith::activations::LeakyRelu;
use warpsmith::ops::Ops;

fn main() -> warpsmith::Result<()> {
    let runtime = Runtime::new();
    println!("on {runtime}");
    let ops = Ops::new(&runtime);
    let before = [-3.0f32, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    let x = runtime.buffer_from(&before)?;
    let upstream = runtime.filled(x.len(), 1.0f32)?;
    let (mut y, mut dx) = (runtime.zeros(x.len())?, runtime.zeros(x.len())?);

    // One compiled kernel serves every alpha.
    for alpha in [0.1, 0.5] {
        let activation = LeakyRelu { alpha };
        ops.map_forward(activation, &x, &mut y)?;
        ops.map_backward(activation, &x, &upstream, &mut dx)?;
        println!("{activation:?}");
        println!("    before   {before:?}");
        println!("    after    {:?}", y.to_vec()?);
        println!("    gradient {:?}", dx.to_vec()?);
    }
    Ok(())
}
