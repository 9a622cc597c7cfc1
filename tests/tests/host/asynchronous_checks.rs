//! What the simulator finds in kernels with asynchronous copies, mbarriers, named barriers and clusters: planted bugs, and right
//! twins that it says nothing about.

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::prelude::*;
use cuda_std::simulator::{Error, Options, Shape};
use cuda_std::tensor_map::Tiling;
use cuda_std::{barrier, cluster, cp_async, grid, tma};
use warpsmith_tests::TestResult;

fn view<T: Copy>(slice: &mut [T]) -> GlobalMut<'_, T> {
    GlobalMut::from_slice(slice)
}

macro_rules! run {
    ($kernel:ty, $shape:expr) => {
        simulator::launch_with::<$kernel>(Options::CHECKED, $shape, (view(&mut vec![0u32; 256]),))
    };
}

/// Each of 64 threads copies a number and reads its own back: after waiting (0), too early (1), or never having waited (2).
#[kernel]
fn copies<const HOW: u32>(mut x: GlobalMut<u32>) {
    let numbers = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        cp_async::copy::<4>(numbers.address().offset(4 * t as u32), x.as_mut_ptr().add(t).cast());
        cp_async::commit_group();
        match HOW {
            0 => cp_async::wait_group::<0>(),
            1 => cp_async::wait_group::<1>(),
            _ => return,
        }
        let number = numbers.read(t);
        cp_async::wait_all();
        x.write(t + 64, number);
    }
}

#[test]
fn copies_must_be_waited_for() -> TestResult {
    run!(copies<0>, Shape::new(1, 64))?;
    let error = run!(copies<1>, Shape::new(1, 64)).unwrap_err();
    assert!(matches!(error, Error::UnwrittenShared { index: 0, .. }), "{error}");
    match run!(copies<2>, Shape::new(1, 64)).unwrap_err() {
        Error::LeftoverCopy { kernel: "copies", thread: [0, 0, 0], what: "a cp_async copy", place, .. } => {
            assert!(place.file().ends_with("asynchronous_checks.rs"), "{place}");
        }
        other => panic!("{other}"),
    }
    Ok(())
}

/// A box is loaded twice and read by all: rightly (0), before the barrier's phase is complete (1), loaded again while other threads
/// may read it (2), with too many bytes expected (3), never read nor waited for (4),
/// with the barrier not initialised (5), or from a coordinate that the copy engine can't begin at (6).
#[kernel]
fn boxes<const HOW: u32>(x: TensorMap<u32, 2>, mut y: GlobalMut<u32>) {
    let words = shared_array![u64; 1];
    let tile = shared::Dynamic::new().take_aligned::<u32, 128>(64);
    let t = thread::thread_idx_x() as usize;
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        let full = Barrier::at(words.address());
        if t == 0 && HOW != 5 {
            full.init(1);
            mbarrier::fence_init();
        }
        thread::sync_threads();
        for round in 0..2 {
            if t == 0 {
                full.arrive_expect_tx(if HOW == 3 { 260 } else { 256 });
                x.load(tile.address(), [i32::from(HOW == 6), round], full);
            }
            if HOW == 4 {
                return;
            }
            match HOW {
                // The first thread's copy is made meanwhile.
                1 if t > 0 => thread::nanosleep(1),
                _ => full.wait(round as u32),
            }
            y.write(t, tile.read(t));
            match HOW {
                2 if t > 0 => {}
                // The others read meanwhile, but nothing says that they have.
                2 => thread::nanosleep(1),
                _ => thread::sync_threads(),
            }
        }
    }
}

fn boxed<K>(source: &[u32]) -> Result<Vec<u32>, Error>
where
    for<'a> K: cuda_std::SafeKernel + Kernel<Parameters<'a> = (TensorMap<'a, u32, 2>, GlobalMut<'a, u32>)>,
{
    let map = TensorMap::from_slice(source, &Tiling::new([16, 8], [16, 4])).expect("a right tiling");
    let mut y = vec![0; 64];
    let shape = Shape { dynamic_shared_bytes: 256, ..Shape::new(1, 64) };
    simulator::launch_with::<K>(Options::CHECKED, shape, (map, view(&mut y)))?;
    Ok(y)
}

#[test]
fn loads_are_ordered_by_their_barrier() -> TestResult {
    let source: Vec<u32> = (0..128).collect();
    assert_eq!(boxed::<boxes<0>>(&source)?, source[16..80]);
    let race = |error: Error| match error {
        Error::Race { kernel: "boxes", memory: "shared", first, second, .. } => (first.what, second.what),
        other => panic!("{other}"),
    };
    assert_eq!(race(boxed::<boxes<1>>(&source).unwrap_err()), ("copies asynchronously to", "reads"));
    assert_eq!(race(boxed::<boxes<2>>(&source).unwrap_err()), ("reads", "copies asynchronously to"));
    match boxed::<boxes<3>>(&source).unwrap_err() {
        Error::WaitsForever { kernel: "boxes", waiting: [0, 0, 0], waiting_count: 64, what, .. } => {
            assert!(what.contains("lacks 0 arrivals and 4 bytes"), "{what}");
        }
        other => panic!("{other}"),
    }
    let error = boxed::<boxes<4>>(&source).unwrap_err();
    assert!(matches!(error, Error::LeftoverCopy { what: "a load of the copy engine", .. }), "{error}");
    let error = boxed::<boxes<5>>(&source).unwrap_err().to_string();
    assert!(error.contains("is not initialised"), "{error}");
    let error = boxed::<boxes<6>>(&source).unwrap_err().to_string();
    assert!(error.contains("coordinate 1") && error.contains("multiple of 16"), "{error}");
    Ok(())
}

/// A thread stores 256 bytes and ends: after it waited (0), without waiting (1), or without even making a group (2).
#[kernel]
fn stores<const HOW: u32>(x: GlobalMut<u32>) {
    let numbers = shared_array![u32; 64];
    // SAFETY: one thread; wrong on purpose unless `HOW` is 0.
    unsafe {
        (0..64).for_each(|i| numbers.write(i, i as u32));
        tma::fence_async();
        tma::store_bytes(x.as_mut_ptr().cast(), numbers.address(), 256);
        if HOW < 2 {
            tma::commit_group();
        }
        if HOW == 0 {
            tma::wait_group_read::<0>();
        }
    }
}

#[test]
fn stores_must_be_waited_for() -> TestResult {
    run!(stores<0>, Shape::new(1, 1))?;
    for (error, expected) in [
        (run!(stores<1>, Shape::new(1, 1)), "a group of stores of the copy engine"),
        (run!(stores<2>, Shape::new(1, 1)), "a store of the copy engine, in no group"),
    ] {
        let error = error.unwrap_err();
        assert!(matches!(&error, Error::LeftoverCopy { what, .. } if *what == expected), "{error}");
    }
    Ok(())
}

/// Two warps hand a value on by a named barrier (0), by an mbarrier (1), or not at all (2); the barrier waits for a warp too many
/// (3), or the warps disagree about the number of threads (4).
#[kernel]
fn handed_on<const HOW: u32>(mut x: GlobalMut<u32>) {
    let (value, words) = (shared_array![u32; 1], shared_array![u64; 1]);
    let t = thread::thread_idx_x();
    // SAFETY: wrong on purpose unless `HOW` is 0 or 1.
    unsafe {
        let done = Barrier::at(words.address());
        if t == 0 {
            done.init(1);
        }
        thread::sync_threads();
        let threads = if HOW == 3 { 96 } else { 64 };
        if t == 0 {
            value.write(0, 5);
        }
        if t < 32 {
            match HOW {
                0 | 3 | 4 => barrier::arrive(2, threads),
                1 if t == 0 => done.arrive(),
                _ => {}
            }
        } else {
            match HOW {
                0 | 3 => barrier::sync(2, threads),
                1 => done.wait(0),
                4 => barrier::sync(2, 32),
                _ => thread::nanosleep(1),
            }
            x.write(t as usize, value.read(0));
        }
    }
}

#[test]
fn barriers_of_some_warps_order_memory() -> TestResult {
    run!(handed_on<0>, Shape::new(1, 64))?;
    run!(handed_on<1>, Shape::new(1, 64))?;
    let error = run!(handed_on<2>, Shape::new(1, 64)).unwrap_err();
    assert!(matches!(error, Error::Race { memory: "shared", .. }), "{error}");
    let error = run!(handed_on<3>, Shape::new(1, 64)).unwrap_err().to_string();
    assert!(error.contains("32 threads (first [32, 0, 0]"), "{error}");
    assert!(error.contains("barrier 2 has got 64 of the 96 threads"), "{error}");
    let error = run!(handed_on<4>, Shape::new(1, 64)).unwrap_err().to_string();
    assert!(error.contains("barrier 2 is used with 64 threads while others use it with 32"), "{error}");
    Ok(())
}

/// Blocks of a cluster read each other's shared memory: rightly (0), when the other block may have ended (1), at an address outside
/// (2), of a block that the cluster doesn't have (3), or one thread waits at the cluster's barrier forever (4).
#[kernel(cluster = 2)]
fn neighbours<const HOW: u32>(mut x: GlobalMut<u32>) {
    let value = shared_array![u32; 4];
    let (t, rank) = (thread::thread_idx_x(), cluster::block_rank());
    // SAFETY: wrong on purpose unless `HOW` is 0.
    unsafe {
        if t < 4 {
            value.write(t as usize, rank);
        }
        cluster::sync();
        if HOW == 1 && rank == 0 {
            return;
        }
        if HOW == 1 {
            thread::nanosleep(1);
        }
        let offset = if HOW == 2 { 16 } else { 0 };
        let other = if HOW == 3 { 2 } else { 1 - rank };
        x.write(thread::index(), cluster::read(cluster::map(value.address().offset(offset), other)));
        match HOW {
            4 if t == 3 => thread::sync_threads(),
            _ => cluster::sync(),
        }
    }
}

#[test]
fn clusters_are_checked() -> TestResult {
    let mut x = vec![9; 64];
    simulator::launch_with::<neighbours<0>>(Options::CHECKED, Shape::new(2, 32), (view(&mut x),))?;
    assert_eq!((x[0], x[31], x[32]), (1, 1, 0));
    for (error, expected) in [
        (run!(neighbours<1>, Shape::new(2, 32)), "the shared memory of block 0 of the cluster is gone"),
        (run!(neighbours<2>, Shape::new(2, 32)), "no shared memory lies at address 0x410"),
        (run!(neighbours<3>, Shape::new(2, 32)), "block 2 of a cluster of 2 blocks"),
        (run!(neighbours<4>, Shape::new(2, 32)), "wait at a barrier that"),
        (run!(neighbours<0>, Shape::new(3, 32)), "multiples of the kernel's cluster"),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    Ok(())
}

/// Every block reads what the next one wrote, behind a barrier of the grid (0), or one block doesn't come to it (1).
#[kernel]
fn grid_neighbours<const HOW: u32>(mut x: GlobalMut<u32>, counter: GlobalMut<u32>) {
    let (i, count) = (thread::index(), thread::count());
    // SAFETY: one element for each thread before the barrier, others behind it; wrong on purpose unless `HOW` is 0.
    unsafe {
        x.write(i, i as u32);
        if HOW == 1 && thread::block_idx_x() == 1 {
            return;
        }
        grid::sync(&counter);
        let next = x.read((i + 32) % count);
        grid::sync(&counter);
        x.write(i, next);
    }
}

#[test]
fn barriers_of_the_grid_are_checked() -> TestResult {
    let (mut x, mut counter) = (vec![0u32; 128], [0u32]);
    let (options, shape) = (Options::CHECKED, Shape::new(4, 32));
    // SAFETY: the kernel is right for every argument of at least as many elements as threads.
    unsafe {
        simulator::launch_cooperative::<grid_neighbours<0>>(options, shape, (view(&mut x), view(&mut counter)))?;
        assert!((0..128).all(|i| x[i] == (i as u32 + 32) % 128));
        let arguments = (view(&mut x), view(&mut counter));
        let error = simulator::launch_cooperative::<grid_neighbours<1>>(options, shape, arguments).unwrap_err();
        assert!(error.to_string().contains("the barrier of the grid has got 96 threads"), "{error}");
        let arguments = (view(&mut x), view(&mut counter));
        let error = simulator::launch_unchecked::<grid_neighbours<0>>(options, shape, arguments).unwrap_err();
        assert!(error.to_string().contains("needs a cooperative launch"), "{error}");
    }
    Ok(())
}

#[test]
fn tensor_maps_that_the_hardware_refuses() {
    use cuda_std::tensor_map::{Error, Swizzle};
    let x = vec![0f32; 1025];
    let aligned = usize::from(!(x.as_ptr() as usize).is_multiple_of(16));
    assert_eq!(aligned, 0, "vectors of this size are aligned");
    let check = |slice: &[f32], tiling: Tiling<2>| TensorMap::from_slice(slice, &tiling).err();
    let tiling = Tiling::new([32, 32], [32, 8]);
    assert_eq!(check(&x, tiling), None);
    assert!(matches!(check(&x[1..], tiling), Some(Error::Address { .. })));
    assert_eq!(check(&x[..1020], tiling), Some(Error::OutOfBounds { last: 1023, len: 1020 }));
    assert_eq!(check(&x, Tiling::new([31, 32], [16, 8])), Some(Error::Stride { axis: 1, bytes: 124 }));
    assert_eq!(check(&x, tiling.strides([2, 32])), Some(Error::InnerStride { got: 2 }));
    assert_eq!(check(&x, Tiling::new([32, 0], [16, 8])), Some(Error::Extent { axis: 1, got: 0 }));
    assert_eq!(check(&x, Tiling::new([32, 32], [16, 257])), Some(Error::Tile { axis: 1, got: 257 }));
    assert_eq!(check(&x, Tiling::new([32, 32], [3, 8])), Some(Error::RowMultiple { bytes: 12 }));
    let swizzle = Swizzle::Bytes64;
    assert_eq!(check(&x, tiling.swizzle(swizzle)), Some(Error::RowSpan { bytes: 128, span: 64, swizzle }));
}
