//! `cargo xtask <command>`: everything that is done with this repository. One file per command; here they are only told
//! apart.

mod accuracy;
mod api;
mod book;
mod build_ptx;
mod bundle;
mod demo;
mod device_crate;
mod doctor;
mod inspect;
mod new;
mod package;
mod profile;
mod sanitize;
mod setup;
mod table;
mod test;
mod tools;
mod verify;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Warpsmith's commands.
///
/// Exit codes: 0 done, 1 failed (the last lines say why), 2 wrong usage.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Command {
    Setup(setup::Setup),
    Doctor(doctor::Doctor),
    BuildPtx(build_ptx::BuildPtx),
    Accuracy(accuracy::Accuracy),
    Verify(verify::Verify),
    Inspect(inspect::Inspect),
    Sanitize(sanitize::Sanitize),
    Profile(profile::Profile),
    New(new::New),
    Demo(demo::Demo),
    Test(test::Test),
    Bundle(bundle::Bundle),
    Book(book::Book),
    Api(api::Api),
    Package(package::PackageCommand),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Setup(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::BuildPtx(command) => command.run(),
        Command::Accuracy(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Sanitize(command) => command.run(),
        Command::Profile(command) => command.run(),
        Command::New(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::Bundle(command) => command.run(),
        Command::Book(command) => command.run(),
        Command::Api(command) => command.run(),
        Command::Package(command) => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
