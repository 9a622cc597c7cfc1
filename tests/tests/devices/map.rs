//! Element-wise kernels on every device: each element, every activation and element type, bit for bit against the scalar
//! function; odd sizes, views of any offset, empty views, NaN-poisoned outputs.

use test_kernels::TestKernels;
use test_kernels::activations::{Learned, Snake};
use warpsmith::ops::Ops;
use warpsmith::{Element, Error, Has, Kernels, Runtime, Shape, bf16, f16};
use warpsmith_gpu::activations::{Any, GeluErf, GeluTanh, Identity, LeakyRelu, Mish, Relu, Sigmoid, Silu, Tanh};
use warpsmith_gpu::kernels::{map_backward, map_forward, map_in_place};
use warpsmith_gpu::{Activation, Then, with_activation};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, numbers, random};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("f32", catalogue::<f32>),
        ("f64", catalogue::<f64>),
        ("f16", catalogue::<f16>),
        ("bf16", catalogue::<bf16>),
        ("another_crates_activations", another_crates_activations),
        ("views_at_any_offset", views_at_any_offset),
        ("empty_views_launch_nothing", empty_views),
        ("lengths_must_agree", lengths_must_agree),
        ("more_elements_than_threads", more_elements_than_threads),
    ],
    kernels: &[("any_shape", any_shape)],
    ..Tests::NONE
};

/// An element as bits, every NaN being the same.
pub trait Bits: Element {
    fn bits(self) -> u64;
    fn from_single(x: f32) -> Self;
    /// Last places by which a GPU may differ from the CPU: only where activations are computed with its approximate instructions.
    const TOLERANCE: u64 = 0;
    /// The bits as a number that grows with the value.
    fn ordered(self) -> i64;
}

macro_rules! bits {
    ($($element:ident as $signed:ident, $tolerance:literal: $from:expr;)*) => {$(
        impl Bits for $element {
            const TOLERANCE: u64 = $tolerance;
            fn bits(self) -> u64 {
                if self.load().is_nan() { u64::MAX } else { u64::from(self.to_bits()) }
            }
            fn from_single(x: f32) -> Self {
                $from(x)
            }
            fn ordered(self) -> i64 {
                let bits = self.to_bits() as $signed;
                i64::from(if bits < 0 { $signed::MIN.wrapping_sub(bits) } else { bits })
            }
        }
    )*};
}
bits! {
    f32 as i32, 0: core::convert::identity;
    f64 as i64, 0: f64::from;
    f16 as i16, 2: f16::from_f32;
    bf16 as i16, 1: bf16::from_f32;
}

/// An error unless all elements are as expected: to the bit, but for [`Bits::TOLERANCE`] on a GPU.
pub fn same<T: Bits, I: std::fmt::Debug>(
    runtime: &Runtime,
    what: &str,
    x: &[I],
    got: &[T],
    want: impl Fn(usize) -> T,
) -> TestResult {
    for (i, got) in got.iter().enumerate() {
        let want = want(i);
        let near = || {
            let numbers = got.bits() != u64::MAX && want.bits() != u64::MAX;
            runtime.is_cuda() && numbers && got.ordered().abs_diff(want.ordered()) <= T::TOLERANCE
        };
        if got.bits() != want.bits() && !near() {
            return Err(
                format!("{what}: element {i} of {}, x = {:?}: got {got:?}, expected {want:?}", x.len(), x[i]).into()
            );
        }
    }
    Ok(())
}

/// f(x) as T's kernels compute it.
pub fn forward<A: Activation, T: Element>(activation: &A, x: T) -> T {
    T::store(activation.forward(T::Math::from(x.load())).into())
}

/// f'(x)·dy as T's kernels compute it.
pub fn backward<A: Activation, T: Element>(activation: &A, x: T, dy: T) -> T {
    T::store(activation.backward(T::Math::from(x.load()), T::Math::from(dy.load())).into())
}

/// Forward, in place and backward of one activation, for one length.
fn check<L, A, T>(runtime: &Runtime, ops: &Ops<L>, activation: A, n: usize) -> TestResult
where
    L: cuda_std::Library + Has<map_forward<A, T>> + Has<map_backward<A, T>>,
    A: Activation,
    T: Bits,
{
    let mut random = random(A::NAME);
    let x: Vec<T> = numbers(&mut random, n).into_iter().map(T::from_single).collect();
    let dy: Vec<T> = numbers(&mut random, n).into_iter().map(T::from_single).collect();
    let (device_x, device_dy) = (runtime.buffer_from(&x)?, runtime.buffer_from(&dy)?);
    let mut output = runtime.filled(n, T::from_single(f32::NAN))?;

    ops.map_forward(activation, &device_x, &mut output)?;
    let name = format!("{} {} forward", A::NAME, T::NAME);
    same(runtime, &name, &x, &output.to_vec()?, |i| forward(&activation, x[i]))?;

    output.fill(T::from_single(f32::NAN))?;
    ops.map_backward(activation, &device_x, &device_dy, &mut output)?;
    let name = format!("{} {} backward", A::NAME, T::NAME);
    same(runtime, &name, &x, &output.to_vec()?, |i| backward(&activation, x[i], dy[i]))
}

fn catalogue<T: Bits>(runtime: &Runtime) -> TestResult
where
    Kernels: Instances<T>,
{
    let ops = Ops::new(runtime);
    for n in [1, 2, 7, 8, 255, 1000, 65537] {
        Kernels::check_all(runtime, &ops, n)?;
    }
    Ok(())
}

/// Every activation of the catalogue for one element type.
trait Instances<T> {
    fn check_all(runtime: &Runtime, ops: &Ops, n: usize) -> TestResult;
}

impl Instances<f32> for Kernels {
    fn check_all(runtime: &Runtime, ops: &Ops, n: usize) -> TestResult {
        for any in Any::all() {
            with_activation!(any, |activation| {
                check::<_, _, f32>(runtime, ops, activation, n)?;
                check_in_place::<_, f32>(runtime, ops, activation, n)?;
            });
        }
        Ok(())
    }
}

// Not the whole catalogue: each activation and type costs seconds to compile. The host's tests have all of them, on all 2^16
// numbers.
macro_rules! instances {
    ($($element:ident: $($more:ident)*;)*) => {$(
        impl Instances<$element> for Kernels {
            fn check_all(runtime: &Runtime, ops: &Ops, n: usize) -> TestResult {
                check::<_, _, $element>(runtime, ops, Identity, n)?;
                check::<_, _, $element>(runtime, ops, Relu, n)?;
                check::<_, _, $element>(runtime, ops, LeakyRelu { alpha: 0.1 }, n)?;
                check::<_, _, $element>(runtime, ops, Sigmoid, n)?;
                check::<_, _, $element>(runtime, ops, Tanh, n)?;
                check::<_, _, $element>(runtime, ops, GeluTanh, n)?;
                check::<_, _, $element>(runtime, ops, Silu, n)?;
                $(check::<_, _, $element>(runtime, ops, $more, n)?;)*
                check_in_place::<_, $element>(runtime, ops, Silu, n)
            }
        }
    )*};
}
instances! {
    f64: ;
    f16: GeluErf Mish;
    bf16: GeluErf Mish;
}

fn check_in_place<A: Activation, T: Bits>(runtime: &Runtime, ops: &Ops, activation: A, n: usize) -> TestResult
where
    Kernels: Has<map_in_place<A, T>>,
{
    let x: Vec<T> = numbers(&mut random("in place"), n).into_iter().map(T::from_single).collect();
    let mut y = runtime.buffer_from(&x)?;
    ops.map_in_place(activation, &mut y)?;
    let name = format!("{} {} in place", A::NAME, T::NAME);
    same(runtime, &name, &x, &y.to_vec()?, |i| forward(&activation, x[i]))
}

fn another_crates_activations(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let ops = Ops::<TestKernels>::on(runtime.default_stream());
    for n in [5, 1024] {
        check::<_, _, f32>(runtime, &ops, Snake { a: 0.5 }, n)?;
        check::<_, _, bf16>(runtime, &ops, Snake { a: 2.0 }, n)?;
        check::<_, _, f32>(runtime, &ops, Learned { slope: 0.3 }, n)?;
        check::<_, _, f32>(runtime, &ops, Then { inner: GeluTanh, outer: Tanh }, n)?;
        check::<_, _, bf16>(runtime, &ops, GeluTanh.then(Tanh), n)?;
    }
    Ok(())
}

fn views_at_any_offset(runtime: &Runtime) -> TestResult {
    fn offsets<T: Bits>(runtime: &Runtime) -> TestResult
    where
        Kernels: Has<map_forward<GeluTanh, T>> + Has<map_backward<GeluTanh, T>>,
    {
        let ops = Ops::new(runtime);
        let n = 103;
        for from in 0..9 {
            for to in 0..9 {
                let x: Vec<T> = numbers(&mut random("offsets"), n + 9).into_iter().map(T::from_single).collect();
                let device_x = runtime.buffer_from(&x)?;
                let poison = T::from_single(-77.0);
                let mut y = runtime.filled(n + 20, poison)?;
                ops.map_forward(GeluTanh, device_x.slice(from..from + n)?, y.slice_mut(to..to + n)?)?;
                let y = y.to_vec()?;
                let x = &x[from..];
                same(runtime, "offset", x, &y[to..to + n], |i| forward(&GeluTanh, x[i]))?;
                // Nothing before or after the view was written.
                let outside = y[..to].iter().chain(&y[to + n..]);
                if outside.into_iter().any(|y| y.bits() != poison.bits()) {
                    return Err(format!("{} from {from} to {to}: wrote outside of the view", T::NAME).into());
                }
            }
        }
        Ok(())
    }
    offsets::<f32>(runtime)?;
    offsets::<f64>(runtime)?;
    offsets::<f16>(runtime)?;
    offsets::<bf16>(runtime)
}

fn empty_views(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (x, mut y) = (runtime.buffer_from::<f32>(&[])?, runtime.zeros::<f32>(0)?);
    ops.map_forward(Relu, &x, &mut y)?;
    ops.map_backward(Relu, &x, &x, &mut y)?;
    ops.map_in_place(Relu, &mut y)?;
    let z = runtime.buffer_from(&[1.0f32, -1.0])?;
    ops.map_forward(Relu, z.slice(1..1)?, &mut y)?;
    // The next launch works: no error was left behind.
    let mut w = runtime.zeros(2)?;
    ops.map_forward(Relu, &z, &mut w)?;
    runtime.synchronize()?;
    assert_eq!(w.to_vec()?, [1.0, 0.0]);
    Ok(())
}

fn lengths_must_agree(runtime: &Runtime) -> TestResult {
    let (x, mut y) = (runtime.zeros::<f32>(3)?, runtime.filled(4, 9.0f32)?);
    let error = Ops::new(runtime).map_forward(Relu, &x, &mut y).unwrap_err();
    let expected = matches!(error, Error::LengthMismatch { operation: "map_forward", left: 3, right: 4, .. });
    assert!(expected, "{error}");
    assert_eq!(y.to_vec()?, [9.0; 4]);
    Ok(())
}

fn more_elements_than_threads(runtime: &Runtime) -> TestResult {
    // On any GPU: above what it runs at once, so that each thread takes several packs.
    check::<_, _, f32>(runtime, &Ops::new(runtime), Tanh, (1 << 23) + 3)
}

/// The kernels are right for shapes that the launcher never asks for.
fn any_shape(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let kernel = ops.kernel::<map_forward<Silu, bf16>>()?;
    let x: Vec<bf16> = numbers(&mut random("shapes"), 3000).into_iter().map(bf16::from_single).collect();
    let shapes = [([1, 1, 1], [1, 1, 1]), ([2, 1, 1], [32, 1, 1]), ([3, 2, 1], [8, 4, 2]), ([2, 3, 2], [7, 1, 1])];
    for (grid, block) in shapes.into_iter().chain([([400, 1, 1], [64, 1, 1])]) {
        for (from, to) in [(0, 0), (3, 3), (1, 2)] {
            let device_x = runtime.buffer_from(&x)?;
            let mut y = runtime.filled(3010, bf16::from_single(f32::NAN))?;
            let arguments = (Silu, device_x.slice(from..)?, y.slice_mut(to..to + x.len() - from)?);
            kernel.launch(ops.stream(), Shape::new(grid, block), arguments)?;
            let what = format!("{grid:?} blocks of {block:?}, from {from} to {to}");
            let x = &x[from..];
            same(runtime, &what, x, &y.to_vec()?[to..to + x.len()], |i| forward(&Silu, x[i]))?;
        }
    }
    Ok(())
}
