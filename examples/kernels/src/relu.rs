//! Relu in grids of one and two dimensions: who computes which element, and who must not compute any.

use cuda_std::prelude::*;

/// max(x, 0); NaN stays NaN, and -0 becomes +0.
#[inline(always)]
pub fn relu(x: f32) -> f32 {
    if x <= 0.0 { 0.0 } else { x }
}

/// `y[i] = relu(x[i])`. Right for every grid: [`thread::elements`] gives each thread elements that are its own and exist.
#[kernel]
pub fn relu_1d(x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        y.set(i, relu(x[i]));
    }
}

/// The same as one writes it in CUDA C++ or Numba: an element for each thread, and a check for the threads beyond the last.
///
/// # Safety
/// Grid and block must be one-dimensional: otherwise several threads write one element.
#[kernel]
pub unsafe fn relu_1d_by_hand(x: Global<f32>, mut y: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < y.len() {
        // SAFETY: in a one-dimensional grid no other thread has this index.
        unsafe { y.write(i, relu(x[i])) };
    }
}

/// The same for a matrix of `rows` x `columns`, row after row, with x along the columns and y along the rows.
///
/// # Safety
/// Grid and block must be two-dimensional at most: otherwise several threads write one element.
#[kernel]
pub unsafe fn relu_2d_by_hand(rows: usize, columns: usize, x: Global<f32>, mut y: GlobalMut<f32>) {
    let (column, row) = thread::index_2d();
    let (column, row) = (column as usize, row as usize);
    // Without the first check a thread to the right of the matrix would write into the next row.
    if column < columns && row < rows {
        let i = row * columns + column;
        // SAFETY: in a two-dimensional grid no other thread has this place.
        unsafe { y.write(i, relu(x[i])) };
    }
}
