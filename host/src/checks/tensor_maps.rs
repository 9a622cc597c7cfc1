//! Tensor maps: what they refuse, and what reaches the driver.

#[cfg(test)]
use super::ensure;
use super::{Outcome, ensure_error};
use crate::{Error, Runtime, Swizzle, TensorMap, TensorMapMut, Tiling};

/// The host sees what is wrong before the driver does.
pub fn refusals(runtime: &Runtime) -> Outcome {
    let mut buffer = runtime.zeros::<f32>(64 * 32)?;
    let tiling = Tiling::new([32, 64], [32, 8]).swizzle(Swizzle::Bytes128);
    if !runtime.runs_kernels() {
        ensure_error!(TensorMap::new(&buffer, &tiling), Error::Unsupported { operation: "make a tensor map", .. });
        return Ok(());
    }
    TensorMap::new(&buffer, &tiling)?;
    TensorMapMut::new(&mut buffer, &tiling)?;
    let shifted = buffer.slice(1..)?;
    ensure_error!(
        TensorMap::new(shifted, &Tiling::new([32, 63], [32, 8])),
        Error::TensorMap(cuda_std::tensor_map::Error::Address { .. })
    );
    let short = buffer.slice(..64)?;
    ensure_error!(
        TensorMap::new(short, &tiling),
        Error::TensorMap(cuda_std::tensor_map::Error::OutOfBounds { last: 2047, len: 64 })
    );
    Ok(())
}

/// On the pretended driver, which writes down what it got.
#[cfg(test)]
pub fn encoding(runtime: &Runtime) -> Outcome {
    use crate::{L2Promotion, bf16};
    let buffer = runtime.zeros::<bf16>(5 * 4 * 40)?;
    let tiling = Tiling::new([30, 3, 5], [16, 2, 1]).strides([1, 40, 160]).swizzle(Swizzle::Bytes32);
    let map = TensorMap::new(&buffer, &tiling.promote(L2Promotion::Bytes256))?;
    let (got, address) = (map.descriptor(), buffer.as_view().device_address());
    let tile = |extent: u64| extent | 1 << 32;
    let want =
        [9 | 3 << 8 | 1 << 16 | 3 << 24, address, 30, 3, 5, 0, 0, tile(16), tile(2), tile(1), 0, 0, 80, 320, 0, 0];
    ensure!(got == want, "the driver got {got:x?}, expected {want:x?}");
    Ok(())
}
