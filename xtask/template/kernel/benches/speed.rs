//! The kernel beside a copy in the same memory: what the device could do at best.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use {{crate}}::{axpy, runtime};

fn speed(criterion: &mut Criterion) {
    let runtime = runtime();
    println!("on {runtime}");
    let stream = runtime.default_stream();
    let n: usize = if runtime.is_cuda() { 1 << 26 } else { 1 << 16 };
    let x = runtime.filled(n, 1.5f32).expect("memory");
    let mut y = runtime.zeros(n).expect("memory");

    let mut group = criterion.benchmark_group("axpy");
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
    measure("kernel", 3, &mut || axpy(&stream, 0.5, &x, &mut y));
}

criterion_group!(benches, speed);
criterion_main!(benches);
