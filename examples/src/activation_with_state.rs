//! An activation with state: `LeakyRelu { alpha: 0.1 }` is plain data and reaches the kernel by value, forward and backward.
//!
//! It replaces this Numba program, which fails when it is typed (numba-cuda 0.30.4: `Unknown attribute 'forward'`), while Numba's
//! simulator runs it. What works there is a namedtuple of numbers, without methods:
//!
//! ```python
//! @jitclass([("alpha", float32)])
//! class LeakyRelu:
//!     def __init__(self, alpha): self.alpha = alpha
//!     def forward(self, x): return x if x > 0 else self.alpha * x
//!
//! @cuda.jit
//! def apply(f, x, y):
//!     i = cuda.grid(1)
//!     if i < x.size: y[i] = f.forward(x[i])
//!
//! apply[blocks, threads](LeakyRelu(0.1), x, y)
//! ```

use warpsmith::Runtime;
use warpsmith::activations::LeakyRelu;
use warpsmith::ops::Ops;

use crate::{Outcome, expect_close};

pub fn run(runtime: &Runtime) -> Outcome {
    let ops = Ops::new(runtime);
    let before = [-3.0f32, -2.0, -1.0, 1.0, 2.0, 3.0];
    let x = runtime.buffer_from(&before)?;
    let upstream = runtime.filled(x.len(), 1.0f32)?;
    let (mut y, mut dx) = (runtime.zeros(x.len())?, runtime.zeros(x.len())?);

    // One compiled kernel serves every alpha.
    for alpha in [0.1, 0.5] {
        let activation = LeakyRelu { alpha };
        ops.map_forward(activation, &x, &mut y)?;
        ops.map_backward(activation, &x, &upstream, &mut dx)?;
        let (after, gradient) = (y.to_vec()?, dx.to_vec()?);
        println!("{activation:?}\n    before   {before:?}\n    after    {after:?}\n    gradient {gradient:?}");

        let slope = |x: f32| if x > 0.0 { 1.0 } else { f64::from(alpha) };
        expect_close("after", &after, &before.map(|x| f64::from(x) * slope(x)), 1e-6)?;
        expect_close("gradient", &gradient, &before.map(slope), 1e-6)?;
    }
    Ok(())
}
