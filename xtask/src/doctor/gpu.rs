//! The CUDA driver and the GPUs that it sees, asked through `libcuda.so.1` as the programs here do.

use std::ffi::{CStr, c_char, c_int};

use anyhow::{Result, bail};
use libloading::{Library, Symbol};

use super::{Row, State, row_without};

/// The soname that every driver package installs.
const DRIVER: &str = "libcuda.so.1";
const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const COMPUTE_CAPABILITY_MINOR: c_int = 76;

type Init = unsafe extern "C" fn(u32) -> c_int;
type GetInt = unsafe extern "C" fn(*mut c_int) -> c_int;
type DeviceGet = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type DeviceGetName = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type DeviceGetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;

/// Fails where the driver sees no GPU, with what to do instead.
pub fn require(command: &str) -> Result<()> {
    let rows = rows();
    if rows.iter().any(|row| row.name.starts_with("GPU") && matches!(row.state, State::Ok)) {
        return Ok(());
    }
    let reason = rows.iter().find_map(|row| row.remedy.clone()).unwrap_or_default();
    bail!(
        "no GPU here ({reason}); `cargo xtask bundle` makes a folder to copy to a machine that has one, and `./run {command}` there does the same"
    )
}

/// One row for the driver and one for each GPU.
pub(super) fn rows() -> Vec<Row> {
    // SAFETY: loading the driver runs its initialisers, which any program that uses CUDA runs.
    let Ok(library) = (unsafe { Library::new(DRIVER) }) else {
        let remedy = "everything runs on the CPU; a GPU needs NVIDIA's driver";
        return vec![row_without("driver", State::Absent, remedy), row_without("GPU", State::Absent, "")];
    };
    match Driver::new(&library) {
        Ok(driver) => driver.rows(),
        Err(reason) => {
            let mut row = row_without("driver", State::Absent, &reason);
            row.path = Some(DRIVER.into());
            vec![row]
        }
    }
}

/// The functions that are asked.
struct Driver<'l> {
    device_get: Symbol<'l, DeviceGet>,
    get_name: Symbol<'l, DeviceGetName>,
    get_attribute: Symbol<'l, DeviceGetAttribute>,
    version: c_int,
    devices: Result<c_int, c_int>,
}

impl<'l> Driver<'l> {
    fn new(library: &'l Library) -> Result<Self, String> {
        // SAFETY: the types are those of cuda.h; these functions have kept them since CUDA 2.
        let functions = unsafe {
            let init = library.get::<Init>(b"cuInit\0");
            let version = library.get::<GetInt>(b"cuDriverGetVersion\0");
            let count = library.get::<GetInt>(b"cuDeviceGetCount\0");
            let device_get = library.get::<DeviceGet>(b"cuDeviceGet\0");
            let get_name = library.get::<DeviceGetName>(b"cuDeviceGetName\0");
            let get_attribute = library.get::<DeviceGetAttribute>(b"cuDeviceGetAttribute\0");
            (init, version, count, device_get, get_name, get_attribute)
        };
        let (Ok(init), Ok(get_version), Ok(get_count), Ok(device_get), Ok(get_name), Ok(get_attribute)) = functions
        else {
            return Err(format!("{DRIVER} lacks functions of the CUDA driver; reinstall NVIDIA's driver"));
        };
        let (mut version, mut count) = (0, 0);
        // SAFETY: each function gets a pointer to an int of this frame, and the count is asked after cuInit.
        let devices = unsafe {
            get_version(&mut version);
            match init(0) {
                0 => match get_count(&mut count) {
                    0 => Ok(count),
                    code => Err(code),
                },
                code => Err(code),
            }
        };
        Ok(Driver { device_get, get_name, get_attribute, version, devices })
    }

    fn rows(&self) -> Vec<Row> {
        let version = format!("CUDA {}.{}", self.version / 1000, self.version % 1000 / 10);
        let driver = Row {
            name: "driver".into(),
            state: State::Ok,
            path: Some(DRIVER.into()),
            version: Some(version),
            remedy: None,
        };
        let mut rows = vec![driver];
        match self.devices {
            Ok(0) => rows.push(row_without("GPU", State::Absent, "runs on the CPU; the driver sees no GPU")),
            Ok(count) => rows.extend((0..count).map(|ordinal| self.gpu(ordinal))),
            Err(code) => {
                let remedy =
                    format!("runs on the CPU; the driver does not start (cuInit or cuDeviceGetCount: error {code})");
                rows.push(row_without("GPU", State::Absent, &remedy));
            }
        }
        rows
    }

    fn gpu(&self, ordinal: c_int) -> Row {
        let mut name = [0 as c_char; 256];
        let (mut device, mut major, mut minor) = (0, 0, 0);
        // SAFETY: cuInit succeeded, the ordinal is below the count, the pointers are to this frame and the length is
        // the array's.
        unsafe {
            (self.device_get)(&mut device, ordinal);
            (self.get_name)(name.as_mut_ptr(), name.len() as c_int, device);
            (self.get_attribute)(&mut major, COMPUTE_CAPABILITY_MAJOR, device);
            (self.get_attribute)(&mut minor, COMPUTE_CAPABILITY_MINOR, device);
        }
        // SAFETY: the array was zeroed and the driver ends what it writes with a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        Row {
            name: format!("GPU {ordinal}"),
            state: State::Ok,
            path: None,
            version: Some(format!("{name}, sm_{major}{minor}")),
            remedy: None,
        }
    }
}
