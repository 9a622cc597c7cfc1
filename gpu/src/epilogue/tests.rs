//! Compositions against the formulas they stand for, and the declarations that kernels rely on.

use super::*;
use crate::activations::{GeluErf, Relu, Silu};

fn at(sum: f64, bias: f64, source: f64, aux: f64) -> Operands<f64> {
    Operands { sum, bias, source, aux, row: 3, column: 2, index: 17 }
}

#[test]
fn compositions_apply_in_order() {
    let linear = Sum.scaled(2.0).bias().add_source(-0.5);
    assert_eq!(linear.apply(at(3.0, 1.0, 4.0, f64::NAN)).value, 5.0);
    let forward = Sum.bias().activation(Silu).save_preactivation();
    let Finished { value, aux } = forward.apply(at(-1.5, 0.25, f64::NAN, f64::NAN));
    assert_eq!((value, aux), (-1.25 / (1.0 + 1.25f64.exp()), -1.25));
    let residual = forward.add_source(1.0);
    assert_eq!(residual.apply(at(-1.5, 0.25, 10.0, 0.0)).value, value + 10.0);
    let gradient = Sum.times_derivative(GeluErf).sum_rows();
    let expected = 3.0 * GeluErf.derivative(0.7);
    assert_eq!(gradient.apply(at(3.0, 0.0, 0.0, 0.7)).value, expected);
}

#[test]
fn a_mask_is_the_sign_and_gives_the_gradient_of_relu() {
    let forward = Sum.bias().activation(Relu).save_mask();
    for (sum, bit) in [(-2.0, 0.0), (-1.0, 0.0), (0.0, 1.0)] {
        assert_eq!(forward.apply(at(sum, 1.0, 0.0, 0.0)), Finished { value: (sum + 1.0).max(0.0), aux: bit });
        assert_eq!(Sum.masked().apply(at(5.0, 0.0, 0.0, bit)).value, 5.0 * bit);
    }
    let nan = forward.apply(at(f64::NAN, 1.0, 0.0, 0.0));
    assert!(nan.value.is_nan() && nan.aux != 0.0);
}

#[test]
fn pairs_are_joined_after_everything_else() {
    let swiglu = Sum.bias().gated(Silu);
    let half = |sum, bias| swiglu.apply(at(sum, bias, 0.0, 0.0)).value;
    assert_eq!(swiglu.join(half(1.0, 2.0), half(3.0, -1.0)), 3.0 * Silu.forward(2.0));
}

#[test]
fn dropout_keeps_the_mean_and_nan() {
    let dropout = Sum.dropout(0.25, 7).unwrap();
    let values: Vec<f64> =
        (0..10_000).map(|index| dropout.apply(Operands { index, ..at(1.0, 0.0, 0.0, 0.0) }).value).collect();
    assert!(values.iter().all(|&value| value == 0.0 || value == 4.0 / 3.0));
    // The standard deviation of the mean is 0.0058.
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean - 1.0).abs() < 0.03, "{mean}");
    assert!((0..100).all(|index| dropout.apply(Operands { index, ..at(f64::NAN, 0.0, 0.0, 0.0) }).value.is_nan()));
    let value = |dropout: Dropout<Sum>| dropout.apply(at(3.0, 0.0, 0.0, 0.0)).value;
    assert_eq!(Sum.dropout(0.0, 7).map(value), Ok(3.0));
    assert_eq!(Sum.dropout(1.0, 7).map(value), Ok(0.0));
    assert_eq!(value(Dropout::nothing(Sum)), 3.0);
    assert_eq!(Sum.dropout(1.5, 7).map(value), Err(NotAProbability(1.5)));
    assert!(Sum.dropout(f64::NAN, 7).is_err() && Sum.dropout(-0.1, 7).is_err());
}

#[test]
fn declarations_say_what_is_used() {
    fn of<E: Epilogue>(_: E) -> (Axis, bool, Aux, Sums, bool) {
        (E::BIAS, E::SOURCE, E::AUX, E::SUMS, E::GATED)
    }
    assert_eq!(of(Sum), (Axis::None, false, Aux::None, Sums::None, false));
    let forward = Sum.column_bias().activation(GeluErf).save_preactivation().add_source(1.0).dropout(0.1, 1).unwrap();
    assert_eq!(of(forward), (Axis::Columns, true, Aux::Written, Sums::None, false));
    assert_eq!(of(Sum.masked().sum_rows()), (Axis::None, false, Aux::MaskRead, Sums::Rows, false));
    assert_eq!(of(Sum.bias().gated(Silu)), (Axis::Rows, false, Aux::None, Sums::None, true));
    assert_eq!(of(Sum.sum_factor()).3, Sums::Factor);
}
