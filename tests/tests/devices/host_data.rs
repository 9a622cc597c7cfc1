//! One launch with host data in and host data out, and data that suits any order of summation.

use cuda_std::reduce::{Reduce, WarpReductionOp};
use rand::RngExt;
use warpsmith::Shape;

/// Runs a kernel; host data in, host data out.
macro_rules! run {
    (@ $runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$($output:ident as $buffer:ident),*]) => {{
        $runtime.register::<TestKernels>(TEST_KERNELS)?;
        $(let $buffer = &mut $runtime.buffer_from(&$output)?;)*
        {
            $(let $input = &$runtime.buffer_from(&$input)?;)*
            let kernel = $runtime.kernel::<TestKernels, $kernel>()?;
            kernel.launch(&$runtime.default_stream(), $shape, ($($input,)* $(&mut *$buffer,)*))?;
        }
        $($output.copy_from_slice(&$buffer.to_vec()?);)*
    }};
    ($runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$a:ident]) => {
        run!(@ $runtime, $kernel, $shape, [$($input),*], [$a as a])
    };
    ($runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$a:ident, $b:ident]) => {
        run!(@ $runtime, $kernel, $shape, [$($input),*], [$a as a, $b as b])
    };
    ($runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$a:ident, $b:ident, $c:ident]) => {
        run!(@ $runtime, $kernel, $shape, [$($input),*], [$a as a, $b as b, $c as c])
    };
}

pub fn shape(grid: u32, block: u32) -> Shape {
    Shape::new([grid, 1, 1], [block, 1, 1])
}

pub fn integers(random: &mut warpsmith_tests::ChaCha8Rng, count: usize) -> Vec<u32> {
    (0..count).map(|_| random.random::<u32>() | 0x0400).collect()
}

pub fn floats(random: &mut warpsmith_tests::ChaCha8Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| random.random_range(-1.0f32..1.0)).collect()
}

/// The order that `warp_reduce` promises.
pub fn reduced<T: Reduce>(values: &[T], mask: u32, op: WarpReductionOp) -> T {
    if mask == u32::MAX {
        let mut values = values.to_vec();
        for distance in [16, 8, 4, 2, 1] {
            (0..distance).for_each(|i| values[i] = values[i].combine(values[i + distance], op));
        }
        return values[0];
    }
    let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1).map(|lane| values[lane]);
    lanes.reduce(|a, b| a.combine(b, op)).expect("a lane")
}

/// The order that `warp_scan_inclusive` promises.
pub fn scanned<T: Reduce>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    for distance in [1, 2, 4, 8, 16] {
        for lane in (distance..values.len()).rev() {
            values[lane] = values[lane - distance].combine(values[lane], WarpReductionOp::Add);
        }
    }
    values
}
