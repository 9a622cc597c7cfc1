//! Gated units and maxout on every device: each unit and element type against its scalar function, in separate tensors and in
//! halves, with columns of every length.

use warpsmith::ops::{Halves, Ops};
use warpsmith::{
    ClampedSwiglu, Element, Error, GatedUnit, GegluErf, GegluTanh, Glu, Has, Kernels, Matrix, Reglu, Runtime, Swiglu,
    bf16,
};
use warpsmith_gpu::kernels::{gated_backward, gated_forward, gated_halves_backward, gated_halves_forward};
use warpsmith_tests::{TestResult, Tests, numbers, random};

use crate::map::{Bits, same};

pub const TESTS: Tests = Tests {
    everywhere: &[
        ("f32", units::<f32>),
        ("bf16", units::<bf16>),
        ("clamped_swiglu_is_gpt_oss", clamped_swiglu),
        ("maxout", maxout),
        ("shapes_must_agree", shapes),
    ],
    ..Tests::NONE
};

fn draw<T: Bits>(test: &str, n: usize) -> Vec<T> {
    numbers(&mut random(test), n).into_iter().map(T::from_single).collect()
}

/// Has all kernels of a unit.
trait Unit<G: GatedUnit, T: Element>:
    Has<gated_forward<G, T>>
    + Has<gated_backward<G, T>>
    + Has<gated_halves_forward<G, T>>
    + Has<gated_halves_backward<G, T>>
{
}

impl<G, T, L> Unit<G, T> for L
where
    G: GatedUnit,
    T: Element,
    L: Has<gated_forward<G, T>>
        + Has<gated_backward<G, T>>
        + Has<gated_halves_forward<G, T>>
        + Has<gated_halves_backward<G, T>>,
{
}

fn units<T: Bits>(runtime: &Runtime) -> TestResult
where
    Kernels: Unit<Glu, T>
        + Unit<Reglu, T>
        + Unit<GegluErf, T>
        + Unit<GegluTanh, T>
        + Unit<Swiglu, T>
        + Unit<ClampedSwiglu, T>,
{
    unit::<_, T>(runtime, Glu::default())?;
    unit::<_, T>(runtime, Reglu::default())?;
    unit::<_, T>(runtime, GegluErf::default())?;
    unit::<_, T>(runtime, GegluTanh::default())?;
    unit::<_, T>(runtime, Swiglu::default())?;
    unit::<_, T>(runtime, ClampedSwiglu::default())
}

fn unit<G: GatedUnit, T: Bits>(runtime: &Runtime, unit: G) -> TestResult
where
    Kernels: Unit<G, T>,
{
    let ops = Ops::new(runtime);
    let math = |x: T| T::Math::from(x.load());
    let want = |gate: T, value: T| T::store(unit.forward(math(gate), math(value)).into());
    let gradients =
        |gate: T, value: T, dy: T| unit.backward(math(gate), math(value), math(dy)).map(|slope| T::store(slope.into()));
    let poison = T::from_single(f32::NAN);
    for (rows, columns) in [(1, 3), (7, 5), (64, 9), (600, 2)] {
        let name = format!("{} {} {rows} x {columns}", G::NAME, T::NAME);
        let n = rows * columns;
        let (x, dy) = (draw::<T>("gates", 2 * n), draw::<T>("upstream", n));
        for halves in [Halves::GateFirst, Halves::ValueFirst] {
            let device_x = Matrix::from_columns(runtime, 2 * rows, columns, &x)?;
            let device_dy = Matrix::from_columns(runtime, rows, columns, &dy)?;
            let mut y = Matrix::from_columns(runtime, rows, columns, &vec![poison; n])?;
            let mut dx = Matrix::from_columns(runtime, 2 * rows, columns, &vec![poison; 2 * n])?;
            let parts = |i: usize| {
                let (first, second) = (x[i / rows * 2 * rows + i % rows], x[i / rows * 2 * rows + rows + i % rows]);
                if halves == Halves::GateFirst { (first, second) } else { (second, first) }
            };
            ops.gated_halves_forward(unit, halves, &device_x, &mut y)?;
            same(runtime, &format!("{name} forward"), &dy, &y.buffer().to_vec()?, |i| want(parts(i).0, parts(i).1))?;
            ops.gated_halves_backward(unit, halves, &device_x, &device_dy, &mut dx)?;
            same(runtime, &format!("{name} backward"), &x, &dx.buffer().to_vec()?, |i| {
                let (column, row) = (i / (2 * rows), i % (2 * rows));
                let element = column * rows + row % rows;
                let [dgate, dvalue] = gradients(parts(element).0, parts(element).1, dy[element]);
                if (row < rows) == (halves == Halves::GateFirst) { dgate } else { dvalue }
            })?;
        }
        let (gate, value) = (runtime.buffer_from(&x[..n])?, runtime.buffer_from(&x[n..])?);
        let device_dy = runtime.buffer_from(&dy)?;
        let (mut y, mut other) = (runtime.filled(n, poison)?, runtime.filled(n, poison)?);
        ops.gated_forward(unit, &gate, &value, &mut y)?;
        same(runtime, &format!("{name} apart"), &x[..n], &y.to_vec()?, |i| want(x[i], x[n + i]))?;
        ops.gated_backward(unit, &gate, &value, &device_dy, &mut y, &mut other)?;
        same(runtime, &format!("{name} dgate"), &x[..n], &y.to_vec()?, |i| gradients(x[i], x[n + i], dy[i])[0])?;
        same(runtime, &format!("{name} dvalue"), &x[..n], &other.to_vec()?, |i| gradients(x[i], x[n + i], dy[i])[1])?;
    }
    Ok(())
}

/// Values by mpmath, of min(g, 7)·σ(1.702·min(g, 7))·(clamp(v, -7, 7) + 1).
fn clamped_swiglu(runtime: &Runtime) -> TestResult {
    let (gate, value) =
        (runtime.buffer_from(&[1.0f32, 9.0, -2.0, 0.5])?, runtime.buffer_from(&[2.0f32, 9.0, -9.0, 0.0])?);
    let mut y = runtime.zeros(4)?;
    Ops::new(runtime).gated_forward(ClampedSwiglu::default(), &gate, &value, &mut y)?;
    let want = [2.537_387_3_f32, 55.999_626, 0.386_048_26, 0.350_388_44];
    for (got, want) in y.to_vec()?.into_iter().zip(want) {
        assert!((got - want).abs() <= 1e-6 * want.abs(), "{got} instead of {want}");
    }
    let (mut dgate, mut dvalue) = (runtime.zeros(4)?, runtime.zeros(4)?);
    let ones = runtime.filled(4, 1.0f32)?;
    Ops::new(runtime).gated_backward(ClampedSwiglu::default(), &gate, &value, &ones, &mut dgate, &mut dvalue)?;
    // Beyond the limits nothing moves.
    assert_eq!(dgate.to_vec()?[1], 0.0);
    assert_eq!([dvalue.to_vec()?[1], dvalue.to_vec()?[2]], [0.0, 0.0]);
    Ok(())
}

fn maxout(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let x = Matrix::from_columns(
        runtime,
        6,
        2,
        &[1.0f32, 5.0, f32::NAN, 2.0, 5.0, 0.0, -1.0, -0.5, 3.0, -2.0, -0.25, 4.0],
    )?;
    let mut y = Matrix::zeros(runtime, 3, 2)?;
    ops.maxout_forward::<f32, 2>(&x, &mut y)?;
    let got = y.buffer().to_vec()?;
    assert!(got[2].is_nan(), "{got:?}");
    assert_eq!([got[0], got[1], got[3], got[4], got[5]], [2.0, 5.0, -1.0, -0.25, 4.0]);
    let dy = Matrix::from_columns(runtime, 3, 2, &[10.0f32, 20.0, 30.0, 40.0, 50.0, 60.0])?;
    let mut dx = Matrix::zeros(runtime, 6, 2)?;
    ops.maxout2_backward(&x, &dy, &mut dx)?;
    let got = dx.buffer().to_vec()?;
    assert!(got[2].is_nan() && got[5].is_nan(), "{got:?}");
    // Of two equal pieces the first one gets the gradient.
    assert_eq!(got[..2], [0.0, 20.0]);
    assert_eq!(got[3..5], [10.0, 0.0]);
    assert_eq!(got[6..], [40.0, 0.0, 0.0, 0.0, 50.0, 60.0]);
    let wide = draw::<bf16>("maxout", 4 * 77 * 3);
    let (device_x, mut y) = (Matrix::from_columns(runtime, 4 * 77, 3, &wide)?, Matrix::zeros(runtime, 77, 3)?);
    ops.maxout_forward::<bf16, 4>(&device_x, &mut y)?;
    same(runtime, "maxout of 4", &wide[..77 * 3], &y.buffer().to_vec()?, |i| {
        let piece = |k: usize| wide[i / 77 * 4 * 77 + k * 77 + i % 77];
        let all: [f32; 4] = std::array::from_fn(|k| piece(k).load());
        let largest = all.iter().fold(f32::NEG_INFINITY, |a, b| if b.is_nan() || *b > a { *b } else { a });
        bf16::store(if all.iter().any(|x| x.is_nan()) { f32::NAN } else { largest })
    })
}

fn shapes(runtime: &Runtime) -> TestResult {
    let ops = Ops::new(runtime);
    let (x, mut y) = (Matrix::<f32>::zeros(runtime, 6, 2)?, Matrix::zeros(runtime, 4, 2)?);
    let error = ops.gated_halves_forward(Swiglu::default(), Halves::GateFirst, &x, &mut y).unwrap_err();
    assert!(matches!(error, Error::ShapeMismatch { operation: "gated_halves_forward", .. }), "{error}");
    let (x, mut y) = (Matrix::<f32>::zeros(runtime, 0, 2)?, Matrix::zeros(runtime, 0, 2)?);
    Ok(ops.gated_halves_forward(Swiglu::default(), Halves::GateFirst, &x, &mut y)?)
}
