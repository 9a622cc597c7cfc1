//! The sums of a 64 x N tile, spread over the registers of a warpgroup, and the products that add to them.
//!
//! Thread `t` of the warpgroup, with `lane = t % 32`, holds N/2 numbers. Numbers `4g .. 4g+4` belong to columns `8g .. 8g+8`:
//! the first two to row `16 (t/32) + lane/4`, columns `8g + 2 (lane % 4)` and the next one; the other two to the row 8 below.

#[cfg(target_os = "cuda")]
use core::arch::asm;

#[cfg(target_os = "cuda")]
use super::{AlongK, Kind};
use super::{Descriptor, Format, Orientation};

/// One thread's part of the sums: `NUMBERS` of them, half as many as the tile has columns.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<const NUMBERS: usize>(pub(super) [f32; NUMBERS]);

/// What [`Accumulator::for_each_group`] calls.
pub trait Groups {
    /// Columns `8 group .. 8 group + 8`: the thread's four sums there.
    fn group(&mut self, group: usize, sums: [f32; 4]);
}

/// The sums of a tile, whatever its width.
pub trait Accumulator: Copy {
    /// Columns of the tile: 8 to 256.
    const COLUMNS: usize;

    /// Zeros.
    fn zero() -> Self;

    /// Begins the product of 64 rows of A with [`COLUMNS`](Self::COLUMNS) columns of B, over 32 bytes of k. Factors that lie across k must be of 16 bits.
    ///
    /// # Safety
    /// All threads of the warpgroup must call it together, on sm_90a, after [`fence`](super::fence). The factors must lie where the
    /// descriptors say and stay unchanged until the product is waited for. The result may be used only after [`wait`](Self::wait).
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    unsafe fn multiply<F: Format, A: Orientation, B: Orientation>(a: Descriptor<A>, b: Descriptor<B>) -> Self;

    /// The same, and adds it.
    ///
    /// # Safety
    /// As [`multiply`](Self::multiply).
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    unsafe fn multiply_add<F: Format, A: Orientation, B: Orientation>(&mut self, a: Descriptor<A>, b: Descriptor<B>);

    /// Waits until at most `PENDING` of the warpgroup's groups of products are unfinished, those of these sums not among them.
    ///
    /// # Safety
    /// All threads of the warpgroup must call it together, on sm_90a.
    unsafe fn wait<const PENDING: u32>(&mut self);

    /// Hands out the sums, eight columns at a time, in order. Written out, so that each is read by a constant index.
    fn for_each_group(&self, groups: &mut impl Groups);
}

/// One product as an instruction; `$first` and `$numbers` count the accumulators, `$flags` are the format's own operands.
#[cfg(target_os = "cuda")]
macro_rules! product {
    ($columns:literal, $depth:literal, $format:literal, [$($number:literal)*], $scale:literal, $class:ident $sums:expr, $a:ident, $b:ident $(, $across_a:ident, $across_b:ident)?) => {
        asm!(
            concat!(
                "{{ .reg .pred keep; .reg .b64 a, b; setp.ne.b32 keep, ", $scale, ", 0; ",
                "mov.b64 a, {{{a_low}, {high}}}; mov.b64 b, {{{b_low}, {high}}}; ",
                "wgmma.mma_async.sync.aligned.m64n", $columns, $depth, ".f32.", $format, ".", $format, " {{",
                product!(@list $($number)*), "}}, a, b, keep, 1, 1" $(, ", {", stringify!($across_a), "}, {", stringify!($across_b), "}")?, "; }}"
            ),
            $($class(reg32) $sums[$number],)*
            a_low = in(reg32) $a.low, b_low = in(reg32) $b.low, high = const Descriptor::<AlongK>::HIGH,
            $($across_a = const $across_a::ACROSS_K as u32, $across_b = const $across_b::ACROSS_K as u32,)?
            options(nostack)
        )
    };
    (@list $first:literal $($number:literal)*) => { concat!("{", $first, "}" $(, ", {", $number, "}")*) };
}

#[cfg(target_os = "cuda")]
macro_rules! by_format {
    ($columns:literal, $numbers:tt, $scale:literal, $class:ident $sums:expr, $a:ident, $b:ident) => {
        match F::KIND {
            Kind::F16 => product!($columns, "k16", "f16", $numbers, $scale, $class $sums, $a, $b, A, B),
            Kind::Bf16 => product!($columns, "k16", "bf16", $numbers, $scale, $class $sums, $a, $b, A, B),
            Kind::Tf32 => product!($columns, "k8", "tf32", $numbers, $scale, $class $sums, $a, $b),
            Kind::E4m3 => product!($columns, "k32", "e4m3", $numbers, $scale, $class $sums, $a, $b),
            Kind::E5m2 => product!($columns, "k32", "e5m2", $numbers, $scale, $class $sums, $a, $b),
        }
    };
}

macro_rules! fragment {
    ($columns:literal, [$($number:literal)*], [$($group:literal)*]) => {
        impl Accumulator for Fragment<{ $columns / 2 }> {
            const COLUMNS: usize = $columns;

            #[inline(always)]
            fn zero() -> Self {
                // SAFETY: zero bits are zeros. An array literal of this size would stay in local memory.
                unsafe { core::mem::zeroed() }
            }

            #[inline(always)]
            unsafe fn multiply<F: Format, A: Orientation, B: Orientation>(a: Descriptor<A>, b: Descriptor<B>) -> Self {
                const { assert!(F::KIND.transposable() || !(A::ACROSS_K || B::ACROSS_K), "only 16-bit factors may lie across k") };
                #[cfg(target_os = "cuda")]
                {
                    let mut sums = core::mem::MaybeUninit::<[f32; $columns / 2]>::uninit();
                    let to = sums.as_mut_ptr();
                    // SAFETY: the caller's promise; every sum is an output.
                    unsafe {
                        by_format!($columns, [$($number)*], "0", out (*to), a, b);
                        Self(sums.assume_init())
                    }
                }
                #[cfg(not(target_os = "cuda"))]
                {
                    // A product of zeros is +0 too.
                    let mut sums = Self::zero();
                    // SAFETY: the caller's promise.
                    unsafe { sums.multiply_add::<F, A, B>(a, b) };
                    sums
                }
            }

            #[inline(always)]
            unsafe fn multiply_add<F: Format, A: Orientation, B: Orientation>(&mut self, a: Descriptor<A>, b: Descriptor<B>) {
                const { assert!(F::KIND.transposable() || !(A::ACROSS_K || B::ACROSS_K), "only 16-bit factors may lie across k") };
                #[cfg(target_os = "cuda")]
                // SAFETY: the caller's promise.
                unsafe {
                    by_format!($columns, [$($number)*], "1", inout self.0, a, b);
                }
                #[cfg(not(target_os = "cuda"))]
                super::simulated::multiply_add(&mut self.0, F::KIND, a, b);
            }

            #[inline(always)]
            unsafe fn wait<const PENDING: u32>(&mut self) {
                #[cfg(target_os = "cuda")]
                // SAFETY: the caller's promise. Naming the sums keeps their uses behind the wait.
                unsafe {
                    asm!(
                        concat!("wgmma.wait_group.sync.aligned {pending}; //" $(, " {", $number, "}")*),
                        $(inout(reg32) self.0[$number],)* pending = const PENDING, options(nostack)
                    );
                }
            }

            #[inline(always)]
            fn for_each_group(&self, groups: &mut impl Groups) {
                $(groups.group($group, [self.0[$group * 4], self.0[$group * 4 + 1], self.0[$group * 4 + 2], self.0[$group * 4 + 3]]);)*
            }
        }
    };
}

/// Every width: each adds four numbers to those of the one before.
macro_rules! fragments {
    ([$($numbers:literal)*] [$($groups:literal)*]) => {};
    ([$($numbers:literal)*] [$($groups:literal)*] $columns:literal, $group:literal: $($number:literal)*; $($rest:tt)*) => {
        fragment! { $columns, [$($numbers)* $($number)*], [$($groups)* $group] }
        fragments! { [$($numbers)* $($number)*] [$($groups)* $group] $($rest)* }
    };
}

fragments! {
    [] []
    8, 0: 0 1 2 3;
    16, 1: 4 5 6 7;
    24, 2: 8 9 10 11;
    32, 3: 12 13 14 15;
    40, 4: 16 17 18 19;
    48, 5: 20 21 22 23;
    56, 6: 24 25 26 27;
    64, 7: 28 29 30 31;
    72, 8: 32 33 34 35;
    80, 9: 36 37 38 39;
    88, 10: 40 41 42 43;
    96, 11: 44 45 46 47;
    104, 12: 48 49 50 51;
    112, 13: 52 53 54 55;
    120, 14: 56 57 58 59;
    128, 15: 60 61 62 63;
    136, 16: 64 65 66 67;
    144, 17: 68 69 70 71;
    152, 18: 72 73 74 75;
    160, 19: 76 77 78 79;
    168, 20: 80 81 82 83;
    176, 21: 84 85 86 87;
    184, 22: 88 89 90 91;
    192, 23: 92 93 94 95;
    200, 24: 96 97 98 99;
    208, 25: 100 101 102 103;
    216, 26: 104 105 106 107;
    224, 27: 108 109 110 111;
    232, 28: 112 113 114 115;
    240, 29: 116 117 118 119;
    248, 30: 120 121 122 123;
    256, 31: 124 125 126 127;
}
