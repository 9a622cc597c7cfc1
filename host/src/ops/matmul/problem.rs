//! From the operands of a call to what a kernel is given: shapes are checked, and a row-major result is turned round.

use cust_core::DeviceCopy;
use warpsmith_gpu::epilogue::{Aux, Axis, Epilogue, Sums};
use warpsmith_gpu::kernels::{GemmShape, Strides};

use super::{Factor, GemmElement, ReluMask, Vector};
use crate::matrix_view::Place;
use crate::{Element, Error, MatrixView, MatrixViewMut, Result, ViewMut};

const OPERATION: &str = "linear";

/// Everything that a call works on but the result.
pub(super) struct Operands<'a, T: GemmElement, O: Element> {
    pub(super) a: Factor<'a, T>,
    pub(super) b: Factor<'a, T>,
    pub(super) bias: Option<Vector<'a, T>>,
    pub(super) source: Option<MatrixView<'a, O>>,
    pub(super) in_place: bool,
    pub(super) aux_in: Option<MatrixView<'a, T>>,
    pub(super) aux_out: Option<MatrixViewMut<'a, T>>,
    pub(super) mask_in: Option<&'a ReluMask>,
    pub(super) mask_out: Option<&'a mut ReluMask>,
    pub(super) sums: Option<ViewMut<'a, T::Compute>>,
    pub(super) sum_right: bool,
    pub(super) same_order: bool,
    /// The kernel that is asked for.
    pub(super) kernel: Option<super::Gemm>,
}

impl<'a, T: GemmElement, O: Element> Operands<'a, T, O> {
    pub(super) fn of(a: Factor<'a, T>, b: Factor<'a, T>) -> Self {
        Self {
            a,
            b,
            bias: None,
            source: None,
            in_place: false,
            aux_in: None,
            aux_out: None,
            mask_in: None,
            mask_out: None,
            sums: None,
            sum_right: false,
            same_order: false,
            kernel: None,
        }
    }

    /// Rows and columns of the product.
    pub(super) fn product_shape(&self) -> (usize, usize) {
        (self.a.view().shape().0, self.b.view().shape().1)
    }
}

/// What a kernel computes: its shape, in the kernel's column-major frame, and its epilogue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Problem<E> {
    pub(super) shape: GemmShape,
    pub(super) epilogue: E,
    /// Whether the result is row-major: the factors have changed places.
    pub(super) turned: bool,
}

impl<E: Epilogue> Problem<E> {
    pub(super) fn new<T: GemmElement, O: Element>(
        operands: &Operands<'_, T, O>,
        out: &MatrixViewMut<'_, O>,
        epilogue: E,
    ) -> Result<Self> {
        let (a, b, place) = (operands.a.view(), operands.b.view(), out.place());
        if a.shape().1 != b.shape().0 {
            let rule = "the columns of a must equal the rows of b";
            return Err(mismatch("a", a.shape(), "b", b.shape(), rule));
        }
        let turned = place.row_major;
        let turn = |place: Place| if turned { place.transposed() } else { place };
        expect_apart("the result", place)?;
        // From here on in the kernel's frame: features are rows.
        let (left, right) = if turned { (turn(b.place()), turn(a.place())) } else { (a.place(), b.place()) };
        let (m, n, k, batch) = (left.rows, right.columns, left.columns, place.batch);
        let out = turn(place);
        if E::GATED && m % 2 == 1 {
            let rule = "gated pairs need an even number of features";
            return Err(mismatch("a · b", operands.product_shape(), "the pairs", (m / 2, 2), rule));
        }
        let rows = if E::GATED { m / 2 } else { m };
        if (out.rows, out.columns) != (rows, n) {
            let (product, found) = (operands.product_shape(), (place.rows, place.columns));
            let rule = if E::GATED {
                "the result must have half of the product's features and all of its samples"
            } else {
                "the result must have the rows of a and the columns of b"
            };
            return Err(mismatch("a · b", product, "the result", found, rule));
        }
        let (sum_right, same_order) = (operands.sum_right != turned, operands.same_order);
        let mut shape = GemmShape { m, n, k, batch, sum_right, same_order, ..GemmShape::default() };
        shape.out = out.strides;
        shape.a = input("a", left, batch)?;
        shape.b = input("b", right, batch)?;
        if E::SOURCE {
            shape.in_place = operands.in_place;
            match operands.source.map(|source| turn(source.place())) {
                Some(source) => shape.source = of_shape("the source", source, (m, n), batch, turned)?,
                None if operands.in_place && !E::GATED => {}
                None => return Err(missing("the source", "give it by `add` or `residual`")),
            }
        }
        let aux = match E::AUX {
            Aux::Read => Some(operands.aux_in.as_ref().map(MatrixView::place)),
            Aux::Written => Some(operands.aux_out.as_ref().map(MatrixViewMut::place)),
            _ => None,
        };
        if let Some(aux) = aux {
            const NAME: &str = "the pre-activation";
            let aux = aux.ok_or_else(|| missing(NAME, "give it by `times_derivative` or `save_preactivation`"))?;
            shape.aux = of_shape(NAME, turn(aux), (m, n), batch, turned)?;
            if aux.row_major != turned {
                return Err(layout(NAME, aux, "it must be row- or column-major as the result is"));
            }
            if matches!(E::AUX, Aux::Written) {
                expect_apart(NAME, aux)?;
            }
        }
        let mask = match E::AUX {
            Aux::MaskRead => Some(operands.mask_in),
            Aux::MaskWritten => Some(operands.mask_out.as_deref()),
            _ => None,
        };
        if let Some(mask) = mask {
            let mask = mask.ok_or_else(|| missing("the mask", "give it by `masked` or `save_mask`"))?;
            let samples = n.saturating_mul(batch);
            if mask.shape() != (m, samples) {
                let rule = "the mask must have the product's features and, over the batch, its samples";
                return Err(mismatch("the mask", mask.shape(), "features and samples", (m, samples), rule));
            }
            let column = mask.pitch();
            shape.mask = Strides { row: 1, column, batch: column * n };
        }
        let axis = match E::BIAS {
            Axis::None => None,
            Axis::Rows => Some(m),
            Axis::Columns => Some(n),
        };
        if let Some(len) = axis {
            let bias =
                operands.bias.as_ref().ok_or_else(|| missing("the bias", "give it by `bias` or `sample_bias`"))?;
            let found = bias.view().len();
            shape.bias_batch = if batch > 1 && found == len * batch { len } else { 0 };
            if shape.bias_batch == 0 && found != len {
                return Err(Error::LengthMismatch {
                    operation: OPERATION,
                    left_name: "the bias",
                    left: found,
                    right_name: "its index of the result",
                    right: len,
                });
            }
        }
        if !matches!(E::SUMS, Sums::None) {
            let sums =
                operands.sums.as_ref().ok_or_else(|| missing("the vector of sums", "give it by `bias_gradient`"))?;
            let len = shape.sums_len(E::SUMS) * batch;
            crate::ops::expect_equal(OPERATION, ("the vector of sums", sums.len()), ("its index of the product", len))?;
        }
        Ok(Self { shape, epilogue, turned })
    }
}

/// An error if matrices of a batch, or lines of one, share elements.
fn expect_apart(name: &'static str, place: Place) -> Result<()> {
    let Place { rows, columns, batch, strides, row_major } = place;
    let (along, lines, leading) =
        if row_major { (columns, rows, strides.row) } else { (rows, columns, strides.column) };
    let apart = lines.checked_mul(leading).is_some_and(|matrix| matrix <= strides.batch);
    match (lines <= 1 || leading >= along) && (batch <= 1 || apart) {
        true => Ok(()),
        false => Err(layout(name, place, "the matrices of a batch must be apart from each other")),
    }
}

/// The strides of a factor, which may be one for the whole batch.
fn input(name: &'static str, place: Place, batch: usize) -> Result<Strides> {
    match place.batch {
        1 => Ok(Strides { batch: 0, ..place.strides }),
        count if count == batch => Ok(place.strides),
        _ => Err(layout(name, place, "it must be as many matrices as the result, or one")),
    }
}

/// The strides of a matrix that must have the product's shape.
fn of_shape(name: &'static str, place: Place, shape: (usize, usize), batch: usize, turned: bool) -> Result<Strides> {
    if (place.rows, place.columns) != shape {
        let user = |(rows, columns)| if turned { (columns, rows) } else { (rows, columns) };
        let rule = "it must have the rows of a and the columns of b";
        return Err(mismatch(name, user((place.rows, place.columns)), "a · b", user(shape), rule));
    }
    if place.batch != batch {
        return Err(layout(name, place, "it must be as many matrices as the result"));
    }
    Ok(place.strides)
}

fn mismatch(
    left_name: &'static str,
    left: (usize, usize),
    right_name: &'static str,
    right: (usize, usize),
    rule: &'static str,
) -> Error {
    Error::ShapeMismatch { operation: OPERATION, left_name, left, right_name, right, rule }
}

fn layout(matrix: &'static str, place: Place, rule: &'static str) -> Error {
    let Place { rows, columns, batch, strides, .. } = place;
    let found = format!(
        "is {batch} x {rows} x {columns} elements with distances of {}, {} and {}",
        strides.batch, strides.row, strides.column
    );
    Error::MatrixLayout { operation: OPERATION, matrix, found, rule }
}

fn missing(matrix: &'static str, rule: &'static str) -> Error {
    Error::MatrixLayout { operation: OPERATION, matrix, found: "is missing".into(), rule }
}

/// Views of one call, as both backends take them; what the epilogue doesn't use is empty.
pub(super) struct Views<'v, T: GemmElement, O: DeviceCopy> {
    pub(super) a: crate::View<'v, T>,
    pub(super) b: crate::View<'v, T>,
    pub(super) bias: crate::View<'v, T>,
    pub(super) source: crate::View<'v, O>,
    pub(super) aux_in: crate::View<'v, T>,
    pub(super) mask_in: crate::View<'v, u8>,
    pub(super) aux_out: ViewMut<'v, T>,
    pub(super) mask_out: ViewMut<'v, u8>,
    pub(super) out: ViewMut<'v, O>,
}
