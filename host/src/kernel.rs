//! A kernel ready to launch: checked against its manifest when it is loaded, against limits when it is launched.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cuda_builder::manifest::Entry;
use cuda_std::{Kernel, SafeKernel, simulator};

use crate::driver::{Handle, LaunchAttribute, LaunchConfig};
use crate::error::{Error, Result};
use crate::launch::{Arguments, Launch, Pointers};
use crate::order::Submission;
use crate::runtime::{Cuda, Runtime};
use crate::shape::{BLOCK_LIMIT, GRID_LIMIT, Shape, too_many_blocks};
use crate::stream::Stream;

/// Dynamic shared memory that needs no opting in.
const SHARED_WITHOUT_OPT_IN: usize = 48 << 10;

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

/// The driver's function with its limits. In the simulator there is no function, and the limits are a large GPU's.
pub(crate) struct Loaded {
    entry: String,
    function: Handle,
    required_block: Option<[u32; 3]>,
    /// Largest extents, by `maxntid` or the device.
    block_limit: [u32; 3],
    /// Threads, by registers and launch bounds.
    thread_limit: u64,
    cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes: the device's limit less what the kernel has statically.
    shared_limit: usize,
    /// Dynamic shared memory opted into so far.
    shared_allowed: AtomicUsize,
}

// SAFETY: the driver's functions may be used from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; the only mutable part is atomic.
unsafe impl Sync for Loaded {}

/// Compares the host's idea of a kernel's parameters with what was built.
pub(crate) fn expect_parameters<K: Kernel>(entry: &Entry) -> Result<()> {
    let mismatch = |parameter: String, expected: String, found: String| {
        Err(Error::ManifestMismatch { kernel: entry.name.clone(), parameter, expected, found })
    };
    let expected: Vec<_> = K::RAW_PARAMETERS.iter().filter(|parameter| parameter.size > 0).collect();
    if expected.len() != entry.parameters.len() {
        let (ours, built) = (expected.len().to_string(), entry.parameters.len().to_string());
        return mismatch("the number of parameters".into(), ours, built);
    }
    for (ours, built) in expected.into_iter().zip(&entry.parameters) {
        if (ours.size as u64, ours.align as u64) != (built.size, built.align) {
            let text = |size: u64, align: u64| format!("{size} bytes aligned to {align}");
            let name = format!("`{}`", ours.name);
            return mismatch(name, text(ours.size as u64, ours.align as u64), text(built.size, built.align));
        }
    }
    Ok(())
}

impl Loaded {
    fn simulated(entry: &str, required_block: Option<[u32; 3]>, cluster: [u32; 3]) -> Self {
        const SHARED_LIMIT: usize = 227 << 10;
        Self {
            entry: entry.into(),
            function: std::ptr::null_mut(),
            required_block,
            block_limit: BLOCK_LIMIT.map(|limit| limit as u32),
            thread_limit: BLOCK_LIMIT[0],
            cluster: (cluster != [1; 3]).then_some(cluster),
            shared_limit: SHARED_LIMIT,
            shared_allowed: AtomicUsize::new(SHARED_LIMIT),
        }
    }

    pub(crate) fn new(cuda: &Cuda, entry: &Entry, function: Handle) -> Result<Self> {
        let attribute = |number| {
            let mut value = 0;
            // SAFETY: writes one integer; the function's module stays loaded.
            unsafe { cuda.driver.cuFuncGetAttribute(&mut value, number, function) }.map(|()| value.max(0) as usize)
        };
        // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        let (threads, shared) = (attribute(0)?, attribute(1)?);
        let shared_limit = cuda.device.properties.shared_bytes_per_block.saturating_sub(shared);
        Ok(Self {
            entry: entry.name.clone(),
            function,
            required_block: entry.reqntid,
            block_limit: entry.maxntid.unwrap_or(BLOCK_LIMIT.map(|limit| limit as u32)),
            thread_limit: threads as u64,
            cluster: entry.cluster,
            shared_limit,
            shared_allowed: AtomicUsize::new(SHARED_WITHOUT_OPT_IN.saturating_sub(shared).min(shared_limit)),
        })
    }

    /// Refuses a shape outside the limits, and opts into the shared memory it asks for.
    #[inline]
    fn accept(&self, cuda: Option<&Cuda>, shape: &Shape) -> Result<()> {
        let fits = match self.required_block {
            Some(required) => shape.block == required,
            None => {
                let [x, y, z] = shape.block;
                let [most_x, most_y, most_z] = self.block_limit;
                let within = x <= most_x && y <= most_y && z <= most_z && shape.block_threads() <= self.thread_limit;
                within && !shape.block.contains(&0)
            }
        };
        let [x, y, z] = shape.grid.map(u64::from);
        if !fits || x > GRID_LIMIT[0] || y > GRID_LIMIT[1] || z > GRID_LIMIT[2] || self.cluster.is_some() {
            self.explain(shape)?;
        }
        if shape.shared_bytes > self.shared_allowed.load(Relaxed) {
            self.opt_in(cuda, shape.shared_bytes)
        } else {
            Ok(())
        }
    }

    /// The error for what [`accept`](Self::accept) found; `Ok` if the clusters fit as well.
    #[cold]
    fn explain(&self, shape: &Shape) -> Result<()> {
        let kernel = || self.entry.clone();
        if let Some(expected) = self.required_block.filter(|&required| shape.block != required) {
            return Err(Error::BlockShape { kernel: kernel(), got: shape.block, expected });
        }
        let names = ["threads of a block along x", "threads of a block along y", "threads of a block along z"];
        for axis in 0..3 {
            let (got, limit) = (u64::from(shape.block[axis]), u64::from(self.block_limit[axis]));
            if self.required_block.is_none() && got > limit {
                let remedy = "use smaller blocks";
                return Err(Error::LaunchShape { kernel: kernel(), what: names[axis], got, limit, remedy });
            }
            if got == 0 {
                let remedy = "give every axis of the block at least one thread";
                return Err(Error::LaunchShape { kernel: kernel(), what: names[axis], got, limit: 1, remedy });
            }
            if u64::from(shape.grid[axis]) > GRID_LIMIT[axis] {
                return Err(too_many_blocks(&self.entry, axis, u64::from(shape.grid[axis])));
            }
        }
        if shape.block_threads() > self.thread_limit {
            return Err(Error::LaunchShape {
                kernel: kernel(),
                what: "threads of a block",
                got: shape.block_threads(),
                limit: self.thread_limit,
                remedy: "use smaller blocks, or declare maxntid on the kernel so that it is built with fewer registers",
            });
        }
        for (grid, cluster) in shape.grid.into_iter().zip(self.cluster.unwrap_or([1; 3])) {
            if !grid.is_multiple_of(cluster.max(1)) {
                return Err(Error::LaunchShape {
                    kernel: kernel(),
                    what: "the remainder of the grid by the kernel's cluster",
                    got: u64::from(grid % cluster),
                    limit: 0,
                    remedy: "round the grid up to a multiple of the cluster shape",
                });
            }
        }
        Ok(())
    }

    #[cold]
    fn opt_in(&self, cuda: Option<&Cuda>, bytes: usize) -> Result<()> {
        if bytes > self.shared_limit {
            return Err(Error::LaunchShape {
                kernel: self.entry.clone(),
                what: "dynamic shared memory in bytes",
                got: bytes as u64,
                limit: self.shared_limit as u64,
                remedy: "use smaller tiles",
            });
        }
        let Some(cuda) = cuda else { return Ok(()) };
        cuda.make_current()?;
        // SAFETY: the function's module stays loaded. CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; all that there is,
        // so that two threads can't lower each other's limit.
        unsafe { cuda.driver.cuFuncSetAttribute(self.function, 8, self.shared_limit as i32) }?;
        self.shared_allowed.store(self.shared_limit, Relaxed);
        Ok(())
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
