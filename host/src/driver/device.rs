//! Finds devices and holds a device's primary context, through `cust`.

use cust::context::Context;
use cust::device::Device;
use cust::error::CudaError;

use super::{Driver, Handle, open};
use crate::device::CudaProperties;
use crate::error::{Error, Result};

/// A device whose primary context is retained until this is dropped.
pub(crate) struct OpenDevice {
    pub(crate) driver: &'static Driver,
    pub(crate) context: Handle,
    pub(crate) properties: CudaProperties,
    /// Released on drop, after everything else.
    pub(crate) retained: Context,
}

impl OpenDevice {
    /// Opens device `index`, and makes its primary context current on this thread.
    pub(crate) fn open(index: u32) -> Result<Self> {
        let driver = open::driver()?;
        let failed = |call: &'static str| {
            move |error: CudaError| match error as i32 {
                // What a trampoline answers for a function that the driver lacks.
                500 => driver.too_old(call),
                code => driver.error(call, code),
            }
        };

        let count = Device::num_devices().map_err(failed("cuDeviceGetCount"))?;
        if count == 0 {
            return Err(Error::NoDevice);
        }
        if index >= count {
            return Err(Error::DeviceIndex { index, count });
        }
        let device = Device::get_device(index).map_err(failed("cuDeviceGet"))?;
        // cust's list of attributes ends before those of the last three lines.
        let attribute = |number| {
            let mut value = 0;
            // SAFETY: writes one integer.
            unsafe { driver.cuDeviceGetAttribute(&mut value, number, device.as_raw()) }.map(|()| value.max(0) as u32)
        };
        let properties = CudaProperties {
            index,
            name: device.name().map_err(failed("cuDeviceGetName"))?,
            memory_bytes: device.total_memory().map_err(failed("cuDeviceTotalMem_v2"))?,
            driver_version: driver.version(),
            threads_per_block: attribute(1)?,
            multiprocessors: attribute(16)?,
            compute_capability: (attribute(75)?, attribute(76)?),
            shared_bytes_per_block: attribute(97)? as usize,
            reads_pageable_memory: attribute(100)? != 0,
        };
        let retained = Context::new(device).map_err(failed("cuDevicePrimaryCtxRetain"))?;
        Ok(Self { driver, context: retained.as_raw().cast(), properties, retained })
    }
}
