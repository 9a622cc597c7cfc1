//! Relu three times: with elements that belong to each thread, and with indices computed by hand in grids of one and two dimensions.

use example_kernels::ExampleKernels;
use example_kernels::relu::{relu_1d, relu_1d_by_hand, relu_2d_by_hand};
use warpsmith::{Runtime, Shape};

use crate::{DEVICE_CODE, Outcome, expect_close, numbers};

pub fn run(runtime: &Runtime) -> Outcome {
    runtime.register::<ExampleKernels>(DEVICE_CODE)?;
    let stream = runtime.default_stream();
    // No multiple of any block: the last blocks hold threads without an element.
    let (rows, columns) = (30, 70);
    let before = numbers(rows * columns, 1);
    let expected: Vec<f64> = before.iter().map(|&x| f64::from(x).max(0.0)).collect();
    let x = runtime.buffer_from(&before)?;
    let mut y = runtime.zeros(x.len())?;

    // Right for every grid: here one of far fewer threads than elements.
    let few = Shape::new([2, 1, 1], [64, 1, 1]);
    runtime.kernel::<ExampleKernels, relu_1d>()?.launch(&stream, few, (&x, &mut y))?;
    expect_close("relu_1d", &y.to_vec()?, &expected, 0.0)?;
    println!("{} elements, {} threads: each thread took its elements", x.len(), 2 * 64);

    // Right for these grids only, which is why the kernel is unsafe to launch: a thread for each element, rounded up.
    y.fill(f32::NAN)?;
    let shape = Shape::for_elements(x.len(), 256)?;
    // SAFETY: a one-dimensional grid.
    unsafe { runtime.kernel::<ExampleKernels, relu_1d_by_hand>()?.launch_unchecked(&stream, shape, (&x, &mut y)) }?;
    expect_close("relu_1d_by_hand", &y.to_vec()?, &expected, 0.0)?;
    println!("{} elements, {} blocks of 256 threads", x.len(), shape.grid[0]);

    y.fill(f32::NAN)?;
    let shape = Shape::for_extents([columns, rows, 1], [16, 16, 1])?;
    let kernel = runtime.kernel::<ExampleKernels, relu_2d_by_hand>()?;
    // SAFETY: a two-dimensional grid.
    unsafe { kernel.launch_unchecked(&stream, shape, (rows, columns, &x, &mut y)) }?;
    expect_close("relu_2d_by_hand", &y.to_vec()?, &expected, 0.0)?;
    println!("{rows} x {columns} elements, {} x {} blocks of 16 x 16 threads", shape.grid[1], shape.grid[0]);
    Ok(())
}
