//! What `inspect` prints: resources and occupancy, the instruction mix, loops, the roofline point, listings.

use std::fmt::Write as _;

use super::Kernel;
use super::classes::Class;
use super::listing::Row;
use super::occupancy::Occupancy;
use super::roofline::{Measurement, Roof, Unit};
use super::sass::{Mix, Sass};
use crate::table;

/// What a launch is assumed to be where the kernel doesn't say.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

/// The threads of a block, and whether they are assumed.
pub fn threads(kernel: &Kernel<'_>, launch: Launch) -> (u32, bool) {
    let shape = kernel.entry.reqntid.or(kernel.entry.maxntid);
    shape.map_or((launch.threads, true), |[x, y, z]| (x * y * z, false))
}

/// How many blocks fit.
pub fn occupancy(kernel: &Kernel<'_>, launch: Launch) -> Option<Occupancy> {
    let usage = kernel.usage.as_ref()?;
    let shared = u32::try_from(usage.shared).ok()?.checked_add(launch.dynamic_shared)?;
    Occupancy::of(kernel.module.arch, threads(kernel, launch).0, usage.registers, shared)
}

/// The header of [`row`].
pub const HEADER: [&str; 10] =
    ["kernel", "arch", "registers", "spilled", "stack", "shared", "threads", "blocks", "occupancy", "limited by"];

/// A kernel's resources on one architecture.
pub fn row(kernel: &Kernel<'_>, launch: Launch) -> [String; 10] {
    let usage = kernel.usage.clone().unwrap_or_default();
    let (threads, assumed) = threads(kernel, launch);
    let occupancy = occupancy(kernel, launch);
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "?".into());
    [
        kernel.entry.name.clone(),
        kernel.module.arch.to_string(),
        usage.registers.to_string(),
        (usage.spill_stores + usage.spill_loads).to_string(),
        usage.stack.to_string(),
        usage.shared.to_string(),
        format!("{threads}{}", if assumed { "?" } else { "" }),
        or_nothing(occupancy.map(|it| it.blocks.to_string())),
        or_nothing(occupancy.map(|it| format!("{:.0} %", it.fraction() * 100.0))),
        or_nothing(occupancy.map(|it| it.limit.to_string())),
    ]
}

/// The resources of all, with what has to be known to read them.
pub fn resources(kernels: &[Kernel<'_>], launch: Launch) -> String {
    let mut table = table::table(&HEADER, 2);
    for kernel in kernels {
        table.add_row(row(kernel, launch));
    }
    let mut text = format!("{table}\n");
    if kernels.iter().any(|kernel| threads(kernel, launch).1) {
        text += "?: the kernel takes any block; --threads chooses another for the occupancy\n";
    }
    if launch.dynamic_shared == 0 && kernels.iter().any(Kernel::uses_dynamic_shared) {
        text += "dynamic shared memory is used and not in the occupancy: give --dynamic-shared BYTES\n";
    }
    text
}

/// Instructions by class, and bytes and operations.
pub fn mix(sass: &Sass) -> String {
    let all = sass.mix();
    let mut text = format!(
        "{}, each counted once: what a thread that ran through every line once would do\n",
        table::count(all.count() as usize, "instruction")
    );
    let mut table = table::table(&["class", "instructions", "of all", "bytes", "operations"], 1);
    for (class, count) in &all.classes {
        table.add_row([
            class.to_string(),
            count.to_string(),
            format!("{:.0} %", f64::from(*count) * 100.0 / f64::from(all.count())),
            all.bytes.get(class).map_or(String::new(), u32::to_string),
            all.operations.get(class).map_or(String::new(), |operations| format!("{operations:.0}")),
        ]);
    }
    writeln!(text, "{table}").expect("strings take all");
    let loops = sass.loops();
    for body in loops.iter().filter(|body| body.innermost) {
        let [start, end] = [body.range.start(), body.range.end()].map(|&at| sass.instructions[at].offset);
        writeln!(text, "loop {start:05x}..{end:05x}: {}", mix_line(&sass.mix_of(body))).expect("strings take all");
    }
    text
}

/// A mix on one line, the commonest class first.
pub fn mix_line(mix: &Mix) -> String {
    let mut classes: Vec<(&Class, &u32)> = mix.classes.iter().collect();
    classes.sort_by_key(|(class, count)| (std::cmp::Reverse(**count), **class));
    let classes: Vec<String> = classes.iter().map(|(class, count)| format!("{count} {class}")).collect();
    format!("{}: {}", table::count(mix.count() as usize, "instruction"), classes.join(", "))
}

/// Under which of the machine's peaks a kernel lies: tensor cores if it uses them, f64 if it does most in it.
pub fn unit(sass: Option<&Sass>) -> Unit {
    let operations = sass.map(|sass| sass.mix().operations).unwrap_or_default();
    let of = |class| operations.get(&class).copied().unwrap_or(0.0);
    if of(Class::Tensor) > 0.0 {
        Unit::Tensor
    } else if of(Class::Fp64) > of(Class::Fp32) {
        Unit::F64
    } else {
        Unit::F32
    }
}

/// The roofline points of a kernel's measurements, one a line.
pub fn roofline<'m>(name: &str, roof: Roof, measurements: impl Iterator<Item = &'m Measurement>) -> String {
    let points = measurements.map(|measured| {
        let Measurement { bytes, flops, time_us, .. } = measured;
        format!("{name}: {bytes} bytes, {flops} operations in {time_us} µs: {}\n", roof.point(measured).text(&roof))
    });
    points.collect()
}

/// A listing for the terminal.
pub fn listing(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        match row {
            Row::Source { place, text: line } => writeln!(text, "{}", format!("{place}  {line}").trim_end()),
            Row::Code { text: code, inside: None } => writeln!(text, "{code}"),
            Row::Code { text: code, inside: Some(inside) } => writeln!(text, "{code:<64} // {inside}"),
        }
        .expect("strings take all");
    }
    text
}
