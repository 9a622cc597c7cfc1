//! What the simulator finds in memory, at barriers and in warps: planted bugs, each with the line it names, and right twins that it
//! says nothing about.

use cuda_std::prelude::*;
use cuda_std::simulator::{Error, Options, Shape, Whereabouts};
use cuda_std::warp::FULL;
use test_kernels::atomics::handed_on;
use test_kernels::planted::barriers::{most_threads, two_barriers, votes};
use test_kernels::planted::memory::{global_bounds, shared_bounds, shared_reads};
use test_kernels::planted::races::{global_sum, passed_on, shared_neighbours, shared_rounds};
use warpsmith_tests::TestResult;

use crate::view;

/// Whether the place is in one of the files of planted bugs.
fn is_in(place: cuda_std::simulator::Place, file: &str) -> bool {
    std::path::Path::new(place.file()).ends_with(format!("planted/{file}"))
}

#[test]
fn accesses_out_of_bounds() -> TestResult {
    macro_rules! global {
        ($how:literal) => {{
            let (x, mut y) = ([3u32; 32], [0u32; 32]);
            simulator::launch::<global_bounds<$how>>(Shape::new(1, 32), (Global::from_slice(&x), view(&mut y)))
        }};
    }
    global!(0)?;
    for error in [global!(1), global!(2)] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("thread [7, 0, 0]: index 32 is out of bounds: the view has 32 elements"), "{error}");
        assert!(error.contains("memory.rs"), "{error}");
    }
    let shape = Shape { dynamic_shared_bytes: 128, ..Shape::new(1, 32) };
    run!(shared_bounds<0>, shape, 32)?;
    for error in [run!(shared_bounds<1>, shape, 32), run!(shared_bounds<2>, shape, 32)] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("thread [7, 0, 0]: index 32 is out of bounds: the shared array has 32"), "{error}");
    }
    Ok(())
}

#[test]
fn barriers_that_not_all_threads_reach() -> TestResult {
    match run!(most_threads<false>, Shape::new(2, 64), 128).unwrap_err() {
        Error::BarrierNotReached {
            kernel: "most_threads", waiting, ended, waiting_count, ended_count, place, ..
        } => {
            assert_eq!((waiting, ended, waiting_count, ended_count), ([0; 3], [40, 0, 0], 63, 1));
            assert!(is_in(place, "barriers.rs"), "{place}");
        }
        other => panic!("{other}"),
    }
    run!(most_threads<true>, Shape::new(2, 64), 128)?;
    match run!(two_barriers, Shape::new(1, 32), 32).unwrap_err() {
        Error::BarriersDiffer { first, second, .. } => {
            assert_eq!((first.0, first.1), ([0; 3], "sync_threads_count"));
            assert_eq!((second.0, second.1), ([16, 0, 0], "sync_threads_or"));
        }
        other => panic!("{other}"),
    }
    Ok(())
}

#[test]
fn reads_of_unwritten_shared_memory() -> TestResult {
    match run!(shared_reads<false>, Shape::new(1, 64), 64).unwrap_err() {
        Error::UnwrittenShared { kernel: "shared_reads", access, index: 5 } => {
            assert_eq!((access.block, access.thread, access.what), ([0; 3], [4, 0, 0], "reads"));
            assert!(is_in(access.place, "memory.rs"), "{}", access.place);
        }
        other => panic!("{other}"),
    }
    run!(shared_reads<true>, Shape::new(3, 64), 192)?;
    // Nothing is looked for.
    run!(shared_reads<false>, Shape::new(1, 64), 64, Options::FAST)?;
    Ok(())
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
                assert!(is_in(first.place, "races.rs") && is_in(second.place, "races.rs"));
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

#[test]
fn warp_barriers_order_memory() -> TestResult {
    let error = run!(passed_on<false>, Shape::new(1, 32), 32).unwrap_err();
    assert!(matches!(error, Error::Race { .. }), "{error}");
    run!(passed_on<true>, Shape::new(1, 32), 32)?;
    Ok(())
}

#[test]
fn races_in_global_memory() -> TestResult {
    let shape = Shape::new(4, 32);
    let race = |error: Error, kinds: &[&str]| match error {
        Error::Race { kernel: "global_sum", memory: "global", first, second, .. } => {
            assert!(kinds.contains(&first.what) && kinds.contains(&second.what), "{first} {second}");
            assert_ne!((first.block, first.thread), (second.block, second.thread));
            assert!(is_in(first.place, "races.rs"), "{first}");
        }
        other => panic!("{other}"),
    };
    for seed in [None, Some(3), Some(4)] {
        let options = Options { seed, ..Options::CHECKED };
        race(run!(global_sum<0>, shape, 64, options).unwrap_err(), &["writes"]);
        race(run!(global_sum<1>, shape, 128, options).unwrap_err(), &["writes", "reads"]);
        race(run!(global_sum<3>, shape, 64, options).unwrap_err(), &["writes", "updates atomically"]);
        let mut x = vec![0u32; 1];
        simulator::launch_with::<global_sum<2>>(options, shape, (view(&mut x),))?;
        assert_eq!(x, [127 * 128 / 2]);
    }
    run!(global_sum<0>, shape, 64, Options::FAST)?;
    Ok(())
}

#[test]
fn lanes_missing_from_warp_operations() -> TestResult {
    let missing = |error: Error| match error {
        Error::LanesMissing { kernel: "votes", operation: "warp_vote_ballot", mask: FULL, missing, place, .. } => {
            assert!(is_in(place, "barriers.rs"), "{place}");
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
