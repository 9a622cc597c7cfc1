//! [`GemmPlan`]: what a product needs besides its operands, prepared once.

use std::marker::PhantomData;

use warpsmith_gpu::epilogue::{Epilogue, Sums};
use warpsmith_gpu::kernels::gemm_sums;
use warpsmith_gpu::{Element, Kernels};

use super::dispatch::{Gemm, GemmElement, GemmKernels, HasGemm};
use super::linear::Linear;
use super::native;
use super::native::NativeSum;
use super::problem::{Operands, Problem, Views};
use crate::ops::Ops;
use crate::{Buffer, Error, MatrixViewMut, Result, Runtime, TypedKernel};

/// A matrix product of fixed sizes and layout, to be run many times: the kernel is chosen and loaded, and the memory for
/// partial sums is there. Running it allocates nothing, so it can be captured in a graph.
///
/// ```
/// use warpsmith::activations::Relu;
/// use warpsmith::{Matrix, Runtime, ops::Ops};
///
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = Runtime::new();
/// let ops = Ops::new(&runtime);
/// let (w, x) = (Matrix::zeros(&runtime, 4, 3)?, Matrix::zeros(&runtime, 3, 2)?);
/// let mut y = Matrix::<f32>::zeros(&runtime, 4, 2)?;
/// let mut plan = ops.linear(&w, &x).activation(Relu).plan(&mut y)?;
/// for _ in 0..3 {
///     plan.run(ops.linear(&w, &x).activation(Relu), &mut y)?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct GemmPlan<L, T: GemmElement, O: Element<Compute = T::Compute>, E: Epilogue> {
    problem: Problem<E>,
    /// None on the CPU.
    device: Option<OnGpu<E, T, O>>,
    library: PhantomData<fn() -> L>,
}

struct OnGpu<E: Epilogue, T: GemmElement, O: Element<Compute = T::Compute>> {
    /// The kernel of the last run.
    choice: Option<Gemm>,
    kernels: GemmKernels<E, T, O>,
    sums: Option<PartialSums<T::Compute>>,
    nothing: Nothing<T, O>,
    no_partials: Buffer<T::Compute>,
}

/// The second step of a bias gradient.
struct PartialSums<C: NativeSum> {
    partials: Buffer<C>,
    kernel: TypedKernel<gemm_sums<C>>,
}

/// Buffers without elements, for what an epilogue doesn't use.
struct Nothing<T, O> {
    elements: [Buffer<T>; 2],
    source: Buffer<O>,
    bytes: [Buffer<u8>; 2],
}

impl<T: Element, O: Element> Nothing<T, O> {
    fn new(runtime: &Runtime) -> Result<Self> {
        Ok(Self {
            elements: [runtime.zeros(0)?, runtime.zeros(0)?],
            source: runtime.zeros(0)?,
            bytes: [runtime.zeros(0)?, runtime.zeros(0)?],
        })
    }
}

impl<L, T, O, E> GemmPlan<L, T, O, E>
where
    L: HasGemm<E, T, O>,
    T: GemmElement,
    O: Element<Compute = T::Compute>,
    E: Epilogue,
{
    pub(super) fn new(ops: &Ops<L>, problem: Problem<E>) -> Result<Self> {
        let runtime = ops.runtime();
        let device = match runtime.runs_kernels() {
            false => None,
            true => {
                let kernels = L::gemm_kernels(ops)?;
                let sums = match E::SUMS {
                    Sums::None => None,
                    sums => {
                        let len = kernels.most_parts(&problem.shape, sums)
                            * problem.shape.sums_len(sums)
                            * problem.shape.batch;
                        let kernel = T::Compute::sums_kernel(&ops.of::<Kernels>())?;
                        Some(PartialSums { partials: runtime.zeros(len)?, kernel })
                    }
                };
                Some(OnGpu {
                    choice: None,
                    kernels,
                    sums,
                    nothing: Nothing::new(runtime)?,
                    no_partials: runtime.zeros(0)?,
                })
            }
        };
        Ok(Self { problem, device, library: PhantomData })
    }

    /// Which kernel computed it in the last run, which depends on the operands' alignment too; none on the CPU.
    pub fn kernel(&self) -> Option<Gemm> {
        self.device.as_ref().and_then(|device| device.choice)
    }

    /// Runs a call that has the sizes, layouts and epilogue of the one that was planned, with operands of its own. State of the
    /// epilogue, such as alpha or a seed, may differ.
    ///
    /// # Errors
    /// As [`Linear::into`], and [`Error::MatrixLayout`] if sizes or layouts differ.
    pub fn run<'o, P>(&mut self, call: Linear<'_, L, T, O, E, P>, out: impl Into<MatrixViewMut<'o, O>>) -> Result<()> {
        let (mut operands, out) = (call.operands?, out.into());
        let problem = Problem::new(&operands, &out, call.epilogue)?;
        if problem.shape != self.problem.shape {
            return Err(Error::MatrixLayout {
                operation: "run a planned matrix product",
                matrix: "the call",
                found: format!("has the shape {:?}, the plan {:?}", problem.shape, self.problem.shape),
                rule: "plan it again",
            });
        }
        self.launch(call.ops, problem, &mut operands, out)
    }

    pub(super) fn launch(
        &mut self,
        ops: &Ops<L>,
        problem: Problem<E>,
        operands: &mut Operands<'_, T, O>,
        out: MatrixViewMut<'_, O>,
    ) -> Result<()> {
        let (shape, epilogue) = (problem.shape, problem.epilogue);
        let Some(device) = &mut self.device else {
            return native::linear(ops, problem, operands, out);
        };
        let (left, right) = (operands.a.view().elements(), operands.b.view().elements());
        let (a, b) = if problem.turned { (right, left) } else { (left, right) };
        let Nothing { elements: [elements, written], source: no_source, bytes: [bytes, bytes_written] } =
            &mut device.nothing;
        let views = Views {
            a,
            b,
            bias: operands.bias.as_ref().map_or(elements.as_view(), |bias| bias.view()),
            source: operands.source.map_or(no_source.as_view(), |source| source.elements()),
            aux_in: operands.aux_in.map_or(elements.as_view(), |aux| aux.elements()),
            mask_in: operands.mask_in.map_or(bytes.as_view(), |mask| mask.bytes().as_view()),
            aux_out: match &mut operands.aux_out {
                Some(aux) => aux.reborrow().into_elements(),
                None => written.as_view_mut(),
            },
            mask_out: match &mut operands.mask_out {
                Some(mask) => mask.bytes_mut().as_view_mut(),
                None => bytes_written.as_view_mut(),
            },
            out: out.into_elements(),
        };
        let choice = device.kernels.choose(ops.runtime(), &shape, &views, operands.kernel)?;
        device.choice = Some(choice);
        match (&mut device.sums, &mut operands.sums) {
            (Some(PartialSums { partials, kernel }), Some(sums)) => {
                let stream = ops.stream();
                device.kernels.launch(stream, choice, (shape, epilogue), views, partials.as_view_mut())?;
                let (parts, len) = (choice.parts::<T>(&shape, E::SUMS), shape.sums_len(E::SUMS));
                let grid = ops.strided(sums.len(), 1)?;
                kernel.launch(stream, grid, (parts, len, &*partials, sums.reborrow()))
            }
            _ => {
                let none = device.no_partials.as_view_mut();
                device.kernels.launch(ops.stream(), choice, (shape, epilogue), views, none)
            }
        }
    }
}

impl<L, T: GemmElement, O: Element<Compute = T::Compute>, E: Epilogue + std::fmt::Debug> std::fmt::Debug
    for GemmPlan<L, T, O, E>
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GemmPlan").field("problem", &self.problem).finish_non_exhaustive()
    }
}
