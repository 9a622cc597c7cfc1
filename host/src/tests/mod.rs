//! The checks on the CPU and on a pretended driver, and what happens without a driver.

#[cfg(feature = "cuda")]
mod drivers;

use crate::checks;
use crate::{Error, Runtime};

#[test]
fn the_cpu_passes_the_checks() {
    let runtime = Runtime::cpu();
    for (name, check) in checks::EVERYWHERE {
        check(&runtime).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert_eq!(runtime.memory().bytes_in_use, 0);
    assert_eq!(runtime.reason(), None);
    assert!(runtime.to_string().starts_with("CPU ("));
}

#[test]
fn a_graph_on_the_cpu_runs_its_closure_at_each_launch() {
    let runtime = Runtime::cpu();
    let stream = runtime.default_stream();
    let mut graph = stream
        .capture(runtime.zeros::<u32>(2).unwrap(), |buffer, _| {
            buffer.as_mut_slice()?.iter_mut().for_each(|element| *element += 1);
            Ok(())
        })
        .unwrap();
    assert_eq!(graph.state().to_vec().unwrap(), [0, 0]);
    graph.launch(&stream).unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.state().to_vec().unwrap(), [2, 2]);
}

#[test]
fn kernels_are_refused_on_the_cpu_with_a_remedy() {
    let runtime = Runtime::cpu();
    let error = checks::kernels::library(&runtime).unwrap().kernel::<checks::kernels::Axpy>().unwrap_err();
    assert!(matches!(error, Error::Unsupported { operation: "load a kernel", .. }), "{error}");
}

#[test]
fn shared_types_cross_threads_and_views_do_not() {
    fn sent_and_shared<T: Send + Sync>() {}
    sent_and_shared::<Runtime>();
    sent_and_shared::<crate::Buffer<f32>>();
    sent_and_shared::<crate::Matrix<f32>>();
    sent_and_shared::<crate::Stream>();
    sent_and_shared::<crate::Event>();
    sent_and_shared::<crate::PinnedBuffer<f32>>();
    sent_and_shared::<crate::TypedKernel<checks::kernels::Axpy>>();
    sent_and_shared::<crate::Library<checks::kernels::Checks>>();
}

#[cfg(not(feature = "cuda"))]
#[test]
fn without_the_feature_a_gpu_is_refused() {
    assert!(matches!(Runtime::cuda(0), Err(Error::BuiltWithoutCuda)));
    assert!(Runtime::new().reason().unwrap().contains("feature `cuda`"));
}
