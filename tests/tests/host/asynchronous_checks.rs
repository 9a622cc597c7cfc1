//! What the simulator finds in kernels with asynchronous copies, mbarriers, named barriers and clusters: planted bugs, and right
//! twins that it says nothing about.

use cuda_std::prelude::*;
use cuda_std::simulator::{Error, Options, Shape};
use cuda_std::tensor_map::Tiling;
use test_kernels::planted::asynchronous::{boxes, copies, handed_over, short_copies, stores};
use test_kernels::planted::clusters::{grid_neighbours, neighbours};
use warpsmith_tests::TestResult;

use crate::view;

#[test]
fn copies_must_be_waited_for() -> TestResult {
    run!(copies<0>, Shape::new(1, 64), 256)?;
    run!(short_copies, Shape::new(1, 32), 256)?;
    let error = run!(copies<1>, Shape::new(1, 64), 256).unwrap_err();
    assert!(matches!(error, Error::UnwrittenShared { index: 0, .. }), "{error}");
    match run!(copies<2>, Shape::new(1, 64), 256).unwrap_err() {
        Error::LeftoverCopy { kernel: "copies", thread: [0, 0, 0], what: "a cp_async copy", place, .. } => {
            assert!(place.file().ends_with("planted/asynchronous.rs"), "{place}");
        }
        other => panic!("{other}"),
    }
    Ok(())
}

fn boxed<K>(source: &[u32]) -> Result<Vec<u32>, Error>
where
    for<'a> K: cuda_std::SafeKernel + Kernel<Parameters<'a> = (TensorMap<'a, u32, 2>, GlobalMut<'a, u32>)>,
{
    let map = TensorMap::from_slice(source, &Tiling::new([16, 8], [16, 4])).expect("a right tiling");
    let mut y = vec![0; 64];
    let shape = Shape { dynamic_shared_bytes: 512, ..Shape::new(1, 64) };
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
    let error = boxed::<boxes<7>>(&source).unwrap_err().to_string();
    assert!(error.contains("multiple of 128"), "{error}");
    Ok(())
}

#[test]
fn stores_must_be_waited_for() -> TestResult {
    run!(stores<0>, Shape::new(1, 1), 256)?;
    for (error, expected) in [
        (run!(stores<1>, Shape::new(1, 1), 256), "a group of stores of the copy engine"),
        (run!(stores<2>, Shape::new(1, 1), 256), "a store of the copy engine, in no group"),
    ] {
        let error = error.unwrap_err();
        assert!(matches!(&error, Error::LeftoverCopy { what, .. } if *what == expected), "{error}");
    }
    Ok(())
}

#[test]
fn barriers_of_some_warps_order_memory() -> TestResult {
    run!(handed_over<0>, Shape::new(1, 64), 256)?;
    run!(handed_over<1>, Shape::new(1, 64), 256)?;
    let error = run!(handed_over<2>, Shape::new(1, 64), 256).unwrap_err();
    assert!(matches!(error, Error::Race { memory: "shared", .. }), "{error}");
    let error = run!(handed_over<3>, Shape::new(1, 64), 256).unwrap_err().to_string();
    assert!(error.contains("32 threads (first [32, 0, 0]"), "{error}");
    assert!(error.contains("barrier 2 has got 64 of the 96 threads"), "{error}");
    let error = run!(handed_over<4>, Shape::new(1, 64), 256).unwrap_err().to_string();
    assert!(error.contains("barrier 2 is used with 64 threads while others use it with 32"), "{error}");
    Ok(())
}

#[test]
fn clusters_are_checked() -> TestResult {
    let mut x = vec![9; 64];
    simulator::launch_with::<neighbours<0>>(Options::CHECKED, Shape::new(2, 32), (view(&mut x),))?;
    assert_eq!((x[0], x[31], x[32]), (1, 1, 0));
    for (error, expected) in [
        (run!(neighbours<1>, Shape::new(2, 32), 256), "the shared memory of block 0 of the cluster is gone"),
        (run!(neighbours<2>, Shape::new(2, 32), 256), "no shared memory lies at address 0x410"),
        (run!(neighbours<3>, Shape::new(2, 32), 256), "block 2 of a cluster of 2 blocks"),
        (run!(neighbours<4>, Shape::new(2, 32), 256), "wait at a barrier that"),
        (run!(neighbours<0>, Shape::new(3, 32), 256), "multiples of the kernel's cluster"),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    Ok(())
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
