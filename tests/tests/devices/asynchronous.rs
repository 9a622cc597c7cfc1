//! Asynchronous copies and the barriers they report to, against plain loops.

use std::fmt::Debug;

use cuda_std::shared::Layout;
use cuda_std::tensor_map::{TensorAdd, TensorElement};
use rand::RngExt;
use test_kernels::TestKernels;
use test_kernels::asynchronous::{
    COPY_THREADS, STAGES, TILE, box_additions, box_copies, copied, copied_to_mbarrier, hinted_box_copies,
    named_barriers, pass_on, swapped_runs, tile_sums,
};
use warpsmith::{DeviceCopy, Has, Runtime, Shape, Swizzle, TensorMap, TensorMapMut, Tiling, bf16, f16};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests, random, same_bits, uniform};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("mbarriers_in_phases", mbarriers_in_phases),
        ("copies_of_threads", copies_of_threads),
        ("copies_that_arrive", copies_that_arrive),
        ("named_barriers", barriers_of_half_a_block),
        ("boxes_of_rank_1", boxes_of_rank_1),
        ("boxes_of_rank_2", boxes_of_rank_2),
        ("boxes_of_rank_3", boxes_of_rank_3),
        ("boxes_of_rank_4", boxes_of_rank_4),
        ("boxes_of_rank_5", boxes_of_rank_5),
        ("loads_wholly_beyond_a_row", loads_wholly_beyond_a_row),
        ("loads_wholly_beyond_the_rows", loads_wholly_beyond_the_rows),
        ("stores_wholly_beyond_a_row", stores_wholly_beyond_a_row),
        ("stores_wholly_beyond_the_rows", stores_wholly_beyond_the_rows),
        ("boxes_with_swizzles", boxes_with_swizzles),
        ("boxes_that_add", boxes_that_add),
        ("boxes_with_cache_hints", boxes_with_cache_hints),
        ("runs_of_bytes", runs_of_bytes),
        ("a_ring_of_tiles", a_ring_of_tiles),
    ],
    ..Tests::NONE
};

fn shape(grid: u32, block: u32) -> Shape {
    Shape::new([grid, 1, 1], [block, 1, 1])
}

/// Whether the device lacks the copy engine; it then says so.
fn lacks_tensor_maps(runtime: &Runtime) -> bool {
    let old = runtime.device().cuda().is_some_and(|properties| properties.compute_capability.0 < 9);
    if old {
        eprintln!("SKIPPED: {runtime} has no copy engine");
    }
    old
}

fn mbarriers_in_phases(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, pass_on>()?;
    for rounds in [1, 2, 7] {
        let values: Vec<u32> = (0..3 * 96).collect();
        let mut output = runtime.buffer_from(&values)?;
        kernel.launch(&runtime.default_stream(), shape(3, 96), (rounds, &mut output))?;
        let want: Vec<u32> = values.iter().map(|i| i / 96 * 96 + (i % 96 + rounds) % 96).collect();
        assert_eq!(output.to_vec()?, want, "{rounds} rounds");
    }
    Ok(())
}

fn copies_of_threads(runtime: &Runtime) -> TestResult {
    fn check<const BYTES: u32>(runtime: &Runtime) -> TestResult
    where
        TestKernels: Has<copied<BYTES>>,
    {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let kernel = runtime.kernel::<TestKernels, copied<BYTES>>()?;
        let (mut random, bytes) = (random("copies_of_threads"), BYTES as usize);
        for (tiles, missing) in [(1, 0), (5, 0), (8, bytes + 1)] {
            let input: Vec<u8> = (0..tiles * COPY_THREADS * bytes - missing).map(|_| random.random()).collect();
            let (source, mut output) = (runtime.buffer_from(&input)?, runtime.zeros::<u32>(COPY_THREADS)?);
            let bytes_shared = Layout::new().and::<u8>(STAGES * COPY_THREADS * bytes).bytes();
            let shape = shape(1, COPY_THREADS as u32).with_shared_bytes(bytes_shared);
            kernel.launch(&runtime.default_stream(), shape, (&source, tiles as u32, &mut output))?;
            let at = |tile: usize, t: usize, i: usize| (tile * COPY_THREADS + t) * bytes + i;
            let byte = |position: usize| u32::from(input.get(position).copied().unwrap_or(0));
            let want: Vec<u32> = (0..COPY_THREADS)
                .rev()
                .map(|t| (0..tiles).flat_map(|tile| (0..bytes).map(move |i| at(tile, t, i))).map(byte).sum())
                .collect();
            assert_eq!(output.to_vec()?, want, "{BYTES} bytes, {tiles} tiles");
        }
        Ok(())
    }
    check::<4>(runtime)?;
    check::<8>(runtime)?;
    check::<16>(runtime)
}

fn copies_that_arrive(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, copied_to_mbarrier>()?;
    let input: Vec<u32> = (0..COPY_THREADS as u32).map(|i| i * 3 + 1).collect();
    let (source, mut output) = (runtime.buffer_from(&input)?, runtime.zeros::<u32>(COPY_THREADS)?);
    kernel.launch(&runtime.default_stream(), shape(1, COPY_THREADS as u32), (&source, &mut output))?;
    assert!(output.to_vec()?.into_iter().eq(input.into_iter().rev()));
    Ok(())
}

fn barriers_of_half_a_block(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, named_barriers>()?;
    let (rounds, mut output) = (9, runtime.zeros::<u32>(64)?);
    kernel.launch(&runtime.default_stream(), shape(1, 128), (rounds, &mut output))?;
    // Rounds 0 to 8 of 1000 each, and nine times the mirrored thread's number.
    let want: Vec<u32> = (0..64).map(|t| 36_000 + 9 * (63 - t)).collect();
    assert_eq!(output.to_vec()?, want);
    Ok(())
}

/// Where each coordinate of an axis lies, the innermost axis first; as many as the product of the extents.
fn positions<const RANK: usize>(extents: [usize; RANK]) -> impl Iterator<Item = [usize; RANK]> {
    (0..extents.iter().product::<usize>()).map(move |mut rest| {
        extents.map(|extent| {
            let position = rest % extent;
            rest /= extent;
            position
        })
    })
}

/// The index in a contiguous tensor; `None` outside of it.
fn index<const RANK: usize>(extents: [usize; RANK], at: [i64; RANK]) -> Option<usize> {
    let mut index = 0;
    for axis in (0..RANK).rev() {
        let position = usize::try_from(at[axis]).ok().filter(|&position| position < extents[axis])?;
        index = index * extents[axis] + position;
    }
    Some(index)
}

/// Where byte `byte` of a tile lies with a swizzle, as the tables in CUDA's guide show it: rows of 32, 64 or 128 bytes, whose
/// 16-byte pieces are permuted by the number of the row.
fn swizzled(swizzle: Swizzle, byte: usize) -> usize {
    let (row_bytes, permute): (usize, fn(usize) -> usize) = match swizzle {
        Swizzle::None => return byte,
        Swizzle::Bytes32 => (32, |row| row / 4 % 2),
        Swizzle::Bytes64 => (64, |row| row / 2 % 4),
        Swizzle::Bytes128 => (128, |row| row % 8),
    };
    let (row, piece, rest) = (byte / row_bytes, byte % row_bytes / 16, byte % 16);
    row * row_bytes + (piece ^ permute(row)) * 16 + rest
}

/// Copies the box at `from` and stores it at `to`.
fn check_boxes<T, const RANK: usize>(
    runtime: &Runtime,
    tiling: impl Fn([usize; RANK], [u32; RANK]) -> (Tiling<RANK>, Swizzle),
    extents: [usize; RANK],
    tile: [u32; RANK],
    places: &[([i32; RANK], [i32; RANK])],
    value: impl Fn(usize) -> T,
) -> TestResult
where
    T: TensorElement + DeviceCopy + Default + PartialEq + Debug + 'static,
    TestKernels: Has<box_copies<T, RANK>>,
    [i32; RANK]: DeviceCopy,
{
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, box_copies<T, RANK>>()?;
    let (tiling, swizzle) = tiling(extents, tile);
    let count = extents.iter().product();
    let values: Vec<T> = (0..count).map(value).collect();
    let source = runtime.buffer_from(&values)?;
    let box_extents = tile.map(|extent| extent as usize);
    let elements = box_extents.iter().product::<usize>();
    assert_eq!(tiling.tile_bytes::<T>(), elements * size_of::<T>());
    for &(from, to) in places {
        let (mut target, mut raw) = (runtime.buffer_from(&values)?, runtime.zeros::<T>(elements)?);
        let bytes = Layout::new().and_aligned::<T, 1024>(elements).bytes();
        {
            let (source, mut target) = (TensorMap::new(&source, &tiling)?, TensorMapMut::new(&mut target, &tiling)?);
            let shape = shape(1, 64).with_shared_bytes(bytes);
            kernel.launch(&runtime.default_stream(), shape, (&source, from, &mut target, to, &mut raw))?;
        }
        let (mut want_raw, mut want) = (vec![T::default(); elements], values.clone());
        for (i, position) in positions(box_extents).enumerate() {
            let at = |start: [i32; RANK]| {
                index(extents, std::array::from_fn(|axis| i64::from(start[axis]) + position[axis] as i64))
            };
            let loaded = at(from).map_or(T::default(), |index| values[index]);
            want_raw[swizzled(swizzle, i * size_of::<T>()) / size_of::<T>()] = loaded;
            if let Some(index) = at(to) {
                want[index] = loaded;
            }
        }
        assert_eq!(raw.to_vec()?, want_raw, "{extents:?} in {tile:?}, {swizzle:?}, from {from:?}");
        assert_eq!(target.to_vec()?, want, "{extents:?} in {tile:?}, {swizzle:?}, from {from:?} to {to:?}");
    }
    Ok(())
}

/// Boxes of f32 without swizzle, from each first place to the second one; the innermost axis in steps of 16 bytes, see `tma`.
fn check_plain_boxes<const RANK: usize>(
    runtime: &Runtime,
    extents: [usize; RANK],
    tile: [u32; RANK],
    places: &[([i32; RANK], [i32; RANK])],
) -> TestResult
where
    TestKernels: Has<box_copies<f32, RANK>>,
{
    if lacks_tensor_maps(runtime) {
        return Ok(());
    }
    let tiling = |extents, tile| (Tiling::new(extents, tile), Swizzle::None);
    check_boxes::<f32, RANK>(runtime, tiling, extents, tile, places, |i| i as f32 + 0.5)
}

// A box that the hardware refuses ends the context, and with it every test behind it: hence one test for each kind of box.

fn boxes_of_rank_1(runtime: &Runtime) -> TestResult {
    check_plain_boxes(runtime, [100], [32], &[([0], [68]), ([-4], [88]), ([96], [-28])])
}

fn boxes_of_rank_2(runtime: &Runtime) -> TestResult {
    check_plain_boxes(runtime, [36, 21], [16, 8], &[([0, 0], [20, 13]), ([-4, 17], [32, -4]), ([32, -7], [4, 1])])
}

fn boxes_of_rank_3(runtime: &Runtime) -> TestResult {
    check_plain_boxes(runtime, [12, 7, 5], [8, 4, 2], &[([0, 0, 0], [4, 3, 3]), ([8, -2, 4], [-4, 5, -1])])
}

fn boxes_of_rank_4(runtime: &Runtime) -> TestResult {
    let places = [([0, 0, 0, 0], [4, 1, 2, 1]), ([4, -1, 3, -1], [0, 2, -2, 2])];
    check_plain_boxes(runtime, [8, 3, 4, 3], [4, 2, 3, 2], &places)
}

fn boxes_of_rank_5(runtime: &Runtime) -> TestResult {
    let places = [([0, 0, 0, 0, 0], [4, 0, 1, 2, 2]), ([4, 1, -1, 2, -2], [0, -2, 0, 1, 3])];
    check_plain_boxes(runtime, [8, 3, 2, 3, 4], [4, 3, 2, 2, 3], &places)
}

fn loads_wholly_beyond_a_row(runtime: &Runtime) -> TestResult {
    check_plain_boxes(runtime, [100], [32], &[([200], [0]), ([-64], [4])])
}

fn loads_wholly_beyond_the_rows(runtime: &Runtime) -> TestResult {
    check_plain_boxes(runtime, [36, 21], [16, 8], &[([0, 24], [0, 0]), ([4, -8], [4, 1])])
}

fn stores_wholly_beyond_a_row(runtime: &Runtime) -> TestResult {
    check_plain_boxes(runtime, [100], [32], &[([0], [200]), ([4], [-64])])
}

fn stores_wholly_beyond_the_rows(runtime: &Runtime) -> TestResult {
    check_plain_boxes(runtime, [36, 21], [16, 8], &[([0, 0], [0, 24]), ([4, 1], [4, -8])])
}

fn boxes_with_swizzles(runtime: &Runtime) -> TestResult {
    if lacks_tensor_maps(runtime) {
        return Ok(());
    }
    for (swizzle, columns) in
        [(Swizzle::None, 24), (Swizzle::Bytes32, 16), (Swizzle::Bytes64, 32), (Swizzle::Bytes128, 64)]
    {
        let tiling = |extents, tile| (Tiling::new(extents, tile).swizzle(swizzle), swizzle);
        let value = |i| bf16::from_bits(0x3f80 + i as u16);
        let places = [([0, 0], [40, 10]), ([-8, 15], [56, -3])];
        check_boxes::<bf16, 2>(runtime, tiling, [72, 40], [columns, 24], &places, value)?;
    }
    Ok(())
}

fn boxes_that_add(runtime: &Runtime) -> TestResult {
    fn check<T>(runtime: &Runtime, number: impl Fn(u32) -> T) -> TestResult
    where
        T: TensorAdd + DeviceCopy + Default + PartialEq + Debug + 'static,
        TestKernels: Has<box_additions<T>>,
    {
        let (columns, rows, blocks) = (16, 4, 5);
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let kernel = runtime.kernel::<TestKernels, box_additions<T>>()?;
        let values: Vec<T> = (0..columns * rows).map(|i| number(1 + i % 7)).collect();
        let start: Vec<T> = (0..columns * rows * blocks).map(|i| number(i % 11)).collect();
        let (source, mut target) = (runtime.buffer_from(&values)?, runtime.buffer_from(&start)?);
        {
            let tiling = Tiling::new([columns as usize, (rows * blocks) as usize], [columns, rows]);
            let mut map = TensorMapMut::new(&mut target, &tiling)?;
            let shape = shape(blocks, 32).with_shared_bytes(Layout::new().and_aligned::<T, 128>(values.len()).bytes());
            kernel.launch(&runtime.default_stream(), shape, (&source, &mut map, rows))?;
        }
        // Every box but the first gets two additions; all numbers are exact.
        let times = |i: u32| if i < columns * rows { 1 } else { 2 };
        let want: Vec<T> =
            (0..columns * rows * blocks).map(|i| number(i % 11 + times(i) * (1 + i % (columns * rows) % 7))).collect();
        assert_eq!(target.to_vec()?, want);
        Ok(())
    }
    if lacks_tensor_maps(runtime) {
        return Ok(());
    }
    check::<u32>(runtime, |x| x)?;
    check::<f32>(runtime, |x| x as f32)?;
    check::<f16>(runtime, |x| f16::from_f32(x as f32))?;
    check::<bf16>(runtime, |x| bf16::from_f32(x as f32))
}

/// Hints change nothing but speed.
fn boxes_with_cache_hints(runtime: &Runtime) -> TestResult {
    fn check<const AGAIN: bool>(runtime: &Runtime) -> TestResult
    where
        TestKernels: Has<hinted_box_copies<AGAIN>>,
    {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let kernel = runtime.kernel::<TestKernels, hinted_box_copies<AGAIN>>()?;
        let x = uniform(&mut random("boxes_with_cache_hints"), 64 * 16);
        let (source, mut target) = (runtime.buffer_from(&x)?, runtime.zeros::<f32>(64 * 16)?);
        let tiling = Tiling::new([64, 16], [32, 8]);
        {
            let from = TensorMap::new(&source, &tiling)?;
            let mut to = TensorMapMut::new(&mut target, &tiling)?;
            let shape = shape(1, 32).with_shared_bytes(32 * 8 * 4);
            let arguments = (&from, [16, 4], &mut to, [32, 2], 32 * 8);
            kernel.launch(&runtime.default_stream(), shape, arguments)?;
        }
        let at = |i: usize| (i % 64, i / 64);
        let inside = |(column, row): (usize, usize)| (32..64).contains(&column) && (2..10).contains(&row);
        let want = (0..64 * 16).map(|i| if inside(at(i)) { x[i - 32 + 16 + 2 * 64] } else { 0.0 });
        same_bits("the box", &target.to_vec()?, &want.collect::<Vec<_>>())
    }
    if lacks_tensor_maps(runtime) {
        return Ok(());
    }
    check::<true>(runtime)?;
    check::<false>(runtime)
}

fn runs_of_bytes(runtime: &Runtime) -> TestResult {
    if lacks_tensor_maps(runtime) {
        return Ok(());
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, swapped_runs>()?;
    let input: Vec<u32> = (0..4 * 128).collect();
    let (source, mut output) = (runtime.buffer_from(&input)?, runtime.zeros::<u32>(input.len())?);
    kernel.launch(&runtime.default_stream(), shape(4, 32), (&source, &mut output))?;
    let want: Vec<u32> = input.iter().map(|i| i ^ 64).collect();
    assert_eq!(output.to_vec()?, want);
    Ok(())
}

fn a_ring_of_tiles(runtime: &Runtime) -> TestResult {
    if lacks_tensor_maps(runtime) {
        return Ok(());
    }
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let kernel = runtime.kernel::<TestKernels, tile_sums>()?;
    let mut random = random("a_ring_of_tiles");
    for (rows, columns) in [(32, 32), (300, 100), (1000, 36)] {
        let x = uniform(&mut random, rows * columns);
        let (source, mut output) = (runtime.buffer_from(&x)?, runtime.zeros::<f32>(columns)?);
        let tiling = Tiling::new([columns, rows], [TILE as u32, TILE as u32]).swizzle(Swizzle::Bytes128);
        let map = TensorMap::new(&source, &tiling)?;
        let bytes = Layout::new().and_aligned::<f32, 1024>(STAGES * TILE * TILE).bytes();
        let shape = shape(columns.div_ceil(TILE) as u32, 64).with_shared_bytes(bytes);
        kernel.launch(&runtime.default_stream(), shape, (&map, rows.div_ceil(TILE) as u32, &mut output))?;
        // Zeros beyond the last row change nothing.
        let want: Vec<f32> =
            (0..columns).map(|column| (0..rows).fold(0.0, |sum, row| sum + x[row * columns + column])).collect();
        same_bits(&format!("{rows} x {columns}"), &output.to_vec()?, &want)?;
    }
    Ok(())
}
