//! What the simulator finds: a planted bug of each kind, with the line it names, and a right twin that it says nothing about.

use cuda_std::atomic::Ordering;
use cuda_std::cache::{Load, Store};
use cuda_std::prelude::*;
use cuda_std::simulator::{Error, Options, Shape, Whereabouts};
use cuda_std::warp::FULL;
use test_kernels::atomics::handed_on;
use warpsmith_tests::TestResult;

fn view<T: Copy>(slice: &mut [T]) -> GlobalMut<'_, T> {
    GlobalMut::from_slice(slice)
}

/// Runs a kernel of one output with all checks on.
macro_rules! run {
    ($kernel:ty, $shape:expr, $len:expr) => {
        run!($kernel, $shape, $len, Options::CHECKED)
    };
    ($kernel:ty, $shape:expr, $len:expr, $options:expr) => {
        simulator::launch_with::<$kernel>($options, $shape, (view(&mut vec![0u32; $len]),))
    };
}

/// Every thread reads its neighbour's element, which nobody wrote if `WRITTEN` is false.
#[kernel]
fn shared_reads<const WRITTEN: bool>(mut x: GlobalMut<u32>) {
    let values = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    // SAFETY: own elements before the barrier, the neighbour's after it. Wrong on purpose unless `WRITTEN`.
    let neighbour = unsafe {
        if WRITTEN || t != 5 {
            values.write(t, t as u32);
        }
        thread::sync_threads();
        values.read((t + 1) % 64)
    };
    for i in thread::elements(x.len()) {
        x.set(i, neighbour);
    }
}

#[test]
fn reads_of_unwritten_shared_memory() -> TestResult {
    match run!(shared_reads<false>, Shape::new(1, 64), 64).unwrap_err() {
        Error::UnwrittenShared { kernel: "shared_reads", access, index: 5 } => {
            assert_eq!((access.block, access.thread, access.what), ([0; 3], [4, 0, 0], "reads"));
            assert!((20..45).contains(&access.place.line()), "{}", access.place);
        }
        other => panic!("{other}"),
    }
    run!(shared_reads<true>, Shape::new(3, 64), 192)?;
    // Nothing is looked for.
    run!(shared_reads<false>, Shape::new(1, 64), 64, Options::FAST)?;
    Ok(())
}

/// The same without the barrier, or with a barrier of the warp only.
#[kernel]
fn shared_neighbours<const BARRIER: u32>(mut x: GlobalMut<u32>) {
    let values = shared::Dynamic::new().take::<u32>(64);
    let t = thread::thread_idx_x() as usize;
    // SAFETY: wrong on purpose without the barrier.
    let neighbour = unsafe {
        values.write(t, t as u32);
        match BARRIER {
            0 => {}
            1 => warp::sync_warp(FULL),
            _ => thread::sync_threads(),
        }
        values.read(if BARRIER == 0 { t / 2 } else { (t + 1) % 64 })
    };
    for i in thread::elements(x.len()) {
        x.set(i, neighbour);
    }
}

/// A race between a read and a later write: the barrier before the second round is missing.
#[kernel]
fn shared_rounds<const RIGHT: bool>(mut x: GlobalMut<u32>) {
    let values = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    let mut value = t as u32;
    for _ in 0..2 {
        // SAFETY: wrong on purpose unless `RIGHT`.
        unsafe {
            values.write(t, value);
            thread::sync_threads();
            value = values.read(63 - t);
        }
        if RIGHT {
            thread::sync_threads();
        }
    }
    for i in thread::elements(x.len()) {
        x.set(i, value);
    }
}

#[test]
fn races_in_shared_memory() -> TestResult {
    let shape = |threads| Shape { dynamic_shared_bytes: 256, ..Shape::new(1, threads) };
    for seed in [None, Some(1), Some(2)] {
        let options = Options { seed, ..Options::CHECKED };
        // In other orders the element may be read before it is written: an error as well.
        match run!(shared_neighbours<0>, shape(64), 64, options).unwrap_err() {
            Error::Race { kernel: "shared_neighbours", memory: "shared", first, second, .. } => {
                assert!(
                    first.thread != second.thread && (first.what, second.what) != ("reads", "reads"),
                    "{first} {second}"
                );
                assert!([first.place.line(), second.place.line()].iter().all(|line| (50..80).contains(line)));
            }
            Error::UnwrittenShared { .. } if seed.is_some() => {}
            other => panic!("{other}"),
        }
        run!(shared_neighbours<2>, shape(64), 64, options)?;
        let error = run!(shared_rounds<false>, Shape::new(1, 64), 64, options).unwrap_err();
        assert!(matches!(error, Error::Race { kernel: "shared_rounds", memory: "shared", .. }), "{error}");
        run!(shared_rounds<true>, Shape::new(1, 64), 64, options)?;
    }
    // A barrier of the warp orders the warp, but thread 31 reads what thread 32, of the next warp, wrote.
    let error = run!(shared_neighbours<1>, shape(64), 64).unwrap_err();
    assert!(matches!(error, Error::Race { .. } | Error::UnwrittenShared { .. }), "{error}");
    Ok(())
}

/// Threads of one warp pass a value on, ordered by `sync_warp`, or not at all.
#[kernel]
fn passed_on<const SYNC: bool>(mut x: GlobalMut<u32>) {
    let value = shared_array![u32; 1];
    for turn in 0..32 {
        if thread::thread_idx_x() == turn {
            // SAFETY: wrong on purpose unless `SYNC`.
            unsafe { value.write(0, if turn == 0 { 1 } else { value.read(0) + turn }) };
        }
        if SYNC {
            warp::sync_warp(FULL);
        }
    }
    for i in thread::elements(x.len()) {
        x.set(i, 0);
    }
}

#[test]
fn warp_barriers_order_memory() -> TestResult {
    let error = run!(passed_on<false>, Shape::new(1, 32), 32).unwrap_err();
    assert!(matches!(error, Error::Race { .. }), "{error}");
    run!(passed_on<true>, Shape::new(1, 32), 32)?;
    Ok(())
}

/// Two threads write one element (0), one reads what another writes (1), all add atomically (2), or atomically and not (3).
#[kernel]
fn global_sum<const HOW: u32>(mut x: GlobalMut<u32>) {
    let (t, i) = (thread::index() as u32, thread::index() / 2);
    // SAFETY: wrong on purpose unless `HOW` is 2.
    unsafe {
        match HOW {
            0 => x.write(i, t),
            1 if t.is_multiple_of(2) => x.write(i, t),
            1 => drop(x.read(i)),
            2 => drop(x.atomic(0).fetch_add(t, Scope::Device)),
            _ if t == 70 => x.write(0, t),
            _ => drop(x.atomic(0).fetch_add(t, Scope::Device)),
        }
    }
}

#[test]
fn races_in_global_memory() -> TestResult {
    let shape = Shape::new(4, 32);
    let race = |error: Error, kinds: &[&str]| match error {
        Error::Race { kernel: "global_sum", memory: "global", first, second, .. } => {
            assert!(kinds.contains(&first.what) && kinds.contains(&second.what), "{first} {second}");
            assert_ne!((first.block, first.thread), (second.block, second.thread));
            assert!(first.place.file().ends_with("simulator_checks.rs"));
        }
        other => panic!("{other}"),
    };
    for seed in [None, Some(3), Some(4)] {
        let options = Options { seed, ..Options::CHECKED };
        race(run!(global_sum<0>, shape, 64, options).unwrap_err(), &["writes"]);
        race(run!(global_sum<1>, shape, 64, options).unwrap_err(), &["writes", "reads"]);
        race(run!(global_sum<3>, shape, 64, options).unwrap_err(), &["writes", "updates atomically"]);
        let mut x = vec![0u32; 1];
        simulator::launch_with::<global_sum<2>>(options, shape, (view(&mut x),))?;
        assert_eq!(x, [127 * 128 / 2]);
    }
    run!(global_sum<0>, shape, 64, Options::FAST)?;
    Ok(())
}

/// A vote that one lane skips (0), that only the lanes of its mask reach (1), whose mask leaves the caller out (2), for which
/// one thread waits elsewhere (3), or a shuffle from a lane outside the mask (4).
#[kernel]
fn votes<const HOW: u32>(mut x: GlobalMut<u32>) {
    let lane = warp::lane_id();
    let votes = match HOW {
        0 if lane == 7 => 0,
        0 => warp::warp_vote_ballot(FULL, true),
        1 if lane < 7 => warp::warp_vote_ballot(0x7f, lane > 2),
        1 => warp::warp_vote_ballot(!0x7f, lane > 9),
        2 => warp::warp_vote_ballot(0x7f, true),
        3 if lane == 9 => thread::sync_threads_count(1),
        3 => warp::warp_vote_ballot(FULL, true),
        _ if lane < 16 => warp::warp_shuffle_down(0xffff, lane, 1, 32).0,
        _ => 0,
    };
    for i in thread::elements(x.len()) {
        x.set(i, votes);
    }
}

#[test]
fn lanes_missing_from_warp_operations() -> TestResult {
    let missing = |error: Error| match error {
        Error::LanesMissing { kernel: "votes", operation: "warp_vote_ballot", mask: FULL, missing, place, .. } => {
            assert!(place.file().ends_with("simulator_checks.rs"));
            missing
        }
        other => panic!("{other}"),
    };
    assert_eq!(missing(run!(votes<0>, Shape::new(2, 64), 128).unwrap_err()), [(7, Whereabouts::Ended)]);
    let elsewhere = missing(run!(votes<3>, Shape::new(1, 32), 32).unwrap_err());
    assert!(matches!(elsewhere[..], [(9, Whereabouts::Waits { .. })]), "{elsewhere:?}");
    let error = run!(votes<0>, Shape::new(1, 5), 5).unwrap_err().to_string();
    assert!(error.contains("lane 5, which the block doesn't have"), "{error}");
    let error = run!(votes<2>, Shape::new(1, 32), 32).unwrap_err().to_string();
    assert!(error.contains("is called by lane 7, which it doesn't name"), "{error}");
    let error = run!(votes<4>, Shape::new(1, 32), 32).unwrap_err().to_string();
    assert!(error.contains("lane 15 reads lane 16, which the mask doesn't name"), "{error}");

    let mut x = vec![0; 64];
    simulator::launch::<votes<1>>(Shape::new(2, 32), (view(&mut x),))?;
    assert_eq!((x[0], x[6], x[7], x[63]), (0b111_1000, 0b111_1000, 0xffff_fc00, 0xffff_fc00));
    Ok(())
}

/// Half of the threads are at another kind of barrier.
#[kernel]
fn two_barriers(mut x: GlobalMut<u32>) {
    let count = match thread::thread_idx_x() < 16 {
        true => thread::sync_threads_count(1),
        false => thread::sync_threads_or(1),
    };
    for i in thread::elements(x.len()) {
        x.set(i, count);
    }
}

/// Takes more dynamic shared memory than there is, by one element, if the block has 65 threads.
#[kernel]
fn takes(mut x: GlobalMut<u32>) {
    let mut dynamic = shared::Dynamic::new();
    let bytes = dynamic.take::<u8>(3);
    let words = dynamic.take::<u32>(thread::block_dim_x() as usize);
    if bytes.is_empty() || words.len() != thread::block_dim_x() as usize || dynamic.taken() != 16 + words.len() * 4 {
        cuda_std::trap();
    }
    for i in thread::elements(x.len()) {
        x.set(i, 1);
    }
}

#[test]
fn other_mistakes() -> TestResult {
    let error = run!(two_barriers, Shape::new(1, 32), 32).unwrap_err();
    assert!(
        matches!(
            error,
            Error::BarriersDiffer {
                first: ([0, 0, 0], "sync_threads_count", _),
                second: ([16, 0, 0], "sync_threads_or", _),
                ..
            }
        ),
        "{error}"
    );
    let shape = |threads| Shape {
        dynamic_shared_bytes: shared::Layout::new().and::<u8>(3).and::<u32>(64).bytes(),
        ..Shape::new(1, threads)
    };
    run!(takes, shape(64), 64)?;
    let mut x = vec![0];
    let parameters = (GlobalAtomic::from_slice(&mut x),);
    let error = simulator::launch::<wrong_order>(Shape::new(1, 1), parameters).unwrap_err().to_string();
    assert!(error.contains("there is no ordering Release") && error.contains("simulator_checks.rs"), "{error}");
    let error = run!(takes, shape(65), 65).unwrap_err().to_string();
    assert!(error.contains("65 elements of 4 bytes at offset 16 don't fit into the 272 bytes"), "{error}");
    assert!(error.contains("simulator_checks.rs"), "{error}");
    Ok(())
}

/// Writes down in which order threads come.
#[kernel]
fn order(mut x: GlobalMut<u32>) {
    // SAFETY: every access to this element is atomic.
    let before = unsafe { x.atomic(0) }.fetch_add(1, Scope::Device);
    for i in thread::elements(x.len() - 1) {
        // SAFETY: one element for each thread.
        unsafe { x.write(1 + i.get(), before) };
    }
}

#[test]
fn seeds_give_orders() -> TestResult {
    let run = |seed: Option<u64>| -> Result<Vec<u32>, Error> {
        let mut x = vec![0u32; 257];
        simulator::launch_with::<order>(Options { seed, ..Options::CHECKED }, Shape::new(8, 32), (view(&mut x),))?;
        Ok(x)
    };
    let one = run(Some(1))?;
    assert_eq!(one, run(Some(1))?);
    assert_ne!(one, run(Some(2))?);
    let mut sorted = one[1..].to_vec();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..256));
    Ok(())
}

/// Talks.
#[kernel]
fn talks(mut x: GlobalMut<u32>) {
    for i in thread::elements(x.len()) {
        if i.get() == 3 {
            println!("thread {} of {}", thread::index(), thread::count());
        }
        x.set(i, dbg!(i.get() as u32));
    }
}

/// Waits for the first thread by sleeping.
#[kernel]
fn sleeps(mut x: GlobalMut<u32>) {
    let last = thread::index() + 1 == thread::count();
    // SAFETY: every access to this element is atomic.
    unsafe {
        if last {
            x.atomic(0).store(1, Scope::Block);
        }
        while x.atomic(0).load(Scope::Block) == 0 {
            thread::nanosleep(100);
        }
    }
    for i in thread::elements(x.len() - 1) {
        // SAFETY: one element for each thread.
        unsafe { x.write(1 + i.get(), 1) };
    }
}

#[test]
fn kernels_may_print_and_wait() -> TestResult {
    let mut x = vec![9; 5];
    simulator::launch::<talks>(Shape::new(1, 32), (view(&mut x),))?;
    assert_eq!(x, [0, 1, 2, 3, 4]);
    let mut x = vec![0; 33];
    simulator::launch::<sleeps>(Shape::new(1, 32), (view(&mut x),))?;
    assert_eq!(x, [1; 33]);
    Ok(())
}

/// Half of the threads hand numbers on to the other half.
#[test]
fn release_and_acquire_order_threads_of_a_block() -> TestResult {
    let input: Vec<u32> = (0..32).collect();
    let run = |ordered: bool, seed: Option<u64>| {
        let options = Options { seed, ..Options::CHECKED };
        let (mut data, mut flags, mut output) = (vec![0; 32], vec![0; 32], vec![0; 32]);
        let (data, flags) = (view(&mut data), GlobalAtomic::from_slice(&mut flags));
        let parameters = (Global::from_slice(&input), data, flags, view(&mut output));
        match ordered {
            true => simulator::launch_with::<handed_on<true>>(options, Shape::new(1, 64), parameters),
            false => simulator::launch_with::<handed_on<false>>(options, Shape::new(1, 64), parameters),
        }
    };
    for seed in [None, Some(1), Some(2)] {
        run(true, seed)?;
        let error = run(false, seed).unwrap_err();
        assert!(matches!(error, Error::Race { kernel: "handed_on", memory: "global", .. }), "{error}");
    }
    Ok(())
}

/// A load that would release.
#[kernel]
fn wrong_order(x: GlobalAtomic<u32>) {
    x.atomic(0).ordered(Ordering::Release).load(Scope::Device);
}

/// Reads every element but those that thread 5 would have written, or also those.
#[kernel]
fn reads_all<const RIGHT: bool>(mut x: GlobalMut<u32>, mut sum: GlobalMut<u32>) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: own elements before the barrier, the neighbour's after it.
    unsafe {
        if RIGHT || t != 5 {
            x.write(t, 1);
        }
        thread::sync_threads();
        sum.write(t, x.read((t + 1) % 32));
    }
}

/// y = x
#[kernel]
fn copies(x: Global<f64>, mut y: GlobalMut<f64>) {
    for i in thread::elements(x.len()) {
        y.set(i, x[i]);
    }
}

warpsmith::kernels! {
    /// Kernels that need a runtime.
    struct Checked;
    reads_all<{true, false}>;
    copies;
    whole_blocks;
}

/// On the simulator's runtime, buffers that are made without contents are watched.
#[test]
fn reads_of_uninitialized_buffers() -> TestResult {
    let runtime = warpsmith::Runtime::simulator();
    runtime.register::<Checked>(b"the simulator needs none")?;
    let (stream, shape) = (runtime.default_stream(), warpsmith::Shape::new([1; 3], [32, 1, 1]));
    // SAFETY: written by the kernel, or read on purpose: host memory has contents anyway.
    let uninitialized = || unsafe { runtime.uninitialized::<u32>(32) };
    let (mut x, mut sum) = (uninitialized()?, runtime.zeros(32)?);
    let error = runtime.kernel::<Checked, reads_all<false>>()?.launch(&stream, shape, (&mut x, &mut sum)).unwrap_err();
    match error {
        warpsmith::Error::Simulated(Error::UnwrittenGlobal { kernel: "reads_all", access, index: 5 }) => {
            assert_eq!((access.block, access.thread, access.what), ([0; 3], [4, 0, 0], "reads"));
            assert!(access.place.file().ends_with("simulator_checks.rs"));
        }
        other => panic!("{other}"),
    }
    let mut x = uninitialized()?;
    runtime.kernel::<Checked, reads_all<true>>()?.launch(&stream, shape, (&mut x, &mut sum))?;

    // SAFETY: as above.
    let (mut x, mut y) = unsafe { (runtime.uninitialized::<f64>(32)?, runtime.uninitialized::<f64>(32)?) };
    let copies = runtime.kernel::<Checked, copies>()?;
    x.slice_mut(..31)?.fill(1.0)?;
    let error = copies.launch(&stream, shape, (&x, &mut y)).unwrap_err().to_string();
    assert!(error.contains("element 31 of an uninitialized buffer is read before anyone wrote it"), "{error}");
    x.slice_mut(31..)?.copy_from_slice(&[2.0])?;
    copies.launch(&stream, shape, (&x, &mut y))?;
    assert_eq!(y.to_vec()?[30..], [1.0, 2.0]);
    Ok(())
}

/// Requires whole blocks.
#[kernel(block = (16, 2))]
fn whole_blocks(mut x: GlobalMut<u32>) {
    for i in thread::elements(x.len()) {
        x.set(i, thread::thread_idx_y());
    }
}

#[test]
fn blocks_have_the_shape_that_the_kernel_requires() -> TestResult {
    let shape = |block| Shape { grid: [1; 3], block, dynamic_shared_bytes: 0 };
    let error = run!(whole_blocks, shape([32, 1, 1]), 32).unwrap_err();
    assert_eq!(error, Error::WrongBlock { kernel: "whole_blocks", block: [32, 1, 1], required: [16, 2, 1] });
    run!(whole_blocks, shape([16, 2, 1]), 32)?;
    // The runtime gives the error that a GPU's would.
    let runtime = warpsmith::Runtime::simulator();
    runtime.register::<Checked>(b"the simulator needs none")?;
    let (mut x, shape) = (runtime.zeros::<u32>(32)?, warpsmith::Shape::new([1; 3], [32, 1, 1]));
    let kernel = runtime.kernel::<Checked, whole_blocks>()?;
    let error = kernel.launch(&runtime.default_stream(), shape, (&mut x,)).unwrap_err();
    assert!(matches!(error, warpsmith::Error::BlockShape { expected: [16, 2, 1], .. }), "{error}");
    Ok(())
}

/// Vectors of four at `index`, and what is written with hints.
#[kernel]
fn vectors(index: usize, x: Global<f32>, mut y: GlobalMut<f32>) {
    // SAFETY: one thread.
    unsafe { y.store_vector(0, x.load_vector::<4>(index, Load::Streaming), Store::Streaming) };
    for i in thread::elements(y.len()).skip(4) {
        let value = x.load(i.get(), Load::Keep);
        y.store(i, value, Store::L2);
    }
}

#[test]
fn vectors_are_aligned_and_in_bounds() -> TestResult {
    #[repr(align(16))]
    struct Aligned([f32; 8]);
    let x = Aligned([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let mut y = Aligned([9.0; 8]);
    let mut run = |index| {
        let parameters = (index, Global::from_slice(&x.0), view(&mut y.0));
        simulator::launch::<vectors>(Shape::new(1, 1), parameters)
    };
    run(4)?;
    let error = run(2).unwrap_err().to_string();
    assert!(error.contains("element 2 does not begin at a multiple of 16 bytes"), "{error}");
    let error = run(8).unwrap_err().to_string();
    assert!(error.contains("index 11 is out of bounds: the view has 8 elements"), "{error}");
    assert_eq!(y.0, [4.0, 5.0, 6.0, 7.0, 4.0, 5.0, 6.0, 7.0]);
    Ok(())
}
