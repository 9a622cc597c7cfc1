//! The error of an f32 result in units in the last place, and the search for the largest one.

/// The distance between `got` and the exact value `want`, in units of the spacing of f32 at `want`: the spacing is
/// 2^(e - 23) for 2^e <= |want| < 2^(e + 1), and never below 2^-149 (subnormals). A correctly rounded result is at most
/// 1/2. Infinity counts as 2^128, on both sides. Two NaNs agree; one NaN is an infinite error.
///
/// `want` is f64: its own error is about 2^-29 of such a unit.
pub fn ulp_error(got: f32, want: f64) -> f64 {
    ulp_error_of_term(got, want, 0.0)
}

/// The same in units of the spacing at the larger of `want` and `term`: for a sum near its root, `term` is its largest
/// term.
pub fn ulp_error_of_term(got: f32, want: f64, term: f64) -> f64 {
    const OVERFLOW: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let want = want.clamp(-OVERFLOW, OVERFLOW);
    let got = f64::from(got).clamp(-OVERFLOW, OVERFLOW);
    (got - want).abs() / spacing(want.abs().max(term.abs()))
}

/// The spacing of f32 at `x`, |x| <= 2^128.
pub fn spacing(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i64 - 1023;
    let exponent = exponent.clamp(-126, 127) - 23;
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `count` numbers evenly spaced over the bit patterns of f32: every sign and exponent alike, subnormals, a few NaNs,
/// and both infinities.
pub fn stratified(count: u32) -> impl Iterator<Item = f32> {
    // An odd step, so that the last mantissa bits vary too.
    let step = (u32::MAX / count) | 1;
    let even = (0..count).map(move |i| f32::from_bits(i.wrapping_mul(step)));
    even.chain([f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -0.0, f32::MIN_POSITIVE, f32::NAN])
}

/// All 2^32 numbers.
pub fn exhaustive() -> impl Iterator<Item = f32> {
    (0..=u32::MAX).map(f32::from_bits)
}

/// The largest error of `f` over `inputs`, in ulp, and where. `reference` gives the exact value and the term whose
/// spacing counts near a root (0 where there is no root).
pub fn largest_error(
    inputs: impl Iterator<Item = f32>,
    f: impl Fn(f32) -> f32,
    reference: impl Fn(f64) -> (f64, f64),
) -> (f64, f32) {
    let mut largest = (-1.0, 0.0);
    for x in inputs {
        let (want, term) = reference(f64::from(x));
        let error = ulp_error_of_term(f(x), want, term);
        if error > largest.0 {
            largest = (error, x);
        }
    }
    largest
}

/// Asserts that `f` is within `bar` ulp of `reference` on 2^16 stratified inputs.
#[cfg(test)]
pub(super) fn assert_within(bar: f64, f: impl Fn(f32) -> f32, reference: impl Fn(f64) -> f64) {
    assert_within_term(bar, f, |x| (reference(x), 0.0));
}

/// The same for a function with a root: `reference` gives the value and its largest term.
#[cfg(test)]
pub(super) fn assert_within_term(bar: f64, f: impl Fn(f32) -> f32, reference: impl Fn(f64) -> (f64, f64)) {
    let (error, x) = largest_error(stratified(1 << 16), &f, &reference);
    assert!(error <= bar, "{error} ulp at {x:e}: {:e} instead of {:e}", f(x), reference(f64::from(x)).0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_doubles_at_powers_of_two_and_stops_at_subnormals() {
        assert_eq!(spacing(1.0), f64::from(f32::EPSILON));
        assert_eq!(spacing(-1.999), f64::from(f32::EPSILON));
        assert_eq!(spacing(0.999), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(spacing(0.0), f64::from(f32::from_bits(1)));
        assert_eq!(spacing(1e-42), f64::from(f32::from_bits(1)));
    }

    #[test]
    fn infinity_is_the_number_after_the_largest() {
        let step = spacing(f64::from(f32::MAX));
        assert_eq!(ulp_error(f32::INFINITY, f64::from(f32::MAX)), 1.0);
        assert_eq!(ulp_error(f32::MAX, f64::from(f32::MAX) + 0.25 * step), 0.25);
        assert_eq!(ulp_error(f32::INFINITY, 1e300), 0.0);
        assert_eq!(ulp_error(f32::NEG_INFINITY, f64::NEG_INFINITY), 0.0);
    }

    #[test]
    fn nan_agrees_only_with_nan() {
        assert_eq!(ulp_error(f32::NAN, f64::NAN), 0.0);
        assert_eq!(ulp_error(f32::NAN, 1.0), f64::INFINITY);
        assert_eq!(ulp_error(1.0, f64::NAN), f64::INFINITY);
    }
}
