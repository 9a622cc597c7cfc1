//! The driver functions that `cust` calls, defined here and forwarded to the library that was opened at run time.
//!
//! `cust` links against `libcuda`. The linker finds an empty archive of that name (build.rs) and these definitions. Each is
//! a jump through a slot. Before [`bind`] a slot holds a function that returns CUDA_ERROR_NOT_INITIALIZED, afterwards the
//! driver's function, or one that returns CUDA_ERROR_NOT_FOUND where an old driver lacks it: no call ever crashes.
//! Goes when cust opens the driver at run time itself. Run on x86-64; the aarch64 form has only been assembled.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// CUDA_ERROR_NOT_INITIALIZED
extern "C" fn not_initialized() -> i32 {
    3
}

/// CUDA_ERROR_NOT_FOUND
extern "C" fn not_found() -> i32 {
    500
}

#[cfg(target_arch = "x86_64")]
macro_rules! trampoline {
    ($name:ident) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            ".p2align 4",
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ":"),
            "jmpq *{slot}(%rip)",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            slot = sym slots::$name,
            options(att_syntax)
        );
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! trampoline {
    ($name:ident) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",%progbits"),
            ".p2align 2",
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ", %function"),
            concat!(stringify!($name), ":"),
            "adrp x16, {slot}",
            "ldr x16, [x16, :lo12:{slot}]",
            "br x16",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            slot = sym slots::$name,
        );
    };
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("the feature `cuda` of warpsmith needs Linux on x86-64 or aarch64; use default-features = false");

macro_rules! forward {
    ($($name:ident)*) => {
        #[expect(non_upper_case_globals, reason = "a slot has the name of the driver function")]
        mod slots {
            use super::*;
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(not_initialized as *mut c_void);)*
        }
        $(trampoline!($name);)*

        /// Points every slot at the library's function. `resolve` returns null for a function that the library lacks.
        pub(super) fn bind(resolve: impl Fn(&'static str) -> *mut c_void) {
            $(
                let found = resolve(stringify!($name));
                let target = if found.is_null() { not_found as *mut c_void } else { found };
                slots::$name.store(target, Relaxed);
            )*
        }
    };
}

/// The driver's entry point. In the same module as the trampolines, so that a linker that wants it gets them all.
///
/// # Safety
/// As the driver's: any flags are allowed, 0 is the only defined value.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuInit(flags: u32) -> i32 {
    match super::library() {
        Ok(driver) => driver.initialize(flags),
        // CUDA_ERROR_NO_DEVICE: what a machine without a GPU answers.
        Err(_) => 100,
    }
}

// Every function that cust 0.3.2 refers to, apart from cuInit.
forward! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxGetApiVersion
    cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags cuCtxGetLimit cuCtxGetSharedMemConfig
    cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2 cuCtxPushCurrent_v2 cuCtxSetCacheConfig cuCtxSetCurrent
    cuCtxSetLimit cuCtxSetSharedMemConfig cuCtxSynchronize cuDestroyExternalMemory cuDeviceGet cuDeviceGetAttribute
    cuDeviceGetCount cuDeviceGetName cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2
    cuDevicePrimaryCtxRetain cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate
    cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize
    cuExternalMemoryGetMappedBuffer cuFuncGetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig
    cuGetErrorString cuGraphAddKernelNode cuGraphCreate cuGraphDebugDotPrint cuGraphDestroy cuGraphGetEdges
    cuGraphGetNodes cuGraphKernelNodeGetParams cuGraphNodeGetType cuImportExternalMemory cuLaunchHostFunc
    cuLaunchKernel cuLinkAddData_v2 cuLinkComplete cuLinkCreate_v2 cuLinkDestroy cuMemAdvise cuMemAllocAsync
    cuMemAllocHost_v2 cuMemAllocManaged cuMemAlloc_v2 cuMemFreeAsync cuMemFreeHost cuMemFree_v2 cuMemGetInfo_v2
    cuMemPrefetchAsync cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyDtoDAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoHAsync_v2
    cuMemcpyDtoH_v2 cuMemcpyHtoA_v2 cuMemcpyHtoDAsync_v2 cuMemcpyHtoD_v2 cuMemsetD16Async cuMemsetD16_v2
    cuMemsetD32Async cuMemsetD32_v2 cuMemsetD8Async cuMemsetD8_v2 cuModuleGetFunction cuModuleGetGlobal_v2
    cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleUnload cuOccupancyAvailableDynamicSMemPerBlock
    cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize cuStreamCreateWithPriority
    cuStreamDestroy_v2 cuStreamGetFlags cuStreamGetPriority cuStreamSynchronize cuStreamWaitEvent
    cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc cuTexObjectCreate cuTexObjectDestroy
    cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
}
