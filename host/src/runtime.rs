//! The runtime: one device, its streams, its memory and its kernels.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use crate::device::Device;
use crate::driver::{Driver, Handle, OpenDevice};
use crate::error::{Error, Result};
use crate::order::Streams;
use crate::pool::{MemoryStatistics, Pool};
use crate::registry::Registry;
use crate::stream::Stream;

/// A device and everything that lives on it. Cloning is cheap and gives the same runtime.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = warpsmith::Runtime::new(); // the GPU, or else the CPU
/// println!("running on {runtime}");
/// let x = runtime.buffer_from(&[1.0f32, 2.0, 3.0])?;
/// assert_eq!(x.slice(1..)?.to_vec()?, [2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Runtime(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    device: Device,
    reason: Option<String>,
    pub(crate) registry: Registry,
    pub(crate) backend: Backend,
}

pub(crate) enum Backend {
    Host(HostCounters),
    Cuda(Box<Cuda>),
}

/// What the CPU runtime counts.
#[derive(Default)]
pub(crate) struct HostCounters {
    pub(crate) bytes_in_use: AtomicUsize,
    pub(crate) allocations: AtomicU64,
}

/// The state of a CUDA runtime. Field order is drop order: memory, modules and streams go before the context.
pub(crate) struct Cuda {
    pub(crate) driver: &'static Driver,
    pub(crate) pool: Pool,
    pub(crate) modules: crate::module::Modules,
    pub(crate) faults: crate::fault::Faults,
    pub(crate) streams: Streams,
    pub(crate) device: OpenDevice,
}

// SAFETY: the driver's functions and handles may be used from any thread with the context current, which every use here
// ensures (`make_current`); the mutable parts are atomics and mutexes.
unsafe impl Send for Cuda {}
// SAFETY: as above.
unsafe impl Sync for Cuda {}

impl Cuda {
    fn open(index: u32) -> Result<Self> {
        let device = OpenDevice::open(index)?;
        let driver = device.driver;
        Ok(Self {
            driver,
            pool: Pool::default(),
            modules: crate::module::Modules::default(),
            faults: crate::fault::Faults::default(),
            streams: Streams::new(driver)?,
            device,
        })
    }

    /// Makes the primary context current on this thread. Asking is a read of the driver's thread-local state.
    #[inline]
    pub(crate) fn make_current(&self) -> Result<()> {
        let mut current: Handle = std::ptr::null_mut();
        // SAFETY: writes one handle; the context is retained while `self` lives.
        unsafe {
            self.driver.cuCtxGetCurrent(&mut current)?;
            if current != self.device.context {
                self.driver.cuCtxSetCurrent(self.device.context)?;
            }
        }
        Ok(())
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // A failure here means that the context is lost, and with it everything that would be released.
        if self.make_current().is_ok() {
            // SAFETY: the context is current, and nothing can be submitted any more: no stream or buffer is left.
            let _ = unsafe { self.driver.cuCtxSynchronize() };
            self.pool.release(self.driver);
            self.modules.release(self.driver);
            self.faults.release(self.driver);
            self.streams.release(self.driver);
        }
    }
}

impl Runtime {
    /// The first GPU, or else the CPU; [`reason`](Self::reason) says why.
    #[expect(clippy::new_without_default, reason = "opening a device is not a default value")]
    pub fn new() -> Self {
        Self::cuda(0).unwrap_or_else(|error| Self::host(Device::cpu(), Some(error.to_string())))
    }

    /// The first GPU, or else the simulator, for programs with kernels of their own; [`reason`](Self::reason) says why.
    pub fn for_kernels() -> Self {
        Self::cuda(0).unwrap_or_else(|error| Self::host(Device::simulator(), Some(error.to_string())))
    }

    /// GPU number `index`.
    ///
    /// # Errors
    /// [`Error::DriverMissing`], [`Error::BuiltWithoutCuda`], [`Error::NoDevice`], [`Error::DeviceIndex`],
    /// [`Error::DriverTooOld`], or what the driver says.
    pub fn cuda(index: u32) -> Result<Self> {
        let cuda = Cuda::open(index)?;
        let device = Device::Cuda(cuda.device.properties.clone());
        let backend = Backend::Cuda(Box::new(cuda));
        Ok(Self(Arc::new(Inner { device, reason: None, registry: Registry::default(), backend })))
    }

    /// The CPU.
    pub fn cpu() -> Self {
        Self::host(Device::cpu(), None)
    }

    /// The simulator: memory is the host's, and every kernel runs there as written, all its threads, barriers and shared memory.
    /// For tests and for stepping through a kernel; [`Runtime::cpu`] is what computes quickly without a GPU.
    ///
    /// A launch is done when it returns, and what goes wrong in it is its error.
    pub fn simulator() -> Self {
        Self::host(Device::simulator(), None)
    }

    fn host(device: Device, reason: Option<String>) -> Self {
        let backend = Backend::Host(HostCounters::default());
        Self(Arc::new(Inner { device, reason, registry: Registry::default(), backend }))
    }

    /// What the runtime runs on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Why [`Runtime::new`] took the CPU or [`Runtime::for_kernels`] the simulator; `None` on a GPU, and where these were asked for.
    pub fn reason(&self) -> Option<&str> {
        self.0.reason.as_deref()
    }

    /// Whether this is a GPU.
    pub fn is_cuda(&self) -> bool {
        matches!(self.0.backend, Backend::Cuda(_))
    }

    /// Whether this is the simulator.
    pub fn is_simulator(&self) -> bool {
        matches!(self.0.device, Device::Simulator { .. })
    }

    /// Whether kernels are launched here: on a GPU and in the simulator.
    pub fn runs_kernels(&self) -> bool {
        self.is_cuda() || self.is_simulator()
    }

    /// The stream that buffers' own methods use. It does not wait for the legacy default stream of other libraries.
    pub fn default_stream(&self) -> Stream {
        Stream::default_of(self)
    }

    /// A further stream, whose work may overlap with other streams'. Work on the same buffer is ordered all the same.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`] beyond 64 live ones.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// Waits until all work submitted so far is done. Errors of earlier kernels appear here.
    ///
    /// # Errors
    /// [`Error::KernelPanicked`], [`Error::Driver`]; [`Error::Capture`] while this thread captures a graph.
    pub fn synchronize(&self) -> Result<()> {
        if let Backend::Cuda(cuda) = &self.0.backend {
            crate::graph::forbid("synchronize", "synchronize after the capture")?;
            cuda.make_current()?;
            // SAFETY: the context is current.
            unsafe { cuda.driver.cuCtxSynchronize() }?;
        }
        Ok(())
    }

    /// What the runtime's memory holds.
    pub fn memory(&self) -> MemoryStatistics {
        crate::pool::statistics(self)
    }

    /// Gives cached memory back to the driver, after waiting for all work.
    ///
    /// # Errors
    /// [`Error::Driver`]; [`Error::Capture`] while this thread captures a graph.
    pub fn trim(&self) -> Result<()> {
        self.synchronize()?;
        if let Backend::Cuda(cuda) = &self.0.backend {
            cuda.pool.release(cuda.driver);
        }
        Ok(())
    }

    /// The primary context, to use `cust` beside this crate.
    #[cfg(feature = "cuda")]
    pub fn cust_context(&self) -> Option<&cust::context::Context> {
        self.cuda_state().map(|cuda| &cuda.device.retained)
    }

    #[inline]
    pub(crate) fn cuda_state(&self) -> Option<&Cuda> {
        match &self.0.backend {
            Backend::Cuda(cuda) => Some(cuda),
            Backend::Host(_) => None,
        }
    }

    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// An error unless `other`, which is `what`, is this runtime.
    #[inline]
    pub(crate) fn expect_same(&self, other: &Self, operation: &'static str, what: &'static str) -> Result<()> {
        if self.is_same(other) { Ok(()) } else { Err(self.wrong(other, operation, what)) }
    }

    #[cold]
    fn wrong(&self, other: &Self, operation: &'static str, what: &'static str) -> Error {
        let (mut expected, mut found) = (self.to_string(), other.to_string());
        if expected == found {
            expected = format!("another runtime on {expected}");
            found = format!("one runtime on {found}");
        }
        Error::WrongRuntime { operation, what, expected, found }
    }

    pub(crate) fn unsupported(&self, operation: &'static str, remedy: &'static str) -> Error {
        Error::Unsupported { operation, device: self.device().to_string(), remedy }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.device.fmt(f)
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runtime({self})")
    }
}
