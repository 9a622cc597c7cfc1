//! Matrix loads and stores, and products of warps and warpgroups in every format: exact, because the factors are small integers.

use cuda_std::wgmma::{Accumulator, AcrossK, AlongK, Bf16, E4m3, E5m2, F16, Format, Kind, Tf32};
use rand::RngExt;
use test_kernels::TestKernels;
use test_kernels::tensor_cores::{
    Columns8, Columns64, Columns200, Columns256, MATRICES, Stage, matrices, warp_product, warpgroup_bytes,
    warpgroup_product,
};
use warpsmith::{Has, Runtime, Shape, bf16, f16};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("matrices", loads_and_stores),
        ("warp_products", warp_products),
        ("warpgroup_products", warpgroup_products),
    ],
    ..Tests::NONE
};

fn loads_and_stores(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let mut random = random("matrices");
    let x: Vec<u16> = (0..256).map(|_| random.random()).collect();
    let mut registers = runtime.filled(MATRICES.len() * 128, 0xdead_beef_u32)?;
    let mut stored = runtime.filled(MATRICES.len() * 256, 0u16)?;
    let kernel = runtime.kernel::<TestKernels, matrices>()?;
    let shape = Shape::new([1, 1, 1], [32, 1, 1]);
    kernel.launch(&runtime.default_stream(), shape, (&runtime.buffer_from(&x)?, &mut registers, &mut stored))?;
    let (registers, stored) = (registers.to_vec()?, stored.to_vec()?);
    for (operation, (count, load_transposed, store_transposed)) in MATRICES.into_iter().enumerate() {
        let element = |matrix: usize, row: usize, column: usize, transposed: bool| {
            let (row, column) = if transposed { (column, row) } else { (row, column) };
            x[matrix * 64 + row * 8 + column]
        };
        for matrix in 0..4 {
            for lane in 0..32 {
                let got = registers[operation * 128 + matrix * 32 + lane];
                let pair = [0, 1].map(|next| element(matrix, lane / 4, lane % 4 * 2 + next, load_transposed));
                let want = if matrix < count { u32::from(pair[0]) | u32::from(pair[1]) << 16 } else { 0xdead_beef };
                assert_eq!(got, want, "operation {operation}, matrix {matrix}, lane {lane}");
            }
            for i in 0..64 {
                let got = stored[operation * 256 + matrix * 64 + i];
                let want = match matrix < count {
                    true => element(matrix, i / 8, i % 8, load_transposed != store_transposed),
                    false => 0xffff,
                };
                assert_eq!(got, want, "operation {operation}, matrix {matrix}, element {i}");
            }
        }
    }
    Ok(())
}

/// A small integer in a format, as bytes.
fn encode(kind: Kind, value: i32) -> Vec<u8> {
    // A magnitude as exponent and mantissa: 0, 1 and 2 have no mantissa, 3 = 1.5 · 2.
    let small = |bias: u8, mantissa_bits: u8| -> u8 {
        let sign = if value < 0 { 0x80 } else { 0 };
        sign | match value.unsigned_abs() {
            0 => 0,
            1 => bias << mantissa_bits,
            2 => (bias + 1) << mantissa_bits,
            _ => (bias + 1) << mantissa_bits | 1 << (mantissa_bits - 1),
        }
    };
    match kind {
        Kind::F16 => f16::from_f32(value as f32).to_bits().to_le_bytes().to_vec(),
        Kind::Bf16 => bf16::from_f32(value as f32).to_bits().to_le_bytes().to_vec(),
        Kind::Tf32 => (value as f32).to_le_bytes().to_vec(),
        Kind::E4m3 => vec![small(7, 3)],
        Kind::E5m2 => vec![small(15, 2)],
    }
}

/// `lines` lines of `bytes` bytes: as integers and encoded.
fn factor(random: &mut impl RngExt, kind: Kind, lines: usize, bytes: usize) -> (Vec<Vec<i32>>, Vec<u8>) {
    let values: Vec<Vec<i32>> =
        (0..lines).map(|_| (0..bytes / kind.bytes()).map(|_| random.random_range(-3..=3)).collect()).collect();
    let encoded = values.iter().flatten().flat_map(|&value| encode(kind, value)).collect();
    (values, encoded)
}

fn dot(a: &[i32], b: &[i32]) -> i32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn warp_products(runtime: &Runtime) -> TestResult {
    fn check<F: Format>(runtime: &Runtime) -> TestResult
    where
        TestKernels: Has<warp_product<F>>,
    {
        let mut random = random("warp_products");
        let (a, a_bytes) = factor(&mut random, F::KIND, 16, 32);
        let (b, b_bytes) = factor(&mut random, F::KIND, 8, 32);
        let start: Vec<f32> = (0..128).map(|_| random.random_range(-50i8..50).into()).collect();
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
        };
        let mut sums = runtime.buffer_from(&start)?;
        let (a_words, b_words) = (runtime.buffer_from(&words(&a_bytes))?, runtime.buffer_from(&words(&b_bytes))?);
        let kernel = runtime.kernel::<TestKernels, warp_product<F>>()?;
        kernel.launch(&runtime.default_stream(), Shape::new([1, 1, 1], [32, 1, 1]), (&a_words, &b_words, &mut sums))?;
        let want: Vec<f32> = (0..128).map(|i| start[i] + dot(&a[i / 8], &b[i % 8]) as f32).collect();
        assert_eq!(sums.to_vec()?, want, "{:?}", F::KIND);
        Ok(())
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    check::<F16>(runtime)?;
    check::<Bf16>(runtime)?;
    check::<Tf32>(runtime)?;
    check::<E4m3>(runtime)?;
    check::<E5m2>(runtime)
}

fn warpgroup_products(runtime: &Runtime) -> TestResult {
    fn check<F: Format, A: Stage, B: Stage, N: Accumulator + 'static>(runtime: &Runtime) -> TestResult
    where
        TestKernels: Has<warpgroup_product<F, A, B, N>>,
    {
        let mut random = random("warpgroup_products");
        let (a, a_bytes) = factor(&mut random, F::KIND, 64, 128);
        let (b, b_bytes) = factor(&mut random, F::KIND, N::COLUMNS, 128);
        let pairs = |bytes: &[u8]| -> Vec<u16> {
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
        };
        let mut sums = runtime.filled(64 * N::COLUMNS, f32::NAN)?;
        let (a_pairs, b_pairs) = (runtime.buffer_from(&pairs(&a_bytes))?, runtime.buffer_from(&pairs(&b_bytes))?);
        let shape = Shape::new([1, 1, 1], [128, 1, 1]).with_shared_bytes(warpgroup_bytes(N::COLUMNS));
        let kernel = runtime.kernel::<TestKernels, warpgroup_product<F, A, B, N>>()?;
        kernel.launch(&runtime.default_stream(), shape, (&a_pairs, &b_pairs, &mut sums))?;
        let want: Vec<f32> = a.iter().flat_map(|a| b.iter().map(|b| dot(a, b) as f32)).collect();
        assert_eq!(sums.to_vec()?, want, "{:?}, {} columns", F::KIND, N::COLUMNS);
        Ok(())
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    check::<Bf16, AlongK, AlongK, Columns8>(runtime)?;
    check::<Bf16, AlongK, AlongK, Columns256>(runtime)?;
    check::<Bf16, AlongK, AcrossK, Columns200>(runtime)?;
    check::<Bf16, AcrossK, AlongK, Columns200>(runtime)?;
    check::<F16, AlongK, AlongK, Columns64>(runtime)?;
    check::<F16, AcrossK, AcrossK, Columns64>(runtime)?;
    check::<Tf32, AlongK, AlongK, Columns64>(runtime)?;
    check::<E4m3, AlongK, AlongK, Columns64>(runtime)?;
    check::<E5m2, AlongK, AlongK, Columns64>(runtime)
}
