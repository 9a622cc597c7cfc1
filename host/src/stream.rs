//! Streams: work of one stream runs in order, work of several may overlap.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::order::Submission;
use crate::runtime::{Backend, Runtime};

/// A queue of work on a runtime's device. Cloning is cheap and gives the same queue. On the CPU runtime work is done before the call returns.
///
/// Work of two streams on the same buffer is kept in order without anything said; other work may overlap.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// use warpsmith::prelude::*;
///
/// let runtime = Runtime::new();
/// let x = runtime.buffer_from(&[-1.0f32, 2.0])?;
/// let (mut y, mut z) = (runtime.zeros(2)?, runtime.zeros(2)?);
/// let (first, second) = (runtime.stream()?, runtime.stream()?);
/// Ops::<warpsmith::Kernels>::on(first).map_forward(Relu, &x, &mut y)?;
/// // It reads what the other stream writes, and waits for it.
/// Ops::<warpsmith::Kernels>::on(second.clone()).map_forward(Tanh, &y, &mut z)?;
/// second.synchronize()?;
/// assert_eq!(z.to_vec()?[0], 0.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stream {
    runtime: Runtime,
    slot: u8,
    /// Gives the slot back with the last clone; the default stream's is never given back.
    _slot: Option<Arc<Slot>>,
}

struct Slot {
    runtime: Runtime,
    number: u8,
}

impl Drop for Slot {
    fn drop(&mut self) {
        // The driver's stream stays in its slot, with its pending work, for the next one.
        if let Some(cuda) = self.runtime.cuda_state() {
            cuda.streams.give_back(self.number);
        }
    }
}

impl Stream {
    pub(crate) fn default_of(runtime: &Runtime) -> Self {
        Self { runtime: runtime.clone(), slot: 0, _slot: None }
    }

    pub(crate) fn new(runtime: &Runtime) -> Result<Self> {
        let slot = match &runtime.0.backend {
            Backend::Host(_) => 0,
            Backend::Cuda(cuda) => {
                cuda.make_current()?;
                cuda.streams.take(cuda.driver)?
            }
        };
        let owner = Slot { runtime: runtime.clone(), number: slot };
        Ok(Self { runtime: runtime.clone(), slot, _slot: Some(Arc::new(owner)) })
    }

    /// The runtime.
    #[inline]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The driver's stream (`CUstream`), to use beside this crate; null on the CPU. Work submitted to it elsewhere is not
    /// ordered with other streams of the runtime.
    pub fn as_raw(&self) -> *mut std::ffi::c_void {
        self.runtime.cuda_state().map_or(std::ptr::null_mut(), |cuda| cuda.streams.handle(self.slot))
    }

    #[inline]
    pub(crate) fn slot(&self) -> u8 {
        self.slot
    }

    /// Begins a submission; `None` on the CPU.
    #[inline]
    pub(crate) fn submission(&self) -> Result<Option<Submission<'_>>> {
        match &self.runtime.0.backend {
            Backend::Host(_) => Ok(None),
            Backend::Cuda(cuda) => Submission::begin(cuda, self.slot).map(Some),
        }
    }

    /// Waits until all work submitted to this stream is done. Errors of earlier kernels appear here.
    ///
    /// # Errors
    /// [`Error::Driver`]; [`Error::Capture`] while the stream is captured.
    pub fn synchronize(&self) -> Result<()> {
        if let Some(cuda) = self.runtime.cuda_state() {
            self.forbid_in_capture("synchronize", "synchronize after the capture")?;
            cuda.make_current()?;
            // SAFETY: the stream lives as long as the runtime.
            unsafe { cuda.driver.cuStreamSynchronize(cuda.streams.handle(self.slot)) }?;
        }
        Ok(())
    }

    /// An event that is reached when all work submitted so far is done.
    ///
    /// # Errors
    /// [`Error::Driver`]; [`Error::Capture`] while the stream is captured.
    pub fn record(&self) -> Result<Event> {
        self.forbid_in_capture("record an event", "record it before or after the graph's launch")?;
        Event::record(self)
    }

    /// Makes work submitted from now on wait for an event. The host does not wait.
    ///
    /// # Errors
    /// [`Error::WrongRuntime`], [`Error::Driver`]
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.runtime.expect_same(event.runtime(), "wait for an event", "the event")?;
        if let Some(cuda) = self.runtime.cuda_state() {
            self.forbid_in_capture("wait for an event", "wait before the graph's launch")?;
            cuda.make_current()?;
            // SAFETY: stream and event live.
            unsafe { cuda.driver.cuStreamWaitEvent(cuda.streams.handle(self.slot), event.handle(), 0) }?;
        }
        Ok(())
    }

    pub(crate) fn forbid_in_capture(&self, operation: &'static str, remedy: &'static str) -> Result<()> {
        match self.runtime.cuda_state() {
            Some(cuda) if cuda.streams.is_capturing(self.slot) => Err(Error::Capture { operation, remedy }),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({} of {})", self.slot, self.runtime)
    }
}
