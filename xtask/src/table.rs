//! The look of every table that the commands print, and of sizes and times in them.

use std::time::Duration;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

/// Lines above, below the header, and at the end.
const STYLE: TableStyle = {
    let line = LineStyle::none().fill('─').junction('─');
    TableStyle::new().top_border(line).header_separator(line).bottom_border(line)
};

/// An empty table; the columns from `numbers_from` on hold numbers, which are set to the right.
pub fn table(header: &[&str], numbers_from: usize) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(numbers_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// `1234567` as `1.2 MB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    for (unit, size) in UNITS {
        if count as f64 >= size {
            return format!("{:.1} {unit}", count as f64 / size);
        }
    }
    format!("{count} B")
}

/// `0.12 s`, `12.3 s`, `2 min 05 s`.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..10.0 => format!("{seconds:.2} s"),
        10.0..60.0 => format!("{seconds:.1} s"),
        _ => format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

/// `1 module`, `2 modules`.
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 {
        ""
    } else if what.ends_with('y') {
        "ies"
    } else {
        "s"
    };
    let stem = if plural == "ies" { what.trim_end_matches('y') } else { what };
    format!("{number} {stem}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_counts_read_well() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(39_960_000), "40.0 MB");
        assert_eq!(time(Duration::from_millis(125)), "0.12 s");
        assert_eq!(time(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(count(1, "entry"), "1 entry");
        assert_eq!(count(2, "entry"), "2 entries");
        assert_eq!(count(0, "module"), "0 modules");
    }
}
