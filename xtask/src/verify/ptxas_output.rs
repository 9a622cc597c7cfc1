//! Reading what `ptxas -v` prints, as of CUDA 12 and 13.
//!
//! ```text
//! ptxas info    : Compiling entry function 'alpha' for 'sm_90a'
//! ptxas info    : Function properties for alpha
//!     192 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//! ptxas info    : Used 16 registers, used 1 barriers, 192 bytes cumulative stack size, 512 bytes smem
//! ```
//! Functions that are called and not inlined follow with properties of their own and no `Compiling entry function`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What one kernel or function needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers per thread.
    pub registers: u32,
    /// Barriers.
    pub barriers: u32,
    /// Local memory per thread: the greater of the stack frame and the cumulative stack size, bytes.
    pub stack: u64,
    /// Bytes stored to spill registers.
    pub spill_stores: u64,
    /// Bytes loaded to get them back.
    pub spill_loads: u64,
    /// Static shared memory, bytes.
    pub shared: u64,
}

/// A remark about lost performance, with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// E.g. `C7510`.
    pub code: String,
    /// The function that it names, if it names one.
    pub function: Option<String>,
    /// The rest.
    pub text: String,
}

/// What ptxas printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The kernels.
    pub entries: BTreeMap<String, Usage>,
    /// Functions that were not inlined. Registers are not told for them.
    pub functions: BTreeMap<String, Usage>,
    /// Numbered remarks.
    pub remarks: Vec<Remark>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static COMPILING: LazyLock<Regex> = LazyLock::new(|| pattern(r"Compiling entry function '([^']+)' for"));
static PROPERTIES: LazyLock<Regex> = LazyLock::new(|| pattern(r"Function properties for (\S+)"));
static STACK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"));
static REGISTERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"Used (\d+) registers"));
static BARRIERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"used (\d+) barriers"));
static SHARED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d+)(?:\+\d+)? bytes smem"));
static CUMULATIVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d+) bytes cumulative stack size"));
static REMARK: LazyLock<Regex> = LazyLock::new(|| pattern(r"\((C\d+)\)\s*(.*)$"));
static NAMED: LazyLock<Regex> = LazyLock::new(|| pattern(r"function '([^']+)'"));

impl Output {
    /// Reads standard error and output of `ptxas -v`.
    pub fn parse(text: &str) -> Self {
        let mut output = Output::default();
        // The kernel that `Used ... registers` is about, and whose properties are being told.
        let mut entry: Option<String> = None;
        let mut current: Option<String> = None;
        for line in text.lines() {
            if let Some(found) = COMPILING.captures(line) {
                output.entries.insert(found[1].to_owned(), Usage::default());
                entry = Some(found[1].to_owned());
                current = None;
            } else if let Some(found) = PROPERTIES.captures(line) {
                current = Some(found[1].to_owned());
            } else if let (Some(found), Some(name)) = (STACK.captures(line), &current) {
                let map = if output.entries.contains_key(name) { &mut output.entries } else { &mut output.functions };
                let usage = map.entry(name.clone()).or_default();
                usage.stack = usage.stack.max(number(&found, 1));
                usage.spill_stores = number(&found, 2);
                usage.spill_loads = number(&found, 3);
            } else if let (Some(found), Some(name)) = (REGISTERS.captures(line), &entry) {
                let usage = output.entries.entry(name.clone()).or_default();
                usage.registers = number(&found, 1) as u32;
                let other = |pattern: &Regex| pattern.captures(line).map_or(0, |found| number(&found, 1));
                usage.barriers = other(&BARRIERS) as u32;
                usage.shared = other(&SHARED);
                usage.stack = usage.stack.max(other(&CUMULATIVE));
            } else if let Some(found) = REMARK.captures(line) {
                let function = NAMED.captures(line).map(|named| named[1].to_owned());
                output.remarks.push(Remark { code: found[1].to_owned(), function, text: found[2].trim().to_owned() });
            }
        }
        output
    }
}

fn number(found: &Captures<'_>, group: usize) -> u64 {
    found[group].parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    // As ptxas 13.5 printed it for small modules made for this.
    const TWO_KERNELS_AND_A_FUNCTION: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'beta' for 'sm_90a'
ptxas info    : Function properties for beta
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
ptxas info    : Compile time = 2.977 ms
ptxas info    : Compiling entry function 'alpha' for 'sm_90a'
ptxas info    : Function properties for alpha
    192 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 1 barriers, 192 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compile time = 2.984 ms
ptxas info    : Function properties for helper
    64 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
";
    const SPILLS: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'delta' for 'sm_80'
ptxas info    : Function properties for delta
    232 bytes stack frame, 228 bytes spill stores, 224 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 232 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 13.971 ms
";
    const REMARKS: &str = "\
ptxas info    : (C7517) wgmma.wait_group is injected in around line 12 by compiler to allow use of registers defined by GMMA in function 'gamma'
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'gamma' in line 7
ptxas info    : Compiling entry function 'gamma' for 'sm_90a'
ptxas info    : Function properties for gamma
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers
";

    #[test]
    fn kernels_and_functions_are_kept_apart() {
        let output = Output::parse(TWO_KERNELS_AND_A_FUNCTION);
        assert_eq!(output.entries["beta"], Usage { registers: 4, ..Usage::default() });
        let alpha = Usage { registers: 16, barriers: 1, stack: 192, shared: 512, ..Usage::default() };
        assert_eq!(output.entries["alpha"], alpha);
        assert_eq!(
            output.functions["helper"],
            Usage { stack: 64, spill_stores: 8, spill_loads: 4, ..Usage::default() }
        );
        assert!(output.remarks.is_empty());
    }

    #[test]
    fn spills_are_read() {
        let usage = &Output::parse(SPILLS).entries["delta"];
        assert_eq!((usage.spill_stores, usage.spill_loads, usage.stack, usage.registers), (228, 224, 232, 24));
    }

    #[test]
    fn remarks_name_code_and_function() {
        let output = Output::parse(REMARKS);
        let codes: Vec<_> = output.remarks.iter().map(|remark| (&*remark.code, remark.function.as_deref())).collect();
        assert_eq!(codes, [("C7517", Some("gamma")), ("C7510", Some("gamma"))]);
        assert!(output.remarks[1].text.starts_with("Potential Performance Loss"), "{output:?}");
        assert_eq!(output.entries["gamma"].registers, 30);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(Output::parse(""), Output::default());
        assert_eq!(Output::parse("ptxas fatal   : Unresolved extern function 'x'\n"), Output::default());
    }
}
