//! The contract of `Real`, `Dual`, `Activation` and `activation!`: derivatives to the right values in the right places.
//! Reference values were computed with 60 digits (mpmath) and rounded.

use test_kernels::activations::{Learned, Snake};
use warpsmith_gpu::activations::{GeluTanh, Identity, LeakyRelu, Relu, Sigmoid, Silu, Tanh};
use warpsmith_gpu::{Activation, Dual, Real, Then, Trainable, activation, automatic_derivative};

/// Runs a generic check for every activation of the catalogue and some made from them.
macro_rules! for_each_activation {
    ($check:ident) => {
        $check(Identity);
        $check(Relu);
        $check(LeakyRelu { alpha: 0.1 });
        $check(Sigmoid);
        $check(Tanh);
        $check(GeluTanh);
        $check(Silu);
        $check(Snake { a: 0.5 });
        $check(Learned { slope: 0.25 });
        $check(GeluTanh.then(Tanh));
        $check(Silu.scaled(0.5));
        $check(Tanh.residual());
    };
}

fn close(got: f64, want: f64, tolerance: f64) -> bool {
    (got - want).abs() <= tolerance * want.abs().max(1e-300) || got == want
}

#[test]
fn nan_gives_nan_forward_and_backward() {
    fn check<A: Activation>(activation: A) {
        assert!(activation.forward(f32::NAN).is_nan(), "{}", A::NAME);
        assert!(activation.forward(f64::NAN).is_nan(), "{}", A::NAME);
        assert!(activation.derivative(f32::NAN).is_nan(), "{}'", A::NAME);
        assert!(activation.derivative(f64::NAN).is_nan(), "{}'", A::NAME);
        assert!(activation.backward(f32::NAN, 1.0).is_nan(), "{} backward", A::NAME);
        assert!(activation.second_derivative(f32::NAN).is_nan(), "{}''", A::NAME);
        assert!(automatic_derivative(&activation, f32::NAN).is_nan(), "{}' by dual number", A::NAME);
    }
    for_each_activation!(check);
}

#[test]
fn finite_numbers_never_give_nan() {
    fn check<A: Activation>(activation: A) {
        for magnitude in [0.0, 1e-40, 1e-30, 0.5, 1.0, 13.0, 50.0, 88.0, 89.0, 104.0, 1e4, 1e19, 1e20, f32::MAX] {
            for x in [magnitude, -magnitude] {
                assert!(!activation.forward(x).is_nan(), "{}({x})", A::NAME);
                assert!(!activation.derivative(x).is_nan(), "{}'({x})", A::NAME);
                let wide = f64::from(x);
                assert!(!activation.forward(wide).is_nan(), "{}({x}) in f64", A::NAME);
                assert!(!activation.derivative(wide).is_nan(), "{}'({x}) in f64", A::NAME);
            }
        }
    }
    for_each_activation!(check);
}

#[test]
fn infinities_give_limits() {
    let (plus, minus) = (f32::INFINITY, f32::NEG_INFINITY);
    assert_eq!([Relu.forward(minus), Relu.forward(plus)], [0.0, plus]);
    assert_eq!([Relu.derivative(minus), Relu.derivative(plus)], [0.0, 1.0]);
    assert_eq!([Sigmoid.forward(minus), Sigmoid.forward(plus)], [0.0, 1.0]);
    assert_eq!([Sigmoid.derivative(minus), Sigmoid.derivative(plus)], [0.0, 0.0]);
    assert_eq!([Tanh.forward(minus), Tanh.forward(plus)], [-1.0, 1.0]);
    assert_eq!([Tanh.derivative(minus), Tanh.derivative(plus)], [0.0, 0.0]);
    assert_eq!([GeluTanh.forward(minus), GeluTanh.forward(plus)], [0.0, plus]);
    assert_eq!([GeluTanh.derivative(minus), GeluTanh.derivative(plus)], [0.0, 1.0]);
    assert_eq!([Silu.forward(minus), Silu.forward(plus)], [0.0, plus]);
    assert_eq!([Silu.derivative(minus), Silu.derivative(plus)], [0.0, 1.0]);
    let (plus, minus) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!([GeluTanh.forward(minus), GeluTanh.derivative(minus)], [0.0, 0.0]);
    assert_eq!([GeluTanh.forward(plus), GeluTanh.derivative(plus)], [plus, 1.0]);
    assert_eq!([Silu.forward(minus), Silu.derivative(minus), Silu.derivative(plus)], [0.0, 0.0, 1.0]);
}

#[test]
fn scalars_are_not_lifted() {
    // 0 * inf in the derivative of a lifted constant gave NaN in these three.
    let leaky = LeakyRelu { alpha: 0.1 };
    assert_eq!(leaky.derivative(f32::NEG_INFINITY), 0.1);
    assert_eq!(automatic_derivative(&leaky, f32::INFINITY), 1.0);
    assert!(close(f64::from(Silu.derivative(-89.0f32)), -1.960_079_93e-37, 1e-6), "{:e}", Silu.derivative(-89.0f32));
    assert!(close(f64::from(automatic_derivative(&Silu, -89.0f32)), -1.960_079_93e-37, 1e-6));
    assert_eq!(GeluTanh.derivative(1e20f32), 1.0);
    assert_eq!(GeluTanh.derivative(-1e20f32), 0.0);
}

#[test]
fn kinks_have_gradient_zero_and_relu_gives_plus_zero() {
    assert_eq!(Relu.derivative(0.0f32), 0.0);
    assert_eq!(Relu.derivative(-0.0f32), 0.0);
    assert_eq!(Relu.forward(-0.0f32).to_bits(), 0);
    assert_eq!(Relu.forward(-0.0f64).to_bits(), 0);
    assert_eq!(Relu.forward(1e-40f32), 1e-40);
    assert_eq!(Dual::<f32>::variable(0.0).abs().derivative, 0.0);
    assert_eq!(Dual::<f32>::variable(6.0).clamp(0.0, 6.0).derivative, 0.0);
}

#[test]
fn tails_keep_relative_accuracy() {
    type Case = (f32, f64, fn(f32) -> f32);
    let cases: [Case; 7] = [
        (-5.0, -2.291_796_2e-7, |x| GeluTanh.forward(x)),
        (-10.0, -1.204_092_35e-37, |x| GeluTanh.forward(x)),
        (-90.0, -7.374_611_36e-38, |x| Silu.forward(x)),
        (-88.0, -5.328_049_67e-37, |x| Silu.forward(x)),
        (-27.2899, 1.406_523_6e-12, |x| Sigmoid.forward(x)),
        (-74.2032, 5.942_37e-33, |x| Sigmoid.derivative(x)),
        (20.0, 1.699_341_702e-17, |x| Tanh.derivative(x)),
    ];
    for (x, want, f) in cases {
        assert!(close(f64::from(f(x)), want, 2e-6), "f({x}) = {:e}, expected {want:e}", f(x));
    }
}

#[test]
fn f64_keeps_all_digits() {
    // σ(1), silu(1), gelu_tanh(1), snake(1, 0.5): a constant or a state that went through f32 would be wrong from the 8th digit on.
    assert!(close(Sigmoid.forward(1.0), 0.731_058_578_630_004_9, 1e-15));
    assert!(close(Silu.forward(1.0), 0.731_058_578_630_004_9, 1e-15));
    assert!(close(GeluTanh.forward(1.0), 0.841_191_990_608_276_7, 1e-15));
    assert!(close(Snake { a: 0.5 }.forward(1.0), 1.459_697_694_131_860_3, 1e-15));
    activation! { pub struct Third { third: f64 = 1.0 / 3.0 } |x| x * third * 3.0 - x * 0.1 }
    assert!(close(Third::default().forward(7.0), 6.3, 1e-15));
}

#[test]
fn derivatives_agree_with_differences() {
    fn check<A: Activation>(activation: A) {
        for x in [-4.1, -1.7, -0.3, 0.2, 1.1, 3.9f64] {
            let h = 1e-4;
            let (below, above) = (activation.forward(x - h), activation.forward(x + h));
            let first = (above - below) / (2.0 * h);
            assert!((activation.derivative(x) - first).abs() < 1e-6, "{}'({x})", A::NAME);
            assert!((automatic_derivative(&activation, x) - first).abs() < 1e-6, "{}'({x}) by dual number", A::NAME);
            let second = (activation.derivative(x + h) - activation.derivative(x - h)) / (2.0 * h);
            assert!((activation.second_derivative(x) - second).abs() < 1e-6, "{}''({x})", A::NAME);
        }
    }
    for_each_activation!(check);
}

#[test]
fn second_derivatives_by_nested_dual_numbers() {
    // tanh'' = -2 tanh (1 - tanh²); silu''(0) = 1/2.
    let t = 0.7f64.tanh();
    assert!(close(Tanh.second_derivative(0.7), -2.0 * t * (1.0 - t * t), 1e-14));
    assert!(close(Silu.second_derivative(0.0), 0.5, 1e-14));
    let nested = Dual::<Dual<f64>>::variable(Dual::variable(0.7));
    assert!(close(Tanh.forward(nested).derivative.derivative, -2.0 * t * (1.0 - t * t), 1e-14));
}

#[test]
fn trainable_state_has_its_own_gradient() {
    let learned = Learned { slope: 0.25 };
    assert_eq!(learned.parameter_derivatives(-3.0f32), [-3.0]);
    assert_eq!(learned.parameter_derivatives(3.0f32), [0.0]);
    assert_eq!(learned.parameter_derivatives(f32::NEG_INFINITY), [f32::NEG_INFINITY]);
    assert_eq!(learned.parameter_derivatives(f32::INFINITY), [0.0]);
    assert!(learned.parameter_derivatives(f32::NAN)[0].is_nan());
    // And x is dual while the state is plain.
    assert_eq!(learned.derivative(-3.0f32), 0.25);

    activation! {
        /// x ↦ x·σ(beta·x)
        pub struct Swish { trainable beta: f32 = 1.0, scale: f32 = 2.0 } |x| x * (x * beta).sigmoid() * scale;
        /// x ↦ exp(a·x) + b, whose exponential overflows
        pub struct Exponential { trainable a: f32 = 1.0, trainable b: f32 = 0.0 } |x| x.exp() * a + b;
    }
    let swish = Swish::new(0.5, 2.0);
    for x in [-2.0f64, 0.3, 4.0] {
        let h = 1e-4f32;
        let (below, above) = (Swish::new(0.5 - h, 2.0), Swish::new(0.5 + h, 2.0));
        let step = f64::from(above.beta) - f64::from(below.beta);
        let difference = (above.forward(x) - below.forward(x)) / step;
        assert!((swish.parameter_derivatives(x)[0] - difference).abs() < 1e-6, "d swish / d beta at {x}");
    }
    // x does not depend on the parameters: its derivative is absent, not 0 * inf.
    assert_eq!(Exponential::default().parameter_derivatives(200.0f32), [f32::INFINITY, 1.0]);
    assert_eq!(swish.with_parameters([0.75]).beta, 0.75);
    assert_eq!(swish.with_parameters([0.75]).scale, 2.0);
}

#[test]
fn learning_finds_a_known_slope() {
    let inputs: Vec<f64> = (-50..50).map(|i| f64::from(i) / 10.0).collect();
    let truth = Learned { slope: 0.1 };
    let mut learned = Learned::default();
    for _ in 0..200 {
        let gradient: f64 = inputs
            .iter()
            .map(|&x| (learned.forward(x) - truth.forward(x)) * learned.parameter_derivatives(x)[0])
            .sum::<f64>();
        learned = learned.with_parameters([learned.parameters()[0] - 0.1 * gradient / inputs.len() as f64]);
    }
    assert!((learned.slope - 0.1).abs() < 1e-6, "{learned:?}");
}

#[test]
fn the_macro_gives_names_defaults_and_layout() {
    assert_eq!(Snake::NAME, "snake");
    assert_eq!(<LeakyRelu as Activation>::NAME, "leaky_relu");
    assert_eq!(Snake::default(), Snake { a: 1.0 });
    assert_eq!((size_of::<Relu>(), size_of::<Snake>(), size_of::<Then<Snake, Learned>>()), (0, 4, 8));
    // Literals on either side of every operator, comparisons, and `if`.
    activation! { pub struct Mixed |x| if x >= 1.0 { 2.0 * x - 1.0 } else { 1.0 - (3.0 - x) / 2.0 + 0.5 / (x - 4.0) } }
    assert_eq!(Mixed.forward(2.0f64), 3.0);
    assert!(close(Mixed.forward(0.0f64), 1.0 - 1.5 - 0.125, 1e-15));
    assert!(close(Mixed.derivative(0.0f64), 0.5 - 0.5 / 16.0, 1e-15));
}
