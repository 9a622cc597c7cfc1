//! Launch shapes: how many blocks, of how many threads.

use crate::error::{Error, Result};

/// The most blocks along x; along y and z it is 65535. The same on every architecture that this crate supports.
pub const GRID_LIMIT: [u64; 3] = [(1 << 31) - 1, 65535, 65535];
/// The most threads of a block along each axis.
pub const BLOCK_LIMIT: [u64; 3] = [1024, 1024, 64];

/// Blocks, threads of a block, and dynamic shared memory. A launch with an empty grid does nothing and succeeds.
///
/// ```
/// use warpsmith::Shape;
///
/// let shape = Shape::for_elements(1000, 256)?.with_shared_bytes(4096);
/// assert_eq!((shape.grid, shape.block, shape.shared_bytes), ([4, 1, 1], [256, 1, 1], 4096));
/// # Ok::<(), warpsmith::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: usize,
}

impl Shape {
    /// A grid and a block, without dynamic shared memory.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, shared_bytes: 0 }
    }

    /// One-dimensional blocks of `block` threads, one thread for each of `elements`.
    ///
    /// # Errors
    /// [`Error::LaunchShape`] if that takes more blocks than a grid may have.
    pub fn for_elements(elements: usize, block: u32) -> Result<Self> {
        Self::for_extents([elements, 1, 1], [block, 1, 1])
    }

    /// As [`for_elements`](Self::for_elements), with at most `most` blocks: for kernels whose threads stride over the grid.
    ///
    /// # Errors
    /// [`Error::LaunchShape`] if the block is empty.
    pub fn for_elements_at_most(elements: usize, block: u32, most: u32) -> Result<Self> {
        expect_block([block, 1, 1])?;
        let blocks = (elements as u64).div_ceil(u64::from(block)).min(u64::from(most).min(GRID_LIMIT[0]));
        Ok(Self::new([blocks as u32, 1, 1], [block, 1, 1]))
    }

    /// Blocks of the given shape, enough to cover `extents` elements along x, y and z.
    ///
    /// # Errors
    /// [`Error::LaunchShape`] if that takes more blocks along an axis than a grid may have.
    pub fn for_extents(extents: [usize; 3], block: [u32; 3]) -> Result<Self> {
        expect_block(block)?;
        let mut grid = [0; 3];
        for axis in 0..3 {
            let blocks = (extents[axis] as u64).div_ceil(u64::from(block[axis]));
            if blocks > GRID_LIMIT[axis] {
                return Err(too_many_blocks("(not yet chosen)", axis, blocks));
            }
            grid[axis] = blocks as u32;
        }
        Ok(Self::new(grid, block))
    }

    /// The same with `bytes` of dynamic shared memory in each block.
    pub const fn with_shared_bytes(mut self, bytes: usize) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Threads of a block.
    pub fn block_threads(&self) -> u64 {
        self.block.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Whether there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

fn expect_block(block: [u32; 3]) -> Result<()> {
    let remedy = "give every axis of the block at least one thread";
    let kernel = || "(not yet chosen)".into();
    match block.contains(&0) {
        true => {
            Err(Error::LaunchShape { kernel: kernel(), what: "the block's least extent", got: 0, limit: 1, remedy })
        }
        false => Ok(()),
    }
}

pub(crate) fn too_many_blocks(kernel: &str, axis: usize, got: u64) -> Error {
    Error::LaunchShape {
        kernel: kernel.into(),
        what: ["blocks along x", "blocks along y", "blocks along z"][axis],
        got,
        limit: GRID_LIMIT[axis],
        remedy: "use larger blocks, the x axis, or a kernel that strides over the grid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_computed_in_64_bits() {
        assert_eq!(Shape::for_elements(0, 256).unwrap().grid, [0, 1, 1]);
        assert!(Shape::for_elements(0, 256).unwrap().is_empty());
        assert_eq!(Shape::for_elements(257, 256).unwrap().grid, [2, 1, 1]);
        assert_eq!(Shape::for_elements((1 << 31) + 512, 256).unwrap().grid, [8388610, 1, 1]);
        assert_eq!(Shape::for_elements(((1 << 31) - 1) * 256, 256).unwrap().grid[0], i32::MAX as u32);
    }

    #[test]
    fn limits_are_errors_before_the_driver_sees_them() {
        let error = Shape::for_elements((1 << 31) * 256, 256).unwrap_err();
        assert!(matches!(error, Error::LaunchShape { what: "blocks along x", got: 0x8000_0000, .. }), "{error}");
        let error = Shape::for_extents([16, 65536 * 8, 1], [16, 8, 1]).unwrap_err();
        assert!(
            matches!(error, Error::LaunchShape { what: "blocks along y", got: 65536, limit: 65535, .. }),
            "{error}"
        );
        assert!(matches!(Shape::for_elements(1, 0), Err(Error::LaunchShape { limit: 1, .. })));
        assert_eq!(Shape::for_elements_at_most(usize::MAX, 256, 1000).unwrap().grid[0], 1000);
    }
}
