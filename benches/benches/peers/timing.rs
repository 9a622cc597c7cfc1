//! How long one call takes. The same modes are in `benches/peers/timing.py`; both sides must measure alike.
//!
//! | mode | |
//! | --- | --- |
//! | `single` | the device's time of one call; the median of 9 |
//! | `queue` | the host's time of calls in a row that take 20 ms (10 to 100 of them), so that what the host spends on one counts; the median of 9 |
//! | `burst` | after 0.05 s of rest and 5 calls, the device's time of 20 calls in one CUDA graph |
//! | `sustained SECONDS` | as many such graphs back to back, after 0.1 s of the same that doesn't count |

use std::thread::sleep;
use std::time::{Duration, Instant};

use warpsmith::{Graph, Runtime, Stream};

use super::Result;

/// One call on prepared operands.
pub type Run = Box<dyn FnMut(&Stream) -> warpsmith::Result<()>>;

/// Something that has been computed and checked once, to be timed.
pub struct Work {
    /// The error that was found.
    pub error: f64,
    /// What else is to be told, in one word.
    pub note: String,
    pub run: Run,
}

const GRAPH_CALLS: u32 = 20;
const ROUNDS: usize = 9;

pub struct Contender {
    stream: Stream,
    work: Calls,
}

type Replay = fn(&mut Run, &Stream) -> warpsmith::Result<()>;

enum Calls {
    Single(Run),
    Graph(Graph<Run, Replay>),
    /// Only while one becomes the other.
    None,
}

impl Contender {
    pub fn new(runtime: &Runtime, work: Work) -> Result<Self> {
        Ok(Self { stream: runtime.stream()?, work: Calls::Single(work.run) })
    }

    pub fn time(&mut self, mode: &[&str]) -> Result<Duration> {
        match mode {
            ["single"] => {
                self.warm_up(3)?;
                median(|| {
                    let start = self.stream.record()?;
                    self.call()?;
                    let end = self.stream.record()?;
                    end.synchronize()?;
                    Ok(end.elapsed_since(&start)?)
                })
            }
            ["queue"] => {
                self.warm_up(3)?;
                let count = (0.02 / self.queue(10)?.as_secs_f64()).clamp(10.0, 100.0).ceil() as u32;
                median(|| self.queue(count))
            }
            ["burst"] => {
                self.capture()?;
                self.stream.synchronize()?;
                sleep(Duration::from_millis(50));
                for _ in 0..5 {
                    self.call()?;
                }
                self.graphs(1)
            }
            ["sustained", seconds] => {
                let seconds: f64 = seconds.parse()?;
                self.capture()?;
                let one = self.graphs(1)?.as_secs_f64() * f64::from(GRAPH_CALLS);
                let within = |seconds: f64| (seconds / one).ceil().clamp(1.0, 1e5) as u32;
                self.graphs(within(0.1))?;
                self.graphs(within(seconds))
            }
            _ => Err(format!("no mode `{}`", mode.join(" ")).into()),
        }
    }

    fn call(&mut self) -> warpsmith::Result<()> {
        match &mut self.work {
            Calls::Single(run) => run(&self.stream),
            Calls::Graph(graph) => graph.state_mut()(&self.stream),
            Calls::None => Ok(()),
        }
    }

    fn warm_up(&mut self, calls: usize) -> Result<()> {
        for _ in 0..calls {
            self.call()?;
        }
        Ok(self.stream.synchronize()?)
    }

    /// The host's time of one of `count` calls.
    fn queue(&mut self, count: u32) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..count {
            self.call()?;
        }
        self.stream.synchronize()?;
        Ok(start.elapsed() / count)
    }

    /// Makes the graph of [`GRAPH_CALLS`] calls, once.
    fn capture(&mut self) -> Result<()> {
        self.warm_up(1)?;
        self.work = match std::mem::replace(&mut self.work, Calls::None) {
            Calls::Single(run) => {
                let replay: Replay = |run, stream| (0..GRAPH_CALLS).try_for_each(|_| run(stream));
                Calls::Graph(self.stream.capture(run, replay)?)
            }
            captured => captured,
        };
        Ok(())
    }

    /// The time of one call in `count` graphs back to back.
    fn graphs(&mut self, count: u32) -> Result<Duration> {
        let Calls::Graph(graph) = &mut self.work else { return Err("the capture failed".into()) };
        let start = self.stream.record()?;
        for _ in 0..count {
            graph.launch(&self.stream)?;
        }
        let end = self.stream.record()?;
        end.synchronize()?;
        Ok(end.elapsed_since(&start)? / (count * GRAPH_CALLS))
    }
}

fn median(mut measure: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut times = (0..ROUNDS).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    times.sort();
    Ok(times[ROUNDS / 2])
}
