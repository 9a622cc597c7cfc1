//! Matrix products: `product KIND TYPE M N K BATCH KERNEL`.
//!
//! `KIND` is `sum`, `bias`, `bias+ACTIVATION` (y = f(x · wᵀ + b)), `derivative+ACTIVATION` (dz = (dy · w) ⊙ f'(z) and db, the sum of dz over the
//! samples) or `weights` (dw = dyᵀ · x). In PyTorch's words the result is M x N and row-major, with N features; K is what is summed over.
//! `KERNEL` is `auto` or one of [`Gemm`], in lower case.
//!
//! The error is a multiple of what is allowed: k·2⁻²⁴ of the sum of magnitudes, before the epilogue, and two last places of the result. The
//! note names the kernel.

use warpsmith::activations::*;
use warpsmith::epilogue::{Aux, Axis, Epilogue, Operands, Sum, Sums};
use warpsmith::ops::{Gemm, GemmElement, HasGemm, Ops};
use warpsmith::{Activation, Buffer, Kernels, Matrix, MatrixView, MatrixViewMut, Runtime, Stream, bf16, f16};

use super::Result;
use super::timing::Work;
use warpsmith_benches::values::{Value, mix, normal, wide};

/// What is computed, as a column-major product of `n` features x `k` and `k` x `m` samples.
#[derive(Clone, Copy)]
struct Call {
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
    kernel: Option<Gemm>,
    /// Whether k is contiguous in the weights, and in the samples.
    along_k: [bool; 2],
}

pub fn prepare(runtime: &Runtime, arguments: &[&str]) -> Result<Work> {
    let [kind, element, m, n, k, batch, kernel] = arguments else {
        return Err("a product has seven arguments: KIND TYPE M N K BATCH KERNEL".into());
    };
    let named = |kernel: &Gemm| format!("{kernel:?}").to_lowercase();
    let kernel = match *kernel {
        "auto" => None,
        name => {
            let unknown =
                || format!("no kernel `{name}`; there are {}", Gemm::ALL.map(|kernel| named(&kernel)).join(", "));
            Some(*Gemm::ALL.iter().find(|kernel| named(kernel) == name).ok_or_else(unknown)?)
        }
    };
    let along_k = match kind.split_once('+') {
        Some(("derivative", _)) => [false, true],
        _ if *kind == "weights" => [false, false],
        _ => [true, true],
    };
    let call = Call { m: m.parse()?, n: n.parse()?, k: k.parse()?, batch: batch.parse()?, kernel, along_k };
    match (*element, *kind) {
        ("bf16", "sum" | "weights") => product::<bf16, _>(runtime, call, Sum),
        ("f16", "sum" | "weights") => product::<f16, _>(runtime, call, Sum),
        ("f32", "sum" | "weights") => product::<f32, _>(runtime, call, Sum),
        ("bf16", "bias") => product::<bf16, _>(runtime, call, Sum.bias()),
        ("f16", "bias") => product::<f16, _>(runtime, call, Sum.bias()),
        ("f32", "bias") => product::<f32, _>(runtime, call, Sum.bias()),
        ("bf16", kind) => activated_bf16(runtime, call, kind),
        ("f16", "bias+relu") => product::<f16, _>(runtime, call, Sum.bias().activation(Relu)),
        ("f16", "bias+gelu_tanh") => product::<f16, _>(runtime, call, Sum.bias().activation(GeluTanh)),
        ("f32", "bias+relu") => product::<f32, _>(runtime, call, Sum.bias().activation(Relu)),
        ("f32", "bias+gelu_tanh") => product::<f32, _>(runtime, call, Sum.bias().activation(GeluTanh)),
        _ => Err(format!("`{kind} {element}` is not compiled").into()),
    }
}

/// Everything that the library has compiled for bf16.
fn activated_bf16(runtime: &Runtime, call: Call, kind: &str) -> Result<Work> {
    macro_rules! find {
        ($($prefix:literal $epilogue:expr => $($activation:expr),*;)*) => {
            match kind.split_once('+') {
                $($(
                    Some(($prefix, name)) if name == name_of(&$activation) => {
                        product::<bf16, _>(runtime, call, $epilogue($activation))
                    }
                )*)*
                _ => Err(format!("`{kind} bf16` is not compiled").into()),
            }
        };
    }
    find! {
        "bias" |f| Sum.bias().activation(f) =>
            Relu, LeakyRelu::default(), GeluErf, GeluTanh, Silu, Sigmoid, Tanh, Mish, Softplus::default(), SquaredRelu;
        "derivative" |f| Sum.times_derivative(f).sum_rows() => Relu, GeluErf, GeluTanh, Silu;
    }
}

fn name_of<A: Activation>(_: &A) -> &'static str {
    A::NAME
}

/// The weights' or the samples' matrices as a factor, `lines` of k elements each.
fn factor<T: warpsmith::Element>(
    elements: &Buffer<T>,
    (lines, k): (usize, usize),
    batch: usize,
    along_k: bool,
) -> warpsmith::Result<MatrixView<'_, T>> {
    let elements = elements.as_view();
    let one = match along_k {
        true => MatrixView::row_major(elements, (lines, k), k)?,
        false => MatrixView::column_major(elements, (lines, k), lines)?,
    };
    one.batch(batch, lines * k)
}

fn product<T, E>(runtime: &Runtime, call: Call, epilogue: E) -> Result<Work>
where
    T: Value + GemmElement,
    E: Epilogue,
    Kernels: HasGemm<E, T, T>,
{
    let Call { m, n, k, batch, kernel, along_k } = call;
    // So that the sums have a deviation of 1.
    let host_w = normal::<T>(1, batch * n * k, (k as f64).powf(-0.5));
    let host_x = normal::<T>(2, batch * m * k, 1.0);
    let host_bias = normal::<T>(3, n, 1.0);
    let host_z = normal::<T>(4, if E::AUX == Aux::Read { m * n } else { 0 }, 1.0);
    let (w, x, bias) = (runtime.buffer_from(&host_w)?, runtime.buffer_from(&host_x)?, runtime.buffer_from(&host_bias)?);
    let z = runtime.buffer_from(&host_z)?;
    let z = Matrix::from_buffer(z, if host_z.is_empty() { 0 } else { n }, if host_z.is_empty() { 0 } else { m })?;
    let mut db = runtime.zeros::<f32>(if E::SUMS == Sums::Rows { n } else { 0 })?;
    let mut y = runtime.filled(batch * m * n, T::of(f32::NAN))?;
    let ops = Ops::<Kernels>::new(runtime);

    // The operands are given by calls that the epilogue then replaces by itself.
    macro_rules! call {
        ($ops:ident) => {{
            let w = factor(&w, (n, k), batch, along_k[0])?;
            let x = factor(&x, (m, k), batch, along_k[1])?.t();
            let call = $ops.linear::<T, T, _, _>(w, x).bias(&bias).times_derivative(Identity, &z);
            let call = call.bias_gradient(&mut db).epilogue(epilogue);
            match kernel {
                Some(kernel) => call.using(kernel),
                None => call,
            }
        }};
    }
    macro_rules! result {
        () => {
            MatrixViewMut::column_major(y.as_view_mut(), (n, m), n)?.batch(batch, m * n)?
        };
    }
    let mut plan = call!(ops).plan(result!())?;
    plan.run(call!(ops), result!())?;
    let note = plan.kernel().map_or("cpu".into(), |kernel| format!("{kernel:?}").to_lowercase());

    let exact = Exact { call, epilogue, w: &host_w, x: &host_x, bias: &host_bias, z: &host_z };
    let mut error = 0.0_f64;
    for sample in 0..96_u64 {
        let at = [mix(3 * sample) as usize % batch, mix(3 * sample + 1) as usize % n, mix(3 * sample + 2) as usize % m];
        let index = (at[0] * m + at[2]) * n + at[1];
        let got = wide(y.slice(index..=index)?.to_vec()?[0]);
        let (want, allowed) = exact.element(at);
        error = error.max(share(got, want, allowed + 2.0 * T::spacing(want.abs())));
    }
    // The sum of one feature; of more it would take long.
    if E::SUMS == Sums::Rows && m * k <= 1 << 27 {
        let feature = mix(9) as usize % n;
        let elements: Vec<_> = (0..m).map(|sample| exact.element([0, feature, sample])).collect();
        let magnitude: f64 = elements.iter().map(|(want, _)| want.abs()).sum();
        let allowed: f64 =
            elements.iter().map(|(_, allowed)| allowed).sum::<f64>() + m as f64 * 2_f64.powi(-24) * magnitude;
        let got = f64::from(db.slice(feature..=feature)?.to_vec()?[0]);
        error = error.max(share(got, elements.iter().map(|(want, _)| want).sum(), allowed));
    }
    let run = move |stream: &Stream| {
        let ops = Ops::<Kernels>::on(stream.clone());
        plan.run(call!(ops), result!())
    };
    Ok(Work { error, note, run: Box::new(run) })
}

/// The error in units of what is allowed; NaN is no small one.
fn share(got: f64, want: f64, allowed: f64) -> f64 {
    let share = (got - want).abs() / allowed;
    if share.is_nan() { f64::INFINITY } else { share }
}

/// The product in f64.
struct Exact<'a, T, E> {
    call: Call,
    epilogue: E,
    w: &'a [T],
    x: &'a [T],
    bias: &'a [T],
    z: &'a [T],
}

impl<T: Value, E: Epilogue> Exact<'_, T, E> {
    /// One element, and what the rounding of its sum may change in it.
    fn element(&self, [matrix, feature, sample]: [usize; 3]) -> (f64, f64) {
        let Call { m, n, k, along_k, .. } = self.call;
        let line = |elements: &[T], lines: usize, line: usize, along_k: bool, l: usize| {
            let within = if along_k { line * k + l } else { l * lines + line };
            wide(elements[matrix * lines * k + within])
        };
        let terms = (0..k).map(|l| line(self.w, n, feature, along_k[0], l) * line(self.x, m, sample, along_k[1], l));
        let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, magnitude), term| (sum + term, magnitude + term.abs()));
        let bias = if E::BIAS == Axis::Rows { wide(self.bias[feature]) } else { 0.0 };
        let aux = if E::AUX == Aux::Read { wide(self.z[sample * n + feature]) } else { 0.0 };
        let finished = |sum: f64| self.epilogue.apply(Operands { bias, aux, ..Operands::of_sum(sum) }).value;
        let (want, change) = (finished(sum), k as f64 * 2_f64.powi(-24) * magnitude);
        (want, (finished(sum + change) - want).abs().max((finished(sum - change) - want).abs()))
    }
}
