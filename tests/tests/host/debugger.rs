//! A debugger stops inside a simulated kernel: gdb, where there is one, on a child of this test.

use std::process::Command;

use cuda_std::prelude::*;
use warpsmith_tests::TestResult;

/// The line of the assignment in the kernel.
const LINE: u32 = line!() + 8;

/// Squares its input, in thread 2 of block 1 by way of the line where the debugger stops.
#[kernel]
fn squares(x: Global<u32>, mut y: GlobalMut<u32>) {
    for i in thread::elements(y.len()) {
        let value = x[i];
        if thread::thread_idx_x() == 2 && thread::block_idx_x() == 1 {
            y.set(i, value * value);
            continue;
        }
        y.set(i, value * value);
    }
}

#[test]
#[ignore = "what `gdb_stops_at_a_line_of_a_kernel` debugs"]
fn child() -> TestResult {
    let x: Vec<u32> = (0..8).collect();
    let mut y = vec![0; 8];
    let parameters = (Global::from_slice(&x), GlobalMut::from_slice(&mut y));
    simulator::launch::<squares>(simulator::Shape::new(2, 4), parameters)?;
    assert_eq!(y, [0, 1, 4, 9, 16, 25, 36, 49]);
    Ok(())
}

#[test]
fn gdb_stops_at_a_line_of_a_kernel() -> TestResult {
    if Command::new("gdb").arg("--version").output().is_err() {
        // `cargo xtask test` sets the variable where it has installed everything.
        assert!(std::env::var_os("WARPSMITH_REQUIRE_TOOLS").is_none(), "gdb is not installed");
        eprintln!("SKIPPED: gdb is not installed");
        return Ok(());
    }
    let output = Command::new("gdb")
        .args(["--batch", "--nx", "-ex", "set debuginfod enabled off", "-ex"])
        .arg(format!("break debugger.rs:{LINE}"))
        .args(["-ex", "run", "-ex", "backtrace 3", "-ex", "continue", "--args"])
        .arg(std::env::current_exe()?)
        .args(["--exact", "debugger::child", "--ignored", "--test-threads=1"])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if text.contains("Could not trace the inferior process") || text.contains("ptrace: Operation not permitted") {
        eprintln!("SKIPPED: gdb may not trace processes here");
        return Ok(());
    }
    let place = format!("debugger.rs:{LINE}");
    assert!(text.lines().any(|line| line.starts_with("#0") && line.contains(&place)), "{text}");
    // Once, in one thread of the eight, and then the kernel goes on to its end.
    assert_eq!(text.matches("hit Breakpoint 1").count(), 1, "{text}");
    assert!(text.contains("1 passed"), "{text}");
    Ok(())
}
