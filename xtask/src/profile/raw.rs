//! Reading `ncu --csv --page raw`: a row of names, a row of units, and a row for each launch that was measured.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// One measured launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks, as ncu writes it: `(132, 1, 1)`.
    pub grid: String,
    /// Threads of a block.
    pub block: String,
    /// The metrics in seconds, bytes, and their like; percentages as they are.
    pub metrics: BTreeMap<String, f64>,
}

/// How the row of names begins.
const HEADER: &str = "\"ID\",";

/// Reads all launches. Lines of ncu itself (`==PROF== ...`) and of the program are passed over.
pub fn parse(text: &str) -> Result<Vec<Launch>> {
    let start = text.lines().position(|line| line.starts_with(HEADER));
    let start = start.with_context(|| format!("no table of ncu's: no line begins with {HEADER}"))?;
    let table: Vec<&str> = text.lines().skip(start).filter(|line| line.starts_with('"')).collect();
    let table = table.join("\n");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let names = reader.headers()?.clone();
    let Some(kernel) = names.iter().position(|name| name == "Kernel Name") else {
        bail!(
            "ncu's table has no column \"Kernel Name\"; it has: {}",
            names.iter().take(12).collect::<Vec<_>>().join(", ")
        );
    };
    let mut units = csv::StringRecord::new();
    let mut launches = Vec::new();
    for record in reader.records() {
        let record = record?;
        let name = record.get(kernel).unwrap_or_default();
        if name.is_empty() {
            units = record;
            continue;
        }
        let mut launch = Launch { kernel: name.to_owned(), ..Launch::default() };
        for (at, (name, value)) in names.iter().zip(&record).enumerate() {
            match name {
                "Grid Size" => value.clone_into(&mut launch.grid),
                "Block Size" => value.clone_into(&mut launch.block),
                // Numbers have commas between thousands; `n/a` is none.
                _ => launch.metrics.extend(
                    value
                        .replace(',', "")
                        .parse::<f64>()
                        .ok()
                        .map(|value| (name.to_owned(), value * factor(units.get(at).unwrap_or_default()))),
                ),
            }
        }
        launches.push(launch);
    }
    Ok(launches)
}

/// From a unit as ncu writes it to seconds, bytes, hertz.
fn factor(unit: &str) -> f64 {
    let unit = unit.split('/').next().unwrap_or_default();
    let prefix = |letter| match letter {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => 1.0,
    };
    let stems = ["second", "byte", "hz", "s"];
    // `second` is a unit, not a prefix of something.
    stems.iter().find_map(|stem| unit.strip_suffix(stem)).map_or(1.0, prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Not from a run: written by hand in the form of `ncu --csv --page raw`, with metrics of its sections.
    pub const SAMPLE: &str = r#"==PROF== Connected to process 4711 (/bundle/tests/devices)
running 3 tests
==PROF== Profiling "map_forward__relu__f32" - 0: 0%....50%....100% - 9 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.sum","dram__bytes_read.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","sm__inst_issued.avg.pct_of_peak_sustained_active","missing"
"","","","","","","","","","","","usecond","Mbyte","%","%",""
"0","4711","devices","127.0.0.1","map_forward__relu__f32","1","7","(256, 1, 1)","(1,056, 1, 1)","0","9.0","1,234.50","537.5","91.25","12.5","n/a"
"1","4711","devices","127.0.0.1","map_backward__relu__f32","1","7","(256, 1, 1)","(1,056, 1, 1)","0","9.0","2.00","1.0","10","5",""
"#;

    #[test]
    fn launches_have_base_units() {
        let launches = parse(SAMPLE).unwrap();
        assert_eq!(launches.len(), 2);
        let first = &launches[0];
        assert_eq!((first.kernel.as_str(), first.grid.as_str()), ("map_forward__relu__f32", "(1,056, 1, 1)"));
        let close = |name: &str, value: f64| (first.metrics[name] - value).abs() < 1e-9 * value;
        assert!(close("gpu__time_duration.sum", 1234.5e-6) && close("dram__bytes_read.sum", 537.5e6), "{first:?}");
        assert_eq!(first.metrics["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"], 91.25);
        assert!(!first.metrics.contains_key("missing"));
    }

    #[test]
    fn units_are_understood() {
        let cases = [
            ("nsecond", 1e-9),
            ("ns", 1e-9),
            ("second", 1.0),
            ("s", 1.0),
            ("Gbyte", 1e9),
            ("byte", 1.0),
            ("Kbyte/block", 1e3),
            ("Ghz", 1e9),
            ("%", 1.0),
            ("inst", 1.0),
            ("", 1.0),
        ];
        for (unit, expected) in cases {
            assert_eq!(factor(unit), expected, "{unit}");
        }
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        assert!(parse("==ERROR== nothing\n").unwrap_err().to_string().contains("no table of ncu's"));
        assert!(parse("\"ID\",\"x\"\n\"0\",\"1\"\n").unwrap_err().to_string().contains("Kernel Name"));
    }
}
