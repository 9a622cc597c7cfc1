//! [`Activation`]: one generic function, from which gradients, kernels and combinations follow.

use cuda_std::DeviceCopy;

use crate::{Dual, Real, Scalar};

/// An element-wise activation function with its state.
///
/// The state is plain data that is passed to kernels by value. [`activation!`](crate::activation!) writes the implementation;
/// a hand-written one needs [`forward`](Self::forward) only:
///
/// ```
/// use cuda_std::DeviceCopy;
/// use warpsmith_gpu::{Activation, Real};
///
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Leaky {
///     slope: f32,
/// }
///
/// impl Activation for Leaky {
///     const NAME: &'static str = "leaky";
///     fn forward<R: Real>(&self, x: R) -> R {
///         R::select(x > R::constant(0.0), x, x.scale(self.slope))
///     }
/// }
///
/// assert_eq!(Leaky { slope: 0.1 }.derivative(f32::NEG_INFINITY), 0.1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no activation",
    label = "`Activation` is not implemented for it",
    note = "a type parameter needs the bound `{Self}: Activation`",
    note = "a new one is made by `activation! {{ pub struct Name |x| ... }}`"
)]
pub trait Activation: DeviceCopy + Send + Sync + 'static {
    /// The name in tables and messages.
    const NAME: &'static str;

    /// f(x). NaN must give NaN.
    fn forward<R: Real>(&self, x: R) -> R;

    /// f'(x), from [`forward`](Self::forward) by a dual number unless overridden with a closed form.
    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        automatic_derivative(self, x)
    }

    /// f''(x): the derivative of [`derivative`](Self::derivative).
    #[inline(always)]
    fn second_derivative<R: Real>(&self, x: R) -> R {
        propagate_nan(x, self.derivative(Dual::<R>::variable(x)).derivative)
    }

    /// The gradient with respect to x: f'(x) * `upstream`. NaN where x is NaN, also where a piecewise function forgets it.
    #[inline(always)]
    fn backward<R: Real>(&self, x: R, upstream: R) -> R {
        propagate_nan(x, self.derivative(x) * upstream)
    }

    /// g(f(x)).
    fn then<G: Activation>(self, outer: G) -> Then<Self, G> {
        Then { inner: self, outer }
    }

    /// factor * f(x).
    fn scaled(self, factor: f32) -> Scaled<Self> {
        Scaled { activation: self, factor }
    }

    /// f(x) + constant.
    fn shifted(self, constant: f32) -> Shifted<Self> {
        Shifted { activation: self, constant }
    }

    /// f(x) limited to `low..=high`; the gradient at and beyond the limits is 0.
    fn clamped(self, low: f32, high: f32) -> Clamped<Self> {
        Clamped { activation: self, low, high }
    }

    /// f(x) + g(x).
    fn sum<G: Activation>(self, other: G) -> Sum<Self, G> {
        Sum { first: self, second: other }
    }

    /// x + f(x).
    fn residual(self) -> Residual<Self> {
        Residual { activation: self }
    }
}

/// f'(x) by a dual number, whatever closed form the activation may have.
#[inline(always)]
pub fn automatic_derivative<A: Activation, R: Real>(activation: &A, x: R) -> R {
    propagate_nan(x, activation.forward(Dual::<R>::variable(x)).derivative)
}

/// `result`, but NaN where `x` is NaN.
#[inline(always)]
fn propagate_nan<R: Real>(x: R, result: R) -> R {
    R::select(x.is_nan(), x, result)
}

/// An activation with `N` parameters that are learned. [`activation!`](crate::activation!) implements it for fields marked `trainable`.
///
/// ```
/// use warpsmith_gpu::{Activation, Trainable, activation};
///
/// activation! { pub struct Learned { trainable slope: f32 = 0.25 } |x| if x > 0.0 { x } else { x * slope } }
///
/// let learned = Learned::default();
/// assert_eq!(learned.parameter_derivatives(-2.0_f32), [-2.0]);
/// assert_eq!(learned.with_parameters([0.5]).forward(-2.0_f32), -1.0);
/// ```
pub trait Trainable<const N: usize>: Activation {
    /// The parameters.
    fn parameters(&self) -> [f64; N];

    /// The activation with other parameters.
    #[must_use]
    fn with_parameters(self, parameters: [f64; N]) -> Self;

    /// f(x) with the parameters as numbers that may be dual, in place of the ones in `self`.
    fn forward_of_parameters<R: Real>(&self, parameters: [R; N], x: R) -> R;

    /// The derivatives of f(x) with respect to each parameter.
    #[inline(always)]
    fn parameter_derivatives<R: Real>(&self, x: R) -> [R; N] {
        let parameters = self.parameters();
        core::array::from_fn(|k| {
            let dual = core::array::from_fn(|i| {
                let value = R::constant(parameters[i]);
                if i == k { Dual::<R, true>::variable(value) } else { Dual::independent(value) }
            });
            propagate_nan(x, self.forward_of_parameters(dual, Dual::independent(x)).derivative)
        })
    }
}

/// One activation after another: `outer(inner(x))`. See [`Activation::then`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Then<F, G> {
    /// Applied first.
    pub inner: F,
    /// Applied to the result.
    pub outer: G,
}

// SAFETY: two plain values, laid out as in C.
unsafe impl<F: DeviceCopy, G: DeviceCopy> DeviceCopy for Then<F, G> {}

impl<F: Activation, G: Activation> Activation for Then<F, G> {
    const NAME: &'static str = "then";

    #[inline(always)]
    fn forward<R: Real>(&self, x: R) -> R {
        self.outer.forward(self.inner.forward(x))
    }

    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        self.outer.derivative(self.inner.forward(x)) * self.inner.derivative(x)
    }
}

/// An activation times a constant. See [`Activation::scaled`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Scaled<F> {
    /// The activation.
    pub activation: F,
    /// The constant.
    pub factor: f32,
}

// SAFETY: plain values, laid out as in C.
unsafe impl<F: DeviceCopy> DeviceCopy for Scaled<F> {}

impl<F: Activation> Activation for Scaled<F> {
    const NAME: &'static str = "scaled";

    #[inline(always)]
    fn forward<R: Real>(&self, x: R) -> R {
        self.activation.forward(x).scale(self.factor)
    }

    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        self.activation.derivative(x).scale(self.factor)
    }
}

/// An activation plus its input. See [`Activation::residual`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Residual<F> {
    /// The activation.
    pub activation: F,
}

// SAFETY: a plain value, laid out as in C.
unsafe impl<F: DeviceCopy> DeviceCopy for Residual<F> {}

impl<F: Activation> Activation for Residual<F> {
    const NAME: &'static str = "residual";

    #[inline(always)]
    fn forward<R: Real>(&self, x: R) -> R {
        x + self.activation.forward(x)
    }

    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        self.activation.derivative(x) + Scalar::new(1.0)
    }
}

/// An activation plus a constant. See [`Activation::shifted`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Shifted<F> {
    /// The activation.
    pub activation: F,
    /// The constant.
    pub constant: f32,
}

// SAFETY: plain values, laid out as in C.
unsafe impl<F: DeviceCopy> DeviceCopy for Shifted<F> {}

impl<F: Activation> Activation for Shifted<F> {
    const NAME: &'static str = "shifted";

    #[inline(always)]
    fn forward<R: Real>(&self, x: R) -> R {
        self.activation.forward(x).shift(self.constant)
    }

    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        self.activation.derivative(x)
    }
}

/// An activation whose result is limited. See [`Activation::clamped`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Clamped<F> {
    /// The activation.
    pub activation: F,
    /// The least result.
    pub low: f32,
    /// The largest result.
    pub high: f32,
}

// SAFETY: plain values, laid out as in C.
unsafe impl<F: DeviceCopy> DeviceCopy for Clamped<F> {}

impl<F: Activation> Activation for Clamped<F> {
    const NAME: &'static str = "clamped";

    #[inline(always)]
    fn forward<R: Real>(&self, x: R) -> R {
        self.activation.forward(x).clamp(self.low, self.high)
    }

    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        let y = self.activation.forward(x);
        let limited = y <= Scalar::from(self.low) || y >= Scalar::from(self.high);
        propagate_nan(x, R::select(limited, R::constant(0.0), self.activation.derivative(x)))
    }
}

/// The sum of two activations. See [`Activation::sum`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Sum<F, G> {
    /// One.
    pub first: F,
    /// The other.
    pub second: G,
}

// SAFETY: two plain values, laid out as in C.
unsafe impl<F: DeviceCopy, G: DeviceCopy> DeviceCopy for Sum<F, G> {}

impl<F: Activation, G: Activation> Activation for Sum<F, G> {
    const NAME: &'static str = "sum";

    #[inline(always)]
    fn forward<R: Real>(&self, x: R) -> R {
        self.first.forward(x) + self.second.forward(x)
    }

    #[inline(always)]
    fn derivative<R: Real>(&self, x: R) -> R {
        self.first.derivative(x) + self.second.derivative(x)
    }
}
