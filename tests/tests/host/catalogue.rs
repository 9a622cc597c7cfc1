//! The catalogue of activations: values and derivatives against 17 digits of mpmath, conventions at every edge, reported
//! failures of other libraries generalised to all, accuracy in ulp, and activations chosen by name.
//! The table is `data/reference.csv`, made by `data/reference.py`.

use warpsmith_gpu::accuracy::{Digits, largest_input, measure, terms};
use warpsmith_gpu::activations::*;
use warpsmith_gpu::math::ulp::{stratified, ulp_error_of_term};
use warpsmith_gpu::{
    Activation, Element, Fast, FromOutput, Trainable, automatic_derivative, bf16, f16, with_activation,
};

const REFERENCE: &str = include_str!("../../data/reference.csv");

/// Other states than the defaults.
const STATES: [&str; 15] = [
    "threshold(threshold=0.5, value=20)",
    "leaky_relu(alpha=-0.2)",
    "prelu(alpha=-0.3)",
    "rrelu(lower=0.1, upper=0.2)",
    "hardtanh(low=-0.5, high=2)",
    "hardshrink(lambda=0)",
    "softshrink(lambda=2)",
    "swish(beta=0.3)",
    "swish(beta=-2)",
    "swish(beta=25)",
    "elu(alpha=0.7)",
    "celu(alpha=0.7)",
    "softplus(beta=5)",
    "sine(omega=1)",
    "snake(a=30)",
];

fn every() -> impl Iterator<Item = Any> {
    Any::all().chain(STATES.iter().map(|text| named(text)))
}

fn named(text: &str) -> Any {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Runs a generic check for every activation.
macro_rules! for_every {
    ($check:ident) => {
        for any in every() {
            with_activation!(any, |activation| $check(&any.to_string(), activation));
        }
    };
}

#[test]
fn values_and_derivatives_agree_with_17_digits() {
    let mut failures = Vec::new();
    let mut rows = 0;
    for line in REFERENCE.lines().skip(1) {
        let (name, numbers) = line.split_once(';').unwrap();
        let numbers: Vec<f64> = numbers.split(';').map(|number| number.parse().unwrap()).collect();
        let [x, value, first, second] = numbers[..] else { panic!("{line}") };
        rows += 1;
        with_activation!(named(name), |activation| {
            let mut check = |what, got: f64, want: f64, scale: f64, tolerance: f64| {
                if (got - want).abs() > tolerance * want.abs().max(scale).max(1e-300) {
                    failures.push(format!("{name}{what} at {x}: {got:e} instead of {want:e}"));
                }
            };
            // A function of x is known to |x f'| last places at best; a derivative's largest term is about f / x.
            let gate = if x == 0.0 { 0.0 } else { (value / x).abs() };
            check("", activation.forward(x), value, (x * first).abs(), 4e-15);
            check("'", activation.derivative(x), first, (x * second).abs().max(gate), 6e-15);
            check("' by dual number", automatic_derivative(&activation, x), first, (x * second).abs().max(gate), 1e-14);
            check("''", activation.second_derivative(x), second, first.abs().max(gate), 4e-14);
            let single = |got: f32, want: f64, term| (ulp_error_of_term(got, want, term), f64::from(got), want);
            for (what, (ulp, got, want), bar) in [
                ("", single(activation.forward(x as f32), value, if name.starts_with("snake") { x } else { 0.0 }), 2.0),
                ("'", single(activation.derivative(x as f32), first, gate), 2.0),
                // No bar is promised for these; they must not lose more than a few bits.
                ("' by dual number", single(automatic_derivative(&activation, x as f32), first, gate), 8.0),
                ("''", single(activation.second_derivative(x as f32), second, first.abs().max(gate).max(1e-36)), 100.0),
            ] {
                if ulp > bar {
                    failures.push(format!("{name}{what} at {x} in f32: {got:e} instead of {want:e}, {ulp:.2} ulp"));
                }
            }
        });
    }
    assert!(failures.is_empty(), "{} of {rows} rows:\n{}", failures.len(), failures.join("\n"));
    let missing: Vec<_> = Any::NAMES.iter().filter(|name| !REFERENCE.contains(&format!("\n{name}"))).collect();
    assert!(missing.is_empty(), "no reference values for {missing:?}");
}

#[test]
fn nan_gives_nan() {
    fn check<A: Activation>(name: &str, a: A) {
        let narrow =
            [a.forward(f32::NAN), a.derivative(f32::NAN), a.second_derivative(f32::NAN), a.backward(f32::NAN, 0.0)];
        let wide =
            [a.forward(f64::NAN), a.derivative(f64::NAN), a.second_derivative(f64::NAN), a.backward(f64::NAN, 0.0)];
        assert!(narrow.iter().all(|y| y.is_nan()), "{name}: {narrow:?}");
        assert!(wide.iter().all(|y| y.is_nan()), "{name}: {wide:?}");
        assert!(automatic_derivative(&a, f32::NAN).is_nan(), "{name}");
        assert!(f16::store(a.forward(f16::from_f32(f32::NAN).load())).load().is_nan(), "{name} in f16");
        assert!(bf16::store(a.forward(bf16::from_f32(f32::NAN).load())).load().is_nan(), "{name} in bf16");
        // A NaN from upstream stays, whatever the derivative is.
        assert!(a.backward(-1.0f32, f32::NAN).is_nan() && a.backward(1.0f32, f32::NAN).is_nan(), "{name} upstream");
    }
    for_every!(check);
}

#[test]
fn finite_numbers_never_give_nan() {
    fn check<A: Activation>(name: &str, a: A) {
        for x in stratified(1 << 14).filter(|x| x.is_finite()) {
            let narrow = [a.forward(x), a.derivative(x), automatic_derivative(&a, x)];
            assert!(narrow.iter().all(|y| !y.is_nan()), "{name} at {x:e}: {narrow:?}");
            // The whole range of f64's exponents.
            for x in [f64::from(x), f64::from(x).powi(7).clamp(-f64::MAX, f64::MAX)] {
                let wide = [a.forward(x), a.derivative(x), automatic_derivative(&a, x)];
                assert!(wide.iter().all(|y| !y.is_nan()), "{name} at {x:e} in f64: {wide:?}");
            }
        }
    }
    for_every!(check);
}

#[test]
fn infinities_give_the_limits() {
    const INF: f64 = f64::INFINITY;
    let alpha = f64::from(0.01_f32);
    // f(-inf), f(inf), f'(-inf), f'(inf)
    let limits = |name: &str| match name {
        "identity" | "hardshrink" | "softshrink" | "tanhshrink" => [-INF, INF, 1.0, 1.0],
        "threshold" | "relu" | "silu" | "mish" | "swish" | "gelu_erf" | "gelu_tanh" | "quick_gelu" | "softplus"
        | "squareplus" | "hardswish" => [0.0, INF, 0.0, 1.0],
        "relu6" => [0.0, 6.0, 0.0, 0.0],
        "leaky_relu" => [-INF, INF, alpha, 1.0],
        "prelu" => [-INF, INF, 0.25, 1.0],
        "rrelu" => [-INF, INF, Rrelu::default().mean(), 1.0],
        "squared_relu" => [0.0, INF, 0.0, INF],
        "hardtanh" | "tanh" | "softsign" => [-1.0, 1.0, 0.0, 0.0],
        "sigmoid" | "hardsigmoid" => [0.0, 1.0, 0.0, 0.0],
        "log_sigmoid" => [-INF, 0.0, 1.0, 0.0],
        "elu" | "celu" => [-1.0, INF, 0.0, 1.0],
        "selu" => [-1.758_099_340_847_376_9, INF, 0.0, 1.050_700_987_355_480_5],
        "exponential" => [0.0, INF, 0.0, INF],
        "gaussian" => [0.0; 4],
        // No limit is NaN.
        "sine" => [f64::NAN; 4],
        "snake" => [-INF, INF, f64::NAN, f64::NAN],
        _ => panic!("no limits for {name}"),
    };
    for any in Any::all() {
        let want = limits(any.name());
        with_activation!(any, |a| {
            let wide = [a.forward(-INF), a.forward(INF), a.derivative(-INF), a.derivative(INF)];
            let (minus, plus) = (f32::NEG_INFINITY, f32::INFINITY);
            let narrow = [a.forward(minus), a.forward(plus), a.derivative(minus), a.derivative(plus)];
            for (i, want) in want.into_iter().enumerate() {
                assert!(wide[i] == want || (wide[i].is_nan() && want.is_nan()), "{any}: {wide:?}, column {i}");
                let want = want as f32;
                assert!(narrow[i] == want || (narrow[i].is_nan() && want.is_nan()), "{any}: {narrow:?}, column {i}");
            }
        });
    }
}

#[test]
fn gradients_at_kinks() {
    let cases: [(&str, &[(f32, f32)]); 14] = [
        ("relu", &[(0.0, 0.0), (-0.0, 0.0), (1e-45, 1.0), (-1e-45, 0.0)]),
        ("threshold(threshold=0.5, value=20)", &[(0.5, 0.0), (0.50000006, 1.0)]),
        ("relu6", &[(0.0, 0.0), (6.0, 0.0), (5.9999995, 1.0), (6.0000005, 0.0)]),
        ("hardtanh", &[(-1.0, 0.0), (1.0, 0.0), (0.99999994, 1.0), (-0.99999994, 1.0)]),
        ("hardsigmoid", &[(-3.0, 0.0), (3.0, 0.0), (2.9999998, 1.0 / 6.0), (-2.9999998, 1.0 / 6.0)]),
        ("hardswish", &[(-3.0, 0.0), (3.0, 1.0), (-2.0, -1.0 / 6.0), (2.0, 7.0 / 6.0), (-2.9999998, -0.499_999_9)]),
        ("hardshrink", &[(-0.5, 0.0), (0.5, 0.0), (0.50000006, 1.0), (-0.50000006, 1.0), (0.0, 0.0)]),
        ("softshrink", &[(-0.5, 0.0), (0.5, 0.0), (0.50000006, 1.0), (-0.50000006, 1.0), (0.0, 0.0)]),
        ("squared_relu", &[(0.0, 0.0), (3.0, 6.0)]),
        // One-sided: the lower side's.
        ("leaky_relu(alpha=0.1)", &[(0.0, 0.1)]),
        ("prelu(alpha=0.1)", &[(0.0, 0.1)]),
        ("elu(alpha=0.5)", &[(0.0, 0.5)]),
        ("celu(alpha=0.5)", &[(0.0, 1.0)]),
        ("softsign", &[(0.0, 1.0)]),
    ];
    for (name, points) in cases {
        with_activation!(named(name), |a| for &(x, want) in points {
            assert_eq!(a.derivative(x), want, "{name} at {x}");
            assert_eq!(automatic_derivative(&a, x), want, "{name} at {x} by dual number");
            assert_eq!(a.backward(x, 2.0), 2.0 * want, "{name} at {x}, backward");
            assert_eq!(a.derivative(f64::from(x)) as f32, want, "{name} at {x} in f64");
        });
    }
}

#[test]
fn signed_zeros_and_subnormals() {
    assert_eq!([Relu.forward(-0.0f32).to_bits(), Relu6.forward(-0.0f32).to_bits()], [0, 0]);
    assert_eq!(Relu.forward(-0.0f64).to_bits(), 0);
    for name in ["identity", "relu", "relu6", "hardtanh", "tanh", "softsign", "elu", "celu", "sine(omega=1)", "snake"] {
        with_activation!(named(name), |a| for x in [f32::MIN_POSITIVE / 2.0, 1e-40, f32::from_bits(1)] {
            assert_eq!(a.forward(x).to_bits(), x.to_bits(), "{name} at {x:e}");
        });
    }
}

/// Reports of values that other libraries get wrong; see the table for the same points with more digits.
#[expect(clippy::excessive_precision, reason = "as the reports give them")]
#[test]
fn reported_failures() {
    let cases: [(&str, &[(f32, f32)]); 10] = [
        (
            "gelu_tanh",
            &[(-13.24, 0.0), (-11.0, 0.0), (11.0, 11.0), (13.24, 13.24), (40.0, 40.0), (-10.0, -1.204_092_35e-37)],
        ),
        ("gelu_erf", &[(-5.0, -1.433_257_86e-6), (-10.0, -7.619_853_02e-23), (-40.0, 0.0)]),
        ("softplus", &[(20.0, 20.0), (50.0, 50.0), (100.0, 100.0)]),
        ("softplus(beta=5)", &[(20.0, 20.0), (50.0, 50.0), (100.0, 100.0)]),
        ("mish", &[(-5000.0, 0.0), (-20.0, -4.122_307_24e-8), (1.0, 0.865_098_388), (50.0, 50.0), (5000.0, 5000.0)]),
        ("silu", &[(-90.0, -7.374_611_36e-38), (-88.0, -5.328_049_67e-37)]),
        ("sigmoid", &[(-1662.73, 0.0), (-27.2899, 1.406_523_6e-12), (0.0, 0.5), (89.0, 1.0), (3212.54, 1.0)]),
        ("log_sigmoid", &[(-300.0, -300.0), (-1e30, -1e30)]),
        ("elu", &[(-1e-4, -9.999_500_02e-5), (-1e-7, -9.999_999_5e-8), (-1e-10, -1e-10)]),
        ("selu", &[(-1e-4, -1.758_011_44e-4), (-1e-7, -1.758_099_25e-7), (-1e-10, -1.758_099_34e-10)]),
    ];
    for (name, points) in cases {
        with_activation!(named(name), |a| for &(x, want) in points {
            let got = a.forward(x);
            assert!((got - want).abs() <= 3e-7 * want.abs(), "{name}({x}) = {got:e} instead of {want:e}");
        });
    }
    let gradients: [(&str, f32, f32); 6] = [
        ("sigmoid", -201.7132, 0.0),
        ("sigmoid", -74.2032, 5.942_37e-33),
        ("sigmoid", 201.7, 0.0),
        ("softplus", 100.0, 1.0),
        ("mish", -20.0, -3.916_191_87e-8),
        ("mish", 50.0, 1.0),
    ];
    for (name, x, want) in gradients {
        let got = with_activation!(named(name), |a| a.derivative(x));
        assert!((got - want).abs() <= 2e-6 * want.abs(), "{name}'({x}) = {got:e} instead of {want:e}");
    }
    // Softplus in f16 overflowed at ln(65504); silu in bf16 lost its small values to 1 - sigmoid.
    let half = |x: f32| f16::store(Softplus::default().forward(f16::from_f32(x).load())).to_f32();
    assert_eq!([5.0, 10.0, 11.0, 12.0, 88.0, 1000.0].map(half), [5.007_812_5, 10.0, 11.0, 12.0, 88.0, 1000.0]);
    let brain = |x: f32| bf16::store(Silu.forward(bf16::from_f32(x).load())).to_f32();
    assert_eq!(
        [-5.5, -6.0, -8.0, -10.0].map(brain),
        [-0.022_338_867, -0.014_831_543, -0.002_685_546_9, -0.000_453_948_97]
    );
    assert_eq!(bf16::store(GeluTanh.forward(-1.281_25f32)).to_f32(), -0.128_906_25);
}

/// Computed as the kernels compute it, over all 2^16 numbers; near a root the largest term's last place counts.
#[test]
fn every_16_bit_number_is_within_1_ulp() {
    fn check<T: Digits>(any: Any, of_bits: fn(u16) -> T) {
        let inputs = (0..=u16::MAX).map(of_bits).filter(|x| f64::from(x.load()).abs() <= largest_input(any));
        let report = with_activation!(any, |a| measure::<_, T, Fast>(&a, inputs, terms(any)));
        for (what, worst) in [("", report.forward_of_term), ("'", report.derivative_of_term)] {
            assert!(worst.ulp <= 1.0, "{any}{what} in {}: {worst}", T::NAME);
        }
    }
    for any in every() {
        check(any, f16::from_bits);
        check(any, bf16::from_bits);
    }
}

#[test]
fn derivatives_agree_with_differences() {
    fn check<A: Activation>(name: &str, a: A) {
        for x in (-600..600).map(|i| (f64::from(i) + 0.37) / 97.0) {
            let h = 1e-5;
            let jump = (a.derivative(x + h) - a.derivative(x - h)).abs() > 0.01 * (1.0 + a.derivative(x).abs());
            if jump || name.starts_with("threshold") || name.starts_with("hardshrink") {
                continue;
            }
            let difference = (a.forward(x + h) - a.forward(x - h)) / (2.0 * h);
            let got = a.derivative(x);
            assert!((got - difference).abs() < 1e-5 * (1.0 + got.abs()), "{name}' at {x}: {got} and {difference}");
            let difference = (a.derivative(x + h) - a.derivative(x - h)) / (2.0 * h);
            let got = a.second_derivative(x);
            assert!((got - difference).abs() < 1e-4 * (1.0 + got.abs()), "{name}'' at {x}: {got} and {difference}");
        }
    }
    for_every!(check);
}

#[test]
fn parameters_have_gradients() {
    fn check<A: Trainable<1>>(a: A) {
        let [p] = a.parameters();
        let derivative = |x: f64| a.parameter_derivatives(x)[0];
        for x in [-7.3, -1.0, -0.2, 0.0, 0.4, 3.0] {
            let (below, above) = (a.with_parameters([p - 1e-3]), a.with_parameters([p + 1e-3]));
            let step = above.parameters()[0] - below.parameters()[0];
            let difference = (above.forward(x) - below.forward(x)) / step;
            assert!(
                (derivative(x) - difference).abs() < 1e-4,
                "{} at {x}: {} and {difference}",
                A::NAME,
                derivative(x)
            );
        }
        for x in [-1e300, -1e30, 1e30, 1e300] {
            assert!(!derivative(x).is_nan(), "{} at {x:e}", A::NAME);
            assert!(!a.parameter_derivatives(x as f32)[0].is_nan(), "{} at {x:e} in f32", A::NAME);
        }
        assert!(derivative(f64::NAN).is_nan());
    }
    check(Prelu::default());
    check(Swish::default());
    check(Swish::new(-0.5));
    assert_eq!(Swish::default().parameter_derivatives(f32::INFINITY), [0.0]);
    assert_eq!(Prelu::default().parameter_derivatives(-2.0f32), [-2.0]);
}

#[test]
fn texts_name_activations() {
    for any in every() {
        assert_eq!(any.to_string().parse(), Ok(any));
        assert_eq!(any.name().parse::<Any>().map(|any| any.name()), Ok(any.name()));
    }
    assert_eq!(Any::from(LeakyRelu::new(0.1)), named("leaky_relu( alpha = 0.1 )"));
    assert_eq!(Any::from(Hardtanh::new(-1.0, 6.0)).to_string(), "hardtanh(low=-1, high=6)");
    assert_eq!(Any::from(Mish).to_string(), "mish");
    assert_eq!(named("softplus(beta=2)"), Softplus::new(2.0, 20.0).into());
    let message = |text: &str| text.parse::<Any>().unwrap_err().to_string();
    assert_eq!(message("gelu"), "there is no activation `gelu`; did you mean gelu_erf or gelu_tanh or quick_gelu?");
    assert!(message("LeakyReLU").contains("leaky_relu"), "{}", message("LeakyReLU"));
    assert!(message("swich").contains("swish"), "{}", message("swich"));
    assert!(message("zzz").contains("the activations are identity, threshold"), "{}", message("zzz"));
    assert_eq!(message("elu(beta=1)"), "the activation `elu` has no parameter `beta`, only alpha");
    assert!(message("relu(x=1)").contains("no parameters"));
    for bad in
        ["elu(alpha)", "elu(alpha=x)", "elu(alpha=nan)", "elu(alpha=1, alpha=2)", "elu(alpha=1", "elu(alpha=1)x", ""]
    {
        assert!(bad.parse::<Any>().is_err(), "{bad}");
    }
}

/// The bar is 2 ulp. Terms, where a sum has a root, count at their largest. Those that are above the bar are listed with
/// what was measured, so that they can't get worse unnoticed.
#[test]
fn accuracy_within_2_ulp() {
    const ABOVE: [(&str, f64, f64); 0] = [];
    let mut failures = String::new();
    let inputs: Vec<f32> = stratified(1 << 16).filter(|x| x.is_finite()).collect();
    for any in Any::all() {
        let inputs = inputs.iter().copied().filter(|x| f64::from(x.abs()) <= largest_input(any));
        let report = with_activation!(any, |a| measure::<_, f32, f32>(&a, inputs, terms(any)));
        let (forward, derivative) = (report.forward_of_term, report.derivative_of_term);
        println!("{any}: forward {forward}; derivative {derivative}");
        let bars = ABOVE.iter().find(|(name, ..)| *name == any.name()).map_or((2.0, 2.0), |&(_, f, d)| (f, d));
        if forward.ulp > bars.0 || derivative.ulp > bars.1 {
            failures += &format!("{any}: forward {forward}; derivative {derivative}\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// y = f(x) gives f'(x) back, as well as y tells it: its own rounding moves x by half a last place of y over f'.
#[test]
fn derivatives_from_outputs() {
    fn check<A: FromOutput>(name: &str, a: A) {
        if a.refusal().is_some() {
            return;
        }
        for x in (-400..400).map(|i| (f64::from(i) + 0.37) / 41.0) {
            let (y, want) = (a.forward(x), a.derivative(x));
            let got = a.derivative_from_output(y);
            assert!((got - want).abs() <= 1e-13 * (1.0 + want.abs()), "{name}' from {y} at {x}: {got}, not {want}");
            let single = a.derivative_from_output(y as f32);
            assert!((f64::from(single) - want).abs() <= 1e-6 * (1.0 + want.abs()), "{name}' from {y} in f32: {single}");
        }
        assert!(a.backward_from_output(f32::NAN, 1.0).is_nan(), "{name}");
    }
    for_every!(check);
    let refused: Vec<String> =
        every().filter(|any| with_activation!(*any, |a| a.refusal().is_some())).map(|any| any.to_string()).collect();
    for name in [
        "leaky_relu(alpha=-0.2)",
        "prelu(alpha=-0.3)",
        "threshold(threshold=0.5, value=20)",
        "silu",
        "gelu_erf",
        "sine(omega=30)",
    ] {
        assert!(refused.iter().any(|refused| refused == name), "{name} is not among {refused:?}");
    }
    assert!(LeakyRelu::new(-0.1).refusal().unwrap().contains("slope"));
}
