//! Warpsmith's side of the comparison in `benches/peers`: with `--serve` it answers one request a line.
//!
//! | request | answer |
//! | --- | --- |
//! | `prepare SLOT OPERATION ARGUMENTS` | `ok ERROR NOTE`: computed once, and compared with f64. [`elementwise`] and [`products`] list the operations and say what the error is in units of |
//! | `time SLOT MODE` | `ok MILLISECONDS` of one call; [`timing`] lists the modes |
//! | `free` | `ok`: nothing is prepared any more |
//!
//! Any other answer is `error TEXT`. Several things can be prepared at once, so that they can be timed in turn. `--on cpu` serves without a
//! GPU, to try the protocol.

mod elementwise;
mod products;
mod timing;

use std::collections::HashMap;
use std::io::{BufRead, Write};

use timing::Contender;
use warpsmith::Runtime;
use warpsmith_benches::gpu;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if !has("--serve") {
        println!("SKIPPED peers: run.py in this folder's `peers` starts this program");
        return Ok(());
    }
    let Some(runtime) = (if has("--on") && has("cpu") { Some(Runtime::cpu()) } else { gpu("peers") }) else {
        return Ok(());
    };
    println!("ready {runtime}");
    let mut prepared = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        match serve(&runtime, &mut prepared, &line?) {
            Ok(answer) => println!("ok {answer}"),
            Err(error) => println!("error {}", error.to_string().replace('\n', " ")),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn serve(runtime: &Runtime, prepared: &mut HashMap<String, Contender>, line: &str) -> Result<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["prepare", slot, ref operation @ ..] => {
            prepared.remove(slot);
            let work = match operation {
                ["product", arguments @ ..] => products::prepare(runtime, arguments)?,
                _ => elementwise::prepare(runtime, operation)?,
            };
            let answer = format!("{:.3} {}", work.error, work.note);
            prepared.insert(slot.to_owned(), Contender::new(runtime, work)?);
            Ok(answer)
        }
        ["time", slot, ref mode @ ..] => {
            let contender = prepared.get_mut(slot).ok_or_else(|| format!("nothing is prepared as `{slot}`"))?;
            Ok(format!("{:.6}", 1e3 * contender.time(mode)?.as_secs_f64()))
        }
        ["free"] => {
            prepared.clear();
            runtime.trim()?;
            Ok(String::new())
        }
        _ => Err(format!("`{line}` is no request").into()),
    }
}
