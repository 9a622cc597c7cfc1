//! Buffers, views, matrices, pinned memory, and the cache of memory.

use std::sync::Arc;

use super::{Outcome, ensure, ensure_error};
use crate::{Buffer, DeviceCopy, Error, Matrix, Runtime, View, ViewMut};

pub fn buffers(runtime: &Runtime) -> Outcome {
    let host: Vec<u32> = (0..1000).collect();
    let mut a = runtime.buffer_from(&host)?;
    ensure!(a.len() == 1000 && a.byte_len() == 4000, "{a:?}");
    ensure!(a.to_vec()? == host, "round trip");
    // Pieces at odd offsets.
    for offset in [1, 2, 3, 7, 999] {
        ensure!(a.slice(offset..)?.to_vec()? == host[offset..], "slice at {offset}");
    }
    ensure!(a.slice(10..20)?.slice(3..=5)?.to_vec()? == [13, 14, 15], "slice of a slice");
    ensure_error!(a.slice(5..1001), Error::OutOfBounds { len: 1000, .. });
    ensure_error!(a.slice(usize::MAX..), Error::OutOfBounds { .. });
    ensure_error!(a.slice(..=usize::MAX), Error::OutOfBounds { .. });
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is checked")]
    let reversed = a.slice(7..3);
    ensure_error!(reversed, Error::OutOfBounds { .. });

    a.slice_mut(1..4)?.copy_from_slice(&[71, 72, 73])?;
    ensure!(a.slice(..6)?.to_vec()? == [0, 71, 72, 73, 4, 5], "write into a piece");
    ensure_error!(a.copy_from_slice(&[1]), Error::LengthMismatch { left: 1, right: 1000, .. });

    let mut b = runtime.zeros::<u32>(10)?;
    b.slice_mut(5..8)?.copy_from(a.slice(1..4)?)?;
    ensure!(b.to_vec()? == [0, 0, 0, 0, 0, 71, 72, 73, 0, 0], "copy between pieces");
    ensure_error!(b.copy_from(&a), Error::LengthMismatch { .. });
    ensure!(b.try_clone()?.to_vec()? == b.to_vec()?, "clone");

    let (left, right) = b.as_view_mut().split_at_mut(5)?;
    let (mut left, right): (ViewMut<'_, u32>, ViewMut<'_, u32>) = (left, right);
    left.copy_from(&right)?;
    ensure!(b.slice(..5)?.to_vec()? == [71, 72, 73, 0, 0], "copy between halves");
    ensure_error!(b.as_view_mut().split_at_mut(11), Error::OutOfBounds { .. });

    ensure!(b.as_slice().is_ok() != runtime.is_cuda(), "host memory on the CPU only");
    let view: View<'_, u32> = b.as_view();
    ensure!(runtime.default_stream().read(view)? == b.to_vec()?, "read on a stream");
    let mut target = [0; 10];
    runtime.default_stream().read_into(&b, &mut target)?;
    ensure!(target[..] == b.to_vec()?, "read into a slice");
    Ok(())
}

/// Another buffer plays the other library.
pub fn foreign(runtime: &Runtime) -> Outcome {
    let theirs = Arc::new(runtime.buffer_from(&[1.0f32, 2.0, 3.0])?);
    runtime.synchronize()?;
    let start = std::ptr::with_exposed_provenance_mut(theirs.device_address() as usize);
    let bytes = runtime.memory().bytes_in_use;
    // SAFETY: three elements of this device, owned by what is handed over, and not touched before the buffer is gone.
    let mut ours = unsafe { Buffer::<f32>::from_raw_parts(runtime, start, 3, Arc::clone(&theirs)) }?;
    ensure!(ours.device_address() == theirs.device_address(), "nothing is copied");
    runtime.stream()?.fill(ours.slice_mut(1..)?, 7.0)?;
    ensure!(ours.to_vec()? == [1.0, 7.0, 7.0], "written on another stream, then read");
    ensure!(runtime.memory().bytes_in_use == bytes, "nothing is allocated");
    ensure!(Arc::strong_count(&theirs) == 2, "the owner is kept");
    drop(ours);
    ensure!(Arc::strong_count(&theirs) == 1, "the owner is given up");
    ensure!(theirs.to_vec()? == [1.0, 7.0, 7.0], "the memory is still there");

    // SAFETY: nothing is read or written.
    let refused = |start, len| unsafe { Buffer::<f32>::from_raw_parts(runtime, start, len, ()) };
    ensure_error!(refused(std::ptr::null_mut(), 1), Error::ForeignMemory { address: 0, .. });
    ensure_error!(refused(start.wrapping_byte_add(2), 1), Error::ForeignMemory { .. });
    ensure_error!(refused(start, usize::MAX), Error::SizeOverflow { .. });
    ensure!(refused(std::ptr::null_mut(), 0)?.is_empty(), "no elements need no address");
    Ok(())
}

fn fill_of<T: DeviceCopy + PartialEq + std::fmt::Debug>(runtime: &Runtime, background: T, value: T) -> Outcome {
    for len in [1usize, 2, 3, 5, 64, 1001] {
        let mut buffer = runtime.filled(len + 2, background)?;
        buffer.slice_mut(1..=len)?.fill(value)?;
        let mut expected = vec![value; len + 2];
        (expected[0], expected[len + 1]) = (background, background);
        let found = buffer.to_vec()?;
        ensure!(found == expected, "{len} x {value:?}: {found:?}");
    }
    Ok(())
}

pub fn fills(runtime: &Runtime) -> Outcome {
    fill_of(runtime, 0u8, 7)?;
    fill_of(runtime, 1u16, 0x1234)?;
    fill_of(runtime, [9u8; 3], [1, 2, 3])?;
    fill_of(runtime, 0f32, 1.5)?;
    fill_of(runtime, 1f64, -2.25)?;
    fill_of(runtime, [0u32; 3], [1, 2, 3])?;
    fill_of(runtime, [0u64; 4], [1, 2, 3, u64::MAX])?;
    fill_of(runtime, (1u8, 2u32), (3, 4))?;
    Ok(())
}

pub fn empty(runtime: &Runtime) -> Outcome {
    let mut a = runtime.zeros::<f32>(0)?;
    ensure!(a.is_empty() && a.to_vec()?.is_empty(), "empty");
    a.fill(1.0)?;
    a.copy_from_slice(&[])?;
    let other = a.try_clone()?;
    a.copy_from(&other)?;
    ensure!(a.device_address() != 0, "an empty buffer's address is not null");
    ensure!(runtime.buffer_from(&[1u8, 2])?.slice(2..)?.to_vec()?.is_empty(), "empty piece at the end");
    let unit = runtime.filled(5, ())?;
    ensure!(unit.len() == 5 && unit.to_vec()?.len() == 5, "elements without bytes");
    for (rows, columns) in [(0, 8), (8, 0), (0, 0)] {
        let matrix = Matrix::<f32>::zeros(runtime, rows, columns)?;
        ensure!(matrix.to_nalgebra()?.shape() == (rows, columns), "{matrix:?}");
    }
    Ok(())
}

pub fn size_overflow(runtime: &Runtime) -> Outcome {
    ensure_error!(runtime.zeros::<f32>(usize::MAX), Error::SizeOverflow { element_bytes: 4, .. });
    ensure_error!(runtime.zeros::<f32>(usize::MAX / 4), Error::SizeOverflow { .. });
    ensure_error!(Matrix::<f32>::zeros(runtime, usize::MAX / 2, 3), Error::SizeOverflow { .. });
    Ok(())
}

pub fn other_runtimes(runtime: &Runtime) -> Outcome {
    let cpu = Runtime::cpu();
    let (mut here, there) = (runtime.zeros::<f32>(4)?, cpu.zeros::<f32>(4)?);
    ensure_error!(here.copy_from(&there), Error::WrongRuntime { .. });
    ensure_error!(cpu.default_stream().read(&here), Error::WrongRuntime { .. });
    ensure_error!(cpu.default_stream().fill(&mut here, 1.0), Error::WrongRuntime { .. });
    let event = cpu.default_stream().record()?;
    ensure_error!(runtime.default_stream().wait(&event), Error::WrongRuntime { .. });
    Ok(())
}

pub fn matrices(runtime: &Runtime) -> Outcome {
    let host = nalgebra::DMatrix::from_fn(3, 4, |row, column| (10 * row + column) as f32);
    let mut matrix = Matrix::from_nalgebra(runtime, &host)?;
    ensure!(matrix.shape() == (3, 4) && matrix.to_nalgebra()? == host, "round trip");
    ensure!(matrix.column(2)?.to_vec()? == [2.0, 12.0, 22.0], "a column is a sample");
    ensure!(matrix.columns_range(1..3)?.len() == 6, "two columns");
    ensure_error!(matrix.column(4), Error::OutOfBounds { .. });
    matrix.column_mut(0)?.fill(5.0)?;
    ensure!(matrix.to_nalgebra()?.column(0).iter().all(|&x| x == 5.0), "write a column");
    let vector = nalgebra::DVector::from_vec(vec![1.0f64, 2.0]);
    ensure!(Matrix::from_nalgebra_vector(runtime, &vector)?.to_nalgebra_vector()? == vector, "vector");
    ensure_error!(Matrix::from_columns(runtime, 2, 2, &[1u8]), Error::LengthMismatch { left: 1, right: 4, .. });
    ensure!(matrix.try_clone()?.into_buffer().to_vec()? == matrix.buffer().to_vec()?, "clone");
    Ok(())
}

pub fn pinned_transfers(runtime: &Runtime) -> Outcome {
    let stream = runtime.stream()?;
    let mut pinned = runtime.pinned::<u32>(4096)?;
    pinned.iter_mut().zip(0..).for_each(|(element, value)| *element = value);
    let mut device = runtime.zeros::<u32>(4096)?;
    stream.upload(&mut pinned, &mut device)?.wait()?;
    pinned.fill(0);
    // A forgotten guard must not let the buffer be seen before the copy is done.
    std::mem::forget(stream.download(&device, &mut pinned)?);
    ensure!(pinned.iter().copied().eq(0..4096), "download whose guard was forgotten");
    drop(stream.download(&device, &mut pinned)?);
    ensure!(pinned[4095] == 4095, "download");
    ensure_error!(stream.upload(&mut pinned, device.slice_mut(1..)?), Error::LengthMismatch { .. });
    // From pinned memory, but through the function for any slice.
    let copy = runtime.buffer_from(&pinned)?;
    pinned.fill(1);
    ensure!(copy.to_vec()?.into_iter().eq(0..4096), "the source may change when buffer_from returns");
    Ok(())
}

pub fn steady_state(runtime: &Runtime) -> Outcome {
    let stream = runtime.stream()?;
    let in_use = runtime.memory().bytes_in_use;
    let step = || -> Result<(), Error> {
        let a = runtime.zeros::<f32>(1000)?;
        let b = stream.zeros::<f32>(100_000)?;
        let mut c = runtime.zeros::<f32>(100_000)?;
        c.copy_from(&b)?;
        stream.duplicate(&a)?;
        Ok(())
    };
    step()?;
    let before = runtime.memory();
    for _ in 0..100 {
        step()?;
    }
    let after = runtime.memory();
    ensure!(before.driver_allocations == after.driver_allocations, "{before:?} then {after:?}");
    ensure!(after.bytes_in_use == in_use && after.bytes_cached > 0, "{after:?}");
    runtime.trim()?;
    ensure!(runtime.memory().bytes_cached == 0, "{:?}", runtime.memory());
    step()?;
    Ok(())
}

pub fn out_of_memory(runtime: &Runtime) -> Outcome {
    drop(runtime.zeros::<u8>(1 << 20)?);
    let total = runtime.device().cuda().map_or(0, |properties| properties.memory_bytes);
    // SAFETY: the request fails.
    let result = unsafe { runtime.uninitialized::<u8>(total * 2) };
    ensure_error!(result, Error::OutOfMemory { .. });
    ensure!(runtime.memory().bytes_cached == 0, "the cache was given back first: {:?}", runtime.memory());
    ensure!(runtime.zeros::<u8>(1 << 20)?.to_vec()?.len() == 1 << 20, "goes on afterwards");
    Ok(())
}
