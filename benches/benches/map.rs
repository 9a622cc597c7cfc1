//! Activations, forward and backward: elements a second on the CPU, and on the GPU where there is one.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warpsmith::activations::{GeluTanh, Relu, Silu, Tanh};
use warpsmith::kernels::{map_backward, map_forward};
use warpsmith::ops::Ops;
use warpsmith::{Activation, Has, Kernels, Runtime};
use warpsmith_benches::gpu;

fn activations(criterion: &mut Criterion) {
    on(criterion, "cpu", &Runtime::cpu(), 1 << 20);
    if let Some(runtime) = gpu("map on the GPU") {
        on(criterion, "cuda", &runtime, 1 << 28);
    }
}

fn on(criterion: &mut Criterion, device: &str, runtime: &Runtime, n: usize) {
    activation(criterion, device, runtime, Relu, n);
    activation(criterion, device, runtime, Tanh, n);
    activation(criterion, device, runtime, Silu, n);
    activation(criterion, device, runtime, GeluTanh, n);
}

fn activation<A: Activation>(criterion: &mut Criterion, device: &str, runtime: &Runtime, activation: A, n: usize)
where
    Kernels: Has<map_forward<A, f32>> + Has<map_backward<A, f32>>,
{
    // Never zeros: they toggle fewer bits, and some functions take them faster.
    let values: Vec<f32> = (0..n).map(|i| ((i * 2_654_435_761) % 16_000_057) as f32 / 1e6 - 8.0).collect();
    let x = runtime.buffer_from(&values).expect("memory");
    let mut y = runtime.zeros(n).expect("memory");
    let ops = Ops::new(runtime);
    let mut group = criterion.benchmark_group(format!("map/{device}"));
    group.throughput(Throughput::Elements(n as u64)).sample_size(20);
    group.bench_function(BenchmarkId::new("forward", A::NAME), |bencher| {
        bencher.iter(|| {
            ops.map_forward(activation, &x, &mut y).expect("launch");
            runtime.synchronize().expect("the kernel ran");
        });
    });
    group.bench_function(BenchmarkId::new("backward", A::NAME), |bencher| {
        bencher.iter(|| {
            ops.map_backward(activation, &x, &x, &mut y).expect("launch");
            runtime.synchronize().expect("the kernel ran");
        });
    });
}

criterion_group!(benches, activations);
criterion_main!(benches);
