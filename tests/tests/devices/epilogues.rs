//! Fused matrix products against f64: a counterpart of each of nvmath-python's sixteen epilogues in both layouts, and what they
//! have not. Outputs are poisoned with NaN, lie unaligned with a padded leading dimension, and nothing between their lines may change.

use rand::RngExt;
use test_kernels::TestKernels;
use test_kernels::epilogues::SoftCap;
use warpsmith::epilogue::Epilogue;
use warpsmith::ops::{HasGemm, Linear, OnDevice, Ops, ReluMask};
use warpsmith::{Buffer, Error, Matrix, MatrixView, MatrixViewMut, Runtime};
use warpsmith_gpu::Activation;
use warpsmith_gpu::activations::{GeluErf, GeluTanh, Relu, Silu};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random, same_bits, uniform};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("forward", forward),
        ("gradients", gradients),
        ("bias_gradients_of_factors", bias_gradients_of_factors),
        ("gated_dropout_residual", gated_dropout_residual),
        ("users_own", users_own),
        ("empty_sums_and_extents", empty_sums_and_extents),
        ("batches", batches),
        ("planned_and_captured", planned_and_captured),
        ("host_data_comes_back_as_it_was_given", host_data),
        ("what_is_wrong_is_named", errors),
    ],
    heavy: &[("large_batches", large_batches)],
    ..Tests::NONE
};

const SIZES: [usize; 8] = [1, 7, 16, 17, 31, 64, 65, 129];
/// Half a unit in the last place of 1.
const EPSILON: f64 = 1.0 / (1 << 24) as f64;

/// How the samples lie: each a column, or each a row. Memory holds the same numbers in the same order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Columns,
    Rows,
}

/// A result in the middle of a buffer of NaN.
struct Poisoned {
    buffer: Buffer<f32>,
    features: usize,
    samples: usize,
    leading: usize,
    offset: usize,
}

impl Poisoned {
    fn new(runtime: &Runtime, features: usize, samples: usize, offset: usize) -> warpsmith::Result<Self> {
        let leading = features + offset;
        let buffer = runtime.filled(offset + leading * samples, f32::NAN)?;
        Ok(Self { buffer, features, samples, leading, offset })
    }

    fn view_mut(&mut self, layout: Layout) -> warpsmith::Result<MatrixViewMut<'_, f32>> {
        let view = self.buffer.slice_mut(self.offset..)?;
        match layout {
            Layout::Columns => MatrixViewMut::column_major(view, (self.features, self.samples), self.leading),
            Layout::Rows => MatrixViewMut::row_major(view, (self.samples, self.features), self.leading),
        }
    }

    fn view(&self, layout: Layout) -> warpsmith::Result<MatrixView<'_, f32>> {
        let view = self.buffer.slice(self.offset..)?;
        match layout {
            Layout::Columns => MatrixView::column_major(view, (self.features, self.samples), self.leading),
            Layout::Rows => MatrixView::row_major(view, (self.samples, self.features), self.leading),
        }
    }

    /// The values without the padding, which must still be NaN.
    fn values(&self) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
        let all = self.buffer.to_vec()?;
        let is_padding = |i: usize| i < self.offset || (i - self.offset) % self.leading >= self.features;
        if let Some(i) = (0..all.len()).find(|&i| is_padding(i) && !all[i].is_nan()) {
            return Err(format!("element {i} between the lines was overwritten").into());
        }
        Ok((0..all.len()).filter(|&i| !is_padding(i)).map(|i| all[i]).collect())
    }
}

/// y = w · x + b with f features, s samples and sums of length k.
struct Layer {
    f: usize,
    s: usize,
    k: usize,
    offset: usize,
    w: Vec<f32>,
    x: Vec<f32>,
    bias: Vec<f32>,
    device: (Matrix<f32>, Matrix<f32>, Buffer<f32>),
}

impl Layer {
    fn new(
        runtime: &Runtime,
        random: &mut warpsmith_tests::ChaCha8Rng,
        [f, s, k]: [usize; 3],
    ) -> warpsmith::Result<Self> {
        let offset = random.random_range(0..3);
        let (w, x, bias) = (uniform(random, f * k), uniform(random, k * s), uniform(random, f));
        // The bias begins at any element.
        let shifted: Vec<f32> = std::iter::repeat_n(f32::NAN, offset).chain(bias.iter().copied()).collect();
        let device = (
            Matrix::from_columns(runtime, f, k, &w)?,
            Matrix::from_columns(runtime, k, s, &x)?,
            runtime.buffer_from(&shifted)?,
        );
        Ok(Self { f, s, k, offset, w, x, bias, device })
    }

    fn product<'a>(
        &'a self,
        ops: &'a Ops<TestKernels>,
        layout: Layout,
    ) -> Linear<'a, TestKernels, f32, f32, warpsmith::epilogue::Sum, OnDevice> {
        let (w, x, _) = &self.device;
        match layout {
            Layout::Columns => ops.linear(MatrixView::from(w), MatrixView::from(x)),
            Layout::Rows => ops.linear(x.t(), w.t()),
        }
    }

    fn bias(&self) -> warpsmith::View<'_, f32> {
        self.device.2.slice(self.offset..).expect("the bias lies there")
    }

    /// The exact sum of an element of the result, and the magnitude that its error is relative to.
    fn sum(&self, element: usize) -> (f64, f64) {
        let (row, column) = (element % self.f, element / self.f);
        (0..self.k).fold((0.0, 0.0), |(sum, magnitude), i| {
            let product = f64::from(self.w[row + i * self.f]) * f64::from(self.x[i + column * self.k]);
            (sum + product, magnitude + product.abs())
        })
    }

    /// Runs a call into a poisoned result and compares it with a function of (element, sum + bias or sum, saved value).
    fn check<E: Epilogue>(
        &self,
        runtime: &Runtime,
        what: &str,
        layout: Layout,
        call: Linear<'_, TestKernels, f32, f32, E, OnDevice>,
        exact: impl Fn(usize, f64) -> f64,
    ) -> Result<Vec<f32>, Box<dyn std::error::Error>>
    where
        TestKernels: HasGemm<E, f32, f32>,
    {
        let mut out = Poisoned::new(runtime, self.f, self.s, self.offset)?;
        call.into(out.view_mut(layout)?)?;
        let got = out.values()?;
        for (element, &got) in got.iter().enumerate() {
            let (sum, magnitude) = self.sum(element);
            // The unfused calls: a sum of k products and one of a bias, a function whose slope is at most 1.2 within 2 ulp, a product.
            let want = exact(element, sum);
            let bound = 1.2 * (self.k + 2) as f64 * EPSILON * (magnitude + 1.0) + 6.0 * EPSILON * want.abs();
            let error = (f64::from(got) - want).abs();
            if error.is_nan() || error > bound {
                let Self { f, s, k, .. } = self;
                let text = format!(
                    "{what}, {layout:?}, {f}x{s}x{k}: [{element}] = {got:e}, expected {want:e} within {bound:e}"
                );
                return Err(text.into());
            }
        }
        Ok(got)
    }
}

/// Layers of sampled sizes, few in the simulator.
fn layers(runtime: &Runtime, name: &str) -> Result<Vec<Layer>, Box<dyn std::error::Error>> {
    let mut random = random(name);
    let count = if runtime.is_simulator() { 2 } else { 12 };
    let mut size = |_| SIZES[random.random_range(0..SIZES.len())];
    let shapes: Vec<[usize; 3]> = (0..count).map(|_| [0; 3].map(&mut size)).collect();
    Ok(shapes.into_iter().map(|shape| Layer::new(runtime, &mut random, shape)).collect::<Result<_, _>>()?)
}

fn test_ops(runtime: &Runtime) -> warpsmith::Result<Ops<TestKernels>> {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    Ok(Ops::on(runtime.default_stream()))
}

/// DEFAULT, RELU, GELU, BIAS, RELU_BIAS, GELU_BIAS, RELU_AUX, RELU_AUX_BIAS, GELU_AUX, GELU_AUX_BIAS; any other activation instead.
fn forward(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    for layer in layers(runtime, "epilogues")? {
        let b = |element: usize| f64::from(layer.bias[element % layer.f]);
        for layout in [Layout::Columns, Layout::Rows] {
            let product = || layer.product(&ops, layout);
            let with_bias = || product().bias(layer.bias());
            layer.check(runtime, "default", layout, product(), |_, sum| sum)?;
            layer.check(runtime, "relu", layout, product().activation(Relu), |_, sum| sum.max(0.0))?;
            layer.check(runtime, "gelu", layout, product().activation(GeluTanh), |_, sum| GeluTanh.forward(sum))?;
            layer.check(runtime, "bias", layout, with_bias(), |i, sum| sum + b(i))?;
            layer.check(runtime, "relu_bias", layout, with_bias().activation(Relu), |i, sum| (sum + b(i)).max(0.0))?;
            layer.check(runtime, "gelu_bias", layout, with_bias().activation(GeluTanh), |i, sum| {
                GeluTanh.forward(sum + b(i))
            })?;
            layer
                .check(runtime, "silu_bias", layout, with_bias().activation(Silu), |i, sum| Silu.forward(sum + b(i)))?;

            let z = layer.check(runtime, "z", layout, with_bias(), |i, sum| sum + b(i))?;
            let z_without = layer.check(runtime, "z", layout, product(), |_, sum| sum)?;
            for (bias, z) in [(true, &z), (false, &z_without)] {
                // The mask: unused bits are zero, padding is left alone.
                let mut mask = ReluMask::new(runtime, layer.f, layer.s)?;
                mask.bytes_mut().fill(0xff)?;
                let b = |i| if bias { b(i) } else { 0.0 };
                let relu = |i: usize, sum: f64| (sum + b(i)).max(0.0);
                match bias {
                    true => {
                        let call = with_bias().activation(Relu).save_mask(&mut mask);
                        layer.check(runtime, "relu_aux_bias", layout, call, relu)?
                    }
                    false => {
                        let call = product().activation(Relu).save_mask(&mut mask);
                        layer.check(runtime, "relu_aux", layout, call, relu)?
                    }
                };
                let want: Vec<bool> = z.iter().map(|&z| z > 0.0).collect();
                assert_eq!(mask.to_vec()?, want, "mask");
                let bytes = mask.bytes().to_vec()?;
                for column in bytes.chunks(mask.pitch()) {
                    let used = layer.f.div_ceil(8);
                    assert!(column[used..].iter().all(|&byte| byte == 0xff));
                    assert_eq!(u32::from(column[used - 1]) >> ((layer.f - 1) % 8 + 1), 0);
                }
                // The pre-activation: the bits that the product alone gives.
                let mut saved = Poisoned::new(runtime, layer.f, layer.s, 1)?;
                let gelu = |i: usize, sum: f64| GeluTanh.forward(sum + b(i));
                match bias {
                    true => {
                        let call = with_bias().activation(GeluTanh).save_preactivation(saved.view_mut(layout)?);
                        layer.check(runtime, "gelu_aux_bias", layout, call, gelu)?
                    }
                    false => {
                        let call = product().activation(GeluTanh).save_preactivation(saved.view_mut(layout)?);
                        layer.check(runtime, "gelu_aux", layout, call, gelu)?
                    }
                };
                same_bits("saved", &saved.values()?, z)?;
            }
        }
    }
    Ok(())
}

/// DRELU, DRELU_BGRAD, DGELU, DGELU_BGRAD; k = 1 too, which nvmath refuses.
fn gradients(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    let mut layers = layers(runtime, "gradients")?;
    layers.push(Layer::new(runtime, &mut random("gradients of k = 1"), [17, 9, 1])?);
    for layer in &layers {
        let Layer { f, s, .. } = *layer;
        let z = uniform(&mut random("pre-activations"), f * s);
        for layout in [Layout::Columns, Layout::Rows] {
            let mut saved = Poisoned::new(runtime, f, s, layer.offset)?;
            let padded: Vec<f32> = (0..saved.buffer.len())
                .map(|i| i.checked_sub(saved.offset).map_or((0, f), |i| (i / saved.leading, i % saved.leading)))
                .map(|(column, row)| if row < f { z[row + column * f] } else { f32::NAN })
                .collect();
            saved.buffer.copy_from_slice(&padded)?;
            let mut mask = ReluMask::new(runtime, f, s)?;
            let mut bytes = vec![0; mask.bytes().len()];
            for (i, _) in z.iter().enumerate().filter(|(_, z)| **z > 0.0) {
                bytes[i / f * mask.pitch() + i % f / 8] |= 1 << (i % f % 8);
            }
            mask.bytes_mut().copy_from_slice(&bytes)?;
            let slope = |i: usize| GeluTanh.derivative(f64::from(z[i]));
            let open = |i: usize| if z[i] > 0.0 { 1.0 } else { 0.0 };

            let call = layer.product(&ops, layout).masked(&mask);
            let drelu = layer.check(runtime, "drelu", layout, call, |i, sum| sum * open(i))?;
            let call = layer.product(&ops, layout).times_derivative(GeluTanh, saved.view(layout)?);
            let dgelu = layer.check(runtime, "dgelu", layout, call, |i, sum| sum * slope(i))?;
            for (name, values) in [("drelu_bgrad", &drelu), ("dgelu_bgrad", &dgelu)] {
                // The same twice: no order is left to chance.
                let mut sums = [runtime.filled(f, f32::NAN)?, runtime.filled(f, f32::NAN)?];
                for sums in &mut sums {
                    let got = match name {
                        "drelu_bgrad" => {
                            let call = layer.product(&ops, layout).masked(&mask).bias_gradient(sums);
                            layer.check(runtime, name, layout, call, |i, sum| sum * open(i))?
                        }
                        _ => {
                            let call = layer.product(&ops, layout).times_derivative(GeluTanh, saved.view(layout)?);
                            layer.check(runtime, name, layout, call.bias_gradient(sums), |i, sum| sum * slope(i))?
                        }
                    };
                    same_bits(name, &got, values)?;
                }
                let [first, second] = [sums[0].to_vec()?, sums[1].to_vec()?];
                same_bits(name, &first, &second)?;
                expect_sums(name, &first, s, |row, i| f64::from(values[row + i * f]))?;
            }
        }
    }
    Ok(())
}

/// Sums within the error of any order.
fn expect_sums(what: &str, got: &[f32], count: usize, value: impl Fn(usize, usize) -> f64) -> TestResult {
    for (row, &got) in got.iter().enumerate() {
        let (sum, magnitude) = (0..count).map(|i| value(row, i)).fold((0.0, 0.0), |(s, m), v| (s + v, m + v.abs()));
        let error = (f64::from(got) - sum).abs();
        if error.is_nan() || error > count as f64 * EPSILON * magnitude {
            return Err(format!("{what}: sum {row} is {got}, expected {sum}").into());
        }
    }
    Ok(())
}

/// BGRADA and BGRADB.
fn bias_gradients_of_factors(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    let mut layers = layers(runtime, "factors")?;
    // More than one part of k.
    layers.push(Layer::new(runtime, &mut random("long sums"), [5, 3, 700])?);
    for layer in &layers {
        let Layer { f, s, k, .. } = *layer;
        for layout in [Layout::Columns, Layout::Rows] {
            let (mut of_w, mut of_x) = (runtime.filled(f, f32::NAN)?, runtime.filled(s, f32::NAN)?);
            let product = || layer.product(&ops, layout);
            // In the row-major product the factors have changed places.
            let (w, x) = match layout {
                Layout::Columns => (product().sum_left(&mut of_w), product().sum_right(&mut of_x)),
                Layout::Rows => (product().sum_right(&mut of_w), product().sum_left(&mut of_x)),
            };
            layer.check(runtime, "bgrada", layout, w, |_, sum| sum)?;
            layer.check(runtime, "bgradb", layout, x, |_, sum| sum)?;
            expect_sums("bgrada", &of_w.to_vec()?, k, |row, i| f64::from(layer.w[row + i * f]))?;
            expect_sums("bgradb", &of_x.to_vec()?, k, |column, i| f64::from(layer.x[i + column * k]))?;
        }
    }
    Ok(())
}

fn gated_dropout_residual(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    for layer in layers(runtime, "gated")? {
        let Layer { f, s, .. } = layer;
        let b = |element: usize| f64::from(layer.bias[element % f]);
        let skip = uniform(&mut random("skip"), f * s);
        let on_device = Matrix::from_columns(runtime, f, s, &skip)?;
        for layout in [Layout::Columns, Layout::Rows] {
            let with_bias = || layer.product(&ops, layout).bias(layer.bias());
            let source = if layout == Layout::Columns { MatrixView::from(&on_device) } else { on_device.t() };
            layer.check(runtime, "residual", layout, with_bias().activation(GeluErf).residual(source), |i, sum| {
                GeluErf.forward(sum + b(i)) + f64::from(skip[i])
            })?;
            // The same elements in both layouts, forward and backward, and about the right share of them.
            let dropped = with_bias().activation(Silu).dropout(0.25, 42);
            let reference = warpsmith::epilogue::Sum.dropout(0.25, 42)?;
            let kept = |index| {
                reference
                    .apply(warpsmith::epilogue::Operands { index, ..warpsmith::epilogue::Operands::of_sum(1.0) })
                    .value
            };
            layer.check(runtime, "dropout", layout, dropped, |i, sum| Silu.forward(sum + b(i)) * kept(i))?;
            let error = with_bias().activation(Silu).dropout(1.5, 42).run().unwrap_err();
            assert!(matches!(&error, warpsmith::Error::NotAProbability(given) if given.0 == 1.5), "{error}");

            if f % 2 == 0 {
                let mut out = Poisoned::new(runtime, f / 2, s, layer.offset)?;
                with_bias().gated(Silu).into(out.view_mut(layout)?)?;
                let halves = layer.check(runtime, "halves", layout, with_bias(), |i, sum| sum + b(i))?;
                let want: Vec<f32> = halves.chunks(2).map(|pair| pair[0] * Silu.forward(pair[1])).collect();
                same_bits("swiglu", &out.values()?, &want)?;
            }
        }
    }
    Ok(())
}

fn users_own(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    for layer in layers(runtime, "user")? {
        for layout in [Layout::Columns, Layout::Rows] {
            let call = layer.product(&ops, layout).bias(layer.bias()).epilogue(SoftCap { limit: 0.5 });
            layer.check(runtime, "soft cap", layout, call, |i, sum| {
                0.5 * ((sum + f64::from(layer.bias[i % layer.f])) / 0.5).tanh()
            })?;
        }
    }
    Ok(())
}

/// k = 0 is the epilogue of zero; no features or no samples is nothing to do, and the next call works.
fn empty_sums_and_extents(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    for layout in [Layout::Columns, Layout::Rows] {
        let layer = Layer::new(runtime, &mut random("empty"), [9, 5, 0])?;
        let call = layer.product(&ops, layout).bias(layer.bias()).activation(Silu);
        layer.check(runtime, "k = 0", layout, call, |i, _| Silu.forward(f64::from(layer.bias[i % 9])))?;
        let mut sums = runtime.filled(9, f32::NAN)?;
        let call = layer
            .product(&ops, layout)
            .sum_left(sums.as_view_mut().into_slice(..if layout == Layout::Columns { 9 } else { 5 })?);
        layer.check(runtime, "sums of nothing", layout, call, |_, _| 0.0)?;
        let len = if layout == Layout::Columns { 9 } else { 5 };
        assert_eq!(sums.to_vec()?[..len], [0.0; 9][..len]);
        for [f, s] in [[0, 5], [9, 0], [0, 0]] {
            let layer = Layer::new(runtime, &mut random("empty"), [f, s, 3])?;
            let mut sums = runtime.filled(f, f32::NAN)?;
            let z = Matrix::zeros(runtime, f, s)?;
            let z = if layout == Layout::Columns { MatrixView::from(&z) } else { z.t() };
            let call = layer.product(&ops, layout).times_derivative(GeluTanh, z).bias_gradient(&mut sums);
            layer.check(runtime, "empty", layout, call, |_, _| unreachable!("there is no element"))?;
            assert_eq!(sums.to_vec()?, vec![0.0; f]);
        }
    }
    Ok(())
}

/// Strided batches: one right factor for all, a bias each.
fn batches(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    let mut random = random("batches");
    let (count, m, n, k) = (3, 17, 5, 9);
    let (a, b, bias) =
        (uniform(&mut random, count * (m * k + 2)), uniform(&mut random, k * n), uniform(&mut random, count * m));
    let (on_a, on_b, on_bias) =
        (runtime.buffer_from(&a)?, Matrix::from_columns(runtime, k, n, &b)?, runtime.buffer_from(&bias)?);
    let mut out = runtime.filled(count * (m * n + 1), f32::NAN)?;
    let left = MatrixView::row_major(on_a.as_view(), (m, k), k)?.batch(count, m * k + 2)?;
    let to = MatrixViewMut::column_major(out.as_view_mut(), (m, n), m)?.batch(count, m * n + 1)?;
    ops.linear(left, &on_b).bias(&on_bias).activation(Relu).into(to)?;
    for (number, got) in out.to_vec()?.chunks(m * n + 1).enumerate() {
        assert!(got[m * n].is_nan());
        for (element, &got) in got[..m * n].iter().enumerate() {
            let (row, column) = (element % m, element / m);
            let want = (0..k).fold(f64::from(bias[number * m + row]), |sum, i| {
                sum + f64::from(a[number * (m * k + 2) + row * k + i]) * f64::from(b[i + column * k])
            });
            assert!((f64::from(got) - want.max(0.0)).abs() < 1e-5, "{number} {element}: {got} {want}");
        }
    }
    Ok(())
}

/// More matrices than a grid has blocks along y or z.
fn large_batches(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    let count = 70_000;
    let a: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let (a, b) = (runtime.buffer_from(&a)?, Matrix::from_columns(runtime, 1, 1, &[2.0f32])?);
    let mut out = runtime.filled(count, f32::NAN)?;
    let left = MatrixView::column_major(a.as_view(), (1, 1), 1)?.batch(count, 1)?;
    ops.linear(left, &b).into(MatrixViewMut::column_major(out.as_view_mut(), (1, 1), 1)?.batch(count, 1)?)?;
    let want: Vec<f32> = (0..count).map(|i| 2.0 * i as f32).collect();
    same_bits("batch of 70000", &out.to_vec()?, &want)
}

/// A plan allocates nothing when it runs, and a graph holds it.
fn planned_and_captured(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    let layer = Layer::new(runtime, &mut random("plan"), [17, 5, 9])?;
    let z = Matrix::from_columns(runtime, 17, 5, &uniform(&mut random("z"), 85))?;
    let Layer { device: (w, x, _), .. } = layer;
    let (mut out, mut sums) = (Matrix::from_columns(runtime, 17, 5, &[f32::NAN; 85])?, runtime.filled(17, f32::NAN)?);
    let mut plan = ops.linear(&w, &x).times_derivative(GeluTanh, &z).bias_gradient(&mut sums).plan(&mut out)?;
    plan.run(ops.linear(&w, &x).times_derivative(GeluTanh, &z).bias_gradient(&mut sums), &mut out)?;
    let (want, want_sums) = (out.as_view().to_vec()?, sums.to_vec()?);
    let allocations = runtime.memory().driver_allocations;
    for _ in 0..3 {
        plan.run(ops.linear(&w, &x).times_derivative(GeluTanh, &z).bias_gradient(&mut sums), &mut out)?;
    }
    assert_eq!(runtime.memory().driver_allocations, allocations);
    // Another size is refused.
    let narrow = MatrixView::column_major(x.as_view(), (9, 4), 9)?;
    let z_narrow = MatrixView::column_major(z.as_view(), (17, 4), 17)?;
    let mut out_narrow = Matrix::zeros(runtime, 17, 4)?;
    let call = ops.linear(&w, narrow).times_derivative(GeluTanh, z_narrow).bias_gradient(&mut sums);
    assert!(matches!(plan.run(call, &mut out_narrow), Err(Error::MatrixLayout { .. })));

    out.buffer_mut().fill(f32::NAN)?;
    sums.fill(f32::NAN)?;
    let stream = runtime.stream()?;
    let mut graph = stream.capture((plan, w, x, z, out, sums), |(plan, w, x, z, out, sums), stream| {
        let ops = Ops::<TestKernels>::on(stream.clone());
        plan.run(ops.linear(&*w, &*x).times_derivative(GeluTanh, &*z).bias_gradient(sums), out)
    })?;
    graph.launch(&stream)?;
    graph.launch(&stream)?;
    let (.., out, sums) = graph.state();
    same_bits("captured", &out.as_view().to_vec()?, &want)?;
    same_bits("captured sums", &sums.to_vec()?, &want_sums)
}

/// Host and device mixed; the result is what the first factor was.
fn host_data(runtime: &Runtime) -> TestResult {
    use nalgebra::{DMatrix, DVector};
    let ops = test_ops(runtime)?;
    let w = DMatrix::from_row_slice(2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let x = Matrix::from_columns(runtime, 3, 1, &[1.0, -1.0, 0.5])?;
    let y: DMatrix<f32> = ops.linear(&w, &x).bias(&DVector::from_vec(vec![1.0, -3.0])).activation(Relu).run()?;
    assert_eq!(y, DMatrix::from_column_slice(2, 1, &[1.5, 0.0]));
    let on_device: Matrix<f32> = ops.linear(x.t(), &w.transpose()).run()?;
    assert_eq!(on_device.as_view().to_vec()?, [0.5, 2.0]);
    Ok(())
}

fn errors(runtime: &Runtime) -> TestResult {
    let ops = test_ops(runtime)?;
    let (w, x) = (Matrix::<f32>::zeros(runtime, 4, 3)?, Matrix::zeros(runtime, 3, 2)?);
    let mut y = Matrix::zeros(runtime, 4, 2)?;
    let expect = |error: Error, parts: &[&str]| {
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    let short = runtime.zeros(3)?;
    expect(ops.linear(&w, &x).bias(&short).into(&mut y).unwrap_err(), &["the bias", "3", "4"]);
    expect(ops.linear(&w, &x).epilogue(SoftCap { limit: 1.0 }).into(&mut y).unwrap_err(), &["the bias", "missing"]);
    expect(ops.linear(&x, &w).into(&mut y).unwrap_err(), &["3x2", "4x3"]);
    // A pre-activation in the other layout.
    let mut z = Matrix::zeros(runtime, 2, 4)?;
    let call = ops.linear(&w, &x).activation(GeluTanh).save_preactivation(z.t_mut());
    expect(call.into(&mut y).unwrap_err(), &["the pre-activation", "row- or column-major"]);
    let mut mask = ReluMask::new(runtime, 2, 4)?;
    expect(
        ops.linear(&w, &x).activation(Relu).save_mask(&mut mask).into(&mut y).unwrap_err(),
        &["the mask", "2x4", "4x2"],
    );
    // Columns that overlap.
    let mut buffer = runtime.zeros::<f32>(8)?;
    let squeezed = MatrixViewMut::column_major(buffer.as_view_mut(), (4, 2), 4)?.batch(2, 0)?;
    expect(ops.linear(&w, &x).into(squeezed).unwrap_err(), &["the result", "apart"]);
    Ok(())
}
