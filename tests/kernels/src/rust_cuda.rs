//! Two kernels in the style of Rust-CUDA's `cuda_std`: slices in, raw pointers out, `unsafe fn`.

use cuda_std::{kernel, thread};

/// c = a + b
///
/// # Safety
/// `c` must have room for as many elements as `a`, and `b` must be as long.
#[kernel]
pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32) {
    let idx = thread::index_1d() as usize;
    if idx < a.len() {
        // SAFETY: one element a thread, within the length that the caller promises.
        let elem = unsafe { &mut *c.add(idx) };
        *elem = a[idx] + b[idx];
    }
}

/// c = alpha * a * b + beta * c, all row-major; a is m x k, b is k x n.
///
/// # Safety
/// The slices and `c` must hold the matrices.
#[kernel]
pub unsafe fn gemm_naive(a: &[f32], b: &[f32], c: *mut f32, m: usize, n: usize, k: usize, alpha: f32, beta: f32) {
    let row = (thread::block_dim_x() * thread::block_idx_x() + thread::thread_idx_x()) as usize;
    let col = (thread::block_dim_y() * thread::block_idx_y() + thread::thread_idx_y()) as usize;
    if row < m && col < n {
        let mut sum = 0.0f32;
        for i in 0..k {
            sum += a[row * k + i] * b[i * n + col];
        }
        // SAFETY: one element a thread, inside the m x n matrix that the caller promises.
        let elem = unsafe { &mut *c.add(row * n + col) };
        *elem = alpha * sum + beta * *elem;
    }
}
