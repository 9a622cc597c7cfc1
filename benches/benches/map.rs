//! Activations, forward and backward, on the CPU and on the GPU where there is one: bytes a second, beside a device copy in the same
//! run. `map/cuda/... copy` is what the memory can do; the others should come near it.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warpsmith::activations::{GeluErf, GeluTanh, Mish, Relu, Silu, Tanh};
use warpsmith::kernels::{map_backward, map_forward};
use warpsmith::ops::Ops;
use warpsmith::{Activation, Buffer, Element, Has, Kernels, Runtime, bf16, f16};
use warpsmith_benches::gpu;

fn activations(criterion: &mut Criterion) {
    sizes::<f32>(criterion, "cpu", &Runtime::cpu(), &[20], |x| x);
    sizes::<bf16>(criterion, "cpu", &Runtime::cpu(), &[20], bf16::from_f32);
    if let Some(runtime) = gpu("map on the GPU") {
        sizes::<f32>(criterion, "cuda", &runtime, &[10, 14, 18, 22, 24, 28], |x| x);
        sizes::<f16>(criterion, "cuda", &runtime, &[24, 28], f16::from_f32);
        sizes::<bf16>(criterion, "cuda", &runtime, &[10, 14, 18, 22, 24, 28], bf16::from_f32);
    }
}

fn sizes<T: Element>(criterion: &mut Criterion, device: &str, runtime: &Runtime, log2: &[u32], of: fn(f32) -> T)
where
    Kernels: All<Relu, T> + All<Tanh, T> + All<Silu, T> + All<Mish, T> + All<GeluErf, T> + All<GeluTanh, T>,
{
    for &log2 in log2 {
        let n = 1_usize << log2;
        let mut group = criterion.benchmark_group(format!("map/{device}/{}/2^{log2}", T::NAME));
        group.sample_size(20);
        // Never zeros: they toggle fewer bits, and some functions take them faster.
        let values: Vec<T> = (0..n).map(|i| of(((i * 2_654_435_761) % 16_000_057) as f32 / 1e6 - 8.0)).collect();
        let mut bench = Bench {
            runtime,
            x: runtime.buffer_from(&values).expect("memory"),
            dy: runtime.buffer_from(&values).expect("memory"),
            y: runtime.zeros(n).expect("memory"),
        };
        bench.copy(&mut group);
        bench.activation(&mut group, Relu);
        bench.activation(&mut group, Tanh);
        bench.activation(&mut group, Silu);
        bench.activation(&mut group, Mish);
        bench.activation(&mut group, GeluErf);
        bench.activation(&mut group, GeluTanh);
    }
}

/// Both kernels of an activation.
trait All<A: Activation, T: Element>: Has<map_forward<A, T>> + Has<map_backward<A, T>> {}

impl<A: Activation, T: Element, L: Has<map_forward<A, T>> + Has<map_backward<A, T>>> All<A, T> for L {}

struct Bench<'a, T: Element> {
    runtime: &'a Runtime,
    x: Buffer<T>,
    dy: Buffer<T>,
    y: Buffer<T>,
}

impl<T: Element> Bench<'_, T> {
    fn bytes(&self, streams: usize) -> Throughput {
        Throughput::Bytes((streams * self.x.byte_len()) as u64)
    }

    fn copy(&mut self, group: &mut BenchmarkGroup<'_, WallTime>) {
        let stream = self.runtime.default_stream();
        group.throughput(self.bytes(2)).bench_function("copy", |bencher| {
            bencher.iter(|| {
                stream.copy(&self.x, &mut self.y).expect("a copy");
                self.runtime.synchronize().expect("the copy was made");
            });
        });
    }

    fn activation<A: Activation>(&mut self, group: &mut BenchmarkGroup<'_, WallTime>, activation: A)
    where
        Kernels: All<A, T>,
    {
        let ops = Ops::new(self.runtime);
        group.throughput(self.bytes(2)).bench_function(BenchmarkId::new("forward", A::NAME), |bencher| {
            bencher.iter(|| {
                ops.map_forward(activation, &self.x, &mut self.y).expect("launch");
                self.runtime.synchronize().expect("the kernel ran");
            });
        });
        group.throughput(self.bytes(3)).bench_function(BenchmarkId::new("backward", A::NAME), |bencher| {
            bencher.iter(|| {
                ops.map_backward(activation, &self.x, &self.dy, &mut self.y).expect("launch");
                self.runtime.synchronize().expect("the kernel ran");
            });
        });
    }
}

criterion_group!(benches, activations);
criterion_main!(benches);
