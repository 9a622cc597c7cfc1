//! Inputs at which other libraries' activations went wrong, each taken for its whole kind: every activation, every element type, forward
//! and gradient, on every device, against f64. And what the conventions promise: NaN, signed zeros, kinks.

#![expect(clippy::excessive_precision, reason = "values from 60-digit arithmetic, as they were printed")]

use warpsmith::ops::Ops;
use warpsmith::{Element, Has, Kernels, Matrix, Runtime, bf16, f16};
use warpsmith_gpu::accuracy::{Digits, largest_input, terms};
use warpsmith_gpu::activations::*;
use warpsmith_gpu::kernels::{bias_activation_forward, map_backward, map_forward};
use warpsmith_gpu::{Activation, with_activation};
use warpsmith_tests::{TestResult, Tests};

use crate::map::Bits;

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("f32", |runtime| every::<f32>(runtime)),
        ("f16", |runtime| every::<f16>(runtime)),
        ("bf16", |runtime| every::<bf16>(runtime)),
        ("f64_keeps_its_tails", f64_tails),
        ("known_numbers", known_numbers),
        ("gradients_at_kinks", kinks),
        ("zero_has_a_sign", zeros),
        ("nan_through_fused_calls", fused_nan),
    ],
    ..Tests::NONE
};

/// Overflow of exp in f32 and in f16, cancellation in tails, saturation, subnormals.
const HARD: [f32; 58] = [
    -5000.0, -1662.73, -300.0, -201.7132, -110.0, -103.9, -90.0, -88.8, -88.0, -87.3, -74.2032, -50.0, -40.0, -27.2899,
    -20.0, -17.0, -13.24, -11.0, -10.0, -8.0, -6.0, -5.5, -5.0, -4.0, -3.0, -1.28125, -1.19, -1e-4, -1e-7, -1e-10, 0.0,
    1e-10, 1e-7, 1e-4, 0.5, 1.0, 2.0, 3.0, 5.0, 6.0, 9.0, 10.0, 11.0, 12.0, 13.24, 20.0, 40.0, 50.0, 80.0, 88.0, 88.8,
    89.0, 100.0, 201.7, 1000.0, 3212.54, 5000.0, 65504.0,
];
/// f32's own: the ends of its range.
const EXTREME: [f32; 6] = [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-40, -1e-40, 5.877_472e-39];

/// f(x) and f'(x) as the device's kernels have it.
fn computed<A: Activation, T: Bits>(runtime: &Runtime, activation: A, x: &[T]) -> warpsmith::Result<[Vec<T>; 2]>
where
    Kernels: Has<map_forward<A, T>> + Has<map_backward<A, T>>,
{
    let ops = Ops::new(runtime);
    let device_x = runtime.buffer_from(x)?;
    let ones = runtime.filled(x.len(), T::from_single(1.0))?;
    let poison = T::from_single(-77.0);
    let (mut y, mut dx) = (runtime.filled(x.len(), poison)?, runtime.filled(x.len(), poison)?);
    ops.map_forward(activation, &device_x, &mut y)?;
    ops.map_backward(activation, &device_x, &ones, &mut dx)?;
    Ok([y.to_vec()?, dx.to_vec()?])
}

/// What is right, and the largest term where that counts.
struct Right {
    what: String,
    value: f64,
    term: f64,
}

fn right<A: Activation, T: Element<Compute = f32>>(any: Any, activation: &A, x: &[T]) -> [Vec<Right>; 2] {
    let of = |k: usize, value: &dyn Fn(f64) -> f64| {
        let one = |x: &T| {
            let x = f64::from(x.load());
            let mark = if k == 0 { "" } else { "'" };
            Right {
                what: format!("{any}{mark}({x:e}) in {}", T::NAME),
                value: value(x),
                term: terms(any).at(activation, x)[k],
            }
        };
        x.iter().map(one).collect()
    };
    [of(0, &|x| activation.forward(x)), of(1, &|x| activation.derivative(x))]
}

/// Within 2 last places in f32, 1 in 16 bits, and what a GPU's approximate instructions may add there; never NaN unless that is right.
fn compare<T: Bits + Digits>(runtime: &Runtime, got: &[T], right: &[Right]) -> TestResult {
    let bar = if T::NAME == "f32" { 2.0 } else { 1.0 } + if runtime.is_cuda() { T::TOLERANCE as f64 } else { 0.0 };
    for (got, Right { what, value, term }) in got.iter().zip(right) {
        let ulp = got.ulp(*value, *term);
        if ulp > bar {
            return Err(format!("{what} = {got:?}, not {value:e}: {ulp:.2} ulp").into());
        }
    }
    Ok(())
}

fn check<A: Activation, T: Bits + Digits>(runtime: &Runtime, any: Any, activation: A, x: &[T]) -> TestResult
where
    Kernels: Has<map_forward<A, T>> + Has<map_backward<A, T>>,
{
    let inside = |x: &&T| {
        let x = f64::from(x.load());
        x.is_nan() || x.is_infinite() || x.abs() <= largest_input(any)
    };
    let x: Vec<T> = x.iter().filter(inside).copied().collect();
    let [y, dx] = computed(runtime, activation, &x)?;
    let [value, slope] = right(any, &activation, &x);
    compare(runtime, &y, &value)?;
    compare(runtime, &dx, &slope)
}

/// The activations that are compiled for a type and that the tests in `map` have too, so that they cost no time to compile.
trait Compiled: Bits + Digits {
    fn check_all(runtime: &Runtime, x: &[Self]) -> TestResult;
}

impl Compiled for f32 {
    fn check_all(runtime: &Runtime, x: &[Self]) -> TestResult {
        for any in Any::all() {
            with_activation!(any, |activation| check(runtime, any, activation, x)?);
        }
        Ok(())
    }
}

macro_rules! compiled {
    ($($element:ident)*) => {$(
        impl Compiled for $element {
            fn check_all(runtime: &Runtime, x: &[Self]) -> TestResult {
                check(runtime, Identity.into(), Identity, x)?;
                check(runtime, Relu.into(), Relu, x)?;
                check(runtime, LeakyRelu::default().into(), LeakyRelu::default(), x)?;
                check(runtime, Sigmoid.into(), Sigmoid, x)?;
                check(runtime, Tanh.into(), Tanh, x)?;
                check(runtime, GeluTanh.into(), GeluTanh, x)?;
                check(runtime, GeluErf.into(), GeluErf, x)?;
                check(runtime, Silu.into(), Silu, x)?;
                check(runtime, Mish.into(), Mish, x)
            }
        }
    )*};
}
compiled! { f16 bf16 }

fn every<T: Compiled>(runtime: &Runtime) -> TestResult {
    let mut x: Vec<T> =
        HARD.iter().chain(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN]).map(|&x| T::from_single(x)).collect();
    if T::NAME == "f32" {
        x.extend(EXTREME.iter().map(|&x| T::from_single(x)));
    }
    T::check_all(runtime, &x)
}

/// In f64 too the plain formulas lose the tails: gelu by 1 + erf is 0 from -8.3 on, silu's exponential overflows at -710.
fn f64_tails(runtime: &Runtime) -> TestResult {
    let near = |what: &str, got: f64, want: f64| match (got - want).abs() <= 4e-15 * want.abs() {
        true => Ok(()),
        false => Err(format!("{what} = {got:e}, not {want:e}")),
    };
    let x = [-10.0, -30.0, -720.0];
    let [silu, _] = computed(runtime, Silu, &x)?;
    // By mpmath, with 60 digits.
    near("silu(-10)", silu[0], -4.539_786_870_243_439_5e-4)?;
    near("silu(-30)", silu[1], -2.807_286_890_651_789_7e-12)?;
    near("sigmoid'(-30)", computed(runtime, Sigmoid, &x)?[1][1], 9.357_622_968_838_423e-14)?;
    near("gelu_tanh(-10)", computed(runtime, GeluTanh, &x)?[0][0], -1.204_092_348_209_806e-37)?;
    // Subnormal.
    assert!((silu[2] + 1.463_206_177_745_491_1e-310).abs() < 1e-320, "silu(-720) = {:e}", silu[2]);
    Ok(())
}

/// Numbers from the reports, as they were given there.
fn known_numbers(runtime: &Runtime) -> TestResult {
    let near = |what: &str, got: &[f32], want: &[f32]| -> TestResult {
        for (got, want) in got.iter().zip(want) {
            if (got - want).abs() > 3e-7 * want.abs() {
                return Err(format!("{what}: {got:e}, not {want:e}").into());
            }
        }
        Ok(())
    };
    let tails = [-4.0, -5.0, -6.0, -10.0];
    near(
        "gelu_tanh",
        &computed(runtime, GeluTanh, &tails)?[0],
        &[-7.024_594_82e-5, -2.291_796_2e-7, -8.439_646_7e-11, -1.204_092_35e-37],
    )?;
    let tails = [-3.0, -5.0, -6.0, -10.0];
    near(
        "gelu_erf",
        &computed(runtime, GeluErf, &tails)?[0],
        &[-4.049_694_09e-3, -1.433_257_86e-6, -5.919_525_87e-9, -7.619_853_02e-23],
    )?;
    let [mish, slope] = computed(runtime, Mish, &[-20.0, -5.0, 1.0, 5000.0])?;
    near("mish", &mish, &[-4.122_307_24e-8, -0.033_576_237_7, 0.865_098_388, 5000.0])?;
    near("mish'", &slope, &[-3.916_191_87e-8, -0.026_747_498, 1.049_036_22, 1.0])?;
    near("silu", &computed(runtime, Silu, &[-90.0, -88.0])?[0], &[-7.374_611_36e-38, -5.328_049_67e-37])?;
    near("selu", &computed(runtime, Selu, &[-1e-4, -1e-7])?[0], &[-1.758_011_44e-4, -1.758_099_25e-7])?;
    let [value, slope] = computed(runtime, LogSigmoid, &[-300.0, f32::NEG_INFINITY, f32::INFINITY])?;
    assert_eq!((value, slope), (vec![-300.0, f32::NEG_INFINITY, 0.0], vec![1.0, 1.0, 0.0]));
    near("softplus", &computed(runtime, Softplus::new(5.0, 20.0), &[20.0, 50.0, 100.0])?[0], &[20.0, 50.0, 100.0])?;
    let brain = [-5.5, -6.0, -8.0, -10.0].map(bf16::from_f32);
    let silu = computed(runtime, Silu, &brain)?[0].iter().map(|y| y.to_f32()).collect::<Vec<_>>();
    for (got, want) in silu.iter().zip([-0.022_338_867, -0.014_831_543, -0.002_685_546_9, -0.000_453_948_97_f32]) {
        // The last place, where a GPU approximates.
        assert!((got - want).abs() <= if runtime.is_cuda() { want.abs() / 128.0 } else { 0.0 }, "{got} is not {want}");
    }
    Ok(())
}

/// 0 where the function is flat on one side.
fn kinks(runtime: &Runtime) -> TestResult {
    fn slopes<A: Activation>(runtime: &Runtime, activation: A, points: &[(f32, f32)]) -> TestResult
    where
        Kernels: Has<map_forward<A, f32>> + Has<map_backward<A, f32>>,
    {
        let (x, want): (Vec<f32>, Vec<f32>) = points.iter().copied().unzip();
        match computed(runtime, activation, &x)?[1] == want {
            true => Ok(()),
            false => Err(format!("{}' at {x:?} is not {want:?}", A::NAME).into()),
        }
    }
    slopes(runtime, Relu, &[(0.0, 0.0), (-0.0, 0.0)])?;
    slopes(runtime, Relu6, &[(0.0, 0.0), (6.0, 0.0), (3.0, 1.0)])?;
    slopes(runtime, SquaredRelu, &[(0.0, 0.0), (1.5, 3.0)])?;
    slopes(runtime, Hardtanh::default(), &[(-1.0, 0.0), (1.0, 0.0), (0.0, 1.0)])?;
    slopes(runtime, Hardswish, &[(-3.0, 0.0), (3.0, 1.0), (-2.0, -1.0 / 6.0), (2.0, 7.0 / 6.0)])?;
    slopes(runtime, Hardsigmoid, &[(-3.0, 0.0), (3.0, 0.0)])?;
    slopes(runtime, Hardshrink::default(), &[(-0.5, 0.0), (0.5, 0.0), (0.75, 1.0)])?;
    slopes(runtime, Softshrink::default(), &[(-0.5, 0.0), (0.5, 0.0), (0.75, 1.0)])
}

/// relu(-0.0) is +0.0 in every type. Odd functions keep the sign in f32 and f64; 16-bit types, which are computed in Fast, don't promise it.
fn zeros(runtime: &Runtime) -> TestResult {
    fn check<T: Bits>(runtime: &Runtime) -> TestResult
    where
        Kernels: Has<map_forward<Relu, T>>
            + Has<map_backward<Relu, T>>
            + Has<map_forward<Tanh, T>>
            + Has<map_backward<Tanh, T>>,
    {
        let zeros = [T::from_single(-0.0), T::from_single(0.0)];
        let bits = |values: &[T]| [values[0].bits(), values[1].bits()];
        assert_eq!(bits(&computed(runtime, Relu, &zeros)?[0]), [T::from_single(0.0).bits(); 2], "relu in {}", T::NAME);
        if matches!(T::NAME, "f32" | "f64") {
            assert_eq!(bits(&computed(runtime, Tanh, &zeros)?[0]), bits(&zeros), "tanh in {}", T::NAME);
        }
        Ok(())
    }
    check::<f32>(runtime)?;
    check::<f64>(runtime)?;
    check::<f16>(runtime)?;
    check::<bf16>(runtime)
}

/// A NaN in the input, the bias or a factor is in the result, also behind a relu, whose comparison could lose it.
fn fused_nan(runtime: &Runtime) -> TestResult {
    fn biased<T: Bits>(runtime: &Runtime) -> TestResult
    where
        Kernels: Has<bias_activation_forward<Relu, T>>,
    {
        let number = T::from_single;
        let x = Matrix::from_columns(runtime, 2, 2, &[number(f32::NAN), number(1.0), number(-1.0), number(2.0)])?;
        let bias = runtime.buffer_from(&[number(0.0), number(f32::NAN)])?;
        let mut y = Matrix::zeros(runtime, 2, 2)?;
        Ops::new(runtime).bias_activation_forward(Relu, &x, &bias, &mut y)?;
        let nan: Vec<bool> = y.buffer().to_vec()?.into_iter().map(|y| y.bits() == u64::MAX).collect();
        assert_eq!(nan, [true, true, false, true], "{}", T::NAME);
        Ok(())
    }
    biased::<f32>(runtime)?;
    biased::<bf16>(runtime)?;
    let ops = Ops::new(runtime);
    let w = Matrix::from_columns(runtime, 2, 2, &[1.0f32, f32::NAN, 0.0, 1.0])?;
    let x = Matrix::from_columns(runtime, 2, 1, &[0.0f32, -1.0])?;
    let bias = runtime.buffer_from(&[0.0f32, 0.0])?;
    let mut y = Matrix::zeros(runtime, 2, 1)?;
    ops.linear(&w, &x).bias(&bias).activation(Relu).into(&mut y)?;
    let y = y.buffer().to_vec()?;
    assert!(y[0] == 0.0 && y[1].is_nan(), "{y:?}");
    // The gradient at a NaN is NaN, and not what a comparison with it selects.
    for x in [f32::NAN, -f32::NAN] {
        let [_, slope] = computed(runtime, Relu6, &[x])?;
        assert!(slope[0].is_nan(), "relu6'(NaN) = {}", slope[0]);
    }
    Ok(())
}
