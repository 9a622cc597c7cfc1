// A ballot is neither sunk into the branch that uses its result nor merged with one on the other side of a branch.
// CHECK-LABEL: ballot_used_on_one_side
// CHECK: vote.sync.ballot
// CHECK: st.global
// CHECK-COUNT-1: vote.sync.ballot
// CHECK-LABEL: ballot_on_both_sides
// CHECK-COUNT-2: vote.sync.ballot
use crate::device::*;

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=ballot")]
pub unsafe extern "ptx-kernel" fn ballot_used_on_one_side(x: *mut u32) {
    unsafe {
        let t = _thread_idx_x() as usize;
        let above = *x.add(t) > 7;
        let votes = ballot((t & 1) as u32 + above as u32);
        *x.add(t + 1024) = 5;
        if above {
            *x.add(t + 2048) = votes;
        }
    }
}

#[unsafe(no_mangle)]
#[unsafe(link_section = ".nv:module=ballot")]
pub unsafe extern "ptx-kernel" fn ballot_on_both_sides(x: *mut u32) {
    unsafe {
        let t = _thread_idx_x() as usize;
        if *x.add(t) > 7 {
            *x.add(t + 2048) = ballot((t & 1) as u32);
        } else {
            *x.add(t + 2048) = ballot((t & 1) as u32) + 1;
        }
    }
}
