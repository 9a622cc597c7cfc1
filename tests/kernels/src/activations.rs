//! Activations defined outside `warpsmith-gpu`.

use warpsmith_gpu::activation;

activation! {
    /// x ↦ x + sin²(a·x) / a; Ziyin et al., arXiv:2006.08195.
    pub struct Snake { a: f32 = 1.0 } |x| x + (x * a).sin().squared() / a;

    /// A leaky ReLU whose slope is learned; He et al., arXiv:1502.01852.
    pub struct Learned { trainable slope: f32 = 0.25 } |x| if x > 0.0 { x } else { x * slope };
}
