//! `demo`: the main job, start to end: device code is built, a network is trained on handwritten digits, plots are written.

mod confusion;
mod curve;
mod events;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use comfy_table::ContentArrangement;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{setup, table, workspace};
use events::{Event, Training};

/// Trains a network on handwritten digits, on the GPU if there is one and on the CPU otherwise.
///
/// Installs what is missing first (see `setup`), then runs host/examples/digits.rs. Writes a loss curve and a confusion
/// matrix to demo/ in the target folder. Exits with 1 if fewer than 97 % of the held-out digits are recognised.
#[derive(clap::Args)]
pub struct Demo {
    /// Seed of the initial weights and of the order of samples; the same seed gives the same result
    #[arg(long)]
    seed: Option<u64>,
    /// Program that prints the events instead of the example, for tests of this command
    #[arg(long, hide = true)]
    program: Option<PathBuf>,
}

/// What the network must reach on digits that it was not trained on.
const LEAST_ACCURACY: f64 = 0.97;

impl Demo {
    pub fn run(&self) -> Result<()> {
        if self.program.is_none() {
            setup::ensure()?;
            println!("building the example and its device code (the first time takes some minutes)");
        }
        let training = train(&mut self.command()).context("host/examples/digits.rs did not finish")?;

        let folder = workspace::target().join("demo");
        fs::create_dir_all(&folder).with_context(|| format!("can't create {}", folder.display()))?;
        let (loss, confusion) = (folder.join("loss.svg"), folder.join("confusion.svg"));
        curve::draw(&training, &loss)?;
        confusion::draw(&training, &confusion)?;

        println!("{}", summary(&training, &loss, &confusion));
        if training.accuracy < LEAST_ACCURACY {
            bail!("accuracy is {} and must be at least {}", percent(training.accuracy), percent(LEAST_ACCURACY));
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = match &self.program {
            Some(program) => Command::new(program),
            None => {
                let mut cargo = workspace::cargo();
                cargo.args(["run", "--quiet", "--release", "--package", "warpsmith", "--example", "digits", "--"]);
                cargo
            }
        };
        command.arg("--json");
        if let Some(seed) = self.seed {
            command.args(["--seed", &seed.to_string()]);
        }
        command
    }
}

/// Runs the program, shows its progress, and gives all that it told.
fn train(command: &mut Command) -> Result<Training> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("can't start {}", workspace::line(command)))?;
    let mut training = Training::default();
    let bar = ProgressBar::new(0).with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} epochs  {msg}").expect("the template is constant"),
    );
    let lines = BufReader::new(child.stdout.take().context("standard output is piped")?).lines();
    for line in lines {
        let line = line.context("can't read what the example prints")?;
        let event = events::parse(&line)?;
        match &event {
            Event::Start(start) => {
                bar.suspend(|| println!("training on {} ({})", start.device, start.reason));
                bar.set_length(start.epochs);
            }
            Event::Epoch(epoch) => {
                bar.set_position(epoch.epoch);
                bar.set_message(format!("loss {:.4}  accuracy {}", epoch.loss, percent(epoch.accuracy)));
            }
            Event::End(_) => bar.finish(),
        }
        let is_epoch = matches!(event, Event::Epoch(_));
        training.add(event)?;
        if is_epoch && bar.is_hidden() {
            log_progress(&training);
        }
    }
    let status = child.wait().context("can't wait for the example")?;
    if !status.success() {
        bail!("`{}` failed ({status})", workspace::line(command));
    }
    training.complete()
}

/// Where no terminal shows the bar, about ten lines stand in for it.
fn log_progress(training: &Training) {
    let Some(epoch) = training.epochs.last() else { return };
    let step = training.start.as_ref().map_or(1, |start| (start.epochs / 10).max(1));
    if epoch.epoch % step == 0 {
        println!("epoch {:>4}: loss {:.4}, accuracy {}", epoch.epoch, epoch.loss, percent(epoch.accuracy));
    }
}

fn summary(training: &Training, loss: &Path, confusion: &Path) -> String {
    let mut table = table::table(&["digits", ""], 2);
    // A reason may be a whole sentence of the driver's.
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(110);
    if let Some(start) = &training.start {
        table.add_row(["device", &start.device]);
        table.add_row(["why", &start.reason]);
        let samples = format!("{} trained on, {} held out", start.training_samples, start.test_samples);
        table.add_row(["samples", &samples]);
        table.add_row(["epochs", &training.epochs.len().to_string()]);
        table.add_row(["seed", &start.seed.to_string()]);
    }
    table.add_row(["time", &table::time(Duration::from_secs_f64(training.seconds.max(0.0)))]);
    table.add_row(["accuracy", &percent(training.accuracy)]);
    table.add_row(["kernels", &training.kernels.join("\n")]);
    table.add_row(["loss curve", &workspace::shown(loss)]);
    table.add_row(["confusion matrix", &workspace::shown(confusion)]);
    table.to_string()
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
