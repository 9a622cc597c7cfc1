//! Events: a point in a stream's work, to wait for and to measure time between.

use std::time::{Duration, Instant};

use crate::driver::Handle;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::stream::Stream;

/// A point in a stream's work.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = warpsmith::Runtime::new();
/// let stream = runtime.stream()?;
/// let start = stream.record()?;
/// runtime.filled(1 << 16, 1.0f32)?;
/// let end = stream.record()?;
/// end.synchronize()?;
/// println!("{:?}", end.elapsed_since(&start)?);
/// # Ok(())
/// # }
/// ```
pub struct Event {
    runtime: Runtime,
    /// Null on the CPU.
    handle: Handle,
    /// For the CPU, where the work is done when the event is made.
    recorded: Instant,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; no method changes the event.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn record(stream: &Stream) -> Result<Self> {
        let mut handle = std::ptr::null_mut();
        if let Some(cuda) = stream.runtime().cuda_state() {
            cuda.make_current()?;
            // SAFETY: writes one handle. CU_EVENT_DEFAULT, so that time is kept.
            unsafe { cuda.driver.cuEventCreate(&mut handle, 0) }?;
        }
        let event = Self { runtime: stream.runtime().clone(), handle, recorded: Instant::now() };
        if let Some(cuda) = stream.runtime().cuda_state() {
            // SAFETY: stream and event live.
            unsafe { cuda.driver.cuEventRecord(handle, stream.as_raw()) }?;
        }
        Ok(event)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// Waits on the host until the event is reached.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also for errors of earlier kernels.
    pub fn synchronize(&self) -> Result<()> {
        if let Some(cuda) = self.runtime.cuda_state() {
            cuda.make_current()?;
            // SAFETY: the event lives.
            unsafe { cuda.driver.cuEventSynchronize(self.handle) }?;
        }
        Ok(())
    }

    /// The time between `start` and this event, after waiting for both. On a GPU its resolution is about 0.5 us.
    ///
    /// # Errors
    /// [`Error::WrongRuntime`](crate::Error::WrongRuntime), [`Error::Driver`](crate::Error::Driver)
    pub fn elapsed_since(&self, start: &Event) -> Result<Duration> {
        self.runtime.expect_same(&start.runtime, "elapsed_since", "the start event")?;
        let Some(cuda) = self.runtime.cuda_state() else {
            return Ok(self.recorded.saturating_duration_since(start.recorded));
        };
        start.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: writes one number; both events are recorded with time.
        unsafe { cuda.driver.cuEventElapsedTime(&mut milliseconds, start.handle, self.handle) }?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Some(cuda) = self.runtime.cuda_state()
            && cuda.make_current().is_ok()
        {
            // SAFETY: made by `record`; the driver keeps it until it is reached.
            let _ = unsafe { cuda.driver.cuEventDestroy_v2(self.handle) };
        }
    }
}
