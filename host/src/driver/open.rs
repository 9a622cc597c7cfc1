//! Finds and opens the driver library, once in the life of the process.

use std::ffi::c_void;
use std::sync::OnceLock;

use libloading::Library;

use super::{Driver, trampolines};
use crate::error::{Error, Result};

/// An opened driver library. It is never closed: functions of it may be running on other threads.
pub(crate) struct OpenLibrary {
    pub(crate) driver: Driver,
    initialized: OnceLock<i32>,
}

/// Why no library could be opened.
#[derive(Clone)]
pub(crate) struct Missing {
    searched: Vec<String>,
    reason: String,
}

/// The driver library, opened on the first call.
pub(crate) fn library() -> Result<&'static OpenLibrary, Missing> {
    static LIBRARY: OnceLock<Result<OpenLibrary, Missing>> = OnceLock::new();
    LIBRARY.get_or_init(open).as_ref().map_err(Missing::clone)
}

/// The driver, initialised.
///
/// # Errors
/// [`Error::DriverMissing`]; or what cuInit says: [`Error::NoDevice`], [`Error::Driver`], [`Error::DriverTooOld`].
pub(crate) fn driver() -> Result<&'static Driver> {
    let library = library().map_err(|Missing { searched, reason }| Error::DriverMissing { searched, reason })?;
    match library.initialize(0) {
        0 => Ok(&library.driver),
        // CUDA_ERROR_NO_DEVICE
        100 => Err(Error::NoDevice),
        // What `initialize` answers where the library has no cuInit; the call below says so.
        // SAFETY: 0 is the only defined flag.
        500 => unsafe { library.driver.cuInit(0) }.map(|()| &library.driver),
        code => Err(library.driver.error("cuInit", code)),
    }
}

fn candidates() -> Vec<String> {
    match std::env::var(crate::env::LIBCUDA) {
        Ok(path) => vec![path],
        // The last is where Windows' Linux subsystem keeps it.
        Err(_) => vec!["libcuda.so.1".into(), "libcuda.so".into(), "/usr/lib/wsl/lib/libcuda.so.1".into()],
    }
}

fn open() -> Result<OpenLibrary, Missing> {
    let searched = candidates();
    let mut reason = String::new();
    for name in &searched {
        // SAFETY: the driver's initialisers have no preconditions.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(bind(Box::leak(Box::new(library)))),
            // The usual name's failure is the one worth reading.
            Err(error) if reason.is_empty() => reason = with_sources(&error),
            Err(_) => {}
        }
    }
    Err(Missing { searched, reason })
}

/// The loader's own words are in the error's source.
fn with_sources(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

fn bind(library: &'static Library) -> OpenLibrary {
    let resolve = |name: &'static str| {
        // SAFETY: the symbol is only read as an address here.
        unsafe { library.get::<*mut c_void>(name) }.map_or(std::ptr::null_mut(), |symbol| *symbol)
    };
    trampolines::bind(resolve);
    // SAFETY: `resolve` returns the driver's functions, and the library is never closed.
    let driver = unsafe { Driver::resolve(resolve) };
    OpenLibrary { driver, initialized: OnceLock::new() }
}

impl OpenLibrary {
    /// cuInit, once; 500 (CUDA_ERROR_NOT_FOUND) where the library has none.
    pub(super) fn initialize(&self, flags: u32) -> i32 {
        // SAFETY: as the driver's cuInit: any flags are allowed.
        *self.initialized.get_or_init(|| match unsafe { self.driver.cuInit(flags) } {
            Ok(()) => 0,
            Err(Error::Driver { code, .. }) => code,
            Err(_) => 500,
        })
    }
}
