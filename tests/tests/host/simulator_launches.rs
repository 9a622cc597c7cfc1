//! How the simulator runs kernels: orders, waiting and printing; and what it refuses at once.

use cuda_std::atomic::Ordering;
use cuda_std::cache::{Load, Store};
use cuda_std::prelude::*;
use cuda_std::simulator::{Error, Options, Shape};
use warpsmith_tests::TestResult;

use crate::view;

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

/// A load that would release.
#[kernel]
fn wrong_order(x: GlobalAtomic<u32>) {
    x.atomic(0).ordered(Ordering::Release).load(Scope::Device);
}

#[test]
fn arrays_beyond_the_memory_and_orderings_that_are_none() -> TestResult {
    let shape = |threads| Shape {
        dynamic_shared_bytes: shared::Layout::new().and::<u8>(3).and::<u32>(64).bytes(),
        ..Shape::new(1, threads)
    };
    run!(takes, shape(64), 64)?;
    let mut x = vec![0];
    let parameters = (GlobalAtomic::from_slice(&mut x),);
    let error = simulator::launch::<wrong_order>(Shape::new(1, 1), parameters).unwrap_err().to_string();
    assert!(error.contains("there is no ordering Release") && error.contains("simulator_launches.rs"), "{error}");
    let error = run!(takes, shape(65), 65).unwrap_err().to_string();
    assert!(error.contains("65 elements of 4 bytes at offset 16 don't fit into the 272 bytes"), "{error}");
    assert!(error.contains("simulator_launches.rs"), "{error}");
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

/// Requires whole blocks.
#[kernel(block = (16, 2))]
fn whole_blocks(mut x: GlobalMut<u32>) {
    for i in thread::elements(x.len()) {
        x.set(i, thread::thread_idx_y());
    }
}

warpsmith::kernels! {
    /// Kernels that need a runtime.
    struct Checked;
    whole_blocks;
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
