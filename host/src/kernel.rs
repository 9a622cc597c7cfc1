//! A kernel ready to launch: its arguments, its shape, and the driver's call.

use std::marker::PhantomData;
use std::sync::Arc;

use cuda_std::{Kernel, SafeKernel, simulator};

use crate::driver::{LaunchAttribute, LaunchConfig};
use crate::error::{Error, Result};
use crate::launch::{Arguments, Launch, Pointers};
use crate::loaded::Loaded;
use crate::order::Submission;
use crate::runtime::{Cuda, Runtime};
use crate::shape::Shape;
use crate::stream::Stream;

/// The most threads of a cooperative launch in the simulator.
const SIMULATED_THREADS_AT_ONCE: u64 = 16384;

/// A kernel instance on a GPU or in the simulator. Cloning is cheap.
///
/// Arguments are a tuple with one element for each parameter of the kernel's function:
///
/// | the parameter | the argument |
/// | --- | --- |
/// | a value `A` | an `A` |
/// | `Global<T>` or `&[T]` | `&Buffer<T>`, `View<T>`, `&ViewMut<T>`, `&Matrix<T>` |
/// | `GlobalMut<T>`, `GlobalAtomic<T>` | `&mut Buffer<T>`, `ViewMut<T>`, `&mut Matrix<T>` |
/// | `*const T` | as `Global<T>` |
/// | `*mut T` | as `GlobalMut<T>` |
/// | `TensorMap<T, RANK>` | `&TensorMap<T, RANK>` |
/// | `TensorMapMut<T, RANK>` | `&mut TensorMapMut<T, RANK>` |
///
/// ```
/// use cuda_std::prelude::*;
/// use warpsmith::{Runtime, Shape};
///
/// #[kernel]
/// pub fn axpy(a: f32, x: Global<f32>, mut y: GlobalMut<f32>) {
///     for i in thread::elements(y.len()) {
///         let sum = a * x[i] + y[i];
///         y.set(i, sum);
///     }
/// }
///
/// kernels! { axpy; }
///
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = Runtime::simulator();
/// let (x, mut y) = (runtime.filled(100, 2.0f32)?, runtime.filled(100, 1.0f32)?);
/// let kernel = runtime.kernel::<Kernels, axpy>()?;
/// kernel.launch(&runtime.default_stream(), Shape::for_elements(100, 32)?, (3.0, &x, &mut y))?;
/// assert_eq!(y.to_vec()?, [7.0; 100]);
/// # Ok(())
/// # }
/// ```
pub struct TypedKernel<K> {
    runtime: Runtime,
    loaded: Arc<Loaded>,
    marker: PhantomData<fn() -> K>,
}

impl<K> Clone for TypedKernel<K> {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), loaded: Arc::clone(&self.loaded), marker: PhantomData }
    }
}

impl<K: Kernel> TypedKernel<K> {
    pub(crate) fn new(runtime: &Runtime, loaded: Arc<Loaded>) -> Self {
        Self { runtime: runtime.clone(), loaded, marker: PhantomData }
    }

    pub(crate) fn simulated(runtime: &Runtime, entry: &str) -> Self {
        Self::new(runtime, Arc::new(Loaded::simulated(entry, K::BLOCK, K::CLUSTER)))
    }

    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded)
    }

    /// The driver's function (`CUfunction`), to use beside this crate.
    pub fn function(&self) -> *mut std::ffi::c_void {
        self.loaded.function
    }

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The name of the entry point in PTX.
    pub fn entry(&self) -> &str {
        &self.loaded.entry
    }

    /// The block that the kernel requires, if it was compiled for one.
    pub fn required_block(&self) -> Option<[u32; 3]> {
        self.loaded.required_block
    }

    /// The most dynamic shared memory that a block may have, in bytes.
    pub fn shared_limit(&self) -> usize {
        self.loaded.shared_limit
    }

    /// How many blocks of this shape one multiprocessor runs at once.
    ///
    /// # Errors
    /// [`Error::LaunchShape`], [`Error::BlockShape`], [`Error::Driver`]
    pub fn blocks_per_multiprocessor(&self, shape: Shape) -> Result<u32> {
        let cuda = self.cuda()?;
        self.loaded.accept(Some(cuda), &shape)?;
        cuda.make_current()?;
        let (mut blocks, threads) = (0, shape.block_threads() as i32);
        // SAFETY: writes one integer.
        unsafe {
            let function = self.loaded.function;
            cuda.driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, shape.shared_bytes)
        }?;
        Ok(blocks.max(0) as u32)
    }

    fn cuda(&self) -> Result<&Cuda> {
        self.runtime.cuda_state().ok_or_else(|| self.runtime.unsupported("launch a kernel", "use Runtime::cuda(0)"))
    }

    /// # Safety
    /// As [`launch_unchecked`](Self::launch_unchecked).
    unsafe fn simulate<A>(&self, cooperative: bool, shape: Shape, arguments: A) -> Result<()>
    where
        A: Arguments<K::Parameters<'static>>,
    {
        let Shape { grid, block, shared_bytes: dynamic_shared_bytes } = shape;
        let parameters = arguments.parameters(&self.runtime)?;
        let shape = simulator::Shape { grid, block, dynamic_shared_bytes };
        let launch = match cooperative {
            true => simulator::launch_cooperative::<K>,
            false => simulator::launch_unchecked::<K>,
        };
        // SAFETY: by the caller; the parameters view memory of this runtime that the arguments borrow.
        unsafe { launch(simulator::Options::default(), shape, parameters) }.map_err(simulated)
    }

    /// Refuses more blocks than can run at once.
    fn expect_all_at_once(&self, shape: Shape) -> Result<()> {
        let limit = match self.runtime.device().cuda() {
            Some(properties) => {
                u64::from(self.blocks_per_multiprocessor(shape)?) * u64::from(properties.multiprocessors)
            }
            // Each thread that waits has a stack of its own.
            None => SIMULATED_THREADS_AT_ONCE / shape.block_threads().max(1),
        };
        let got = shape.grid.iter().map(|&extent| u64::from(extent)).product();
        if got > limit {
            return Err(Error::LaunchShape {
                kernel: self.loaded.entry.clone(),
                what: "the number of blocks of a cooperative launch",
                got,
                limit,
                remedy: "all of them must run at the same time: use fewer blocks, whose threads stride over the grid",
            });
        }
        Ok(())
    }

    /// As [`launch_cooperative`](Self::launch_cooperative), for a kernel whose function is `unsafe`.
    ///
    /// # Errors
    /// As [`launch_cooperative`](Self::launch_cooperative).
    ///
    /// # Safety
    /// As [`launch_unchecked`](Self::launch_unchecked).
    pub unsafe fn launch_cooperative_unchecked<A>(&self, stream: &Stream, shape: Shape, arguments: A) -> Result<()>
    where
        A: Arguments<K::Parameters<'static>>,
    {
        let cuda = self.runtime.cuda_state();
        self.loaded.accept(cuda, &shape)?;
        if !shape.is_empty() {
            self.expect_all_at_once(shape)?;
        }
        // SAFETY: by the caller.
        unsafe { self.submit(true, stream, shape, arguments) }
    }

    /// Launches a kernel whose function is `unsafe`. An empty grid launches nothing.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    ///
    /// # Safety
    /// What the kernel's own documentation demands of its arguments and of the shape.
    #[inline]
    pub unsafe fn launch_unchecked<A>(&self, stream: &Stream, shape: Shape, arguments: A) -> Result<()>
    where
        A: Arguments<K::Parameters<'static>>,
    {
        // SAFETY: by the caller.
        unsafe { self.submit(false, stream, shape, arguments) }
    }

    /// # Safety
    /// As [`launch_unchecked`](Self::launch_unchecked).
    #[inline(always)]
    unsafe fn submit<A>(&self, cooperative: bool, stream: &Stream, shape: Shape, arguments: A) -> Result<()>
    where
        A: Arguments<K::Parameters<'static>>,
    {
        self.runtime.expect_same(stream.runtime(), "launch a kernel", "the stream")?;
        let cuda = self.runtime.cuda_state();
        self.loaded.accept(cuda, &shape)?;
        if shape.is_empty() {
            return Ok(());
        }
        let Some(cuda) = cuda else {
            // SAFETY: by the caller.
            return unsafe { self.simulate(cooperative, shape, arguments) };
        };
        let submission = Submission::begin(cuda, stream.slot())?;
        let call = |pointers: &mut Pointers| {
            let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (shape.grid, shape.block);
            // SAFETY: the pointers are to values with the kernel's parameter layout, which was compared with the manifest;
            // the memory they name is alive, belongs to this runtime, and has been put in order; the rest by the caller.
            unsafe {
                if cooperative {
                    return cuda.driver.cuLaunchCooperativeKernel(
                        self.loaded.function,
                        grid_x,
                        grid_y,
                        grid_z,
                        block_x,
                        block_y,
                        block_z,
                        shape.shared_bytes as u32,
                        submission.stream(),
                        pointers.as_mut_ptr(),
                    );
                }
                if K::OVERLAPS && cuda.driver.has_launch_attributes() {
                    let config = LaunchConfig {
                        grid: shape.grid,
                        block: shape.block,
                        dynamic_shared_bytes: shape.shared_bytes as u32,
                        stream: submission.stream(),
                        attributes: &LaunchAttribute::OVERLAPS,
                        attribute_count: 1,
                    };
                    let (function, no_extra) = (self.loaded.function, std::ptr::null_mut());
                    return cuda.driver.cuLaunchKernelEx(&config, function, pointers.as_mut_ptr(), no_extra);
                }
                cuda.driver.cuLaunchKernel(
                    self.loaded.function,
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    shape.shared_bytes as u32,
                    submission.stream(),
                    pointers.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            }
        };
        arguments.pack(&Launch { runtime: &self.runtime, submission: &submission }, call)
    }
}

/// What a kernel says of itself is the same error as on a GPU.
fn simulated(error: simulator::Error) -> Error {
    match error {
        simulator::Error::Panicked { kernel, block, thread, message, place: Some(place) } => Error::KernelPanicked {
            kernel: kernel.into(),
            block,
            thread,
            message,
            file: place.file().into(),
            line: place.line(),
        },
        other => Error::Simulated(other),
    }
}

// The bound is each method's own, so that an unsafe kernel gets `SafeKernel`'s message.
impl<K: Kernel> TypedKernel<K> {
    /// Launches the kernel. An empty grid launches nothing and succeeds.
    ///
    /// Returns when the work is submitted; errors of the kernel itself appear at the next synchronisation.
    ///
    /// # Errors
    /// [`Error::LaunchShape`], [`Error::BlockShape`], [`Error::WrongRuntime`], [`Error::Driver`]
    #[inline]
    pub fn launch<A>(&self, stream: &Stream, shape: Shape, arguments: A) -> Result<()>
    where
        A: Arguments<K::Parameters<'static>>,
        K: SafeKernel,
    {
        // SAFETY: a `SafeKernel` is sound for every argument and shape.
        unsafe { self.launch_unchecked(stream, shape, arguments) }
    }

    /// As [`launch`](Self::launch), for a kernel whose blocks wait for each other (`cuda_std::grid::sync`): all of them run at the
    /// same time.
    ///
    /// # Errors
    /// As [`launch`](Self::launch); [`Error::LaunchShape`] also if the device can't run all blocks at once.
    pub fn launch_cooperative<A>(&self, stream: &Stream, shape: Shape, arguments: A) -> Result<()>
    where
        A: Arguments<K::Parameters<'static>>,
        K: SafeKernel,
    {
        // SAFETY: a `SafeKernel` is sound for every argument and shape.
        unsafe { self.launch_cooperative_unchecked(stream, shape, arguments) }
    }
}

impl<K: Kernel> std::fmt::Debug for TypedKernel<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TypedKernel({} on {})", self.loaded.entry, self.runtime)
    }
}
