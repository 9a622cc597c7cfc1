//! Typed calls into the driver. Each checks the result and names the function in the error; a function that the driver
//! lacks gives [`Error::DriverTooOld`]. Signatures: CUDA Driver API,
//! <https://docs.nvidia.com/cuda/cuda-driver-api/index.html>.

use std::ffi::{c_char, c_void};

use crate::error::{Error, Result};

/// A driver object: context, stream, event, module, function or graph.
pub(crate) type Handle = *mut c_void;
/// `CUlaunchConfig`, for [`Driver::cuLaunchKernelEx`].
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) stream: Handle,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) attribute_count: u32,
}

/// `CUlaunchAttribute`: a number and a value of up to 64 bytes.
#[repr(C)]
pub(crate) struct LaunchAttribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

impl LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`: the kernel waits for those before it by itself.
    pub(crate) const OVERLAPS: Self = {
        let mut value = [0; 16];
        value[0] = 1;
        Self { id: 6, padding: 0, value }
    };
}

/// An address in device memory.
pub(crate) type DeviceAddress = u64;

macro_rules! driver_functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The functions of one opened driver library; `None` where it lacks one.
        #[expect(non_snake_case, reason = "fields have the names of the driver's functions")]
        pub(crate) struct Driver {
            $($name: Option<unsafe extern "C" fn($($type),*) -> i32>,)*
        }

        #[expect(non_snake_case, clippy::too_many_arguments, reason = "the driver's own names and signatures")]
        #[expect(dead_code, reason = "there is a method for each function, also for those that `error` calls directly")]
        impl Driver {
            /// # Safety
            /// `resolve` must return null or the driver's function of that name, valid for the rest of the process.
            #[cfg(feature = "cuda")]
            pub(super) unsafe fn resolve(resolve: impl Fn(&'static str) -> *mut c_void) -> Self {
                Self {
                    $($name: {
                        let address = resolve(stringify!($name));
                        // SAFETY: a non-null address is the function of that name, which has this signature; `None` is
                        // the null pointer.
                        unsafe {
                            std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($type),*) -> i32>>(address)
                        }
                    },)*
                }
            }

            $(
                #[inline]
                pub(crate) unsafe fn $name(&self, $($argument: $type),*) -> Result<()> {
                    match self.$name {
                        // SAFETY: by the caller.
                        Some(function) => match unsafe { function($($argument),*) } {
                            0 => Ok(()),
                            code => Err(self.error(stringify!($name), code)),
                        },
                        None => Err(self.too_old(stringify!($name))),
                    }
                }
            )*
        }
    };
}

driver_functions! {
    cuInit(flags: u32);
    cuDriverGetVersion(version: *mut i32);
    cuGetErrorName(code: i32, name: *mut *const c_char);
    cuGetErrorString(code: i32, text: *mut *const c_char);

    cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32);
    cuCtxGetCurrent(context: *mut Handle);
    cuCtxSetCurrent(context: Handle);
    cuCtxSynchronize();

    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(address: *mut DeviceAddress, bytes: usize);
    cuMemFree_v2(address: DeviceAddress);
    cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, flags: u32);
    cuMemFreeHost(memory: *mut c_void);
    cuMemHostGetDevicePointer_v2(address: *mut DeviceAddress, memory: *mut c_void, flags: u32);
    cuPointerGetAttribute(value: *mut c_void, attribute: i32, address: DeviceAddress);
    cuMemcpyHtoDAsync_v2(target: DeviceAddress, source: *const c_void, bytes: usize, stream: Handle);
    cuMemcpyDtoHAsync_v2(target: *mut c_void, source: DeviceAddress, bytes: usize, stream: Handle);
    cuMemcpyDtoDAsync_v2(target: DeviceAddress, source: DeviceAddress, bytes: usize, stream: Handle);
    cuMemsetD8Async(target: DeviceAddress, value: u8, count: usize, stream: Handle);
    cuMemsetD16Async(target: DeviceAddress, value: u16, count: usize, stream: Handle);
    cuMemsetD32Async(target: DeviceAddress, value: u32, count: usize, stream: Handle);

    cuStreamCreate(stream: *mut Handle, flags: u32);
    cuStreamDestroy_v2(stream: Handle);
    cuStreamSynchronize(stream: Handle);
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
    cuStreamBeginCapture_v2(stream: Handle, mode: i32);
    cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64);
    cuGraphLaunch(executable: Handle, stream: Handle);
    cuGraphExecDestroy(executable: Handle);
    cuGraphDestroy(graph: Handle);

    cuEventCreate(event: *mut Handle, flags: u32);
    cuEventDestroy_v2(event: Handle);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventSynchronize(event: Handle);
    cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);

    cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, count: u32, options: *mut i32, values: *mut *mut c_void
    );
    cuModuleUnload(module: Handle);
    cuModuleGetGlobal_v2(address: *mut DeviceAddress, bytes: *mut usize, module: Handle, name: *const c_char);
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    cuFuncGetAttribute(value: *mut i32, attribute: i32, function: Handle);
    cuFuncSetAttribute(function: Handle, attribute: i32, value: i32);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut i32, function: Handle, block_threads: i32, dynamic_shared_bytes: usize
    );
    cuTensorMapEncodeTiled(
        map: *mut c_void, element: i32, rank: u32, address: DeviceAddress, extents: *const u64, strides: *const u64,
        tile: *const u32, element_strides: *const u32, interleave: i32, swizzle: i32, promotion: i32, fill: i32
    );
    cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared_bytes: u32, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void
    );
    cuLaunchKernelEx(
        config: *const LaunchConfig, function: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void
    );
    cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared_bytes: u32, stream: Handle, parameters: *mut *mut c_void
    );
}

impl Driver {
    /// Whether kernels can be launched with attributes: from CUDA 11.8 on.
    pub(crate) fn has_launch_attributes(&self) -> bool {
        self.cuLaunchKernelEx.is_some()
    }

    /// The CUDA version that the driver supports, as 1000 * major + 10 * minor; 0 if it does not say.
    pub(crate) fn version(&self) -> u32 {
        let mut version = 0;
        // SAFETY: writes one integer.
        let _ = unsafe { self.cuDriverGetVersion(&mut version) };
        version.max(0) as u32
    }

    /// The error for a function that this driver lacks.
    #[cold]
    pub(super) fn too_old(&self, call: &'static str) -> Error {
        let driver_version = match self.cuDriverGetVersion.is_some().then(|| self.version()) {
            None | Some(0) => "an unknown version".into(),
            Some(version) => super::version_text(version),
        };
        Error::DriverTooOld { call, driver_version }
    }

    /// The error for a result code of `call`; what a kernel said, if one has ended itself with a message.
    #[cold]
    pub(crate) fn error(&self, call: &'static str, code: i32) -> Error {
        // CUDA_ERROR_ILLEGAL_ADDRESS to CUDA_ERROR_LAUNCH_FAILED: what is left when a kernel has trapped.
        if let (700..=719, Some(current)) = (code, self.cuCtxGetCurrent) {
            let mut context = std::ptr::null_mut();
            // SAFETY: writes one handle.
            if unsafe { current(&mut context) } == 0
                && let Some(error) = crate::fault::explain(context)
            {
                return error;
            }
        }
        type Lookup = Option<unsafe extern "C" fn(i32, *mut *const c_char) -> i32>;
        let text = |lookup: Lookup| {
            let mut text = std::ptr::null();
            // SAFETY: the driver stores the address of a static C string, or leaves null.
            unsafe {
                lookup?(code, &mut text);
                (!text.is_null()).then(|| std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        Error::Driver {
            call,
            code,
            name: text(self.cuGetErrorName).unwrap_or_else(|| "an unnamed error".into()),
            text: text(self.cuGetErrorString).unwrap_or_else(|| "the driver gives no explanation".into()),
        }
    }
}
