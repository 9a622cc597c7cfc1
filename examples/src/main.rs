//! `example [NAME...]`: runs the named examples, or all; on the first GPU, or else in the simulator. `--list` names them.

use std::process::ExitCode;

use warpsmith::Runtime;
use warpsmith_examples::EXAMPLES;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.iter().any(|name| name.starts_with('-')) {
        EXAMPLES.iter().for_each(|example| println!("{:<24}{}", example.name, example.shows));
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = wanted.iter().find(|name| EXAMPLES.iter().all(|example| example.name != **name)) {
        eprintln!("error: no example is called `{unknown}`; --list names them");
        return ExitCode::from(2);
    }
    let runtime = Runtime::for_kernels();
    println!("on {runtime}");
    let mut code = ExitCode::SUCCESS;
    for example in EXAMPLES.iter().filter(|example| wanted.is_empty() || wanted.iter().any(|name| name == example.name))
    {
        println!("\n==> {}: {}", example.name, example.shows);
        if let Err(error) = (example.run)(&runtime) {
            eprintln!("error: {}: {error}", example.name);
            code = ExitCode::FAILURE;
        }
    }
    code
}
