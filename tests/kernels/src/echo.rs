//! Kernels that write back what they were given, to prove that host and device agree on how parameters are passed.

use cuda_std::{DeviceCopy, Global, GlobalMut, kernel, thread};

/// Has a hole of 3 bytes and one of 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Padded {
    /// Followed by 3 bytes of padding.
    pub a: u8,
    /// Fills a word.
    pub b: u32,
    /// Followed by 6 bytes of padding.
    pub c: u16,
    /// Aligned to 8.
    pub d: f64,
}

/// Aligned more strictly than any of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C, align(16))]
pub struct Aligned {
    /// 12 bytes of 16.
    pub a: [f32; 3],
}

/// A struct in a struct.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Nested {
    /// One byte.
    pub a: u8,
    /// At offset 16.
    pub b: Aligned,
    /// At offset 32.
    pub c: Padded,
}

/// `output[0]` = value
#[kernel(module = "echo")]
pub fn echo_value<T: DeviceCopy>(value: T, mut output: GlobalMut<T>) {
    for i in thread::elements(output.len()) {
        output.set(i, value);
    }
}

/// `output[0]` = value, passed after arguments that leave the offset odd.
#[kernel(module = "echo")]
pub fn echo_after_odd<T: DeviceCopy>(
    first: u8,
    second: [u8; 3],
    value: T,
    last: u8,
    mut bytes: GlobalMut<u8>,
    mut output: GlobalMut<T>,
) {
    for i in thread::elements(output.len()) {
        output.set(i, value);
    }
    let all = [first, second[0], second[1], second[2], last];
    for i in thread::elements(bytes.len().min(all.len())) {
        bytes.set(i, all[i.get()]);
    }
}

/// output = value, indexed at run time.
#[kernel(module = "echo")]
pub fn echo_array<const N: usize>(value: [u32; N], mut output: GlobalMut<u32>) {
    for i in thread::elements(output.len().min(N)) {
        output.set(i, value[i.get()]);
    }
}

/// output = slice, whose length is passed on as well.
#[kernel(module = "echo")]
pub fn echo_slice<T: DeviceCopy>(
    before: u8,
    slice: &[T],
    after: u16,
    mut output: GlobalMut<T>,
    mut lengths: GlobalMut<u64>,
) {
    for i in thread::elements(slice.len()) {
        output.set(i, slice[i.get()]);
    }
    for i in thread::elements(lengths.len()) {
        lengths.set(i, slice.len() as u64 + u64::from(before) * 1000 + u64::from(after) * 1_000_000);
    }
}

/// Has no parameters.
#[kernel(module = "echo")]
pub fn echo_nothing() {}

/// `output[i]` = the sum of many arguments of many kinds.
#[kernel(module = "echo")]
pub fn echo_many(a: u8, b: f64, c: i16, x: Global<f32>, d: u64, y: Global<f64>, e: bool, mut output: GlobalMut<f64>) {
    for i in thread::elements(output.len()) {
        let scalars = f64::from(a) + b + f64::from(c) + d as f64 + f64::from(u8::from(e));
        output.set(i, scalars + f64::from(x[i]) + y[i]);
    }
}
