// Votes and shuffles on both sides of a branch stay two, and none is moved into the branch that uses it.
// CHECK-LABEL: voted
// CHECK-COUNT-2: vote.sync.ballot
// CHECK-COUNT-4: shfl.sync.bfly
use cuda_std::prelude::*;
use cuda_std::warp::{FULL, warp_shuffle_xor, warp_vote_ballot};

#[kernel(module = "votes")]
pub fn voted(x: Global<u32>, mut y: GlobalMut<u32>) {
    for i in thread::elements(y.len()) {
        let value = x[i];
        // Two words of 64 bits: four shuffles.
        let wide = u64::from(value) << 7;
        let result = if value > 7 {
            warp_vote_ballot(FULL, value > 9) + warp_shuffle_xor(FULL, wide, 1, 32).0 as u32
        } else {
            warp_vote_ballot(FULL, value > 9) + (warp_shuffle_xor(FULL, wide, 1, 32).0 >> 20) as u32 + 1
        };
        y.set(i, result);
    }
}

kernels! { pub struct Votes; voted; }
