//! A kernel as the driver has loaded it: compared with its manifest, and the limits that a launch is held against.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cuda_builder::manifest::Entry;
use cuda_std::Kernel;

use crate::driver::Handle;
use crate::error::{Error, Result};
use crate::runtime::Cuda;
use crate::shape::{BLOCK_LIMIT, GRID_LIMIT, Shape, too_many_blocks};

/// Dynamic shared memory that needs no opting in.
const SHARED_WITHOUT_OPT_IN: usize = 48 << 10;

/// The driver's function with its limits. In the simulator there is no function, and the limits are a large GPU's.
pub(crate) struct Loaded {
    pub entry: String,
    pub function: Handle,
    pub required_block: Option<[u32; 3]>,
    /// Largest extents, by `maxntid` or the device.
    block_limit: [u32; 3],
    /// Threads, by registers and launch bounds.
    thread_limit: u64,
    cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes: the device's limit less what the kernel has statically.
    pub shared_limit: usize,
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
    pub fn simulated(entry: &str, required_block: Option<[u32; 3]>, cluster: [u32; 3]) -> Self {
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

    pub fn new(cuda: &Cuda, entry: &Entry, function: Handle) -> Result<Self> {
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
    pub fn accept(&self, cuda: Option<&Cuda>, shape: &Shape) -> Result<()> {
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
