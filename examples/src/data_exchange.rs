//! Data in and out: nalgebra, ndarray, NumPy's files, and memory that another library owns.

use std::sync::Arc;

use nalgebra::DMatrix;
use ndarray::Array2;
use ndarray_npy::{ReadNpyExt, WriteNpyExt};
use warpsmith::activations::Relu;
use warpsmith::ops::Ops;
use warpsmith::{Buffer, Matrix, Runtime};

use crate::{Outcome, expect_close};

pub fn run(runtime: &Runtime) -> Outcome {
    linear_algebra(runtime)?;
    numpy_files(runtime)?;
    match runtime.device().cuda() {
        Some(device) => memory_of_cudarc(runtime, device.index as usize),
        None => memory_of_the_host(runtime),
    }
}

/// Host matrices are factors as they are, and a product comes back as what its first factor was.
fn linear_algebra(runtime: &Runtime) -> Outcome {
    let ops = Ops::new(runtime);
    let (w, x) =
        (DMatrix::from_row_slice(2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]), DMatrix::from_element(3, 2, 0.5f32));
    let y: DMatrix<f32> = ops.linear(&w, &x).run()?;
    expect_close("nalgebra's product", y.as_slice(), (&w * &x).map(f64::from).as_slice(), 1e-6)?;

    let (w, x) = (ndarray::arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]), Array2::from_elem((3, 2), 0.5f32));
    let y: Array2<f32> = ops.linear(&w, &x).run()?;
    let expected: Vec<f64> = w.dot(&x).iter().map(|&y| y.into()).collect();
    expect_close("ndarray's product", &y.iter().copied().collect::<Vec<_>>(), &expected, 1e-6)?;
    println!("nalgebra and ndarray: both products are right");
    Ok(())
}

/// What `numpy.save` writes and `numpy.load` reads.
fn numpy_files(runtime: &Runtime) -> Outcome {
    let mut file = Vec::new();
    ndarray::arr2(&[[-1.0f32, 2.0], [3.0, -4.0], [5.0, -6.0]]).write_npy(&mut file)?;

    let read = Array2::<f32>::read_npy(&file[..])?;
    let mut matrix = Matrix::from_ndarray(runtime, read.view())?;
    Ops::new(runtime).map_in_place(Relu, &mut matrix)?;
    let mut file = Vec::new();
    matrix.to_ndarray()?.write_npy(&mut file)?;

    // The text of an NPY file's header is at its beginning, whatever wrote it.
    let header = String::from_utf8_lossy(&file[10..]).into_owned();
    println!("NPY: {} bytes, {}", file.len(), header.split('}').next().unwrap_or_default());
    let back = Array2::<f32>::read_npy(&file[..])?;
    if back != ndarray::arr2(&[[0.0, 2.0], [3.0, 0.0], [5.0, 0.0]]) {
        return Err(format!("relu gave {back}").into());
    }
    Ok(())
}

/// An array of cudarc's, used in place. Both libraries work in the device's primary context.
fn memory_of_cudarc(runtime: &Runtime, device: usize) -> Outcome {
    use cudarc::driver::{CudaContext, DevicePtr};

    let stream = CudaContext::new(device)?.default_stream();
    let theirs = Arc::new(stream.clone_htod(&[-1.0f32, 2.0, -3.0])?);
    let address = {
        // What it records when it is dropped is for cudarc's own streams; the wait below is for ours.
        let (address, _record) = theirs.device_ptr(&stream);
        address
    };
    stream.synchronize()?;
    // SAFETY: three elements on this device, written and waited for; cudarc does not touch them before `ours` is gone.
    let mut ours = unsafe { Buffer::from_raw_parts(runtime, address as *mut f32, theirs.len(), Arc::clone(&theirs)) }?;
    Ops::new(runtime).map_in_place(Relu, &mut ours)?;
    // Waits for what was submitted here.
    drop(ours);
    let after = stream.clone_dtoh(&*theirs)?;
    stream.synchronize()?;
    println!("cudarc's memory after relu: {after:?}");
    expect_close("cudarc's memory", &after, &[0.0, 2.0, 0.0], 0.0)
}

/// Without a GPU another library's memory is the host's: here ndarray's.
fn memory_of_the_host(runtime: &Runtime) -> Outcome {
    let mut theirs = ndarray::arr1(&[-1.0f32, 2.0, -3.0]);
    // SAFETY: three elements; the array outlives the buffer and is not touched before it is gone, so that nothing needs to own it.
    let mut ours = unsafe { Buffer::from_raw_parts(runtime, theirs.as_mut_ptr(), theirs.len(), ()) }?;
    Ops::new(runtime).map_in_place(Relu, &mut ours)?;
    drop(ours);
    println!("ndarray's memory after relu: {theirs}");
    expect_close("ndarray's memory", theirs.as_slice().ok_or("not contiguous")?, &[0.0, 2.0, 0.0], 0.0)
}
