//! Matrix products of a warp (`mma`, sm_80) and the loads and stores of 8 x 8 matrices that feed them (`ldmatrix`, `stmatrix`).
//!
//! A warp holds an 8 x 8 matrix of 16-bit numbers in one register a lane: lane `l` has row `l / 4`, columns `2 (l % 4)` and the next.
//! All 32 lanes call these operations together. Larger matrices are several registers, see each operation.
//!
//! In the simulator the sums run in order of k; the hardware's order within one instruction is its own.

#[cfg(target_os = "cuda")]
use core::arch::asm;
#[cfg(not(target_os = "cuda"))]
use core::panic::Location;

use crate::shared::Address;
#[cfg(not(target_os = "cuda"))]
use crate::simulator::context;
#[cfg(not(target_os = "cuda"))]
use crate::warp::{FULL, lane_id};
use crate::wgmma::{Format, Kind};

macro_rules! matrix_memory {
    ($($count:literal, $load:ident, $load_transposed:ident, $store:ident, $store_transposed:ident: [$($register:literal)*];)*) => {$(
        matrix_memory!(@load $load, false, ".", $count, "", [$($register)*]);
        matrix_memory!(@load $load_transposed, true, ", each transposed.", $count, ".trans", [$($register)*]);
        matrix_memory!(@store $store, false, ".", $count, "", [$($register)*]);
        matrix_memory!(@store $store_transposed, true, ", each transposed.", $count, ".trans", [$($register)*]);
    )*};
    (@load $name:ident, $transposed:literal, $how:literal, $count:literal, $suffix:literal, [$($register:literal)*]) => {
        #[doc = concat!("Loads ", $count, " matrices of 8 x 8 numbers of 16 bits", $how)]
        ///
        /// Lane `8 i + r` gives the address of row `r` of matrix `i`, aligned to 16 bytes; other lanes' addresses aren't used.
        ///
        /// # Safety
        /// All lanes of the warp must call it together, on sm_75 or later. The rows must have been written, with a barrier between.
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub unsafe fn $name(row: Address) -> [u32; $count] {
            #[cfg(target_os = "cuda")]
            {
                let mut matrices = [0; $count];
                // SAFETY: the caller's promise.
                unsafe {
                    asm!(
                        concat!("ldmatrix.sync.aligned.m8n8.x", $count, $suffix, ".shared.b16 {{", matrix_memory!(@list $($register)*), "}}, [{row}];"),
                        $(out(reg32) matrices[$register],)* row = in(reg32) row.get(), options(nostack)
                    );
                }
                matrices
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let rows = context().exchange(stringify!($name), FULL, row.get().into(), Location::caller());
                [$({
                    read(&rows, $register, $transposed, 0) | read(&rows, $register, $transposed, 1) << 16
                }),*]
            }
        }
    };
    (@store $name:ident, $transposed:literal, $how:literal, $count:literal, $suffix:literal, [$($register:literal)*]) => {
        #[doc = concat!("Stores ", $count, " matrices of 8 x 8 numbers of 16 bits", $how)]
        ///
        /// Lane `8 i + r` gives the address of row `r` of matrix `i`, aligned to 16 bytes; other lanes' addresses aren't used.
        ///
        /// # Safety
        /// All lanes of the warp must call it together, on sm_90 or later. A barrier must lie between this and other threads' accesses.
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub unsafe fn $name(row: Address, matrices: [u32; $count]) {
            #[cfg(target_os = "cuda")]
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    concat!("stmatrix.sync.aligned.m8n8.x", $count, $suffix, ".shared.b16 [{row}], {{", matrix_memory!(@list $($register)*), "}};"),
                    $(in(reg32) matrices[$register],)* row = in(reg32) row.get(), options(nostack)
                );
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let rows = context().exchange(stringify!($name), FULL, row.get().into(), Location::caller());
                $(for next in 0..2 {
                    write(&rows, $register, $transposed, next, matrices[$register] >> (16 * next));
                })*
            }
        }
    };
    (@list $first:literal $($register:literal)*) => { concat!("{", $first, "}" $(, ", {", $register, "}")*) };
}

matrix_memory! {
    1, load_matrix, load_matrix_transposed, store_matrix, store_matrix_transposed: [0];
    2, load_matrices_2, load_matrices_2_transposed, store_matrices_2, store_matrices_2_transposed: [0 1];
    4, load_matrices_4, load_matrices_4_transposed, store_matrices_4, store_matrices_4_transposed: [0 1 2 3];
}

/// The address of this lane's number `next` (0 or 1) of a matrix.
#[cfg(not(target_os = "cuda"))]
fn address(rows: &[u128; 32], matrix: usize, transposed: bool, next: u32) -> Address {
    let (major, minor) = (lane_id() / 4, lane_id() % 4 * 2 + next);
    let (row, column) = if transposed { (minor, major) } else { (major, minor) };
    Address::from_raw(rows[matrix * 8 + row as usize] as u32).offset(column * 2)
}

#[cfg(not(target_os = "cuda"))]
#[track_caller]
fn read(rows: &[u128; 32], matrix: usize, transposed: bool, next: u32) -> u32 {
    // SAFETY: as the caller of the operation promises.
    u32::from(unsafe { address(rows, matrix, transposed, next).read::<u16>() })
}

#[cfg(not(target_os = "cuda"))]
#[track_caller]
fn write(rows: &[u128; 32], matrix: usize, transposed: bool, next: u32, bits: u32) {
    // SAFETY: as the caller of the operation promises.
    unsafe { address(rows, matrix, transposed, next).write(bits as u16) }
}

/// The number of a format at an address. It isn't watched: tensor cores read shared memory asynchronously.
#[cfg(not(target_os = "cuda"))]
#[track_caller]
pub(crate) fn decode(kind: Kind, address: Address) -> f32 {
    // SAFETY: `as_mut_ptr` checks that a number lies there.
    let bits = unsafe {
        match kind.bytes() {
            1 => u32::from(*address.as_mut_ptr::<u8>()),
            2 => u32::from(*address.as_mut_ptr::<u16>()),
            _ => *address.as_mut_ptr::<u32>(),
        }
    };
    value(kind, bits)
}

/// The number with these bits.
#[cfg(not(target_os = "cuda"))]
fn value(kind: Kind, bits: u32) -> f32 {
    /// A small IEEE-like number; `bias` of the exponent, `infinite` says whether the largest exponent is set aside.
    fn small(bits: u32, exponent_bits: u32, mantissa_bits: u32, infinite: bool) -> f32 {
        let mask = |n: u32| (1u32 << n) - 1;
        let (mantissa, exponent) = (bits & mask(mantissa_bits), bits >> mantissa_bits & mask(exponent_bits));
        let negative = bits >> (mantissa_bits + exponent_bits) & 1 == 1;
        let bias = mask(exponent_bits - 1) as i32;
        let fraction = mantissa as f32 / (1u32 << mantissa_bits) as f32;
        let magnitude = match exponent {
            0 => fraction * 2f32.powi(1 - bias),
            e if infinite && e == mask(exponent_bits) => {
                if mantissa == 0 {
                    f32::INFINITY
                } else {
                    f32::NAN
                }
            }
            e if !infinite && e == mask(exponent_bits) && mantissa == mask(mantissa_bits) => f32::NAN,
            e => (1.0 + fraction) * 2f32.powi(e as i32 - bias),
        };
        if negative { -magnitude } else { magnitude }
    }
    match kind {
        Kind::F16 => small(bits, 5, 10, true),
        Kind::Bf16 => f32::from_bits(bits << 16),
        Kind::Tf32 => f32::from_bits(bits & 0xffff_e000),
        Kind::E4m3 => small(bits, 4, 3, false),
        Kind::E5m2 => small(bits, 5, 2, true),
    }
}

#[cfg(target_os = "cuda")]
macro_rules! product {
    ($shape:literal, $format:literal, $sums:ident, $a:ident, $b:ident) => {
        asm!(
            concat!(
                "mma.sync.aligned.", $shape, ".row.col.f32.", $format, ".", $format, ".f32 {{{0}, {1}, {2}, {3}}}, ",
                "{{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"
            ),
            inout(reg32) $sums[0], inout(reg32) $sums[1], inout(reg32) $sums[2], inout(reg32) $sums[3],
            in(reg32) $a[0], in(reg32) $a[1], in(reg32) $a[2], in(reg32) $a[3], in(reg32) $b[0], in(reg32) $b[1],
            options(nostack)
        )
    };
}

/// sums + A B, a 16 x 8 tile: A is 16 x K in four registers, B is K x 8 in two, K fills 32 bytes: 16 numbers of 16 bits, 8 of tf32, 32
/// of 8 bits.
///
/// Lane `l` holds of the sums row `l / 4`, columns `2 (l % 4)` and the next, then the same of the row 8 below. Its registers of A hold
/// four bytes each: row `l / 4`, bytes from `4 (l % 4)`; the row 8 below; then both again 16 bytes further along k. Its registers of B:
/// column `l / 4`, bytes from `4 (l % 4)` along k, and 16 bytes further.
///
/// # Safety
/// All lanes of the warp must call it together, on sm_80 or later; 8-bit formats on sm_89 or later.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn multiply_add<F: Format>(sums: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
    #[cfg(target_os = "cuda")]
    // SAFETY: the caller's promise.
    unsafe {
        match F::KIND {
            Kind::F16 => product!("m16n8k16", "f16", sums, a, b),
            Kind::Bf16 => product!("m16n8k16", "bf16", sums, a, b),
            Kind::Tf32 => product!("m16n8k8", "tf32", sums, a, b),
            Kind::E4m3 => product!("m16n8k32", "e4m3", sums, a, b),
            Kind::E5m2 => product!("m16n8k32", "e5m2", sums, a, b),
        }
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let exchange = |registers: [u32; 4]| {
            let all = registers.iter().rev().fold(0, |all, &register| all << 32 | u128::from(register));
            context().exchange("multiply_add", FULL, all, Location::caller())
        };
        let (rows, columns) = (exchange(a), exchange([b[0], b[1], 0, 0]));
        let lane = lane_id() as usize;
        let bits = 8 * F::KIND.bytes();
        // Number `k` of a row of A or a column of B: in the register for the first or the second 16 bytes of one of four lanes.
        let number = |lanes: &[u128; 32], first: usize, registers: [usize; 2], k: usize| {
            let bit = k * bits;
            let word = lanes[first + bit % 128 / 32] >> (registers[bit / 128] * 32 + bit % 32);
            value(F::KIND, (word & ((1 << bits) - 1)) as u32)
        };
        for (i, sum) in sums.iter_mut().enumerate() {
            let registers = if i < 2 { [0, 2] } else { [1, 3] };
            let column = lane % 4 * 2 + i % 2;
            for k in 0..256 / bits {
                let factor = number(&columns, column * 4, [0, 1], k);
                *sum = number(&rows, lane / 4 * 4, registers, k).mul_add(factor, *sum);
            }
        }
    }
}
