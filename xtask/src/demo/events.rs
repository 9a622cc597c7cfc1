//! What `host/examples/digits.rs --json` prints: one JSON object a line.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The number of classes.
pub const DIGITS: usize = 10;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// Training begins.
    Start(Start),
    /// An epoch is over.
    Epoch(Epoch),
    /// Training is over.
    End(End),
}

/// What is trained where.
#[derive(Debug, Deserialize)]
pub struct Start {
    /// The device's name.
    pub device: String,
    /// Why this device.
    pub reason: String,
    /// How many epochs follow.
    pub epochs: u64,
    /// Samples that are trained on.
    pub training_samples: u64,
    /// Samples that are held out.
    pub test_samples: u64,
    /// The seed.
    pub seed: u64,
}

/// The state after an epoch.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Epoch {
    /// From 1.
    pub epoch: u64,
    /// Mean training loss.
    pub loss: f64,
    /// Share of held-out samples that are recognised.
    pub accuracy: f64,
}

/// The result.
#[derive(Debug, Deserialize)]
pub struct End {
    /// Share of held-out samples that are recognised.
    pub accuracy: f64,
    /// How often the digit of the row was taken for the digit of the column.
    pub confusion: Vec<Vec<u64>>,
    /// Time of training.
    pub seconds: f64,
    /// Entry names of the kernels that ran.
    pub kernels: Vec<String>,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Training {
    pub start: Option<Start>,
    pub epochs: Vec<Epoch>,
    pub accuracy: f64,
    pub confusion: Vec<Vec<u64>>,
    pub seconds: f64,
    pub kernels: Vec<String>,
}

/// Reads one line.
pub fn parse(line: &str) -> Result<Event> {
    serde_json::from_str(line).with_context(|| format!("not an event: {line}"))
}

impl Training {
    /// Takes one event.
    pub fn add(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Start(start) => self.start = Some(start),
            Event::Epoch(epoch) if epoch.epoch != self.epochs.len() as u64 + 1 => {
                bail!("epoch {} follows epoch {}", epoch.epoch, self.epochs.len())
            }
            Event::Epoch(epoch) => self.epochs.push(epoch),
            Event::End(end) => {
                let square = end.confusion.len() == DIGITS && end.confusion.iter().all(|row| row.len() == DIGITS);
                if !square {
                    bail!("the confusion matrix is not {DIGITS} x {DIGITS}: {:?}", end.confusion);
                }
                self.accuracy = end.accuracy;
                self.confusion = end.confusion;
                self.seconds = end.seconds;
                self.kernels = end.kernels;
            }
        }
        Ok(())
    }

    /// Itself, if nothing is missing.
    pub fn complete(self) -> Result<Self> {
        let announced = self.start.as_ref().map_or(0, |start| start.epochs);
        if self.epochs.is_empty() || self.epochs.len() as u64 != announced || self.confusion.is_empty() {
            bail!("it ended after {} of {announced} epochs, or without a result", self.epochs.len());
        }
        Ok(self)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A training as it might have been.
    pub fn example(epochs: u64) -> Training {
        let mut training = Training::default();
        let start = r#"{"event":"start","device":"CPU, 2 threads","reason":"no libcuda.so.1 on this machine","#;
        let start = format!("{start}\"epochs\":{epochs},\"training_samples\":1437,\"test_samples\":360,\"seed\":1}}");
        training.add(parse(&start).unwrap()).unwrap();
        for epoch in 1..=epochs {
            let loss = 2.3 / (epoch as f64).powf(1.1) + 0.02;
            let accuracy = 0.985 - 0.6 / (epoch as f64 + 1.0).powf(1.5);
            let line = format!(r#"{{"event":"epoch","epoch":{epoch},"loss":{loss},"accuracy":{accuracy}}}"#);
            training.add(parse(&line).unwrap()).unwrap();
        }
        let confusion: Vec<Vec<u64>> = (0..DIGITS)
            .map(|truth| {
                (0..DIGITS).map(move |said| if truth == said { 36 } else { u64::from((truth * said) % 23 == 18) })
            })
            .map(Iterator::collect)
            .collect();
        let end = format!(r#"{{"event":"end","accuracy":0.98,"confusion":{confusion:?},"seconds":1.25,"kernels":["#);
        let end = format!("{end}\"map_forward__relu__f32\",\"matmul_tiled__nn__f32\"]}}");
        training.add(parse(&end).unwrap()).unwrap();
        training
    }

    #[test]
    fn a_whole_training_is_read() {
        let training = example(60).complete().unwrap();
        assert_eq!(training.epochs.len(), 60);
        assert_eq!((training.accuracy, training.seconds, training.confusion[3][3]), (0.98, 1.25, 36));
        assert_eq!(training.start.unwrap().device, "CPU, 2 threads");
    }

    #[test]
    fn what_is_incomplete_or_strange_is_an_error() {
        assert!(parse("Compiling").unwrap_err().to_string().contains("not an event: Compiling"));
        assert!(Training::default().complete().is_err());
        let mut training = example(2);
        training.epochs.pop();
        assert!(training.complete().unwrap_err().to_string().contains("1 of 2"));
        let skipped = parse(r#"{"event":"epoch","epoch":9,"loss":1.0,"accuracy":0.5}"#).unwrap();
        assert!(example(2).add(skipped).unwrap_err().to_string().contains("epoch 9 follows epoch 2"));
        let small = parse(r#"{"event":"end","accuracy":1,"confusion":[[1]],"seconds":1,"kernels":[]}"#).unwrap();
        assert!(example(2).add(small).unwrap_err().to_string().contains("not 10 x 10"));
    }
}
