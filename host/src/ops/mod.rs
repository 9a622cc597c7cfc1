//! Operations on buffers and matrices: on a GPU a kernel launch, on the CPU a native loop over the same generic code.
//!
//! [`Ops`] owns what the kernels leave to their launcher: grid sizes, lengths, empty inputs.

mod bias;
mod fused;
mod gated;
mod loss;
mod map;
mod matmul;
mod maxout;
mod native;
mod optim;
mod parallel;
mod parameters;
mod processor;
mod random;
mod reduce;
mod softmax;

use std::any::TypeId;
use std::marker::PhantomData;

use cuda_std::{Has, Kernel};
use cust_core::DeviceCopy;
pub use gated::Halves;
pub use matmul::{
    Factor, Gemm, GemmElement, GemmPlan, HasGemm, IntoFactor, IntoVector, Linear, LinearBackward, LinearGradients,
    OnDevice, OnHost, Package, ReluMask, Vector,
};
use warpsmith_gpu::Kernels;
use warpsmith_gpu::elementwise::{DEPTH, Extents};

use crate::shape::GRID_LIMIT;
use crate::{DEVICE_CODE, Error, Matrix, Result, Runtime, Shape, Stream, TypedKernel, View, ViewMut};

/// Operations on one stream, with the kernel instances of the library `L` (Warpsmith's own unless said otherwise).
///
/// ```
/// use warpsmith::activations::Relu;
/// use warpsmith::{Runtime, ops::Ops};
///
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = Runtime::new();
/// let ops = Ops::new(&runtime);
/// let x = runtime.buffer_from(&[-1.0f32, 0.0, 2.0])?;
/// let mut y = runtime.zeros(3)?;
/// ops.map_forward(Relu, &x, &mut y)?;
/// assert_eq!(y.to_vec()?, [0.0, 0.0, 2.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Ops<L = Kernels> {
    stream: Stream,
    library: PhantomData<fn() -> L>,
}

impl Ops {
    /// Warpsmith's own kernels on the default stream.
    pub fn new(runtime: &Runtime) -> Self {
        Self::on(runtime.default_stream())
    }
}

impl<L: cuda_std::Library> Ops<L> {
    /// The kernels of `L` on a stream. On a GPU, [`Runtime::register`] the library first; Warpsmith's own needs none of that.
    pub fn on(stream: Stream) -> Self {
        Self { stream, library: PhantomData }
    }

    /// The same stream with the kernels of another library.
    pub fn of<M: cuda_std::Library>(&self) -> Ops<M> {
        Ops::on(self.stream.clone())
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        self.stream.runtime()
    }

    /// The kernel instance `K` of the library.
    ///
    /// # Errors
    /// As [`Runtime::kernel`].
    pub fn kernel<K: Kernel>(&self) -> Result<TypedKernel<K>>
    where
        L: Has<K>,
    {
        if TypeId::of::<L>() == TypeId::of::<Kernels>() {
            self.runtime().register::<Kernels>(DEVICE_CODE)?;
        }
        self.runtime().kernel::<L, K>()
    }

    /// A grid for kernels that stride over `elements`, `per_thread` of them at a time: enough blocks to fill the device a few
    /// times over, and no more than there is work for.
    fn strided(&self, elements: usize, per_thread: usize) -> Result<Shape> {
        const BLOCK: u32 = 256;
        const BLOCKS_PER_MULTIPROCESSOR: u32 = 32;
        let multiprocessors = self.runtime().device().cuda().map_or(1, |cuda| cuda.multiprocessors);
        let most = multiprocessors.saturating_mul(BLOCKS_PER_MULTIPROCESSOR);
        Shape::for_elements_at_most(elements.div_ceil(per_thread), BLOCK, most)
    }

    /// A grid for [`elementwise`](warpsmith_gpu::elementwise) kernels over elements of which a pack holds `lanes`: along x one pack
    /// a thread while the device has threads enough, then several; along y the lines.
    fn covering(&self, extents: Extents, lanes: usize) -> Shape {
        const BLOCK: usize = 256;
        const THREADS_PER_MULTIPROCESSOR: usize = 2048;
        let Extents { len, lines } = extents;
        if len == 0 || lines == 0 {
            return Shape::new([0, 1, 1], [BLOCK as u32, 1, 1]);
        }
        let multiprocessors = self.runtime().device().cuda().map_or(1, |cuda| cuda.multiprocessors) as usize;
        let packs = len.div_ceil(lanes);
        let few = packs.saturating_mul(lines) <= multiprocessors * THREADS_PER_MULTIPROCESSOR;
        let per_line = if few { packs } else { packs.div_ceil(DEPTH) };
        let along = if lines == 1 { BLOCK } else { per_line.next_power_of_two().clamp(1, BLOCK) };
        let x = per_line.div_ceil(along).min(GRID_LIMIT[0] as usize);
        let y = lines.div_ceil(BLOCK / along).min(GRID_LIMIT[1] as usize);
        Shape::new([x as u32, y as u32, 1], [along as u32, (BLOCK / along) as u32, 1])
    }

    /// A shared view on the CPU runtime as a slice, after checking that it lives here.
    fn slice<'a, T: DeviceCopy>(&self, operation: &'static str, view: View<'a, T>) -> Result<&'a [T]> {
        self.runtime().expect_same(view.runtime(), operation, "an input")?;
        view.as_slice()
    }

    /// An exclusive view on the CPU runtime as a slice, after checking that it lives here.
    fn slice_mut<'a, T: DeviceCopy>(&self, operation: &'static str, view: ViewMut<'a, T>) -> Result<&'a mut [T]> {
        self.runtime().expect_same(view.runtime(), operation, "the output")?;
        view.into_mut_slice()
    }
}

/// An error unless two matrices have one shape.
pub(crate) fn expect_same_shape<T: DeviceCopy, U: DeviceCopy>(
    operation: &'static str,
    (left_name, left): (&'static str, &Matrix<T>),
    (right_name, right): (&'static str, &Matrix<U>),
) -> Result<()> {
    match left.shape() == right.shape() {
        true => Ok(()),
        false => Err(Error::ShapeMismatch {
            operation,
            left_name,
            left: left.shape(),
            right_name,
            right: right.shape(),
            rule: "both have one shape",
        }),
    }
}

/// An error unless two lengths are equal.
pub(crate) fn expect_equal(
    operation: &'static str,
    (left_name, left): (&'static str, usize),
    (right_name, right): (&'static str, usize),
) -> Result<()> {
    match left == right {
        true => Ok(()),
        false => Err(Error::LengthMismatch { operation, left_name, left, right_name, right }),
    }
}
