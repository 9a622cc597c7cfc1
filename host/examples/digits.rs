//! Trains a 64-64-10 network on handwritten digits: on the GPU if there is one, on the CPU otherwise.
//!
//! `digits [--json] [--seed N] [--epochs N]`. With `--json` each event is one JSON object a line; `cargo xtask demo` reads them.

use std::time::Instant;

use serde_json::json;
use warpsmith::activations::Silu;
use warpsmith::nn::{Network, Sgd};
use warpsmith::{Runtime, data};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse()?;
    let runtime = Runtime::new();
    // Every fifth digit is for the test. Of the others the network also sees copies moved by a pixel.
    let (training, test) = data::digits()?.hold_out(5);
    let training = training.with_moved_images(8)?;
    report(
        &options,
        &json!({
            "event": "start", "device": runtime.to_string(), "reason": runtime.reason(), "epochs": options.epochs,
            "training_samples": training.len(), "test_samples": test.len(), "seed": options.seed,
        }),
    );

    let start = Instant::now();
    let mut network = Network::new(&runtime, options.seed)?.linear(64, 64)?.activation(Silu)?.linear(64, 10)?;
    for epoch in 1..=options.epochs {
        // The step shrinks to nothing over the last third, so that the end doesn't depend on the last batches.
        let remaining = (options.epochs - epoch + 1) as f32 / options.epochs as f32;
        let optimizer = Sgd { rate: 0.1 * (3.0 * remaining).min(1.0), momentum: 0.9 };
        let loss = network.train_epoch(&training, 64, &optimizer)?;
        let accuracy = network.accuracy(&test)?;
        report(&options, &json!({ "event": "epoch", "epoch": epoch, "loss": loss, "accuracy": accuracy }));
    }

    let mut confusion = vec![vec![0; test.classes()]; test.classes()];
    for (&truth, prediction) in test.labels().iter().zip(network.predict(&test)?) {
        confusion[truth as usize][prediction as usize] += 1;
    }
    report(
        &options,
        &json!({
            "event": "end", "accuracy": network.accuracy(&test)?, "confusion": confusion,
            "seconds": start.elapsed().as_secs_f64(), "kernels": network.kernels(),
        }),
    );
    Ok(())
}

struct Options {
    json: bool,
    seed: u64,
    epochs: usize,
}

impl Options {
    fn parse() -> Result<Self, Box<dyn std::error::Error>> {
        let mut options = Self { json: false, seed: 1, epochs: 30 };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a number"));
            match argument.as_str() {
                "--json" => options.json = true,
                "--seed" => options.seed = value()?.parse()?,
                "--epochs" => options.epochs = value()?.parse()?,
                other => {
                    return Err(format!("unknown option {other}; there are --json, --seed N and --epochs N").into());
                }
            }
        }
        Ok(options)
    }
}

fn report(options: &Options, event: &serde_json::Value) {
    if options.json {
        println!("{event}");
        return;
    }
    match event["event"].as_str() {
        Some("start") => println!("training on {}", event["device"].as_str().unwrap_or_default()),
        Some("epoch") => {
            println!("epoch {:>2}: loss {:.4}, accuracy {:.4}", event["epoch"], event["loss"], event["accuracy"])
        }
        _ => println!("accuracy {} after {:.2} s", event["accuracy"], event["seconds"]),
    }
}
