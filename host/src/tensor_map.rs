//! Tensor maps: an array in device memory, the box that one asynchronous copy moves, and the borrow of the memory behind both.

use cuda_std::tensor_map::{Descriptor, ElementKind, L2Promotion, Swizzle, Tensor, TensorElement, Tiling};

use crate::driver::Driver;
use crate::error::Result;
use crate::launch::{Argument, Launch, Packed, Pointers};
use crate::order::Access;
use crate::runtime::Runtime;
use crate::view::{View, ViewMut};

/// A tensor of `RANK` dimensions that kernels read through the copy engine (TMA): what a kernel parameter of type
/// `TensorMap<T, RANK>` takes, by reference. Needs a GPU of compute capability 9.0 or the simulator.
///
/// ```
/// use warpsmith::{Runtime, Swizzle, TensorMap, Tiling};
///
/// # fn main() -> warpsmith::Result<()> {
/// let runtime = Runtime::simulator();
/// let x = runtime.zeros::<f32>(64 * 100)?;
/// // A row-major matrix of 64 rows, copied in boxes of 16 rows and 32 columns.
/// let map = TensorMap::new(&x, &Tiling::new([100, 64], [32, 16]).swizzle(Swizzle::Bytes128))?;
/// # let _ = map;
/// # Ok(())
/// # }
/// ```
pub struct TensorMap<'a, T, const RANK: usize> {
    view: View<'a, T>,
    map: Encoded,
}

/// As [`TensorMap`], for a kernel parameter of type `TensorMapMut<T, RANK>`: the kernel may write the tensor.
pub struct TensorMapMut<'a, T, const RANK: usize> {
    view: ViewMut<'a, T>,
    map: Encoded,
}

/// A tensor, and what the driver makes of it; in the simulator nothing.
#[derive(Clone, Copy)]
struct Encoded {
    tensor: Tensor,
    descriptor: Descriptor,
}

impl Encoded {
    fn new<T: TensorElement, const RANK: usize>(view: View<'_, T>, tiling: &Tiling<RANK>) -> Result<Self> {
        const OPERATION: &str = "make a tensor map";
        let runtime = view.runtime();
        if !runtime.runs_kernels() {
            return Err(runtime.unsupported(OPERATION, "kernels run on a GPU or on Runtime::simulator()"));
        }
        let tensor = tiling.check::<T>(view.device_address(), view.len())?;
        let mut descriptor = Descriptor([0; 16]);
        if let Some(cuda) = runtime.cuda_state() {
            if cuda.device.properties.compute_capability.0 < 9 {
                let remedy = "the copy engine needs compute capability 9.0: use a kernel without tensor maps";
                return Err(runtime.unsupported(OPERATION, remedy));
            }
            cuda.make_current()?;
            encode(cuda.driver, &tensor, &mut descriptor)?;
        }
        Ok(Self { tensor, descriptor })
    }
}

fn encode(driver: &Driver, tensor: &Tensor, descriptor: &mut Descriptor) -> Result<()> {
    // CUtensorMapDataType
    let kind = match tensor.kind {
        ElementKind::U8 => 0,
        ElementKind::U16 => 1,
        ElementKind::U32 => 2,
        ElementKind::I32 => 3,
        ElementKind::U64 => 4,
        ElementKind::I64 => 5,
        ElementKind::F16 => 6,
        ElementKind::F32 => 7,
        ElementKind::F64 => 8,
        ElementKind::Bf16 => 9,
    };
    // CUtensorMapSwizzle
    let swizzle = match tensor.swizzle {
        Swizzle::None => 0,
        Swizzle::Bytes32 => 1,
        Swizzle::Bytes64 => 2,
        Swizzle::Bytes128 => 3,
    };
    // CUtensorMapL2promotion
    let promotion = match tensor.promotion {
        L2Promotion::None => 0,
        L2Promotion::Bytes64 => 1,
        L2Promotion::Bytes128 => 2,
        L2Promotion::Bytes256 => 3,
    };
    // SAFETY: the descriptor is 128 bytes aligned to 64; the arrays have as many elements as the rank, the strides one less,
    // which are those from the second axis on. No interleaving, and zeros outside of the tensor.
    unsafe {
        driver.cuTensorMapEncodeTiled(
            (&raw mut *descriptor).cast(),
            kind,
            tensor.rank as u32,
            tensor.address,
            tensor.extents.as_ptr(),
            tensor.strides[1..].as_ptr(),
            tensor.tile.as_ptr(),
            [1; 5].as_ptr(),
            0,
            swizzle,
            promotion,
            0,
        )
    }
}

#[cfg(test)]
impl<T, const RANK: usize> TensorMap<'_, T, RANK> {
    /// What the driver made of it.
    pub(crate) fn descriptor(&self) -> [u64; 16] {
        self.map.descriptor.0
    }
}

/// The bytes of a map, which are passed by value.
#[doc(hidden)]
pub struct Bytes(Descriptor);

impl Packed for Bytes {
    #[inline]
    fn point(&self, pointers: &mut Pointers) {
        pointers.push(&self.0);
    }
}

macro_rules! maps {
    ($($map:ident, $view:ident, $access:ident, $reference:ty;)*) => {$(
        impl<'a, T: TensorElement, const RANK: usize> $map<'a, T, RANK> {
            /// The tensor that the view holds, row-major unless the tiling has other strides.
            ///
            /// # Errors
            /// [`Error::TensorMap`](crate::Error::TensorMap) where the hardware can't take it, [`Error::Unsupported`](crate::Error::Unsupported) on the CPU and on GPUs before
            /// compute capability 9.0, [`Error::DriverTooOld`](crate::Error::DriverTooOld), [`Error::Driver`](crate::Error::Driver).
            pub fn new(view: impl Into<$view<'a, T>>, tiling: &Tiling<RANK>) -> Result<Self>
            where
                T: 'a,
            {
                let view = view.into();
                let map = Encoded::new(view.as_view(), tiling)?;
                Ok(Self { view, map })
            }

            /// The runtime on whose device the tensor lies.
            pub fn runtime(&self) -> &Runtime {
                self.view.runtime()
            }
        }

        impl<T: TensorElement, const RANK: usize> Argument<cuda_std::$map<'static, T, RANK>> for $reference {
            type Packed = Bytes;

            #[inline]
            fn prepare(self, launch: &Launch<'_>) -> Result<Bytes> {
                launch.order(self.view.block, Access::$access)?;
                Ok(Bytes(self.map.descriptor))
            }

            fn parameter(self, runtime: &Runtime) -> Result<cuda_std::$map<'static, T, RANK>> {
                runtime.expect_same(self.view.runtime(), "launch a kernel", "an argument")?;
                // SAFETY: host memory of this extent, borrowed in the map's way for the launch, which is over when it returns.
                Ok(unsafe { cuda_std::$map::from_tensor(self.map.tensor) })
            }
        }

        impl<T: TensorElement, const RANK: usize> std::fmt::Debug for $map<'_, T, RANK> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let Tensor { extents, tile, swizzle, .. } = self.map.tensor;
                let (extents, tile) = (&extents[..RANK], &tile[..RANK]);
                write!(f, "{}({extents:?} in boxes of {tile:?}, swizzle {swizzle:?})", stringify!($map))
            }
        }
    )*};
}

maps! {
    TensorMap, View, Read, &TensorMap<'_, T, RANK>;
    TensorMapMut, ViewMut, Write, &mut TensorMapMut<'_, T, RANK>;
}
