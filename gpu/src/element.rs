//! [`Element`]: how numbers are stored in tensors.
//!
//! 16-bit storage computes in f32 and rounds once, to nearest even, when the result is stored.

use core::array;
use core::fmt::Debug;

use cuda_std::{DeviceCopy, bf16, f16};

use crate::elementwise::Function;
use crate::{Fast, Real};

/// A storage type of tensors.
///
/// ```
/// use warpsmith_gpu::{Element, bf16};
///
/// // Eight significant bits: 1 + 2^-9 lies halfway to nothing that is stored.
/// assert_eq!(bf16::store(1.001953125).load(), 1.0);
/// assert_eq!((f32::NAME, bf16::NAME), ("f32", "bf16"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no storage type of tensors",
    label = "`Element` is not implemented for it",
    note = "there are `f32`, `f64`, `f16` and `bf16`"
)]
pub trait Element: DeviceCopy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// What arithmetic is done in.
    type Compute: Real + Send + Sync;
    /// What activations are computed in: [`Fast`] where the storage can't show the difference, else the same.
    type Math: Real + From<Self::Compute> + Into<Self::Compute> + Send + Sync;
    /// As many elements as one 16-byte access moves.
    type Pack: Packed<Self>;
    /// Four elements: what an access moves where elements of different sizes meet.
    type Quad: Packed<Self>;
    /// The name in tables and messages.
    const NAME: &'static str;

    /// The exact value.
    fn load(self) -> Self::Compute;
    /// The nearest stored value, ties to even.
    fn store(value: Self::Compute) -> Self;
}

/// Elements that are loaded and stored together.
pub trait Packed<T: Element>: DeviceCopy {
    /// How many: 2, 4 or 8.
    const LANES: usize;

    /// One of them; `lane` must become a constant when this is inlined, or the pack goes to local memory.
    fn lane(&self, lane: usize) -> T::Compute;

    /// f of each lane of `inputs`, which have as many lanes; `first` is the number of the first element among all. Written out
    /// lane by lane: a loop that LLVM doesn't unroll would send the packs to local memory.
    fn map<I, P, const N: usize, const M: usize>(
        inputs: [P; N],
        first: usize,
        f: impl Function<T::Compute, N, M>,
    ) -> [Self; M]
    where
        I: Element<Compute = T::Compute>,
        P: Packed<I>;
}

/// `N` elements of 16 bytes together.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Pack<T, const N: usize>([T; N]);

// SAFETY: plain elements, laid out as in C.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for Pack<T, N> {}

/// Four elements of 8 bytes together.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct ShortPack<T, const N: usize>([T; N]);

// SAFETY: plain elements, laid out as in C.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for ShortPack<T, N> {}

macro_rules! packed {
    ($($pack:ident of $lanes:literal: $($lane:literal)*;)*) => {$(
        impl<T: Element> Packed<T> for $pack<T, $lanes> {
            const LANES: usize = $lanes;

            #[inline(always)]
            fn lane(&self, lane: usize) -> T::Compute {
                self.0[lane].load()
            }

            #[inline(always)]
            fn map<I, P, const N: usize, const M: usize>(
                inputs: [P; N],
                first: usize,
                f: impl Function<T::Compute, N, M>,
            ) -> [Self; M]
            where
                I: Element<Compute = T::Compute>,
                P: Packed<I>,
            {
                let words: [u32; $lanes] = random_words(first, &f);
                let results = [$(f.apply(inputs.map(|input| input.lane($lane)), words[$lane])),*];
                array::from_fn(|output| Self([$(T::store(results[$lane][output])),*]))
            }
        }
    )*};
}
packed! {
    Pack of 2: 0 1;
    Pack of 4: 0 1 2 3;
    Pack of 8: 0 1 2 3 4 5 6 7;
    ShortPack of 4: 0 1 2 3;
}

/// The random words of elements `first..first + L`: one call for each four elements. `first` is a multiple of 4, or of `L` if
/// that is less.
#[inline(always)]
fn random_words<C, const L: usize, const N: usize, const M: usize>(
    first: usize,
    f: &impl Function<C, N, M>,
) -> [u32; L] {
    let quad = (first / 4) as u64;
    let (low, high) = (f.random(quad), if L > 4 { f.random(quad + 1) } else { [0; 4] });
    let second_half = L < 4 && !first.is_multiple_of(4);
    array::from_fn(|lane| match lane {
        0 | 1 if second_half => low[lane + 2],
        0..4 => low[lane],
        _ => high[lane % 4],
    })
}

macro_rules! element {
    ($($element:ident computes in $compute:ident by $math:ident, $lanes:literal in a pack, $quad:ident, $load:expr, $store:expr;)*) => {$(
        impl Element for $element {
            type Compute = $compute;
            type Math = $math;
            type Pack = Pack<Self, $lanes>;
            type Quad = $quad<Self, 4>;
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
    f32 computes in f32 by f32, 4 in a pack, Pack, core::convert::identity, core::convert::identity;
    f64 computes in f64 by f64, 2 in a pack, Pack, core::convert::identity, core::convert::identity;
    f16 computes in f32 by Fast, 8 in a pack, ShortPack, f16::to_f32, f16::from_f32;
    bf16 computes in f32 by Fast, 8 in a pack, ShortPack, bf16::to_f32, bf16::from_f32;
}
