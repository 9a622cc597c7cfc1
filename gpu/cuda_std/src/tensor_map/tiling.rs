//! [`Tiling`]: how a tensor lies in global memory and which boxes of it are copied; and what the hardware demands of both.

use core::fmt;

use super::{ElementKind, Swizzle, TensorElement};

/// How much of what surrounds a box is brought into the second-level cache with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L2Promotion {
    /// Nothing.
    #[default]
    None,
    /// To whole 64 bytes.
    Bytes64,
    /// To whole 128 bytes.
    Bytes128,
    /// To whole 256 bytes.
    Bytes256,
}

/// A tensor's extents and strides, and the box that one copy moves. All arrays begin with the innermost axis.
///
/// ```
/// use cuda_std::tensor_map::{Swizzle, Tiling};
///
/// // A row-major matrix of 64 rows and 100 columns, moved in boxes of 16 rows and 32 columns.
/// let tiling = Tiling::new([100, 64], [32, 16]).swizzle(Swizzle::Bytes128);
/// assert_eq!(tiling.tile_bytes::<f32>(), 16 * 32 * 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling<const RANK: usize> {
    extents: [usize; RANK],
    strides: [usize; RANK],
    tile: [u32; RANK],
    swizzle: Swizzle,
    promotion: L2Promotion,
}

impl<const RANK: usize> Tiling<RANK> {
    /// A contiguous tensor of these extents, in boxes of `tile`, both in elements, the innermost axis first: a row-major matrix
    /// is `[columns, rows]`. Boxes that reach out of the tensor are filled with zeros when they are loaded, and clipped
    /// when they are stored.
    pub const fn new(extents: [usize; RANK], tile: [u32; RANK]) -> Self {
        const { assert!(RANK >= 1 && RANK <= 5, "a tensor map has one to five dimensions") };
        let mut strides = [1; RANK];
        let mut axis = 1;
        while axis < RANK {
            strides[axis] = strides[axis - 1] * extents[axis - 1];
            axis += 1;
        }
        Self { extents, strides, tile, swizzle: Swizzle::None, promotion: L2Promotion::None }
    }

    /// With so many elements from one element to the next along each axis; the first must be 1.
    pub const fn strides(self, strides: [usize; RANK]) -> Self {
        Self { strides, ..self }
    }

    /// With a swizzle in shared memory.
    pub const fn swizzle(self, swizzle: Swizzle) -> Self {
        Self { swizzle, ..self }
    }

    /// With a promotion in the second-level cache.
    pub const fn promote(self, promotion: L2Promotion) -> Self {
        Self { promotion, ..self }
    }

    /// Bytes of one box, which are also what its load reports to an mbarrier.
    pub fn tile_bytes<T: TensorElement>(&self) -> usize {
        self.tile.iter().map(|&extent| extent as usize).product::<usize>() * size_of::<T>()
    }

    /// The tensor at this address, if it lies within `len` elements and the hardware can take it.
    ///
    /// # Errors
    /// The first demand that isn't met.
    pub fn check<T: TensorElement>(&self, address: u64, len: usize) -> Result<Tensor, Error> {
        let element = size_of::<T>();
        if !address.is_multiple_of(16) {
            return Err(Error::Address { address });
        }
        if self.strides[0] != 1 {
            return Err(Error::InnerStride { got: self.strides[0] });
        }
        let mut last = 0usize;
        for axis in 0..RANK {
            let (extent, stride, tile) = (self.extents[axis], self.strides[axis], self.tile[axis]);
            if extent == 0 || extent as u64 > 1 << 32 {
                return Err(Error::Extent { axis, got: extent });
            }
            let bytes = stride.checked_mul(element).ok_or(Error::Stride { axis, bytes: usize::MAX })?;
            if axis > 0 && (!bytes.is_multiple_of(16) || bytes as u64 >= 1 << 40) {
                return Err(Error::Stride { axis, bytes });
            }
            if tile == 0 || tile > 256 {
                return Err(Error::Tile { axis, got: tile });
            }
            last = (extent - 1).checked_mul(stride).and_then(|more| last.checked_add(more)).unwrap_or(usize::MAX);
        }
        if last >= len {
            return Err(Error::OutOfBounds { last, len });
        }
        let row = self.tile[0] as usize * element;
        if !row.is_multiple_of(16) {
            return Err(Error::RowMultiple { bytes: row });
        }
        if let Some(span) = self.swizzle.span().filter(|&span| row > span) {
            return Err(Error::RowSpan { bytes: row, span, swizzle: self.swizzle });
        }
        Ok(self.tensor(T::KIND, element, address))
    }

    fn tensor(&self, kind: ElementKind, element: usize, address: u64) -> Tensor {
        let mut tensor = Tensor {
            address,
            kind,
            element,
            rank: RANK,
            extents: [1; 5],
            strides: [0; 5],
            tile: [1; 5],
            swizzle: self.swizzle,
            promotion: self.promotion,
        };
        for axis in 0..RANK {
            tensor.extents[axis] = self.extents[axis] as u64;
            tensor.strides[axis] = (self.strides[axis] * element) as u64;
            tensor.tile[axis] = self.tile[axis];
        }
        tensor
    }
}

/// A tensor as a map describes it: checked, with strides in bytes. Axes beyond the rank have extent 1.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as in `Tiling`")]
pub struct Tensor {
    pub address: u64,
    pub kind: ElementKind,
    /// Bytes of an element.
    pub element: usize,
    pub rank: usize,
    pub extents: [u64; 5],
    pub strides: [u64; 5],
    pub tile: [u32; 5],
    pub swizzle: Swizzle,
    pub promotion: L2Promotion,
}

/// What a tensor map can't be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The tensor begins at a wrong address.
    Address {
        /// The address.
        address: u64,
    },
    /// The innermost axis is not contiguous.
    InnerStride {
        /// Its stride in elements.
        got: usize,
    },
    /// An extent is 0 or above 2^32.
    Extent {
        /// The axis, the innermost being 0.
        axis: usize,
        /// Elements along it.
        got: usize,
    },
    /// A stride is no multiple of 16 bytes, or too large.
    Stride {
        /// The axis, the innermost being 0.
        axis: usize,
        /// The stride in bytes.
        bytes: usize,
    },
    /// A box has no, or more than 256, elements along an axis.
    Tile {
        /// The axis, the innermost being 0.
        axis: usize,
        /// Elements along it.
        got: u32,
    },
    /// A row of the box is no multiple of 16 bytes.
    RowMultiple {
        /// Bytes of a row.
        bytes: usize,
    },
    /// A row of the box is longer than the swizzle allows.
    RowSpan {
        /// Bytes of a row.
        bytes: usize,
        /// The most that there may be.
        span: usize,
        /// The swizzle.
        swizzle: Swizzle,
    },
    /// The tensor reaches past the end of its memory.
    OutOfBounds {
        /// The last element.
        last: usize,
        /// Elements that there are.
        len: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no tensor map: ")?;
        match self {
            Self::Address { address } => write!(
                f,
                "the tensor begins at address {address:#x}, which is no multiple of 16; begin the view at a whole buffer, or at a \
                 multiple of 16 bytes in it"
            ),
            Self::InnerStride { got } => {
                write!(f, "the innermost axis has stride {got}, but must be contiguous; transpose the tensor")
            }
            Self::Extent { axis, got } => write!(f, "axis {axis} has {got} elements; there must be 1 to 2^32"),
            Self::Stride { axis, bytes } => write!(
                f,
                "axis {axis} has a stride of {bytes} bytes, which must be a multiple of 16 below 2^40; pad the rows"
            ),
            Self::Tile { axis, got } => {
                write!(f, "the box has {got} elements along axis {axis}; there must be 1 to 256")
            }
            Self::RowMultiple { bytes } => {
                write!(
                    f,
                    "a row of the box has {bytes} bytes, which must be a multiple of 16; change the tile's first extent"
                )
            }
            Self::RowSpan { bytes, span, swizzle } => write!(
                f,
                "a row of the box has {bytes} bytes, but the swizzle {swizzle:?} allows {span}; use a narrower tile"
            ),
            Self::OutOfBounds { last, len } => {
                write!(f, "the tensor's last element is number {last}, but its memory has {len} elements")
            }
        }
    }
}

impl std::error::Error for Error {}
