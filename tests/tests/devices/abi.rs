//! Host and device agree on how parameters are passed: kernels that echo every kind of argument.

use std::fmt::Debug;

use test_kernels::TestKernels;
use test_kernels::echo::{
    Aligned, Nested, Padded, echo_after_odd, echo_array, echo_many, echo_nothing, echo_slice, echo_value,
};
use warpsmith::{DeviceCopy, Has, Runtime, Shape, bf16, f16};
use warpsmith_tests::{TEST_KERNELS, TestResult, Tests};

pub const TESTS: Tests = Tests {
    kernels: &[
        ("values", values),
        ("after_odd_arguments", after_odd),
        ("arrays", arrays),
        ("slices", slices),
        ("many", many),
    ],
    ..Tests::NONE
};

const SHAPE: Shape = Shape::new([1, 1, 1], [32, 1, 1]);
const ALIGNED: Aligned = Aligned { a: [1.5, -2.5, 3.25] };
const PADDED: Padded = Padded { a: 0xa5, b: 0xdead_beef, c: 0x1234, d: -1.25e300 };
const NESTED: Nested = Nested { a: 7, b: ALIGNED, c: PADDED };

fn values(runtime: &Runtime) -> TestResult {
    fn echo<T: DeviceCopy + PartialEq + Debug + Default + 'static>(runtime: &Runtime, value: T) -> TestResult
    where
        TestKernels: Has<echo_value<T>>,
    {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let mut output = runtime.zeros::<T>(3)?;
        runtime.kernel::<TestKernels, echo_value<T>>()?.launch(
            &runtime.default_stream(),
            SHAPE,
            (value, &mut output),
        )?;
        assert_eq!(output.to_vec()?, [value; 3]);
        Ok(())
    }
    echo(runtime, 0xa5u8)?;
    echo(runtime, -77i8)?;
    echo(runtime, 0xa55au16)?;
    echo(runtime, -31000i16)?;
    echo(runtime, 0xdead_beefu32)?;
    echo(runtime, i32::MIN + 5)?;
    echo(runtime, 0x0123_4567_89ab_cdefu64)?;
    echo(runtime, i64::MIN + 9)?;
    echo(runtime, 1.0f32 / 3.0)?;
    echo(runtime, 1.0f64 / 3.0)?;
    echo(runtime, f16::from_f32(-0.333))?;
    echo(runtime, bf16::from_f32(-0.333))?;
    echo(runtime, true)?;
    echo(runtime, PADDED)?;
    echo(runtime, ALIGNED)?;
    echo(runtime, NESTED)
}

fn after_odd(runtime: &Runtime) -> TestResult {
    fn echo<T: DeviceCopy + PartialEq + Debug + Default + 'static>(runtime: &Runtime, value: T) -> TestResult
    where
        TestKernels: Has<echo_after_odd<T>>,
    {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let (mut bytes, mut output) = (runtime.zeros::<u8>(5)?, runtime.zeros::<T>(1)?);
        let kernel = runtime.kernel::<TestKernels, echo_after_odd<T>>()?;
        kernel.launch(&runtime.default_stream(), SHAPE, (1, [2, 3, 4], value, 5, &mut bytes, &mut output))?;
        assert_eq!((bytes.to_vec()?, output.to_vec()?), (vec![1, 2, 3, 4, 5], vec![value]));
        Ok(())
    }
    echo(runtime, 0xa5u8)?;
    echo(runtime, 0xa55au16)?;
    echo(runtime, 0xdead_beefu32)?;
    echo(runtime, 0x0123_4567_89ab_cdefu64)?;
    echo(runtime, 1.0f64 / 3.0)?;
    echo(runtime, PADDED)?;
    echo(runtime, ALIGNED)?;
    echo(runtime, NESTED)
}

fn arrays(runtime: &Runtime) -> TestResult {
    fn echo<const N: usize>(runtime: &Runtime) -> TestResult
    where
        TestKernels: Has<echo_array<N>>,
    {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let value = std::array::from_fn(|i| i as u32 * 0x0101_0101 + 7);
        let mut output = runtime.zeros::<u32>(N)?;
        runtime.kernel::<TestKernels, echo_array<N>>()?.launch(
            &runtime.default_stream(),
            SHAPE,
            (value, &mut output),
        )?;
        assert_eq!(output.to_vec()?, value);
        Ok(())
    }
    echo::<1>(runtime)?;
    echo::<3>(runtime)?;
    echo::<16>(runtime)
}

fn slices(runtime: &Runtime) -> TestResult {
    fn echo<T: DeviceCopy + PartialEq + Debug + Default + 'static>(runtime: &Runtime, values: &[T]) -> TestResult
    where
        TestKernels: Has<echo_slice<T>>,
    {
        runtime.register::<TestKernels>(TEST_KERNELS)?;
        let source = runtime.buffer_from(values)?;
        let (mut output, mut lengths) = (runtime.zeros::<T>(values.len())?, runtime.zeros::<u64>(1)?);
        let kernel = runtime.kernel::<TestKernels, echo_slice<T>>()?;
        kernel.launch(&runtime.default_stream(), SHAPE, (3, &source, 4, &mut output, &mut lengths))?;
        assert_eq!((output.to_vec()?, lengths.to_vec()?), (values.to_vec(), vec![values.len() as u64 + 4_003_000]));
        Ok(())
    }
    echo(runtime, &[1u8, 2, 3])?;
    echo::<u8>(runtime, &[])?;
    echo(runtime, &[0.5f32; 100])?;
    echo(runtime, &[ALIGNED; 5])
}

fn many(runtime: &Runtime) -> TestResult {
    runtime.register::<TestKernels>(TEST_KERNELS)?;
    let stream = runtime.default_stream();
    runtime.kernel::<TestKernels, echo_nothing>()?.launch(&stream, SHAPE, ())?;
    let (x, y) = (runtime.buffer_from(&[1.0f32, 2.0])?, runtime.buffer_from(&[10.0f64, 20.0])?);
    let mut output = runtime.zeros::<f64>(2)?;
    let arguments = (200u8, 0.5f64, -300i16, &x, 1u64 << 40, &y, true, &mut output);
    runtime.kernel::<TestKernels, echo_many>()?.launch(&stream, SHAPE, arguments)?;
    let scalars = 200.0 + 0.5 - 300.0 + (1u64 << 40) as f64 + 1.0;
    assert_eq!(output.to_vec()?, [scalars + 11.0, scalars + 22.0]);
    Ok(())
}
