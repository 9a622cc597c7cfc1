//! The product with its epilogue, as additions and multiplications a second.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warpsmith::{Matrix, Runtime};

use {{crate}}::{SoftCap, capped, operations};

fn speed(criterion: &mut Criterion) {
    let runtime = Runtime::new();
    println!("on {runtime}");
    let (ops, stream) = (operations(&runtime).expect("kernels"), runtime.default_stream());
    let n: usize = if runtime.is_cuda() { 4096 } else { 256 };
    let numbers: Vec<f32> = (0..n * n).map(|i| (i % 1000) as f32 / 1000.0 - 0.5).collect();
    let w = Matrix::from_columns(&runtime, n, n, &numbers).expect("memory");
    let x = Matrix::from_columns(&runtime, n, n, &numbers).expect("memory");
    let bias = runtime.filled(n, 0.25f32).expect("memory");
    let mut y = Matrix::zeros(&runtime, n, n).expect("memory");

    let mut group = criterion.benchmark_group("soft cap");
    group.throughput(Throughput::Elements((2 * n * n * n) as u64));
    // By the device's own clock: events before the first call and after the last.
    group.bench_function(format!("{n} x {n} x {n}"), |bencher| {
        bencher.iter_custom(|times| {
            let start = stream.record().expect("an event");
            for _ in 0..times {
                capped(&ops, SoftCap { limit: 30.0 }, &w, &x, &bias, &mut y).expect("a launch");
            }
            stream.record().and_then(|end| end.elapsed_since(&start)).expect("the work was done")
        });
    });
}

criterion_group!(benches, speed);
criterion_main!(benches);
