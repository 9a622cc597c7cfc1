//! Loads PTX, which the driver compiles for the device, or machine code. Where that fails, the error holds the driver's log and
//! what to do.

use std::ffi::{CString, c_void};
use std::sync::Mutex;

use crate::driver::{Driver, Handle};
use crate::error::{Error, Result};
use crate::runtime::Cuda;

/// Every module that a runtime has loaded; they are unloaded with it.
#[derive(Default)]
pub(crate) struct Modules(Mutex<Vec<usize>>);

impl Modules {
    /// Unloads everything. The context must be current, and no kernel running.
    pub(crate) fn release(&self, driver: &Driver) {
        for module in self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).drain(..) {
            // SAFETY: loaded by `load`, used no more.
            let _ = unsafe { driver.cuModuleUnload(std::ptr::with_exposed_provenance_mut(module)) };
        }
    }
}

/// A loaded module. It stays loaded as long as the runtime.
#[derive(Clone, Copy)]
pub(crate) struct Module(Handle);

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// Bytes for each of the two logs.
const LOG_BYTES: usize = 16 << 10;

/// Loads the PTX text of the module `name`; `kernels` is what errors call its kernels.
pub(crate) fn load(cuda: &Cuda, name: &str, kernels: &str, ptx: Vec<u8>) -> Result<Module> {
    let ptx = CString::new(ptx).map_err(|error| Error::Archive {
        library: name.into(),
        what: "the PTX".into(),
        reason: format!("it has a zero byte at {}", error.nul_position()),
    })?;
    load_image(cuda, name, kernels, ptx.as_bytes_with_nul())
}

/// Loads PTX that ends with a zero byte, or a cubin.
pub(crate) fn load_image(cuda: &Cuda, name: &str, kernels: &str, image: &[u8]) -> Result<Module> {
    crate::graph::forbid("load a module", "look the kernel up before the capture")?;
    cuda.make_current()?;
    let (mut info, mut error) = (vec![0u8; LOG_BYTES], vec![0u8; LOG_BYTES]);
    // CU_JIT_INFO_LOG_BUFFER, its size, CU_JIT_ERROR_LOG_BUFFER, its size. Sizes are passed in the pointer's place.
    let mut options = [3, 4, 5, 6];
    let size = std::ptr::without_provenance_mut::<c_void>(LOG_BYTES);
    let mut values = [info.as_mut_ptr().cast(), size, error.as_mut_ptr().cast(), size];
    let mut module = std::ptr::null_mut();
    // SAFETY: a text ends with a zero byte, a cubin says how long it is; the buffers have the stated sizes and outlive the call.
    let loaded = unsafe {
        let (count, image) = (options.len() as u32, image.as_ptr().cast());
        cuda.driver.cuModuleLoadDataEx(&mut module, image, count, options.as_mut_ptr(), values.as_mut_ptr())
    };
    match loaded {
        Ok(()) => {
            let mut modules = cuda.modules.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            modules.push(module.expose_provenance());
            drop(modules);
            cuda.faults.prepare(cuda, module, kernels)?;
            Ok(Module(module))
        }
        Err(Error::Driver { code, name: code_name, text, .. }) => {
            let log = [error, info].map(|log| until_zero(&log)).join("\n");
            Err(explain(cuda, name, &until_zero(image), code, format!("{code_name} ({code}): {text}"), log))
        }
        Err(other) => Err(other),
    }
}

impl Module {
    /// The entry point `name`; `None` if the module has none of that name.
    pub(crate) fn function(self, cuda: &Cuda, name: &str) -> Result<Option<Handle>> {
        let Ok(name) = CString::new(name) else { return Ok(None) };
        cuda.make_current()?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded; writes one handle.
        match unsafe { cuda.driver.cuModuleGetFunction(&mut function, self.0, name.as_ptr()) } {
            Ok(()) => Ok(Some(function)),
            // CUDA_ERROR_NOT_FOUND
            Err(Error::Driver { code: 500, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn until_zero(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

/// What follows a PTX directive, such as `8.0` after `.version`.
fn directive<'a>(ptx: &'a str, name: &str) -> &'a str {
    let value =
        ptx.lines().find_map(|line| line.trim().strip_prefix(name)?.split([',', ' ', '\t']).find(|s| !s.is_empty()));
    value.unwrap_or("of unknown version")
}

fn explain(cuda: &Cuda, module: &str, ptx: &str, code: i32, name: String, log: String) -> Error {
    let properties = &cuda.device.properties;
    let (target, isa) = (directive(ptx, ".target"), directive(ptx, ".version"));
    let driver_version = properties.driver_version_text();
    let remedy = match code {
        // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        222 => format!(
            "the driver, which supports CUDA {driver_version}, can't read PTX ISA {isa}: install a newer NVIDIA driver, or build the device code with an older PTX ISA"
        ),
        // CUDA_ERROR_NO_BINARY_FOR_GPU
        209 => format!("build the device code for sm_{}{} or lower", properties.compute_capability.0, properties.compute_capability.1),
        // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        221 => "the driver's PTX compiler (libnvidia-ptxjitcompiler.so.1) is missing: install the whole driver, or give the container the `compute` capability".into(),
        // CUDA_ERROR_INVALID_PTX
        218 => format!("the PTX is wrong or needs more than {target} offers: see the log"),
        _ => "see the log".into(),
    };
    Error::ModuleLoad {
        module: module.into(),
        ptx_target: target.into(),
        ptx_isa: isa.into(),
        device: properties.name.as_str().into(),
        compute_capability: properties.compute_capability_text().into(),
        driver_version: properties.driver_version,
        log: log.into(),
        remedy: format!("{name}; {remedy}").into(),
    }
}

/// Loads PTX that no library holds, and forgets it; for tests of what the driver refuses.
#[cfg(any(test, feature = "checks"))]
pub fn load_text(runtime: &crate::Runtime, name: &str, ptx: &str) -> Result<()> {
    let cuda = runtime.cuda_state().ok_or_else(|| runtime.unsupported("load a module", "use a GPU"))?;
    load(cuda, name, name, ptx.into()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_found() {
        let ptx = "//\n.version 99.0\n.target sm_90a, debug\n.address_size 64\n";
        assert_eq!(directive(ptx, ".version"), "99.0");
        assert_eq!(directive(ptx, ".target"), "sm_90a");
        assert_eq!(directive("", ".target"), "of unknown version");
    }
}
