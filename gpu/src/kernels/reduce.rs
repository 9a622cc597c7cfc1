//! Sums in a fixed order, so that they repeat bit for bit on every device.

use cuda_std::{Global, GlobalMut, kernel, shared_array, thread};

use crate::Element;

/// Partial sums of each row: partial `p` adds the columns p, p + 8, p + 16, ... in this order.
pub const COLUMN_PARTIALS: usize = 8;

/// Rows that a block handles.
const ROWS: usize = 32;

/// The partial sums of one row, added pairwise: 0 + 4, 1 + 5, ..., then the halves again.
#[inline(always)]
pub fn combine_partials(partials: [f32; COLUMN_PARTIALS]) -> f32 {
    let [a, b, c, d, e, f, g, h] = partials;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// `sum[i] = x[i, 0] + x[i, 1] + ...`, the sum of the columns of a column-major matrix with `sum.len()` rows.
///
/// In f32, in the order that [`COLUMN_PARTIALS`] and [`combine_partials`] give. One block for each 32 rows.
#[kernel(module = "reduce", block = (32, 8))]
pub fn column_sum<T: Element<Compute = f32>>(x: Global<T>, mut sum: GlobalMut<T>) {
    let partials = shared_array![f32; ROWS * COLUMN_PARTIALS];
    let (lane, partial) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let rows = sum.len();
    let row = thread::block_idx_x() as usize * ROWS + lane;
    let mut total = 0.0;
    if row < rows {
        let columns = x.len() / rows;
        let mut column = partial;
        while column < columns {
            total += x[row + column * rows].load();
            column += COLUMN_PARTIALS;
        }
    }
    // SAFETY: each thread writes its own element; the barrier lies between these writes and the reads below.
    unsafe { partials.write(partial * ROWS + lane, total) };
    thread::sync_threads();
    if partial == 0 && row < rows {
        // SAFETY: written before the barrier by all threads. The row belongs to this thread alone.
        unsafe {
            let row_partials = core::array::from_fn(|p| partials.read(p * ROWS + lane));
            sum.write(row, T::store(combine_partials(row_partials)));
        }
    }
}
