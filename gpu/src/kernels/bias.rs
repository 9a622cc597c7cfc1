//! A bias for each row, added to every column.

use cuda_std::{Global, GlobalMut, kernel, thread};

use crate::Element;

/// `y[i, j] += bias[i]`, for a column-major matrix with `bias.len()` rows.
#[kernel(module = "bias")]
pub fn bias_add<T: Element>(bias: Global<T>, mut y: GlobalMut<T>) {
    let rows = bias.len();
    if rows == 0 {
        return;
    }
    for i in thread::elements(y.len()) {
        let row = i.get() % rows;
        let sum = y[i].load() + bias[row].load();
        y.set(i, T::store(sum));
    }
}
