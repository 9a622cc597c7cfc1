//! Fused products of 16-bit matrices by each kernel: exact, because the factors are small integers and sums of their products are, so that
//! the result is the exact one, rounded. Odd sizes, both kinds of layout of both factors, batches, what is kept and read, and sums.

use rand::RngExt;
use test_kernels::TestKernels;
use warpsmith::activations::Relu;
use warpsmith::ops::{Gemm, GemmElement, Ops};
use warpsmith::{Kernels, MatrixView, MatrixViewMut, Runtime, bf16, f16};
use warpsmith_gpu::Element;
use warpsmith_tests::{ChaCha8Rng, TEST_KERNELS, TestResult, Tests, random};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("every_layout", every_layout),
        ("activation_and_bias", activation_and_bias),
        ("results_without_tma", results_without_tma),
        ("kept_and_gradient", kept_and_gradient),
        ("pairs_masks_and_sample_biases", other_epilogues),
        ("the_same_each_time", the_same_each_time),
        ("the_same_in_each_place", the_same_in_each_place),
        ("refused_kernels", refused_kernels),
    ],
    ..Tests::NONE
};

/// Samples, features, k.
const SHAPES: [(usize, usize, usize); 5] = [(1, 8, 1), (7, 24, 33), (129, 264, 65), (130, 16, 200), (17, 512, 40)];
/// On a GPU also these: more tiles than multiprocessors, and longer sums.
const LARGE: [(usize, usize, usize); 3] = [(300, 520, 700), (2600, 4096, 72), (333, 1096, 320)];

fn shapes(runtime: &Runtime) -> Vec<(usize, usize, usize)> {
    let large = if runtime.device().cuda().is_some() { &LARGE[..] } else { &[] };
    SHAPES.iter().chain(large).copied().collect()
}

/// A matrix of small integers in either layout, with a leading dimension that is a multiple of 8.
struct Ints {
    rows: usize,
    columns: usize,
    row_major: bool,
    leading: usize,
    values: Vec<i32>,
}

impl Ints {
    fn new(random: &mut ChaCha8Rng, rows: usize, columns: usize, row_major: bool) -> Self {
        let (lines, run) = if row_major { (rows, columns) } else { (columns, rows) };
        let leading = run.next_multiple_of(8);
        let values = (0..lines * leading).map(|_| random.random_range(-2..=2)).collect();
        Self { rows, columns, row_major, leading, values }
    }

    fn at(&self, row: usize, column: usize) -> i32 {
        if self.row_major { self.values[row * self.leading + column] } else { self.values[row + column * self.leading] }
    }

    fn stored<T: Element<Compute = f32>>(&self) -> Vec<T> {
        self.values.iter().map(|&value| T::store(value as f32)).collect()
    }
}

macro_rules! view {
    ($kind:ident, $ints:ident, $buffer:expr) => {
        if $ints.row_major {
            $kind::row_major($buffer.into(), ($ints.rows, $ints.columns), $ints.leading)?
        } else {
            $kind::column_major($buffer.into(), ($ints.rows, $ints.columns), $ints.leading)?
        }
    };
}

fn product(a: &Ints, b: &Ints) -> Vec<Vec<i32>> {
    (0..a.rows)
        .map(|i| (0..b.columns).map(|j| (0..a.columns).map(|k| a.at(i, k) * b.at(k, j)).sum()).collect())
        .collect()
}

/// The kernels that tensor cores have, each with whether it takes these layouts of left and right factor (k contiguous) in the kernel's
/// frame.
const KERNELS: [Gemm; 4] = [Gemm::Mma, Gemm::Wgmma128, Gemm::Wgmma200, Gemm::WgmmaSplit];

/// y = x · w in all four layouts of x and w, y row-major.
fn every_layout(runtime: &Runtime) -> TestResult {
    fn check<T: GemmElement<Compute = f32>>(runtime: &Runtime) -> TestResult
    where
        Kernels: warpsmith::ops::HasGemm<warpsmith_gpu::epilogue::Sum, T, T>,
    {
        let (ops, mut random) = (Ops::new(runtime), random("every_layout"));
        for (samples, features, k) in shapes(runtime) {
            for (x_rows, w_rows) in [(true, true), (true, false), (false, true), (false, false)] {
                let (x, w) = (Ints::new(&mut random, samples, k, x_rows), Ints::new(&mut random, k, features, w_rows));
                let want = product(&x, &w);
                let (xb, wb) = (runtime.buffer_from(&x.stored::<T>())?, runtime.buffer_from(&w.stored::<T>())?);
                for kernel in KERNELS {
                    // k must be contiguous in x, the right factor of the transposed product, for tiles of 200 columns.
                    if kernel == Gemm::Wgmma200 && !x_rows {
                        continue;
                    }
                    let mut y = runtime.filled(samples * features, T::store(f32::NAN))?;
                    let out = MatrixViewMut::row_major((&mut y).into(), (samples, features), features)?;
                    ops.linear::<T, T, _, _>(view!(MatrixView, x, &xb), view!(MatrixView, w, &wb))
                        .using(kernel)
                        .into(out)?;
                    for (i, y) in y.to_vec()?.into_iter().enumerate() {
                        let want = T::store(want[i / features][i % features] as f32);
                        assert!(
                            y == want,
                            "{kernel:?} {} {samples} x {features} x {k} [{i}]: {y:?}, expected {want:?}",
                            T::NAME
                        );
                    }
                }
            }
        }
        Ok(())
    }
    check::<bf16>(runtime)?;
    check::<f16>(runtime)
}

/// y = relu(x · wᵀ + b) for a batch, with results longer than their features.
fn activation_and_bias(runtime: &Runtime) -> TestResult {
    let (ops, mut random) = (Ops::new(runtime), random("activation_and_bias"));
    for (samples, features, k) in shapes(runtime) {
        let (x, w) = (Ints::new(&mut random, samples, k, true), Ints::new(&mut random, k, features, false));
        let bias: Vec<i32> = (0..features).map(|_| random.random_range(-20..20)).collect();
        let want = product(&x, &w);
        let (xb, wb) = (runtime.buffer_from(&x.stored::<bf16>())?, runtime.buffer_from(&w.stored::<bf16>())?);
        let biases = runtime.buffer_from(&bias.iter().map(|&b| bf16::from_f32(b as f32)).collect::<Vec<_>>())?;
        let leading = features + 8;
        for kernel in KERNELS {
            let mut y = runtime.filled(samples * leading, bf16::from_f32(f32::NAN))?;
            let out = MatrixViewMut::row_major((&mut y).into(), (samples, features), leading)?;
            ops.linear(view!(MatrixView, x, &xb), view!(MatrixView, w, &wb))
                .bias(&biases)
                .activation(Relu)
                .using(kernel)
                .into(out)?;
            for (i, y) in y.to_vec()?.into_iter().enumerate() {
                let (sample, feature) = (i / leading, i % leading);
                match feature < features {
                    true => {
                        let want = bf16::from_f32((want[sample][feature] + bias[feature]).max(0) as f32);
                        assert!(
                            y == want,
                            "{kernel:?} {samples} x {features} x {k} [{sample}, {feature}]: {y:?}, expected {want:?}"
                        );
                    }
                    false => assert!(y.to_f32().is_nan(), "{kernel:?} wrote beyond the features"),
                }
            }
        }
    }
    Ok(())
}

/// Results that TMA can't store: features that are no multiple of 8, results that begin anywhere; in a batch.
fn results_without_tma(runtime: &Runtime) -> TestResult {
    let (ops, mut random) = (Ops::new(runtime), random("results_without_tma"));
    let large = runtime.device().cuda().is_some();
    for (samples, features, k) in if large { [(4096, 10, 520), (77, 333, 136)] } else { [(3, 10, 72), (5, 1, 8)] } {
        let (x, w) = (Ints::new(&mut random, samples, k, true), Ints::new(&mut random, k, features, false));
        let bias: Vec<i32> = (0..features).map(|_| random.random_range(-20..20)).collect();
        let want = product(&x, &w);
        let (xb, wb) = (runtime.buffer_from(&x.stored::<bf16>())?, runtime.buffer_from(&w.stored::<bf16>())?);
        let biases = runtime.buffer_from(&bias.iter().map(|&b| bf16::from_f32(b as f32)).collect::<Vec<_>>())?;
        let leading = features + 3;
        for kernel in [Gemm::Mma, Gemm::WgmmaSplit] {
            let mut y = runtime.filled(1 + samples * leading, bf16::from_f32(f32::NAN))?;
            let out = MatrixViewMut::row_major(y.slice_mut(1..)?, (samples, features), leading)?;
            ops.linear(view!(MatrixView, x, &xb), view!(MatrixView, w, &wb))
                .bias(&biases)
                .activation(Relu)
                .using(kernel)
                .into(out)?;
            let y = y.to_vec()?;
            assert!(y[0].to_f32().is_nan(), "{kernel:?} wrote before the result");
            for (i, y) in y[1..].iter().enumerate() {
                let (sample, feature) = (i / leading, i % leading);
                if feature < features {
                    let want = bf16::from_f32((want[sample][feature] + bias[feature]).max(0) as f32);
                    assert!(
                        *y == want,
                        "{kernel:?} {samples} x {features} x {k} [{sample}, {feature}]: {y:?}, expected {want:?}"
                    );
                } else {
                    assert!(y.to_f32().is_nan(), "{kernel:?} wrote beyond the features of sample {sample}");
                }
            }
        }
    }
    Ok(())
}

/// What a forward pass keeps; and from that dx = (dy · w) · relu'(z) with the sums of its features.
fn kept_and_gradient(runtime: &Runtime) -> TestResult {
    let (ops, mut random) = (Ops::new(runtime), random("kept_and_gradient"));
    for (samples, features, k) in shapes(runtime) {
        let (x, w) = (Ints::new(&mut random, samples, k, true), Ints::new(&mut random, k, features, false));
        let bias: Vec<i32> = (0..features).map(|_| random.random_range(-20..20)).collect();
        let want = product(&x, &w);
        let (xb, wb) = (runtime.buffer_from(&x.stored::<bf16>())?, runtime.buffer_from(&w.stored::<bf16>())?);
        let biases = runtime.buffer_from(&bias.iter().map(|&b| bf16::from_f32(b as f32)).collect::<Vec<_>>())?;
        // The gradient's own factors: dy samples x k, w k x features by rows, so that features are contiguous.
        let v = Ints::new(&mut random, k, features, true);
        let vb = runtime.buffer_from(&v.stored::<bf16>())?;
        let upstream = product(&x, &v);
        for kernel in KERNELS {
            let nan = bf16::from_f32(f32::NAN);
            let (mut y, mut z) = (runtime.filled(samples * features, nan)?, runtime.filled(samples * features, nan)?);
            ops.linear(view!(MatrixView, x, &xb), view!(MatrixView, w, &wb))
                .bias(&biases)
                .activation(Relu)
                .save_preactivation(MatrixViewMut::row_major((&mut z).into(), (samples, features), features)?)
                .using(kernel)
                .into(MatrixViewMut::row_major((&mut y).into(), (samples, features), features)?)?;
            let (got_y, got_z) = (y.to_vec()?, z.to_vec()?);
            for i in 0..samples * features {
                let sum = want[i / features][i % features] + bias[i % features];
                let (y, z) = (bf16::from_f32(sum.max(0) as f32), bf16::from_f32(sum as f32));
                assert!(
                    got_y[i] == y && got_z[i] == z,
                    "{kernel:?} {samples} x {features} x {k} [{i}]: {:?} {:?}",
                    got_y[i],
                    got_z[i]
                );
            }
            let mut dx = runtime.filled(samples * features, nan)?;
            let mut sums = runtime.filled(features, f32::NAN)?;
            ops.linear(view!(MatrixView, x, &xb), view!(MatrixView, v, &vb))
                .times_derivative(Relu, MatrixView::row_major((&z).into(), (samples, features), features)?)
                .bias_gradient(&mut sums)
                .using(kernel)
                .into(MatrixViewMut::row_major((&mut dx).into(), (samples, features), features)?)?;
            let (dx, sums) = (dx.to_vec()?, sums.to_vec()?);
            for feature in 0..features {
                let mut sum = 0;
                for sample in 0..samples {
                    let through = got_z[sample * features + feature].to_f32() > 0.0;
                    let value = if through { upstream[sample][feature] } else { 0 };
                    sum += value;
                    let got = dx[sample * features + feature];
                    assert!(
                        got == bf16::from_f32(value as f32),
                        "{kernel:?} {samples} x {features} x {k}: {got:?}, expected {value}"
                    );
                }
                assert_eq!(
                    sums[feature], sum as f32,
                    "{kernel:?} {samples} x {features} x {k}, sum of feature {feature}"
                );
            }
        }
    }
    Ok(())
}

/// Epilogues that the fastest kernel leaves to others, chosen by itself: against the kernel without tensor cores.
fn other_epilogues(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let (ops, mut random) = (Ops::<TestKernels>::on(runtime.default_stream()), random("other_epilogues"));
    let (samples, features, k) = (70, 136, 48);
    let (x, w) = (Ints::new(&mut random, samples, k, true), Ints::new(&mut random, k, features, false));
    let (xb, wb) = (runtime.buffer_from(&x.stored::<bf16>())?, runtime.buffer_from(&w.stored::<bf16>())?);
    let bias: Vec<bf16> =
        (0..features.max(samples)).map(|_| bf16::from_f32(random.random_range(-3i8..3).into())).collect();
    let (feature_bias, sample_bias) = (runtime.buffer_from(&bias[..features])?, runtime.buffer_from(&bias[..samples])?);
    let call = || -> Result<_, warpsmith::Error> {
        Ok(ops.linear::<bf16, bf16, _, _>(view!(MatrixView, x, &xb), view!(MatrixView, w, &wb)))
    };
    let mut results = Vec::new();
    for kernel in [Gemm::Simt, Gemm::Mma] {
        let mut pairs = runtime.filled(samples * features / 2, bf16::from_f32(f32::NAN))?;
        let out = MatrixViewMut::row_major((&mut pairs).into(), (samples, features / 2), features / 2)?;
        call()?.bias(&feature_bias).gated(warpsmith::activations::Silu).using(kernel).into(out)?;
        let mut y = runtime.filled(samples * features, bf16::from_f32(f32::NAN))?;
        let out = MatrixViewMut::row_major((&mut y).into(), (samples, features), features)?;
        call()?.sample_bias(&sample_bias).using(kernel).into(out)?;
        results.push((pairs.to_vec()?, y.to_vec()?));
    }
    assert!(results[0] == results[1]);
    Ok(())
}

/// The same bits in each of three runs.
fn the_same_each_time(runtime: &Runtime) -> TestResult {
    let (ops, mut random) = (Ops::new(runtime), random("the_same_each_time"));
    let (samples, features, k) = if runtime.device().cuda().is_some() { (1500, 1096, 2304) } else { (40, 48, 64) };
    let numbers = |random: &mut ChaCha8Rng, count: usize| -> Vec<bf16> {
        (0..count).map(|_| bf16::from_f32(random.random_range(-1.0..1.0))).collect()
    };
    let (x, w) = (
        runtime.buffer_from(&numbers(&mut random, samples * k))?,
        runtime.buffer_from(&numbers(&mut random, features * k))?,
    );
    for kernel in KERNELS {
        let mut first = None;
        for _ in 0..3 {
            let mut y = runtime.filled(samples * features, bf16::from_f32(f32::NAN))?;
            let x = MatrixView::row_major((&x).into(), (samples, k), k)?;
            let w = MatrixView::column_major((&w).into(), (k, features), k)?;
            let out = MatrixViewMut::row_major((&mut y).into(), (samples, features), features)?;
            ops.linear::<bf16, bf16, _, _>(x, w).using(kernel).into(out)?;
            let bits: Vec<u16> = y.to_vec()?.iter().map(|y| y.to_bits()).collect();
            assert!(*first.get_or_insert(bits.clone()) == bits, "{kernel:?}");
        }
    }
    Ok(())
}

/// All rows of both factors are equal, and the sum depends on its order: 2^26 and -2^26 stand at its beginning, and what is added to
/// one of them is lost.
fn the_same_in_each_place(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    // A block has a second tile, which it goes through backwards by default. The simulator has two blocks.
    let blocks = runtime.device().cuda().map_or(2, |cuda| cuda.multiprocessors as usize);
    let (samples, features, k) = (128 * blocks + 1, 8, 2048);
    let row = |at| {
        if at == 0 {
            67_108_864.0
        } else if at == 64 {
            -67_108_864.0
        } else {
            1.0 / 2048.0
        }
    };
    let row: Vec<bf16> = (0..k).map(|at| bf16::from_f32(row(at))).collect();
    let (x, w) = (runtime.buffer_from(&row.repeat(samples))?, runtime.filled(features * k, bf16::from_f32(1.0))?);
    for same_order in [true, false] {
        let mut y = runtime.filled(samples * features, bf16::from_f32(f32::NAN))?;
        let x = MatrixView::row_major((&x).into(), (samples, k), k)?;
        let w = MatrixView::column_major((&w).into(), (k, features), k)?;
        let out = MatrixViewMut::row_major((&mut y).into(), (samples, features), features)?;
        let call = ops.linear::<bf16, bf16, _, _>(x, w).using(Gemm::Wgmma128);
        let call = if same_order { call.same_order() } else { call };
        call.into(out)?;
        let y = y.to_vec()?;
        assert!(y.iter().all(|y| (0.0..=1.0).contains(&y.to_f32())), "{:?}", &y[..8]);
        assert_eq!(y.iter().all(|&other| other == y[0]), same_order, "{:?} .. {:?}", y[0], y[y.len() - 1]);
    }
    Ok(())
}

/// A kernel that can't compute a product says so, and without being asked for is not chosen.
fn refused_kernels(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (samples, features, k) = (5, 12, 7);
    let (x, w) =
        (runtime.filled(samples * k + 1, bf16::from_f32(1.0))?, runtime.filled(features * k, bf16::from_f32(2.0))?);
    let mut y = runtime.filled(samples * features, bf16::from_f32(f32::NAN))?;
    for kernel in KERNELS {
        let x = MatrixView::row_major(x.slice(1..)?, (samples, k), k)?;
        let w = MatrixView::column_major((&w).into(), (k, features), k)?;
        let out = MatrixViewMut::row_major((&mut y).into(), (samples, features), features)?;
        let error = ops.linear::<bf16, bf16, _, _>(x, w).using(kernel).into(out).unwrap_err().to_string();
        assert!(error.contains("multiples of 16 bytes") && error.contains("5"), "{error}");
    }
    let (x, w) = (
        MatrixView::row_major(x.slice(1..)?, (samples, k), k)?,
        MatrixView::column_major((&w).into(), (k, features), k)?,
    );
    let out = MatrixViewMut::row_major((&mut y).into(), (samples, features), features)?;
    ops.linear::<bf16, bf16, _, _>(x, w).into(out)?;
    assert!(y.to_vec()?.iter().all(|y| y.to_f32() == 2.0 * k as f32));
    Ok(())
}
