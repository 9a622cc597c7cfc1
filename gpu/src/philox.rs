//! Philox4x32-10: random numbers by counting, so that any thread can have any of them. Salmon, Moraes, Dror and Shaw, "Parallel random
//! numbers: as easy as 1, 2, 3", SC 2011.

use cuda_std::DeviceCopy;

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// Weyl sequences of the golden ratio and of √3 - 1.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Four random words for a counter and a key, by ten rounds.
#[inline(always)]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for _ in 0..10 {
        let (left, right) = (u64::from(MULTIPLIERS[0]) * u64::from(a), u64::from(MULTIPLIERS[1]) * u64::from(c));
        (a, b, c, d) = ((right >> 32) as u32 ^ b ^ k, right as u32, (left >> 32) as u32 ^ d ^ l, left as u32);
        (k, l) = (k.wrapping_add(WEYL[0]), l.wrapping_add(WEYL[1]));
    }
    [a, b, c, d]
}

/// The numbers of one seed, one after the other.
///
/// ```
/// use warpsmith_gpu::Philox;
///
/// // Any number of the sequence without those before it: each thread draws its own.
/// assert_eq!(Philox::new(7).number(1000), Philox::new(7).number(1000));
/// assert_ne!(Philox::new(7).number(1000), Philox::new(8).number(1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct Philox {
    key: [u32; 2],
}

impl Philox {
    /// The generator of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32] }
    }

    /// Number `index` of the sequence: one of the four words of block `index / 4`.
    #[inline(always)]
    pub fn number(&self, index: u64) -> u32 {
        let block = index / 4;
        let [a, b, c, d] = self.block([block as u32, (block >> 32) as u32, 0, 0]);
        // Selects instead of an index, which would send the block to local memory.
        let (low, high) = if index & 1 == 0 { (a, c) } else { (b, d) };
        if index & 2 == 0 { low } else { high }
    }

    /// The four words of one counter.
    #[inline(always)]
    pub fn block(&self, counter: [u32; 4]) -> [u32; 4] {
        philox4x32_10(counter, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of Random123 1.14, file `kat_vectors`, for `philox4x32 10`.
    #[test]
    fn known_answers() {
        let answers = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, answer) in answers {
            assert_eq!(Philox { key }.block(counter), answer);
        }
    }

    #[test]
    fn numbers_are_the_words_of_the_blocks() {
        let philox = Philox::new(0x0123_4567_89ab_cdef);
        assert_eq!(philox.key, [0x89ab_cdef, 0x0123_4567]);
        assert_eq!(philox.block([0, 64, 0, 0])[3], philox.number((64 << 34) + 3));
        assert_eq!(philox.block([1 << 30, 0, 0, 0])[3], philox.number((1 << 32) + 3));
        assert_eq!([0, 1, 2, 3].map(|i| philox.number(i)), philox.block([0; 4]));
    }
}
