//! Atomic updates and the messages that they order, against plain loops.

use rand::RngExt;
use test_kernels::TestKernels;
use test_kernels::atomics::{
    ARITHMETIC, BITWISE, arithmetic, bitwise, handed_on, histogram, last_block_sum, orderings,
};
use warpsmith::{Has, Runtime, bf16, f16};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random};

use crate::host_data::{integers, shape};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("atomic_arithmetic", atomic_arithmetic),
        ("atomic_bits", atomic_bits),
        ("last_block", last_block),
        ("atomic_views", atomic_views),
        ("atomic_orderings", atomic_orderings),
        ("atomic_messages", atomic_messages),
    ],
    ..Tests::NONE
};

fn atomic_arithmetic(runtime: &Runtime) -> TestResult {
    // Sums of values below `top` are exact in `T`.
    fn check<T>(runtime: &Runtime, top: i32, start: [i32; 5], from: impl Fn(i32) -> T) -> TestResult
    where
        T: cuda_std::atomic::AtomicValue + warpsmith::DeviceCopy + Default + PartialEq + std::fmt::Debug + 'static,
        TestKernels: Has<arithmetic<T>>,
    {
        const COUNT: usize = ARITHMETIC * 3;
        let mut random = random("atomic_arithmetic");
        let threads = 200;
        let values: Vec<i32> = (0..threads).map(|_| random.random_range(0..top)).collect();
        let sum: i32 = values.iter().sum();
        let shape = shape(1, threads as u32).with_shared_bytes(COUNT * size_of::<T>());
        let input: Vec<T> = values.iter().map(|&x| from(x)).collect();
        let mut output: Vec<T> = (0..2 * COUNT + 6).map(|i| from(if i < COUNT { start[i % 5] } else { 0 })).collect();
        run!(runtime, arithmetic<T>, shape, [input], [output]);
        let (min, max) = (values.iter().min().expect("some"), values.iter().max().expect("some"));
        let want = [start[0] + sum, start[1] - sum, *min.min(&start[2]), *max.max(&start[3])].map(&from);
        for part in 0..6 {
            let results = &output[part * ARITHMETIC..][..ARITHMETIC];
            assert_eq!(results[..4], want, "part {part}");
            // What is left and what was taken out are, together, all that was put in.
            let left = (0..=1000).find(|&x| from(x) == results[4]).expect("a value that a thread put in");
            let taken = output[2 * COUNT + 2 * (part % 3) + part / 3];
            assert_eq!(taken, from(start[4] + sum - left), "part {part}");
        }
        Ok(())
    }
    const START: [i32; 5] = [7, 1_000_000, 500, 600, 5];
    check(runtime, 1000, START, |x| x)?;
    check(runtime, 1000, START, |x| x as u32)?;
    check(runtime, 1000, START, i64::from)?;
    check(runtime, 1000, START, |x| x as u64)?;
    check(runtime, 1000, START, |x| x as f32)?;
    check(runtime, 1000, START, f64::from)?;
    // bf16 has the whole numbers up to 256.
    check(runtime, 2, [7, 200, 5, -1, 1], |x| f16::from_f32(x as f32))?;
    check(runtime, 2, [7, 200, 5, -1, 1], |x| bf16::from_f32(x as f32))
}

fn atomic_bits(runtime: &Runtime) -> TestResult {
    fn check<T>(runtime: &Runtime) -> TestResult
    where
        T: cuda_std::atomic::AtomicInteger + warpsmith::DeviceCopy + 'static,
        TestKernels: Has<bitwise<T>>,
    {
        let mut random = random("atomic_bits");
        let shape = shape(3, 64);
        let one = |random: &mut warpsmith_tests::ChaCha8Rng| T::from_raw_bits(random.random::<u64>().into());
        let input: Vec<T> = (0..192)
            .map(|_| {
                T::from_raw_bits(1 << random.random_range(0..T::BITS) | random.random::<u128>() & 0xf0f0_0000_00f0)
            })
            .collect();
        let start: Vec<T> = (0..3 * BITWISE).map(|_| one(&mut random)).collect();
        let mut output = start.clone();
        run!(runtime, bitwise<T>, shape, [input], [output]);
        for (i, got) in output.iter().enumerate() {
            let want =
                input.iter().map(|x| x.to_raw_bits()).fold(start[i].to_raw_bits(), |bits, x| match i % BITWISE {
                    0 => bits & x,
                    1 => bits | x,
                    _ => bits ^ x,
                });
            assert_eq!(got.to_raw_bits(), T::from_raw_bits(want).to_raw_bits(), "element {i}");
        }
        Ok(())
    }
    check::<i32>(runtime)?;
    check::<u32>(runtime)?;
    check::<i64>(runtime)?;
    check::<u64>(runtime)
}

fn last_block(runtime: &Runtime) -> TestResult {
    let mut random = random("last_block");
    let shape = shape(50, 96);
    let input = integers(&mut random, 50 * 96);
    let (mut partials, mut counter, mut sum) = (vec![0u32; 50], vec![0u32; 1], vec![0u32; 1]);
    run!(runtime, last_block_sum, shape, [input], [partials, counter, sum]);
    let want = input.iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
    assert_eq!((sum[0], counter[0]), (want, 50));
    Ok(())
}

fn atomic_views(runtime: &Runtime) -> TestResult {
    let mut random = random("atomic_views");
    let shape = shape(7, 64);
    let input: Vec<u32> = (0..3000).map(|_| random.random_range(0..5)).collect();
    let mut counts = vec![0u32; 5];
    run!(runtime, histogram, shape, [input], [counts]);
    let want: Vec<u32> = (0..5).map(|x| input.iter().filter(|&&y| y == x).count() as u32).collect();
    assert_eq!(counts, want);
    Ok(())
}

fn atomic_orderings(runtime: &Runtime) -> TestResult {
    let shape = shape(5, 64);
    let mut sum = vec![0u32; 7];
    run!(runtime, orderings, shape, [], [sum]);
    assert_eq!(sum, [960, 960, 960, 960, 960, 77, 77]);
    Ok(())
}

fn atomic_messages(runtime: &Runtime) -> TestResult {
    let mut random = random("atomic_messages");
    let shape = shape(1, 512);
    let input = integers(&mut random, 256);
    for _ in 0..20 {
        let (mut data, mut flags, mut output) = (vec![0u32; 256], vec![0u32; 256], vec![0u32; 256]);
        run!(runtime, handed_on<true>, shape, [input], [data, flags, output]);
        assert!(output.iter().zip(&input).all(|(got, x)| *got == x.wrapping_mul(3)));
    }
    Ok(())
}
