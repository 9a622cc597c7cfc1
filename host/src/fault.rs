//! What kernels say when they end themselves: one record for each module, in host memory that the device writes.
//!
//! A trap takes the device's context with it, and all of its memory. The records lie in pinned host memory, which stays. Modules
//! whose kernels can leave a record have a constant for its address; loading sets it, and the next error of the driver looks
//! whether a record was written.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard};

use cuda_std::fault::{ADDRESS, Record};

use crate::driver::{DeviceAddress, Driver, Handle};
use crate::error::{Error, Result};
use crate::runtime::Cuda;

/// Records of one runtime. Modules beyond them share the last one.
const SLOTS: usize = 128;

/// The records of a runtime; made when the first module asks for one.
#[derive(Default)]
pub(crate) struct Faults(Mutex<Option<Arc<Records>>>);

struct Records {
    context: usize,
    host: *const Record,
    device: DeviceAddress,
    /// What the kernels of each record's module are called.
    kernels: Mutex<Vec<String>>,
}

// SAFETY: the records are written by the device alone, and read by volatile reads.
unsafe impl Send for Records {}
// SAFETY: as above.
unsafe impl Sync for Records {}

/// The records of all runtimes, for errors, which don't know their runtime.
static ALL: Mutex<Vec<Arc<Records>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Faults {
    /// Tells a module that was just loaded where its record is. `kernels` is what to call its kernels. Modules that have no use
    /// for a record stay as they are.
    pub(crate) fn prepare(&self, cuda: &Cuda, module: Handle, kernels: &str) -> Result<()> {
        let name = std::ffi::CString::new(ADDRESS).expect("the name has no zero");
        let (mut constant, mut size) = (0, 0);
        // SAFETY: the module is loaded; writes two integers.
        match unsafe { cuda.driver.cuModuleGetGlobal_v2(&mut constant, &mut size, module, name.as_ptr()) } {
            Ok(()) if size == size_of::<DeviceAddress>() => {}
            // CUDA_ERROR_NOT_FOUND
            Ok(()) | Err(Error::Driver { code: 500, .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        let records = self.records(cuda)?;
        let slot = {
            let mut named = lock(&records.kernels);
            if named.len() < SLOTS {
                named.push(kernels.to_owned());
            } else if let Some(last) = named.last_mut() {
                *last = "a kernel of one of many modules".to_owned();
            }
            named.len() - 1
        };
        let address = records.device + (slot * size_of::<Record>()) as u64;
        // SAFETY: the constant has room for an address. No kernel of the module is running yet; the null stream, on which
        // nothing else runs, is waited for.
        unsafe {
            let null = std::ptr::null_mut();
            let source = (&raw const address).cast();
            cuda.driver.cuMemcpyHtoDAsync_v2(constant, source, size_of::<DeviceAddress>(), null)?;
            cuda.driver.cuStreamSynchronize(null)
        }
    }

    fn records(&self, cuda: &Cuda) -> Result<Arc<Records>> {
        let mut records = lock(&self.0);
        if let Some(records) = &*records {
            return Ok(Arc::clone(records));
        }
        // CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP
        const FLAGS: u32 = 1 | 2;
        let (mut host, mut device) = (std::ptr::null_mut::<c_void>(), 0);
        // SAFETY: writes two addresses; the memory is as large as is said, and filled before anyone knows of it.
        unsafe {
            cuda.driver.cuMemHostAlloc(&mut host, SLOTS * size_of::<Record>(), FLAGS)?;
            cuda.driver.cuMemHostGetDevicePointer_v2(&mut device, host, 0)?;
            std::slice::from_raw_parts_mut(host.cast::<std::mem::MaybeUninit<Record>>(), SLOTS)
                .fill(std::mem::MaybeUninit::new(Record::EMPTY));
        }
        let made = Arc::new(Records {
            context: cuda.device.context.addr(),
            host: host.cast_const().cast(),
            device,
            kernels: Mutex::default(),
        });
        lock(&ALL).push(Arc::clone(&made));
        *records = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Frees the records. The context must be current, and no kernel running.
    pub(crate) fn release(&self, driver: &Driver) {
        if let Some(records) = lock(&self.0).take() {
            lock(&ALL).retain(|other| !Arc::ptr_eq(other, &records));
            // SAFETY: allocated by `records`; nothing can find them any more.
            let _ = unsafe { driver.cuMemFreeHost(records.host.cast_mut().cast()) };
        }
    }
}

/// The error that a kernel of this context has left a record of, if one has.
pub(crate) fn explain(context: Handle) -> Option<Error> {
    let all = lock(&ALL);
    let ours = all.iter().filter(|records| records.context == context.addr());
    ours.flat_map(|records| {
        let named = lock(&records.kernels);
        let found: Vec<Error> =
            named.iter().enumerate().filter_map(|(slot, kernel)| records.read(slot, kernel)).collect();
        found
    })
    .next()
}

impl Records {
    fn read(&self, slot: usize, kernel: &str) -> Option<Error> {
        // SAFETY: the slot lies within the memory, which is freed only after `ALL`, which is locked, has forgotten it.
        let record = unsafe { self.host.add(slot).read_volatile() };
        let message = record.text()?;
        Some(Error::KernelPanicked {
            kernel: kernel.to_owned(),
            block: record.block,
            thread: record.thread,
            message,
            file: record.file(),
            line: record.line,
        })
    }
}
