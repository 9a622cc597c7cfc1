//! The kernel libraries that a runtime knows, and the kernels already looked up in them.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use cuda_std::{Has, Kernel};

use crate::error::{Error, Result};
use crate::kernel::TypedKernel;
use crate::library::{DeviceCode, Library};
use crate::loaded::Loaded;
use crate::runtime::Runtime;

/// Libraries by marker type, kernels by marker and kernel type.
#[derive(Default)]
pub(crate) struct Registry {
    libraries: RwLock<HashMap<TypeId, Arc<DeviceCode>>>,
    kernels: RwLock<HashMap<(TypeId, TypeId), Arc<Loaded>>>,
}

/// # Kernels
impl Runtime {
    /// Makes the kernels of `L` known to [`kernel`](Self::kernel). Nothing is loaded yet. Doing it again is free.
    ///
    /// `archive` is what `cuda_builder` wrote, embedded with `include_bytes!`; see [`Library`].
    ///
    /// # Errors
    /// [`Error::Archive`]
    pub fn register<L: cuda_std::Library>(&self, archive: &'static [u8]) -> Result<()> {
        let key = TypeId::of::<L>();
        let libraries = &self.0.registry.libraries;
        if !libraries.read().unwrap_or_else(|poisoned| poisoned.into_inner()).contains_key(&key) {
            let library = self.library::<L>(archive)?;
            let mut libraries = libraries.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            libraries.entry(key).or_insert(library.into_code());
        }
        Ok(())
    }

    /// The kernel `K` of the registered library `L`, loaded on first use.
    ///
    /// # Errors
    /// [`Error::LibraryUnknown`], and those of [`Library::kernel`].
    pub fn kernel<L: Has<K>, K: Kernel>(&self) -> Result<TypedKernel<K>> {
        let key = (TypeId::of::<L>(), TypeId::of::<K>());
        let kernels = &self.0.registry.kernels;
        if let Some(loaded) = kernels.read().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&key) {
            return Ok(TypedKernel::new(self, Arc::clone(loaded)));
        }
        if self.is_simulator() {
            return Ok(TypedKernel::simulated(self, L::ENTRY));
        }
        let libraries = self.0.registry.libraries.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let code = libraries.get(&key.0).ok_or_else(|| Error::LibraryUnknown { library: L::CRATE.into() })?;
        let kernel = Library::<L>::new(self, Arc::clone(code)).kernel::<K>()?;
        let mut kernels = kernels.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        kernels.entry(key).or_insert_with(|| kernel.loaded());
        Ok(kernel)
    }
}
