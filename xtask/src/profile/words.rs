//! What bounds a kernel, in words.
//!
//! The rule is that of Nsight Compute's own "Speed of Light" section: what is at 60 % of its peak or above bounds the kernel, and
//! where nothing is, waiting does. Names of metrics and of the reasons for waiting: Nsight Compute Profiling Guide.

use std::fmt;

use super::raw::Launch;

/// Below this percentage of its peak, nothing is held to bound a kernel.
const BUSY: f64 = 60.0;

/// What bounds a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// The memory of the device.
    Dram,
    /// The second-level cache.
    L2,
    /// The first-level cache, which is shared memory too.
    L1,
    /// Tensor cores.
    Tensor,
    /// The schedulers, which issue an instruction a cycle.
    Issue,
    /// Another pipe, by ncu's name.
    Pipe(String),
    /// Waiting.
    Latency,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Dram => f.write_str("memory (DRAM)"),
            Bound::L2 => f.write_str("memory (L2)"),
            Bound::L1 => f.write_str("memory (L1 or shared)"),
            Bound::Tensor => f.write_str("tensor pipe"),
            Bound::Issue => f.write_str("issue slots"),
            Bound::Pipe(name) => write!(f, "pipe {name}"),
            Bound::Latency => f.write_str("latency"),
        }
    }
}

/// What is known of a launch; percentages are of peaks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Seconds.
    pub time: Option<f64>,
    /// Bytes a second from and to DRAM.
    pub bandwidth: Option<f64>,
    pub dram: Option<f64>,
    pub l2: Option<f64>,
    pub l1: Option<f64>,
    pub tensor: Option<f64>,
    pub issue: Option<f64>,
    /// The busiest other pipe.
    pub pipe: Option<(String, f64)>,
    /// Warps at a time, of the most possible.
    pub occupancy: Option<f64>,
    /// How often the grid fills the device.
    pub waves: Option<f64>,
    /// Why warps waited, and cycles of it for each instruction, the longest first.
    pub stalls: Vec<(String, f64)>,
}

const PIPE: (&str, &str) = ("sm__inst_executed_pipe_", ".avg.pct_of_peak_sustained_active");
const STALL: (&str, &str) = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio");

impl Figures {
    /// Takes what is there of the metrics.
    pub fn of(launch: &Launch) -> Self {
        let metric = |names: &[&str]| names.iter().find_map(|name| launch.metrics.get(*name).copied());
        let between = |(start, end): (&'static str, &'static str)| {
            let inner = move |name: &str| name.strip_prefix(start)?.strip_suffix(end).map(str::to_owned);
            launch.metrics.iter().filter_map(move |(name, value)| Some((inner(name)?, *value)))
        };
        let most = |items: Vec<(String, f64)>| items.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let tensor = launch
            .metrics
            .iter()
            .filter(|(name, _)| name.contains("pipe_tensor") && name.contains(".avg.pct_of_peak_sustained"));
        let mut stalls: Vec<(String, f64)> =
            between(STALL).filter(|(name, _)| name != "selected" && !name.ends_with("not_issued")).collect();
        stalls.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let time = metric(&["gpu__time_duration.sum"]);
        let bytes = metric(&["dram__bytes.sum"])
            .or_else(|| Some(metric(&["dram__bytes_read.sum"])? + metric(&["dram__bytes_write.sum"]).unwrap_or(0.0)));
        Figures {
            time,
            bandwidth: bytes.zip(time).map(|(bytes, time)| bytes / time),
            dram: metric(&[
                "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                "dram__throughput.avg.pct_of_peak_sustained_elapsed",
            ]),
            l2: metric(&["lts__throughput.avg.pct_of_peak_sustained_elapsed"]),
            l1: metric(&[
                "l1tex__throughput.avg.pct_of_peak_sustained_active",
                "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
            ]),
            tensor: tensor.map(|(_, value)| *value).max_by(f64::total_cmp),
            issue: metric(&[
                "sm__inst_issued.avg.pct_of_peak_sustained_active",
                "smsp__issue_active.avg.pct_of_peak_sustained_active",
            ]),
            pipe: most(between(PIPE).filter(|(name, _)| !name.starts_with("tensor")).collect()),
            occupancy: metric(&["sm__warps_active.avg.pct_of_peak_sustained_active"]),
            waves: metric(&["launch__waves_per_multiprocessor"]),
            stalls,
        }
    }

    /// What bounds the kernel, with its percentage.
    pub fn bound(&self) -> (Bound, f64) {
        let candidates = [
            (Bound::Tensor, self.tensor),
            (Bound::Dram, self.dram),
            (Bound::L2, self.l2),
            (Bound::L1, self.l1),
            (Bound::Issue, self.issue),
            (
                Bound::Pipe(self.pipe.as_ref().map_or(String::new(), |(name, _)| name.clone())),
                self.pipe.as_ref().map(|it| it.1),
            ),
        ];
        let known = candidates.into_iter().filter_map(|(bound, value)| Some((bound, value?)));
        match known.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
            Some((bound, value)) if value >= BUSY => (bound, value),
            Some((_, value)) => (Bound::Latency, value),
            None => (Bound::Latency, 0.0),
        }
    }

    /// A sentence or two.
    pub fn words(&self) -> String {
        let (bound, value) = self.bound();
        let bandwidth = self.bandwidth.map_or(String::new(), |it| format!(" ({:.2} TB/s)", it / 1e12));
        let mut text = match &bound {
            Bound::Dram => format!("memory bounds it: DRAM is at {value:.0} % of its peak{bandwidth}"),
            Bound::L2 => format!("memory bounds it: the L2 cache is at {value:.0} % of its peak"),
            Bound::L1 => format!("memory bounds it: the L1 cache and shared memory are at {value:.0} % of their peak"),
            Bound::Tensor => format!("the tensor pipe bounds it, at {value:.0} % of its peak"),
            Bound::Issue => format!("issue slots bound it: an instruction is issued in {value:.0} % of the cycles"),
            Bound::Pipe(name) => format!("the pipe {name} bounds it, at {value:.0} % of its peak"),
            Bound::Latency => format!("latency bounds it: the busiest part is at {value:.0} % of its peak"),
        };
        if let (Some((reason, cycles)), true) = (self.stalls.first(), bound == Bound::Latency) {
            text += &format!("; warps wait most {}, {cycles:.1} cycles an instruction", reason_in_words(reason));
        }
        if let (Some(waves), true) = (self.waves, bound == Bound::Latency)
            && waves < 1.0
        {
            text += &format!("; the grid fills {:.0} % of the device", waves * 100.0);
        }
        text
    }
}

/// Why a warp waits: "Warp Stall Reasons" in the Profiling Guide.
fn reason_in_words(reason: &str) -> String {
    let words = match reason {
        "barrier" => "at barriers of the block",
        "branch_resolving" => "for branches",
        "dispatch_stall" => "for the dispatcher",
        "drain" => "for stores to drain at the end",
        "gmma" => "for wgmma",
        "imc_miss" => "for constants that no cache has",
        "lg_throttle" => "for the queue to global and local memory",
        "long_scoreboard" => "for global or local memory",
        "math_pipe_throttle" => "for a busy arithmetic pipe",
        "membar" => "for memory fences",
        "mio_throttle" => "for the queue to shared memory and special functions",
        "no_instruction" | "no_instructions" => "for instructions to be fetched",
        "not_selected" => "for other warps, which are issued first",
        "short_scoreboard" => "for shared memory or special functions",
        "sleeping" => "asleep",
        "tex_throttle" => "for the texture queue",
        "wait" => "for the instruction before, for as long as it always takes",
        other => return format!("for {other}"),
    };
    format!("{words} ({reason})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not from a run: one launch with these metrics.
    fn figures(metrics: &[(&str, f64)]) -> Figures {
        let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Figures::of(&Launch { kernel: "k".into(), metrics, ..Launch::default() })
    }

    const DRAM: &str = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
    const TENSOR: &str = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";
    const ISSUE: &str = "sm__inst_issued.avg.pct_of_peak_sustained_active";
    const FMA: &str = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active";

    #[test]
    fn the_busiest_part_bounds() {
        let memory = figures(&[
            (DRAM, 91.0),
            (TENSOR, 0.0),
            (ISSUE, 20.0),
            ("gpu__time_duration.sum", 1e-3),
            ("dram__bytes_read.sum", 2e9),
            ("dram__bytes_write.sum", 2e9),
        ]);
        assert_eq!(memory.bound(), (Bound::Dram, 91.0));
        assert_eq!(memory.words(), "memory bounds it: DRAM is at 91 % of its peak (4.00 TB/s)");
        assert_eq!(figures(&[(DRAM, 61.0), (TENSOR, 83.0)]).bound(), (Bound::Tensor, 83.0));
        assert_eq!(figures(&[(DRAM, 30.0), (ISSUE, 88.0), (FMA, 70.0)]).bound(), (Bound::Issue, 88.0));
        assert_eq!(figures(&[(ISSUE, 62.0), (FMA, 90.0)]).bound(), (Bound::Pipe("fma".into()), 90.0));
        // The tensor pipe's instructions count for it, not for a pipe of their own.
        assert_eq!(
            figures(&[("sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active", 70.0)]).bound().0,
            Bound::Tensor
        );
    }

    #[test]
    fn where_nothing_is_busy_waiting_bounds_and_its_reason_is_told() {
        let stalled = |reason: &str| format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio");
        let (long, selected) = (stalled("long_scoreboard"), stalled("selected"));
        let figures = figures(&[
            (DRAM, 30.0),
            (ISSUE, 20.0),
            (&long, 6.25),
            (&selected, 9.0),
            (&stalled("wait"), 1.0),
            ("launch__waves_per_multiprocessor", 0.25),
        ]);
        assert_eq!(figures.bound(), (Bound::Latency, 30.0));
        assert_eq!(
            figures.words(),
            "latency bounds it: the busiest part is at 30 % of its peak; warps wait most for global or local memory (long_scoreboard), 6.2 cycles an instruction; the grid fills 25 % of the device"
        );
    }

    #[test]
    fn without_metrics_nothing_is_claimed() {
        let nothing = figures(&[]);
        assert_eq!((nothing.bound(), nothing.time), ((Bound::Latency, 0.0), None));
    }
}
