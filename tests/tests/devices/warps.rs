//! Warp operations: the same kernels in the simulator and on a GPU, against plain loops.

use cuda_std::reduce::Reduce;
use cuda_std::warp::Word;
use rand::RngExt;
use test_kernels::TestKernels;
use test_kernels::warps::{
    DISTANCES, MASKS, OPERATIONS, SEGMENTS, VOTES, WIDTHS, matched, reductions, scans, segments, shuffles, votes,
    warp_barriers,
};
use warpsmith::{Has, Runtime, bf16, f16};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random};

use crate::host_data::{floats, integers, reduced, scanned, shape};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("shuffles", all_shuffles),
        ("votes", all_votes),
        ("warp_reductions", warp_reductions),
        ("warp_scans", warp_scans),
        ("warp_barriers", barriers_of_a_warp),
        ("matches", all_matches),
        ("parts_of_a_warp", parts_of_a_warp),
    ],
    ..Tests::NONE
};

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
