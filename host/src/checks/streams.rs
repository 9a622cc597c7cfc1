//! Order across streams, events, graphs.

use super::kernels::{Axpy, library};
use super::{Outcome, ensure, ensure_error};
use crate::{Error, Runtime, Shape};

/// Large enough that a launch is still running when the next is submitted.
const LARGE: usize = 1 << 22;

pub fn events(runtime: &Runtime) -> Outcome {
    let stream = runtime.stream()?;
    let start = stream.record()?;
    let mut buffer = stream.zeros::<f32>(1 << 20)?;
    stream.fill(&mut buffer, 1.0)?;
    let end = stream.record()?;
    runtime.default_stream().wait(&end)?;
    end.synchronize()?;
    let elapsed = end.elapsed_since(&start)?;
    ensure!(elapsed.as_secs() < 10, "{elapsed:?}");
    stream.synchronize()?;
    runtime.synchronize()?;
    Ok(())
}

pub fn stream_limit(runtime: &Runtime) -> Outcome {
    let mut streams = Vec::new();
    let error = loop {
        match runtime.stream() {
            Ok(stream) if streams.len() < 100 => streams.push(stream),
            Ok(_) => return Err("more than 100 streams".into()),
            Err(error) => break error,
        }
    };
    ensure!(matches!(error, Error::TooManyStreams { limit: 64 }), "{error}");
    drop(streams);
    runtime.stream()?;
    Ok(())
}

pub fn order_across_streams(runtime: &Runtime) -> Outcome {
    let axpy = library(runtime)?.kernel::<Axpy>()?;
    let streams = [runtime.stream()?, runtime.stream()?, runtime.default_stream()];
    let shape = Shape::for_elements_at_most(LARGE, 256, 1024)?;
    let mut buffers = [runtime.filled(LARGE, 1f32)?, runtime.filled(LARGE, 0f32)?, runtime.filled(LARGE, 0f32)?];
    // Each launch reads what the one before wrote on another stream: 1, 1, 1+1 = 2, ... as Fibonacci's numbers.
    let mut expected = [1f32, 0.0, 0.0];
    for step in 0..30 {
        let (from, to) = (step % 3, (step + 1) % 3);
        let [source, target] = buffers.get_disjoint_mut([from, to])?;
        axpy.launch(&streams[(step * 7) % 3], shape, (1.0, &*source, target))?;
        expected[to] += expected[from];
    }
    for (buffer, expected) in buffers.iter().zip(expected) {
        let found = buffer.to_vec()?;
        ensure!(found.iter().all(|&x| x == expected), "expected {expected}, found {} and others", found[0]);
    }
    Ok(())
}

pub fn drop_while_running(runtime: &Runtime) -> Outcome {
    let axpy = library(runtime)?.kernel::<Axpy>()?;
    let other = runtime.stream()?;
    let shape = Shape::for_elements_at_most(LARGE, 256, 64)?;
    let mut sum = runtime.filled(LARGE, 0f32)?;
    for step in 0..20 {
        // Used by `other`, at home on the default stream; dropped while the launch may be running. The next round gets
        // the same memory and overwrites it.
        let source = runtime.filled(LARGE, step as f32)?;
        axpy.launch(&other, shape, (1.0, &source, &mut sum))?;
    }
    let found = sum.to_vec()?;
    ensure!(found.iter().all(|&x| x == 190.0), "expected 190, found {} and others", found[0]);
    Ok(())
}

pub fn graph(runtime: &Runtime) -> Outcome {
    let axpy = library(runtime)?.kernel::<Axpy>()?;
    let (stream, other) = (runtime.stream()?, runtime.stream()?);
    let shape = Shape::for_elements(1000, 256)?;
    let state = (runtime.filled(1000, 1f32)?, runtime.zeros::<f32>(1000)?);
    let mut graph = stream.capture(state, |(x, y), stream| {
        axpy.launch(stream, shape, (2.0, &*x, &mut *y))?;
        stream.fill(&mut *x, 3.0)
    })?;
    ensure!(graph.state().1.to_vec()? == [0.0; 1000], "nothing runs at the capture");
    graph.launch(&stream)?;
    graph.launch(&other)?;
    ensure!(graph.state().1.to_vec()? == [8.0; 1000], "2 * 1 + 2 * 3");
    graph.state_mut().1.fill(0.0)?;
    graph.launch(&stream)?;
    ensure!(graph.state().1.to_vec()? == [6.0; 1000], "2 * 3");
    Ok(())
}

pub fn capture_errors(runtime: &Runtime) -> Outcome {
    let stream = runtime.stream()?;
    ensure_error!(
        stream.capture((), |(), stream| stream.zeros::<f32>(4).map(drop)),
        Error::Capture { operation: "allocate", .. }
    );
    ensure_error!(stream.capture((), |(), stream| stream.synchronize()), Error::Capture { .. });
    ensure_error!(stream.capture((), |(), stream| stream.runtime().synchronize()), Error::Capture { .. });
    let device = runtime.zeros::<f32>(4)?;
    ensure_error!(stream.capture((), |(), stream| stream.read(&device).map(drop)), Error::Capture { .. });
    // A buffer dropped inside a capture comes back to the cache.
    let (in_use, temporary) = (runtime.memory().bytes_in_use, stream.zeros::<f32>(4)?);
    let mut temporary = Some(temporary);
    stream.capture((), |(), _| {
        temporary.take();
        Ok(())
    })?;
    ensure!(runtime.memory().bytes_in_use == in_use, "{:?}", runtime.memory());
    // And the stream works as before.
    ensure!(stream.filled(3, 2u8)?.to_vec()? == [2, 2, 2], "after failed captures");
    Ok(())
}
