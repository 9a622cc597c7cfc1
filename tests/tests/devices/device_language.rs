//! The device's language: the same kernels in the simulator and on a GPU, against plain loops.

use cuda_std::reduce::{Reduce, WarpReductionOp};
use cuda_std::warp::Word;
use rand::RngExt;
use test_kernels::TestKernels;
use test_kernels::atomics::{
    ARITHMETIC, BITWISE, arithmetic, bitwise, handed_on, histogram, last_block_sum, orderings,
};
use test_kernels::blocks::{BARRIERS, barriers, block_operations, carved, carved_bytes};
use test_kernels::warps::{
    DISTANCES, MASKS, OPERATIONS, SEGMENTS, VOTES, WIDTHS, matched, reductions, scans, segments, shuffles, votes,
    warp_barriers,
};
use warpsmith::{Has, Runtime, Shape, bf16, f16};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("shuffles", all_shuffles),
        ("votes", all_votes),
        ("warp_reductions", warp_reductions),
        ("warp_scans", warp_scans),
        ("warp_barriers", barriers_of_a_warp),
        ("barriers_that_vote", barriers_that_vote),
        ("block_reductions_and_scans", block_reductions_and_scans),
        ("dynamic_arrays", dynamic_arrays),
        ("atomic_arithmetic", atomic_arithmetic),
        ("atomic_bits", atomic_bits),
        ("last_block", last_block),
        ("atomic_views", atomic_views),
        ("atomic_orderings", atomic_orderings),
        ("atomic_messages", atomic_messages),
        ("matches", all_matches),
        ("parts_of_a_warp", parts_of_a_warp),
    ],
    ..Tests::NONE
};

/// Runs a kernel; host data in, host data out.
macro_rules! run {
    (@ $runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$($output:ident as $buffer:ident),*]) => {{
        $runtime.register::<TestKernels>(TEST_KERNELS)?;
        $(let $buffer = &mut $runtime.buffer_from(&$output)?;)*
        {
            $(let $input = &$runtime.buffer_from(&$input)?;)*
            let kernel = $runtime.kernel::<TestKernels, $kernel>()?;
            kernel.launch(&$runtime.default_stream(), $shape, ($($input,)* $(&mut *$buffer,)*))?;
        }
        $($output.copy_from_slice(&$buffer.to_vec()?);)*
    }};
    ($runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$a:ident]) => {
        run!(@ $runtime, $kernel, $shape, [$($input),*], [$a as a])
    };
    ($runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$a:ident, $b:ident]) => {
        run!(@ $runtime, $kernel, $shape, [$($input),*], [$a as a, $b as b])
    };
    ($runtime:ident, $kernel:ty, $shape:ident, [$($input:ident),*], [$a:ident, $b:ident, $c:ident]) => {
        run!(@ $runtime, $kernel, $shape, [$($input),*], [$a as a, $b as b, $c as c])
    };
}

fn shape(grid: u32, block: u32) -> Shape {
    Shape::new([grid, 1, 1], [block, 1, 1])
}

/// Which lane a shuffle reads, and whether it is inside the segment; the PTX manual's description, word by word.
fn source(mode: usize, lane: u32, distance: u32, width: u32) -> (u32, bool) {
    let distance = (distance & 31) as i32;
    let (lane, segment) = (lane as i32, !(width as i32 - 1) & 31);
    let (lowest, highest) = (lane & segment, lane & segment | !segment & 31);
    let (j, inside) = match mode {
        0 => (lowest | distance & !segment & 31, true),
        1 => (lane - distance, lane - distance >= lowest),
        2 => (lane + distance, lane + distance <= highest),
        _ => (lane ^ distance, lane ^ distance <= highest),
    };
    (if inside { j } else { lane } as u32, inside)
}

fn all_shuffles(runtime: &Runtime) -> TestResult {
    fn check<T: Word + warpsmith::DeviceCopy + Default + 'static>(runtime: &Runtime) -> TestResult
    where
        TestKernels: Has<shuffles<T>>,
    {
        let mut random = random("shuffles");
        let shape = shape(1, 64);
        let input: Vec<T> = (0..64).map(|_| T::from_raw_bits(random.random::<u128>() & not_nan::<T>())).collect();
        let count = 64 * WIDTHS.len() * DISTANCES as usize * 4;
        let (mut output, mut flags) = (vec![T::default(); count], vec![9u32; count]);
        run!(runtime, shuffles<T>, shape, [input], [output, flags]);
        let mut at = 0;
        for t in 0..64 {
            for width in WIDTHS {
                for distance in 0..DISTANCES {
                    for mode in 0..4 {
                        let (lane, inside) = source(mode, t % 32, distance, width);
                        let want = input[(t / 32 * 32 + lane) as usize].to_raw_bits();
                        let got = (output[at].to_raw_bits(), flags[at]);
                        assert_eq!(
                            got,
                            (want, u32::from(inside)),
                            "thread {t} width {width} distance {distance} mode {mode}"
                        );
                        at += 1;
                    }
                }
            }
        }
        Ok(())
    }
    check::<u32>(runtime)?;
    check::<i32>(runtime)?;
    check::<f32>(runtime)?;
    check::<u64>(runtime)?;
    check::<i64>(runtime)?;
    check::<f64>(runtime)?;
    check::<u8>(runtime)?;
    check::<i8>(runtime)?;
    check::<u16>(runtime)?;
    check::<i16>(runtime)?;
    check::<f16>(runtime)?;
    check::<bf16>(runtime)?;
    check::<u128>(runtime)?;
    check::<i128>(runtime)?;
    check::<[f32; 4]>(runtime)?;
    check::<[u16; 3]>(runtime)
}

/// All bits of a word but one of each element, so that no float is NaN, whose bits may change on the way.
fn not_nan<T: Word>() -> u128 {
    let all = u128::MAX >> (128 - T::BITS);
    match T::BITS {
        16 | 48 => all & 0xbfff_bfff_bfff,
        _ => all & 0xbfff_ffff_bfff_ffff_bfff_ffff_bfff_ffff,
    }
}

fn all_matches(runtime: &Runtime) -> TestResult {
    fn check<T: Word + warpsmith::DeviceCopy + Default + 'static>(runtime: &Runtime) -> TestResult
    where
        TestKernels: Has<matched<T>>,
    {
        let mut random = random("matches");
        let shape = shape(1, 64);
        // A warp of few values, which differ in their lowest or highest bits only, and a warp of one value.
        let values = [1, 2, 1 | 1 << (T::BITS - 2), 2 | 1 << (T::BITS - 2)].map(T::from_raw_bits);
        let input: Vec<T> = (0..64).map(|t| values[if t < 32 { random.random_range(0..4) } else { 3 }]).collect();
        let mut output = vec![9u32; 128];
        run!(runtime, matched<T>, shape, [input], [output]);
        for t in 0..64 {
            let same = |lane: u32| input[t / 32 * 32 + lane as usize].to_raw_bits() == input[t].to_raw_bits();
            let any = (0..32).filter(|&lane| same(lane)).fold(0, |mask, lane| mask | 1 << lane);
            assert_eq!(output[2 * t..][..2], [any, if any == u32::MAX { any } else { 0 }], "thread {t}");
        }
        Ok(())
    }
    check::<u8>(runtime)?;
    check::<bf16>(runtime)?;
    check::<f32>(runtime)?;
    check::<u64>(runtime)?;
    check::<u128>(runtime)
}

fn all_votes(runtime: &Runtime) -> TestResult {
    let mut random = random("votes");
    // Warps of random numbers, of equal ones, of zeros, and one that is constant on the even lanes.
    let input: Vec<u32> = (0..160)
        .map(|t| match t / 32 {
            0 | 1 => random.random_range(0..8),
            2 => 5,
            3 => 0,
            _ => 7 * (t % 2),
        })
        .collect();
    let shape = shape(1, 160);
    let mut output = vec![0u32; 160 * VOTES];
    run!(runtime, votes, shape, [input], [output]);
    for t in 0..160u32 {
        let (lane, value) = (t % 32, input[t as usize]);
        let half = if lane % 2 == 0 { 0x5555_5555 } else { 0xaaaa_aaaa };
        let lanes = |f: &dyn Fn(u32) -> bool| {
            (0..32u32).filter(|l| f(input[(t / 32 * 32 + l) as usize])).fold(0, |mask, l| mask | 1u32 << l)
        };
        let same = lanes(&|x| x == value);
        let all = same & half == half;
        let want = [
            lanes(&|x| x > 3),
            lanes(&|x| x > 3) & half,
            u32::from(lanes(&|x| x > 0) == u32::MAX),
            u32::from(lanes(&|x| x > 0) & half == half),
            u32::from(lanes(&|x| x > 6) != 0),
            u32::from(lanes(&|x| x > 6) & half != 0),
            same,
            same & half,
            if all { half } else { 0 },
            u32::from(all) * 2 + u32::from(same == u32::MAX),
            lane,
            1,
        ];
        assert_eq!(output[t as usize * VOTES..][..VOTES], want, "thread {t}");
    }
    Ok(())
}

/// The order that `warp_reduce` promises.
fn reduced<T: Reduce>(values: &[T], mask: u32, op: WarpReductionOp) -> T {
    if mask == u32::MAX {
        let mut values = values.to_vec();
        for distance in [16, 8, 4, 2, 1] {
            (0..distance).for_each(|i| values[i] = values[i].combine(values[i + distance], op));
        }
        return values[0];
    }
    let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1).map(|lane| values[lane]);
    lanes.reduce(|a, b| a.combine(b, op)).expect("a lane")
}

fn integers(random: &mut warpsmith_tests::ChaCha8Rng, count: usize) -> Vec<u32> {
    (0..count).map(|_| random.random::<u32>() | 0x0400).collect()
}

fn floats(random: &mut warpsmith_tests::ChaCha8Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| random.random_range(-1.0f32..1.0)).collect()
}

fn warp_reductions(runtime: &Runtime) -> TestResult {
    fn check<T, const OPS: usize>(runtime: &Runtime, input: Vec<T>) -> TestResult
    where
        T: Reduce + warpsmith::DeviceCopy + Default + 'static,
        TestKernels: Has<reductions<T, OPS>>,
    {
        let shape = shape(1, 64);
        let mut output = vec![T::default(); 64 * MASKS * OPS];
        run!(runtime, reductions<T, OPS>, shape, [input], [output]);
        for t in 0..64 {
            for split in 0..MASKS {
                let lower = if split < 32 { u32::MAX >> (31 - split) } else { 0x5555_5555 };
                let mask = if lower >> (t % 32) & 1 == 1 { lower } else { !lower };
                for (i, op) in OPERATIONS.into_iter().take(OPS).enumerate() {
                    let want = reduced(&input[t / 32 * 32..][..32], mask, op).to_raw_bits();
                    let got = output[(t * MASKS + split) * OPS + i].to_raw_bits();
                    assert_eq!(got, want, "thread {t} mask {mask:#x} {op:?}");
                }
            }
        }
        Ok(())
    }
    let mut random = random("warp_reductions");
    check::<u32, 6>(runtime, integers(&mut random, 64))?;
    check::<i32, 6>(runtime, integers(&mut random, 64).into_iter().map(|x| x as i32).collect())?;
    let mut values = floats(&mut random, 64);
    (values[40], values[41]) = (0.0, -0.0);
    let wide = integers(&mut random, 64).into_iter().map(|x| u64::from(x) << 20 | 5);
    check::<u64, 6>(runtime, wide.clone().collect())?;
    check::<i64, 6>(runtime, wide.map(|x| (x << 12) as i64).collect())?;
    check::<f64, 3>(runtime, values.iter().map(|&x| f64::from(x)).collect())?;
    check::<f32, 3>(runtime, values)
}

fn parts_of_a_warp(runtime: &Runtime) -> TestResult {
    fn check<T, const OPS: usize>(runtime: &Runtime, input: &[T]) -> TestResult
    where
        T: Reduce + warpsmith::DeviceCopy + Default + 'static,
        TestKernels: Has<segments<T, OPS>>,
    {
        let (shape, input) = (shape(1, input.len() as u32), input.to_vec());
        let mut output = vec![T::default(); input.len() * WIDTHS.len() * OPS * SEGMENTS];
        run!(runtime, segments<T, OPS>, shape, [input], [output]);
        let mut results = output.iter();
        for t in 0..input.len() {
            for width in WIDTHS.map(|width| width as usize) {
                let warp = &input[t / 32 * 32..input.len().min(t / 32 * 32 + 32)];
                let (segment, lane) = (t % 32 / width * width, t % width);
                let values = &warp[segment..warp.len().min(segment + width)];
                for op in OPERATIONS.into_iter().take(OPS) {
                    // Pairwise in a full warp, else lane by lane.
                    let mut sums = values.to_vec();
                    let mut distance = if warp.len() == 32 { width / 2 } else { 0 };
                    while distance > 0 {
                        (0..distance).for_each(|i| sums[i] = sums[i].combine(sums[i + distance], op));
                        sums.truncate(distance);
                        distance /= 2;
                    }
                    let total = sums.into_iter().reduce(|a, b| a.combine(b, op)).expect("a lane");
                    let mut scan = values.to_vec();
                    let mut distance = 1;
                    while distance < width {
                        (distance..scan.len()).rev().for_each(|i| scan[i] = scan[i - distance].combine(scan[i], op));
                        distance *= 2;
                    }
                    let before = if lane == 0 { T::identity(op) } else { scan[lane - 1] };
                    for want in [total, scan[lane], before] {
                        let got = results.next().expect("a result").to_raw_bits();
                        assert_eq!(got, want.to_raw_bits(), "thread {t} of {}, width {width}, {op:?}", input.len());
                    }
                }
            }
        }
        Ok(())
    }
    let mut random = random("parts_of_a_warp");
    // Whole warps, and a last one of 13 lanes.
    for threads in [64, 45] {
        let words = integers(&mut random, threads);
        check::<u32, 6>(runtime, &words)?;
        check::<i32, 6>(runtime, &words.iter().map(|&x| x as i32).collect::<Vec<_>>())?;
        check::<u64, 6>(runtime, &words.iter().map(|&x| u64::from(x) << 30).collect::<Vec<_>>())?;
        check::<i64, 6>(runtime, &words.iter().map(|&x| i64::from(x as i32) << 30).collect::<Vec<_>>())?;
        let values = floats(&mut random, threads);
        check::<f64, 3>(runtime, &values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())?;
        check::<f32, 3>(runtime, &values)?;
    }
    Ok(())
}

/// The order that `warp_scan_inclusive` promises.
fn scanned<T: Reduce>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    for distance in [1, 2, 4, 8, 16] {
        for lane in (distance..values.len()).rev() {
            values[lane] = values[lane - distance].combine(values[lane], WarpReductionOp::Add);
        }
    }
    values
}

fn warp_scans(runtime: &Runtime) -> TestResult {
    let mut random = random("warp_scans");
    // The last warp has 13 lanes.
    let shape = shape(1, 77);
    let input = integers(&mut random, 77);
    let mut output = vec![0u32; 77];
    run!(runtime, scans<u32>, shape, [input], [output]);
    let want: Vec<u32> = input.chunks(32).flat_map(scanned).collect();
    assert_eq!(output, want);
    let input = floats(&mut random, 77);
    let mut output = vec![0f32; 77];
    run!(runtime, scans<f32>, shape, [input], [output]);
    let want: Vec<f32> = input.chunks(32).flat_map(scanned).collect();
    assert_eq!(output, want);
    Ok(())
}

fn barriers_of_a_warp(runtime: &Runtime) -> TestResult {
    let mut random = random("warp_barriers");
    let shape = shape(2, 64);
    let input = integers(&mut random, 128);
    let mut output = vec![0u32; 128];
    run!(runtime, warp_barriers, shape, [input], [output]);
    let mut want = input;
    for _ in 0..32 {
        let next = |t: usize| want[t].wrapping_mul(3).wrapping_add(want[t - t % 32 + (t + 1) % 32]);
        want = (0..128).map(next).collect();
    }
    assert_eq!(output, want);
    Ok(())
}

fn barriers_that_vote(runtime: &Runtime) -> TestResult {
    let mut random = random("barriers_that_vote");
    for threads in [1usize, 31, 64, 100, 1024] {
        let shape = shape(4, threads as u32);
        // Blocks of random numbers, of odd ones, of even ones, and one with a single odd number.
        let odd = |t: usize, random: &mut warpsmith_tests::ChaCha8Rng| match t / threads {
            0 => random.random::<u32>() & 1,
            1 => 1,
            2 => 0,
            _ => u32::from(t % threads == threads / 2),
        };
        let input: Vec<u32> = (0..4 * threads).map(|t| odd(t, &mut random)).collect();
        let mut output = vec![9u32; 4 * threads * BARRIERS];
        run!(runtime, barriers, shape, [input], [output]);
        for (t, results) in output.chunks(BARRIERS).enumerate() {
            let count: u32 = input[t / threads * threads..][..threads].iter().sum();
            assert_eq!(results, [count, u32::from(count == threads as u32), u32::from(count > 0)], "thread {t}");
        }
    }
    Ok(())
}

fn block_reductions_and_scans(runtime: &Runtime) -> TestResult {
    fn check<T>(runtime: &Runtime, threads: usize, input: Vec<T>) -> TestResult
    where
        T: cuda_std::reduce::BlockReduce + warpsmith::DeviceCopy + Default + 'static,
        TestKernels: Has<block_operations<T>>,
    {
        use WarpReductionOp::{Add, Max, Min};
        let shape = shape(2, threads as u32);
        let mut output = vec![T::default(); input.len() * 10];
        run!(runtime, block_operations<T>, shape, [input], [output]);
        for (block, values) in input.chunks(threads).enumerate() {
            let mask = |warp: &[T]| u32::MAX >> (32 - warp.len());
            let total = |op| {
                let warps = values.chunks(32).map(|warp| reduced(warp, mask(warp), op));
                warps.reduce(|a, b| a.combine(b, op)).expect("a warp")
            };
            let scans: Vec<Vec<T>> = values.chunks(32).map(scanned).collect();
            for t in 0..threads {
                let before = scans[..t / 32]
                    .iter()
                    .fold(T::identity(Add), |sum, scan| sum.combine(*scan.last().expect("a lane"), Add));
                let lower = if t % 32 == 0 { T::identity(Add) } else { scans[t / 32][t % 32 - 1] };
                let want = [
                    total(Add),
                    total(Min),
                    total(Max),
                    before.combine(scans[t / 32][t % 32], Add),
                    before.combine(lower, Add),
                ];
                for round in 0..2 {
                    for (i, want) in want.iter().enumerate() {
                        let got = output[((block * threads + t) * 2 + round) * 5 + i];
                        assert_eq!(got.to_raw_bits(), want.to_raw_bits(), "{threads} threads, thread {t}, result {i}");
                    }
                }
            }
        }
        Ok(())
    }
    let mut random = random("block_reductions");
    for threads in [1, 5, 32, 33, 96, 200, 1024] {
        let input = integers(&mut random, 2 * threads);
        check(runtime, threads, input.iter().map(|&x| x as i32).collect::<Vec<_>>())?;
        check(runtime, threads, input.iter().map(|&x| u64::from(x) << 31).collect::<Vec<_>>())?;
        check(runtime, threads, input.iter().map(|&x| i64::from(x as i32) << 31).collect::<Vec<_>>())?;
        check(runtime, threads, input)?;
        let input = floats(&mut random, 2 * threads);
        check(runtime, threads, input.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())?;
        check(runtime, threads, input)?;
    }
    Ok(())
}

fn dynamic_arrays(runtime: &Runtime) -> TestResult {
    let mut random = random("dynamic_arrays");
    for threads in [1, 33, 256, 1000] {
        let shape = shape(2, threads as u32).with_shared_bytes(carved_bytes(threads));
        let input: Vec<u32> = (0..2 * threads).map(|_| random.random_range(0..1 << 24)).collect();
        let mut output = vec![0u32; 2 * threads];
        run!(runtime, carved, shape, [input], [output]);
        for (t, got) in output.into_iter().enumerate() {
            let x = input[t / threads * threads + threads - 1 - t % threads];
            assert_eq!(got, (x & 0xff) + x + x * 3 + (x ^ 0xffff), "thread {t} of {threads}");
        }
    }
    Ok(())
}

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
