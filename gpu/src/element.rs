//! [`Element`]: how numbers are stored in tensors.
//!
//! 16-bit storage computes in f32 and rounds once, to nearest even, when the result is stored.

use core::fmt::Debug;

use cuda_std::{DeviceCopy, bf16, f16};

use crate::Real;
use crate::elementwise::Function;

/// A storage type of tensors.
pub trait Element: DeviceCopy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// What arithmetic is done in.
    type Compute: Real + Send + Sync;
    /// As many elements as one 16-byte access moves.
    type Pack: Packed<Self>;
    /// The name in tables and messages.
    const NAME: &'static str;

    /// The exact value.
    fn load(self) -> Self::Compute;
    /// The nearest stored value, ties to even.
    fn store(value: Self::Compute) -> Self;
}

/// Elements that are loaded and stored together.
pub trait Packed<T: Element>: DeviceCopy {
    /// How many.
    const LANES: usize;

    /// f of each lane. Written out lane by lane: a loop that LLVM doesn't unroll would send the packs to local memory.
    fn map<const N: usize>(inputs: [Self; N], f: impl Function<T::Compute, N>) -> Self;
}

/// `N` elements of 16 bytes together.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Pack<T, const N: usize>([T; N]);

// SAFETY: plain elements, laid out as in C.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for Pack<T, N> {}

macro_rules! packed {
    ($lanes:literal: $($lane:literal)*) => {
        impl<T: Element> Packed<T> for Pack<T, $lanes> {
            const LANES: usize = $lanes;

            #[inline(always)]
            fn map<const N: usize>(inputs: [Self; N], f: impl Function<T::Compute, N>) -> Self {
                Self([$(T::store(f.apply(inputs.map(|input| input.0[$lane].load())))),*])
            }
        }
    };
}
packed!(2: 0 1);
packed!(4: 0 1 2 3);
packed!(8: 0 1 2 3 4 5 6 7);

macro_rules! element {
    ($($element:ident computes in $compute:ident, $lanes:literal in a pack, $load:expr, $store:expr;)*) => {$(
        impl Element for $element {
            type Compute = $compute;
            type Pack = Pack<Self, $lanes>;
            const NAME: &'static str = stringify!($element);

            #[inline(always)]
            fn load(self) -> $compute {
                $load(self)
            }

            #[inline(always)]
            fn store(value: $compute) -> Self {
                $store(value)
            }
        }
    )*};
}

element! {
    f32 computes in f32, 4 in a pack, core::convert::identity, core::convert::identity;
    f64 computes in f64, 2 in a pack, core::convert::identity, core::convert::identity;
    f16 computes in f32, 8 in a pack, f16::to_f32, f16::from_f32;
    bf16 computes in f32, 8 in a pack, bf16::to_f32, bf16::from_f32;
}
