//! Functions compiled for what the processor can do.

/// Runs a function compiled once for processors with AVX2 and fused multiply-add, and once for all others. Without the
/// instruction, `mul_add` is a library call: right, but slow.
macro_rules! for_this_processor {
    ($(#[$doc:meta])* fn $name:ident[$($generics:tt)*]($($argument:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        fn $name<$($generics)*>($($argument: $ty),*) {
            #[inline(always)]
            fn portable<$($generics)*>($($argument: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn fused<$($generics)*>($($argument: $ty),*) {
                    portable($($argument),*)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has these instructions.
                    return unsafe { fused($($argument),*) };
                }
            }
            portable($($argument),*)
        }
    };
}
pub(super) use for_this_processor;
