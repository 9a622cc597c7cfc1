//! Graphs: the launches of a closure, captured once and submitted again at the cost of one launch.
//!
//! A graph owns the state that its closure works on and keeps the memory it uses alive, so that it can be launched whenever
//! it exists. Other streams' work on the same buffers stays in order with it.

use std::cell::Cell;

use crate::block::Block;
use crate::driver::Handle;
use crate::error::{Error, Result};
use crate::order::{Access, Submission};
use crate::runtime::{Cuda, Runtime};
use crate::stream::Stream;

thread_local! {
    /// Captures under way on this thread. The driver allows no allocation and no synchronisation meanwhile.
    static CAPTURING: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread captures a graph.
pub(crate) fn is_capturing() -> bool {
    CAPTURING.get() > 0
}

/// An error while this thread captures a graph.
pub(crate) fn forbid(operation: &'static str, remedy: &'static str) -> Result<()> {
    if is_capturing() { Err(Error::Capture { operation, remedy }) } else { Ok(()) }
}

/// Work captured from a stream, with the state it works on. On the CPU runtime, the closure itself.
///
/// ```
/// # fn main() -> warpsmith::Result<()> {
/// use warpsmith::prelude::*;
///
/// let runtime = Runtime::new();
/// let stream = runtime.stream()?;
/// let state = (runtime.buffer_from(&[-1.0f32, 2.0])?, runtime.zeros::<f32>(2)?);
/// let mut graph = stream.capture(state, |(x, y), stream| {
///     Ops::<warpsmith::Kernels>::on(stream.clone()).map_forward(Relu, &*x, &mut *y)
/// })?;
/// graph.launch(&stream)?;
/// assert_eq!(graph.state().1.to_vec()?, [0.0, 2.0]);
/// # Ok(())
/// # }
/// ```
pub struct Graph<S, F> {
    runtime: Runtime,
    state: S,
    work: F,
    captured: Option<Captured>,
}

struct Captured {
    executable: Handle,
    graph: Handle,
    /// Kept alive, and put in order at each launch.
    blocks: Vec<(Block, Access)>,
}

// SAFETY: the driver's graphs may be used from any thread, one at a time; `launch` takes `&mut self`.
unsafe impl Send for Captured {}
// SAFETY: nothing is done with a `&Captured`.
unsafe impl Sync for Captured {}

impl Stream {
    /// Captures what `work` submits to this stream. It runs once for that on the GPU, where nothing is executed before
    /// [`Graph::launch`]; on the CPU runtime it runs at each launch. All buffers must exist before.
    ///
    /// No other thread may use this stream meanwhile.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Capture`] if it allocates, synchronises or copies from or to the host; [`Error::Driver`].
    pub fn capture<S, F>(&self, mut state: S, mut work: F) -> Result<Graph<S, F>>
    where
        F: FnMut(&mut S, &Stream) -> Result<()>,
    {
        let captured = match self.runtime().cuda_state() {
            None => None,
            Some(cuda) => Some(self.capture_on(cuda, || work(&mut state, self))?),
        };
        Ok(Graph { runtime: self.runtime().clone(), state, work, captured })
    }

    fn capture_on(&self, cuda: &Cuda, work: impl FnOnce() -> Result<()>) -> Result<Captured> {
        forbid("capture a graph", "end the other capture first")?;
        self.forbid_in_capture("capture a graph", "end the other capture first")?;
        let mut recording = Recording { cuda, slot: self.slot(), ended: false };
        // Marked first and then waited for: all earlier work is done, so nobody needs to wait for this stream meanwhile.
        cuda.streams.begin_capture(self.slot());
        CAPTURING.set(CAPTURING.get() + 1);
        cuda.make_current()?;
        // SAFETY: the stream lives; CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
        unsafe {
            cuda.driver.cuStreamSynchronize(self.as_raw())?;
            cuda.driver.cuStreamBeginCapture_v2(self.as_raw(), 1)?;
        }
        let worked = work();
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the capture begun above; writes one handle, null if the capture was invalid.
        let ended = unsafe { cuda.driver.cuStreamEndCapture(self.as_raw(), &mut graph) };
        let blocks = recording.end();
        let mut captured = Captured { executable, graph, blocks };
        // SAFETY: the graph just captured; writes one handle.
        let built = worked
            .and(ended)
            .and_then(|()| unsafe { cuda.driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
        captured.executable = executable;
        match built {
            Ok(()) => Ok(captured),
            Err(error) => {
                captured.destroy(cuda);
                Err(error)
            }
        }
    }
}

/// Ends the bookkeeping of a capture, also when the closure panics.
struct Recording<'a> {
    cuda: &'a Cuda,
    slot: u8,
    ended: bool,
}

impl Recording<'_> {
    fn end(&mut self) -> Vec<(Block, Access)> {
        self.ended = true;
        CAPTURING.set(CAPTURING.get().saturating_sub(1));
        let blocks = self.cuda.streams.end_capture(self.slot);
        self.cuda.pool.free_deferred(self.cuda);
        blocks
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let mut graph = std::ptr::null_mut();
            // SAFETY: ends a capture that may be open on the stream; otherwise the driver answers with an error.
            unsafe {
                let _ = self.cuda.driver.cuStreamEndCapture(self.cuda.streams.handle(self.slot), &mut graph);
                if !graph.is_null() {
                    let _ = self.cuda.driver.cuGraphDestroy(graph);
                }
            }
            drop(self.end());
        }
    }
}

impl Captured {
    fn destroy(&mut self, cuda: &Cuda) {
        if cuda.make_current().is_ok() {
            // SAFETY: made by `capture_on`, destroyed once: the handles are null afterwards.
            unsafe {
                if !self.executable.is_null() {
                    let _ = cuda.driver.cuGraphExecDestroy(self.executable);
                }
                if !self.graph.is_null() {
                    let _ = cuda.driver.cuGraphDestroy(self.graph);
                }
            }
        }
        (self.executable, self.graph) = (std::ptr::null_mut(), std::ptr::null_mut());
    }
}

impl<S, F: FnMut(&mut S, &Stream) -> Result<()>> Graph<S, F> {
    /// Submits the captured work to a stream.
    ///
    /// # Errors
    /// [`Error::WrongRuntime`], [`Error::Driver`]; on the CPU runtime those of the closure.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        self.runtime.expect_same(stream.runtime(), "launch a graph", "the stream")?;
        let (Some(captured), Some(cuda)) = (&self.captured, self.runtime.cuda_state()) else {
            return (self.work)(&mut self.state, stream);
        };
        stream.forbid_in_capture("launch a graph", "launch it after the capture")?;
        let submission = Submission::begin(cuda, stream.slot())?;
        for (block, access) in &captured.blocks {
            submission.order(block, *access)?;
        }
        // SAFETY: the graph's memory is alive, and its stream has been made to wait for what must come before.
        unsafe { cuda.driver.cuGraphLaunch(captured.executable, submission.stream()) }
    }
}

impl<S, F> Graph<S, F> {
    /// The state; reading a buffer of it waits for the launches before.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The state. Buffers may be overwritten; exchanging them for others does not change what the graph works on.
    pub fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

impl<S, F> Drop for Graph<S, F> {
    fn drop(&mut self) {
        if let (Some(captured), Some(cuda)) = (&mut self.captured, self.runtime.cuda_state()) {
            captured.destroy(cuda);
        }
    }
}
