//! The main job: a network learns handwritten digits, on the CPU and on the GPU, and the same one each time.

use warpsmith::activations::Silu;
use warpsmith::nn::{Network, Sgd};
use warpsmith::{Runtime, data};
use warpsmith_tests::{TestResult, Tests};

pub const TESTS: Tests =
    Tests { heavy: &[("accuracy", accuracy), ("the_same_each_time", the_same_each_time)], ..Tests::NONE };

fn train(runtime: &Runtime, epochs: usize) -> warpsmith::Result<(Vec<f64>, f64)> {
    let (training, test) = data::digits()?.hold_out(5);
    let training = training.with_moved_images(8)?;
    let mut network = Network::new(runtime, 1)?.linear(64, 64)?.activation(Silu)?.linear(64, 10)?;
    let optimizer = Sgd { rate: 0.1, momentum: 0.9 };
    let losses =
        (0..epochs).map(|_| network.train_epoch(&training, 64, &optimizer)).collect::<warpsmith::Result<_>>()?;
    Ok((losses, network.accuracy(&test)?))
}

fn accuracy(runtime: &Runtime) -> TestResult {
    let (losses, accuracy) = train(runtime, 30)?;
    assert!(accuracy >= 0.97, "accuracy {accuracy} after losses {losses:?}");
    Ok(())
}

fn the_same_each_time(runtime: &Runtime) -> TestResult {
    assert_eq!(train(runtime, 3)?, train(runtime, 3)?);
    Ok(())
}
