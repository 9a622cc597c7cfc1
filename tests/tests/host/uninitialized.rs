//! What the simulator finds in buffers that were made without contents.

use cuda_std::prelude::*;
use cuda_std::simulator::Error;
use cuda_std::{cp_async, mbarrier, tma};
use test_kernels::planted::memory::global_reads;
use warpsmith::{Runtime, Shape};
use warpsmith_gpu::activations::Relu;
use warpsmith_gpu::kernels::{map_forward, map_in_place};
use warpsmith_tests::TestResult;

/// y = x
#[kernel]
fn copies(x: Global<f64>, mut y: GlobalMut<f64>) {
    for i in thread::elements(x.len()) {
        y.set(i, x[i]);
    }
}

/// Copies 32 elements asynchronously: each thread its own, or the copy engine all.
#[kernel]
fn copies_asynchronously<const ENGINE: bool>(x: Global<u32>, mut y: GlobalMut<u32>) {
    let (numbers, words) = (shared_array![u32; 32], shared_array![u64; 1]);
    let t = thread::thread_idx_x();
    // SAFETY: one barrier, of one arrival; a thread reads its own number, behind the wait.
    unsafe {
        let full = mbarrier::Barrier::at(words.address());
        if t == 0 {
            full.init(1);
        }
        thread::sync_threads();
        if !ENGINE {
            cp_async::copy::<4>(numbers.address().offset(4 * t), x.as_ptr().add(t as usize).cast());
            cp_async::wait_all();
        } else {
            if t == 0 {
                full.arrive_expect_tx(128);
                tma::load_bytes(numbers.address(), x.as_ptr().cast(), 128, full);
            }
            full.wait(0);
        }
        y.write(t as usize, numbers.read(t as usize));
    }
}

warpsmith::kernels! {
    struct Uninitialized;
    global_reads<{true, false}>;
    copies;
    copies_asynchronously<{true, false}>;
    map_forward<Relu, f32>;
    map_in_place<Relu, f32>;
}

#[test]
fn reads_of_uninitialized_buffers() -> TestResult {
    let runtime = Runtime::simulator();
    runtime.register::<Uninitialized>(b"the simulator needs none")?;
    let (stream, shape) = (runtime.default_stream(), Shape::new([1; 3], [32, 1, 1]));
    // SAFETY: written by the kernel, or read on purpose: host memory has contents anyway.
    let uninitialized = || unsafe { runtime.uninitialized::<u32>(32) };
    let (mut x, mut sum) = (uninitialized()?, runtime.zeros(32)?);
    let error =
        runtime.kernel::<Uninitialized, global_reads<false>>()?.launch(&stream, shape, (&mut x, &mut sum)).unwrap_err();
    match error {
        warpsmith::Error::Simulated(Error::UnwrittenGlobal { kernel: "global_reads", access, index: 5 }) => {
            assert_eq!((access.block, access.thread, access.what), ([0; 3], [4, 0, 0], "reads"));
            assert!(access.place.file().ends_with("planted/memory.rs"));
        }
        other => panic!("{other}"),
    }
    let mut x = uninitialized()?;
    runtime.kernel::<Uninitialized, global_reads<true>>()?.launch(&stream, shape, (&mut x, &mut sum))?;

    // SAFETY: as above.
    let (mut x, mut y) = unsafe { (runtime.uninitialized::<f64>(32)?, runtime.uninitialized::<f64>(32)?) };
    let copies = runtime.kernel::<Uninitialized, copies>()?;
    x.slice_mut(..31)?.fill(1.0)?;
    let error = copies.launch(&stream, shape, (&x, &mut y)).unwrap_err().to_string();
    assert!(error.contains("element 31 of an uninitialized buffer is read before anyone wrote it"), "{error}");
    x.slice_mut(31..)?.copy_from_slice(&[2.0])?;
    copies.launch(&stream, shape, (&x, &mut y))?;
    assert_eq!(y.to_vec()?[30..], [1.0, 2.0]);
    Ok(())
}

/// Element-wise kernels move packs of elements through raw pointers, and tell the simulator.
#[test]
fn element_wise_kernels_on_uninitialized_buffers() -> TestResult {
    let runtime = Runtime::simulator();
    runtime.register::<Uninitialized>(b"the simulator needs none")?;
    let (stream, shape) = (runtime.default_stream(), Shape::new([2, 1, 1], [32, 1, 1]));
    let forward = runtime.kernel::<Uninitialized, map_forward<Relu, f32>>()?;
    let in_place = runtime.kernel::<Uninitialized, map_in_place<Relu, f32>>()?;
    // A hole in a pack, and one in the ragged end.
    for hole in [50, 1021] {
        // SAFETY: read on purpose: host memory has contents anyway.
        let uninitialized = || unsafe { runtime.uninitialized::<f32>(1022) };
        let (mut x, mut y) = (uninitialized()?, uninitialized()?);
        x.slice_mut(..hole)?.fill(-1.0)?;
        x.slice_mut(hole + 1..)?.fill(2.0)?;
        let expect = |error: warpsmith::Error, name: &str| match error {
            warpsmith::Error::Simulated(Error::UnwrittenGlobal { kernel, index, .. }) => {
                assert_eq!((kernel, index), (name, hole));
            }
            other => panic!("{other}"),
        };
        expect(forward.launch(&stream, shape, (Relu, &x, &mut y)).unwrap_err(), "map_forward");
        expect(in_place.launch(&stream, shape, (Relu, &mut x)).unwrap_err(), "map_in_place");
        x.slice_mut(hole..=hole)?.fill(3.0)?;
        forward.launch(&stream, shape, (Relu, &x, &mut y))?;
        // What was written by a kernel has contents.
        in_place.launch(&stream, shape, (Relu, &mut y))?;
        assert_eq!(y.to_vec()?[hole - 1..][..2], [0.0, 3.0]);
    }
    Ok(())
}

#[test]
fn asynchronous_copies_of_uninitialized_buffers() -> TestResult {
    let runtime = Runtime::simulator();
    runtime.register::<Uninitialized>(b"the simulator needs none")?;
    let (stream, shape) = (runtime.default_stream(), Shape::new([1; 3], [32, 1, 1]));
    // SAFETY: read on purpose: host memory has contents anyway.
    let (mut x, mut y) = (unsafe { runtime.uninitialized::<u32>(32) }?, runtime.zeros::<u32>(32)?);
    x.slice_mut(..9)?.fill(1)?;
    let by_threads = runtime.kernel::<Uninitialized, copies_asynchronously<false>>()?;
    let by_engine = runtime.kernel::<Uninitialized, copies_asynchronously<true>>()?;
    // Copies count bytes; which thread's comes first is the simulator's own affair.
    for error in [
        by_threads.launch(&stream, shape, (&x, &mut y)).unwrap_err(),
        by_engine.launch(&stream, shape, (&x, &mut y)).unwrap_err(),
    ] {
        assert!(matches!(error, warpsmith::Error::Simulated(Error::UnwrittenGlobal { index: 36..128, .. })), "{error}");
    }
    x.slice_mut(9..)?.fill(2)?;
    by_threads.launch(&stream, shape, (&x, &mut y))?;
    by_engine.launch(&stream, shape, (&x, &mut y))?;
    assert_eq!(y.to_vec()?[8..10], [1, 2]);
    Ok(())
}
