//! Where a measured launch lies under its machine's roofline: Williams, Waterman and Patterson, "Roofline: An Insightful Visual
//! Performance Model for Multicore Architectures", 2009.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// A machine's peaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    pub name: &'static str,
    /// Bytes a second from and to its memory.
    pub bandwidth: f64,
    /// Operations a second: f32, f64, 16-bit floats by tensor cores (dense).
    pub f32: f64,
    pub f64: f64,
    pub tensor: f64,
}

/// NVIDIA's data sheets: "H200 Tensor Core GPU", "H100 Tensor Core GPU" (SXM), "A100 Tensor Core GPU" (80 GB SXM). Hopper's tensor
/// figures there are with sparsity, which doubles them.
pub const MACHINES: [Machine; 3] = [
    Machine { name: "h200", bandwidth: 4.8e12, f32: 67e12, f64: 34e12, tensor: 989e12 },
    Machine { name: "h100", bandwidth: 3.35e12, f32: 67e12, f64: 34e12, tensor: 989e12 },
    Machine { name: "a100", bandwidth: 2.039e12, f32: 19.5e12, f64: 9.7e12, tensor: 312e12 },
];

impl std::str::FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        MACHINES.into_iter().find(|machine| machine.name == text).ok_or_else(|| {
            let names = MACHINES.map(|machine| machine.name);
            format!(
                "no machine of that name; there are: {}; or give --peak-bandwidth and --peak-flops",
                names.join(", ")
            )
        })
    }
}

/// The kind of operations that a kernel is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Unit {
    F32,
    F64,
    Tensor,
}

/// One launch as it was measured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Measurement {
    /// The kernel's name.
    pub kernel: String,
    /// Bytes that it must move from and to memory.
    pub bytes: f64,
    /// Operations that it must do.
    pub flops: f64,
    /// Microseconds.
    pub time_us: f64,
}

impl Measurement {
    /// Reads a table with the columns `kernel,bytes,flops,time_us`, in any order; others are passed over.
    pub fn read(path: &Path) -> Result<Vec<Self>> {
        let context =
            || format!("can't read measurements from {}; its columns: kernel,bytes,flops,time_us", path.display());
        let measurements: Vec<Self> = csv::Reader::from_path(path)
            .with_context(context)?
            .deserialize()
            .collect::<Result<_, _>>()
            .with_context(context)?;
        measurements.iter().try_for_each(Self::check)?;
        Ok(measurements)
    }

    /// Refuses what can't have been measured.
    pub fn check(&self) -> Result<()> {
        if !(self.time_us > 0.0 && self.bytes >= 0.0 && self.flops >= 0.0 && self.bytes + self.flops > 0.0) {
            bail!(
                "not a measurement of {}: {} bytes, {} operations, {} µs; the time is more than 0, and so is one of the others",
                self.kernel,
                self.bytes,
                self.flops,
                self.time_us
            );
        }
        Ok(())
    }
}

/// The peaks that bound a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Bytes a second.
    pub bandwidth: f64,
    /// Operations a second.
    pub operations: f64,
}

/// What bounds a kernel under its roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Operations for each byte.
    pub intensity: f64,
    /// Bytes a second that were reached.
    pub bandwidth: f64,
    /// Operations a second that were reached.
    pub operations: f64,
    /// Whether the roof above it is the memory's.
    pub memory_bound: bool,
    /// The time that the roof allows to the time it took.
    pub reached: f64,
}

impl Roof {
    /// A launch under it.
    pub fn point(&self, measured: &Measurement) -> Point {
        let seconds = measured.time_us * 1e-6;
        let (by_memory, by_operations) = (measured.bytes / self.bandwidth, measured.flops / self.operations);
        Point {
            intensity: measured.flops / measured.bytes,
            bandwidth: measured.bytes / seconds,
            operations: measured.flops / seconds,
            memory_bound: by_memory >= by_operations,
            reached: by_memory.max(by_operations) / seconds,
        }
    }
}

impl Point {
    /// In words.
    pub fn text(&self, roof: &Roof) -> String {
        let ridge = roof.operations / roof.bandwidth;
        let bound = if self.memory_bound { "memory" } else { "arithmetic" };
        format!(
            "{:.3} TB/s, {:.3} Tflop/s, {:.2} operations a byte (the ridge is at {ridge:.1}): {bound} bounds it; {:.1} % of the roof of {:.2} TB/s and {:.1} Tflop/s",
            self.bandwidth / 1e12,
            self.operations / 1e12,
            self.intensity,
            self.reached * 100.0,
            roof.bandwidth / 1e12,
            roof.operations / 1e12
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(bytes: f64, flops: f64, time_us: f64) -> Measurement {
        Measurement { kernel: "k".into(), bytes, flops, time_us }
    }

    #[test]
    fn memory_bounds_below_the_ridge_and_arithmetic_above_it() {
        let roof = Roof { bandwidth: 4e12, operations: 40e12 };
        let low = roof.point(&measured(2e9, 2e9, 1000.0));
        assert_eq!((low.memory_bound, low.intensity, low.reached, low.bandwidth), (true, 1.0, 0.5, 2e12));
        let high = roof.point(&measured(1e9, 100e9, 5000.0));
        assert_eq!((high.memory_bound, high.intensity, high.reached), (false, 100.0, 0.5));
        assert!(high.text(&roof).contains("arithmetic bounds it; 50.0 % of the roof"), "{}", high.text(&roof));
    }

    #[test]
    fn tables_are_read_and_nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times.csv");
        std::fs::write(&path, "time_us,kernel,bytes,flops,note\n10,k,1e6,2e6,x\n").unwrap();
        assert_eq!(Measurement::read(&path).unwrap(), [measured(1e6, 2e6, 10.0)]);
        std::fs::write(&path, "kernel,bytes\nk,1\n").unwrap();
        assert!(format!("{:#}", Measurement::read(&path).unwrap_err()).contains("kernel,bytes,flops,time_us"));
        assert!(measured(1.0, 1.0, 0.0).check().is_err());
        assert!("gtx".parse::<Machine>().unwrap_err().contains("h200"));
    }
}
