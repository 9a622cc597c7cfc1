//! Closures as kernels can take them: the captured variables are fields, and the struct has a name.

use cuda_std::prelude::*;

/// A function of two numbers, with what it has captured.
pub trait Function: DeviceCopy + 'static {
    /// Its value.
    fn call(&self, x: f32, y: f32) -> f32;
}

/// Writes a struct and its [`Function`] in a closure's words: `Name { captured: f32 } |x, y| body`.
macro_rules! function {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $capture:ident: $type:ty),* } |$x:ident, $y:ident| $body:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, DeviceCopy)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $capture: $type),*
        }

        impl Function for $name {
            #[inline(always)]
            fn call(&self, $x: f32, $y: f32) -> f32 {
                let Self { $($capture),* } = *self;
                $body
            }
        }
    };
}

function! {
    /// From x to y, by the part t of the way.
    Interpolate {
        /// 0 gives x, 1 gives y.
        t: f32
    } |x, y| x + t * (y - x)
}

function! {
    /// x, where y is in a range; elsewhere a number instead.
    Threshold {
        /// The least y.
        least: f32,
        /// The largest y.
        most: f32,
        /// What comes in the place of x.
        otherwise: f32
    } |x, y| if least <= y && y <= most { x } else { otherwise }
}

/// `out[i] = f(x[i], y[i])`, compiled for each `F`, which is inlined.
#[kernel]
pub fn zip_with<F: Function>(f: F, x: Global<f32>, y: Global<f32>, mut out: GlobalMut<f32>) {
    for i in thread::elements(out.len()) {
        out.set(i, f.call(x[i], y[i]));
    }
}
