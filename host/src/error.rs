//! The crate's one error type. Every message says what was wrong, the values, and what to do.

use std::ops::Range;
use std::path::PathBuf;

/// What can go wrong, with the values that say why.
///
/// ```
/// use warpsmith::prelude::*;
///
/// let runtime = Runtime::cpu();
/// let (x, mut y) = (runtime.zeros::<f32>(3).unwrap(), runtime.zeros(4).unwrap());
/// let error = Ops::new(&runtime).map_forward(Relu, &x, &mut y).unwrap_err();
/// assert!(matches!(error, Error::LengthMismatch { .. }), "{error:?}");
/// println!("{error}");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // The driver and the device.
    /// No usable driver library.
    #[error(
        "no CUDA driver: none of {} could be opened ({reason}); install the NVIDIA driver, or use Runtime::cpu()",
        searched.join(", ")
    )]
    DriverMissing {
        /// Names and paths that were tried, in order.
        searched: Vec<String>,
        /// What the loader said to the last one.
        reason: String,
    },
    /// The crate was built with `default-features = false`.
    #[error(
        "this program was built without CUDA: enable the feature `cuda` of the crate `warpsmith`, or use Runtime::cpu()"
    )]
    BuiltWithoutCuda,
    /// The driver works, but has no device to offer.
    #[error("the CUDA driver found no device: check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or use Runtime::cpu()")]
    NoDevice,
    /// There is no device of that index.
    #[error(
        "there is no CUDA device {index}: the driver sees {count}, numbered from 0 (CUDA_VISIBLE_DEVICES restricts them)"
    )]
    DeviceIndex {
        /// The index asked for.
        index: u32,
        /// Devices the driver offers.
        count: u32,
    },
    /// The driver lacks a function.
    #[error(
        "the CUDA driver is too old: it has no `{call}` and supports CUDA {driver_version}; install a newer NVIDIA driver (CUDA 12.0 or later)"
    )]
    DriverTooOld {
        /// The missing function.
        call: &'static str,
        /// The CUDA version of the driver, such as `11.4`, or `unknown`.
        driver_version: String,
    },
    /// A driver call failed.
    #[error("{call} failed with {name} ({code}): {text}{}", remedy_for(*.code))]
    Driver {
        /// The driver function.
        call: &'static str,
        /// The numeric result.
        code: i32,
        /// Its name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// The driver's explanation.
        text: String,
    },

    // Memory.
    /// The device has no room, even after the cache was given back.
    #[error(
        "out of memory on {device}: {requested} bytes requested, {free} of {total} free, {cached} were cached and given back first; use smaller batches, or drop buffers that are no longer needed"
    )]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// Bytes requested.
        requested: usize,
        /// Bytes that the driver reports free.
        free: usize,
        /// Bytes that the device has.
        total: usize,
        /// Bytes that were cached by the runtime and given back before the second try.
        cached: usize,
    },
    /// A size in bytes does not fit 63 bits.
    #[error(
        "{operation}: {count} elements of {element_bytes} bytes are more than the address space holds; check the shape"
    )]
    SizeOverflow {
        /// What was attempted.
        operation: &'static str,
        /// Elements.
        count: usize,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// A range reaches past the end.
    #[error("{operation}: the range {}..{} is not inside 0..{len}", range.start, range.end)]
    OutOfBounds {
        /// What was attempted.
        operation: &'static str,
        /// The range asked for.
        range: Range<usize>,
        /// Elements there are.
        len: usize,
    },
    /// A buffer, stream or event of one runtime was used with another.
    #[error(
        "{operation}: {what} belongs to {found}, but the work runs on {expected}; copy the data through the host (to_vec, then buffer_from)"
    )]
    WrongRuntime {
        /// What was attempted.
        operation: &'static str,
        /// The thing that does not belong here.
        what: &'static str,
        /// The runtime it was used with.
        expected: String,
        /// The runtime it belongs to.
        found: String,
    },
    /// Memory of another library can't be a buffer.
    #[error("{operation}: the address {address:#x} {what}; {remedy}")]
    ForeignMemory {
        /// What was attempted.
        operation: &'static str,
        /// The address.
        address: u64,
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The operation needs host memory, but the buffer lives on a GPU, or the reverse.
    #[error("{operation} is not possible on {device}; {remedy}")]
    Unsupported {
        /// What was attempted.
        operation: &'static str,
        /// The runtime's device.
        device: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// More streams than a runtime can keep apart.
    #[error("a runtime has at most {limit} live streams; drop some, or reuse one")]
    TooManyStreams {
        /// The limit.
        limit: usize,
    },
    /// Something that a graph can't hold happened while one was captured.
    #[error("{operation} is not possible while a graph is captured; {remedy}")]
    Capture {
        /// What was attempted.
        operation: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },

    // Shapes.
    /// Two lengths that must agree don't.
    #[error("{operation}: {left_name} has {left} elements, {right_name} has {right}; they must be equal")]
    LengthMismatch {
        /// What was attempted.
        operation: &'static str,
        /// Name of the first operand.
        left_name: &'static str,
        /// Its length.
        left: usize,
        /// Name of the second operand.
        right_name: &'static str,
        /// Its length.
        right: usize,
    },
    /// The output of an activation does not tell its derivative.
    #[error(
        "the derivative of `{activation}` doesn't follow from its output: {reason}; keep the input, and use map_backward"
    )]
    NoDerivativeFromOutput {
        /// The activation.
        activation: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A kernel ended itself, by `gpu_panic!` or `gpu_assert!`; in the simulator and in device code built with
    /// `CudaBuilder::fault_messages` also by an index out of bounds. On a GPU the device context is lost with it: every later
    /// call of the process gives this error again.
    #[error("{kernel}: block {block:?}, thread {thread:?}: {message}, at {file}:{line}")]
    KernelPanicked {
        /// The kernel; on a GPU all kernels of its module, if there are several.
        kernel: String,
        /// The block's coordinates in the grid.
        block: [u32; 3],
        /// The thread's coordinates in the block.
        thread: [u32; 3],
        /// What the kernel said.
        message: String,
        /// The source file; the end of its name, if it is longer than 176 bytes.
        file: String,
        /// The line.
        line: u32,
    },
    /// The simulator found something wrong in a kernel.
    #[error("{0}")]
    Simulated(#[from] cuda_std::simulator::Error),
    /// A tensor that the copy engine can't take.
    #[error("{0}")]
    TensorMap(#[from] cuda_std::tensor_map::Error),
    /// Bundled or loaded data is not what it should be.
    #[error("{source_name}: {what}; restore the file from its source")]
    Data {
        /// The file.
        source_name: &'static str,
        /// What is wrong with it, and where.
        what: String,
    },
    /// Two shapes that must fit don't.
    #[error(
        "{operation}: {left_name} is {}x{}, {right_name} is {}x{}; {rule}", left.0, left.1, right.0, right.1
    )]
    ShapeMismatch {
        /// What was attempted.
        operation: &'static str,
        /// Name of the first operand.
        left_name: &'static str,
        /// Its rows and columns.
        left: (usize, usize),
        /// Name of the second operand.
        right_name: &'static str,
        /// Its rows and columns.
        right: (usize, usize),
        /// What must hold, such as "the columns of a must equal the rows of b".
        rule: &'static str,
    },
    /// A matrix lies in memory in a way that the operation can't use.
    #[error("{operation}: {matrix} {found}; {rule}")]
    MatrixLayout {
        /// What was attempted.
        operation: &'static str,
        /// The matrix.
        matrix: &'static str,
        /// How it lies, with the values.
        found: String,
        /// What must hold, and what to do.
        rule: &'static str,
    },

    // Kernels.
    /// A module did not load.
    #[error(
        "the module `{module}` (PTX {ptx_isa} for {ptx_target}) does not load on {device} (compute capability {compute_capability}, driver for CUDA {}): {remedy}{}",
        crate::driver::version_text(*.driver_version),
        indented("the driver's log", .log)
    )]
    ModuleLoad {
        /// The module.
        module: Box<str>,
        /// `.target` of the PTX.
        ptx_target: Box<str>,
        /// `.version` of the PTX.
        ptx_isa: Box<str>,
        /// The device's name.
        device: Box<str>,
        /// Such as `9.0`.
        compute_capability: Box<str>,
        /// The CUDA version of the driver, as 1000 * major + 10 * minor.
        driver_version: u32,
        /// The JIT compiler's log; may be empty.
        log: Box<str>,
        /// The driver's error, and what to do.
        remedy: Box<str>,
    },
    /// A library has no such kernel.
    #[error(
        "the kernel `{kernel}` is not in {library}{}; add it to the `kernels! {{ ... }}` of that crate and build again", suggestion(.near)
    )]
    KernelMissing {
        /// The entry point asked for.
        kernel: String,
        /// The crate and module searched.
        library: String,
        /// Entry points with a similar name, the nearest first.
        near: Vec<String>,
    },
    /// The kernel exists, but not for this device.
    #[error(
        "the kernel `{kernel}` was built for {}, which {device} (compute capability {compute_capability}) can't run; build it for sm_{} or lower", built.join(", "), .compute_capability.replace('.', "")
    )]
    ArchUnavailable {
        /// The entry point or module.
        kernel: String,
        /// The architectures it was built for.
        built: Vec<String>,
        /// The device's name.
        device: String,
        /// Such as `8.6`.
        compute_capability: String,
    },
    /// The library holds no device code at all.
    #[error("the kernels of `{library}` were not built: {reason}")]
    NoDeviceCode {
        /// The crate.
        library: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A library's marker type was not registered with the runtime.
    #[error(
        "the kernels of `{library}` are not known to this runtime; call runtime.register::<Kernels>(archive) first"
    )]
    LibraryUnknown {
        /// The crate.
        library: String,
    },
    /// An archive or folder of device code can't be read.
    #[error(
        "the device code of `{library}` can't be read: {what}: {reason}; build it again with `cargo xtask build-ptx`"
    )]
    Archive {
        /// The crate.
        library: String,
        /// The file inside the archive, or the folder.
        what: String,
        /// Why.
        reason: String,
    },
    /// Host and device disagree about a kernel's parameters.
    #[error(
        "the kernel `{kernel}` was built with other parameters than this program passes: {parameter} is {found} in the manifest, {expected} here; build the device code again (cargo clean -p of its crate, or cargo xtask build-ptx)"
    )]
    ManifestMismatch {
        /// The entry point.
        kernel: String,
        /// The parameter, or "the number of parameters".
        parameter: String,
        /// What the host side declares.
        expected: String,
        /// What the manifest says.
        found: String,
    },
    /// A dropout probability that is none.
    #[error(transparent)]
    NotAProbability(#[from] warpsmith_gpu::random::NotAProbability),
    /// A launch shape outside the limits of the kernel or the device.
    #[error("the kernel `{kernel}` can't be launched: {what} is {got}, the limit is {limit}; {remedy}")]
    LaunchShape {
        /// The entry point.
        kernel: String,
        /// Which extent.
        what: &'static str,
        /// Its value.
        got: u64,
        /// What is allowed.
        limit: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// The block does not have the shape that the kernel requires.
    #[error("the kernel `{kernel}` was compiled for blocks of {}x{}x{} threads, not {}x{}x{}; launch it with that block", expected[0], expected[1], expected[2], got[0], got[1], got[2])]
    BlockShape {
        /// The entry point.
        kernel: String,
        /// The block asked for.
        got: [u32; 3],
        /// The block required.
        expected: [u32; 3],
    },

    // Everything else.
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn indented(title: &str, text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    format!("\n  {title}:\n    {}", text.replace('\n', "\n    "))
}

fn suggestion(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" (near: {})", near.join(", ")) }
}

/// Advice for the driver errors that people meet most.
fn remedy_for(code: i32) -> &'static str {
    match code {
        // CUDA_ERROR_STUB_LIBRARY
        34 => "; a toolkit's stub was opened instead of the driver: take its folder out of LD_LIBRARY_PATH",
        // CUDA_ERROR_UNKNOWN from cuInit
        999 => "; load the kernel module (nvidia-modprobe), or reboot after a driver update",
        // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        803 => "; the kernel module and the driver library have different versions: reboot, or reinstall the driver",
        // CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        804 => {
            "; a CUDA compatibility library is in use that this device does not support: remove it from LD_LIBRARY_PATH"
        }
        // CUDA_ERROR_ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, LAUNCH_FAILED, ASSERT, ILLEGAL_INSTRUCTION
        700 | 716 | 719 | 710 | 715 => {
            "; an earlier kernel on this device failed and the device context is lost: run the program under compute-sanitizer or on Runtime::simulator() to find it, then restart the process"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_values_and_remedies() {
        let error = Error::KernelMissing {
            kernel: "map_forward__rleu__f32".into(),
            library: "my-gpu".into(),
            near: vec!["map_forward__relu__f32".into()],
        };
        let text = error.to_string();
        assert!(text.contains("map_forward__rleu__f32") && text.contains("near: map_forward__relu__f32"), "{text}");

        let error = Error::ModuleLoad {
            module: "m".into(),
            ptx_target: "sm_80".into(),
            ptx_isa: "99.0".into(),
            device: "D".into(),
            compute_capability: "9.0".into(),
            driver_version: 13000,
            log: "ptxas fatal\nsecond line\n".into(),
            remedy: "install a newer driver".into(),
        };
        let text = error.to_string();
        assert!(text.contains("PTX 99.0") && text.contains("CUDA 13.0"), "{text}");
        assert!(text.ends_with("the driver's log:\n    ptxas fatal\n    second line"), "{text}");
    }
}
