//! Forward and backward, beside a copy in the same memory: what the device could do at best.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warpsmith::Runtime;

use {{crate}}::{Snake, operations};

fn speed(criterion: &mut Criterion) {
    let runtime = Runtime::new();
    println!("on {runtime}");
    let (ops, stream) = (operations(&runtime).expect("kernels"), runtime.default_stream());
    let n: usize = if runtime.is_cuda() { 1 << 26 } else { 1 << 20 };
    let values: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 100.0 - 5.0).collect();
    let x = runtime.buffer_from(&values).expect("memory");
    let mut y = runtime.zeros(n).expect("memory");
    let snake = black_box(Snake { a: 2.0 });

    let mut group = criterion.benchmark_group("snake");
    let mut measure = |name: &str, streams: usize, run: &mut dyn FnMut() -> warpsmith::Result<()>| {
        group.throughput(Throughput::Bytes((streams * n * size_of::<f32>()) as u64));
        // By the device's own clock: events before the first call and after the last.
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                let start = stream.record().expect("an event");
                (0..times).for_each(|_| run().expect("a launch"));
                stream.record().and_then(|end| end.elapsed_since(&start)).expect("the work was done")
            });
        });
    };
    measure("copy", 2, &mut || stream.copy(&x, &mut y));
    measure("forward", 2, &mut || ops.map_forward(snake, &x, &mut y));
    measure("backward", 3, &mut || ops.map_backward(snake, &x, &x, &mut y));
}

criterion_group!(benches, speed);
criterion_main!(benches);
