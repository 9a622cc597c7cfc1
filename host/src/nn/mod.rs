//! Networks: layers that own what they learn and what they compute, and the loop that trains them.

mod activate;
mod layer;
mod linear;
mod network;

pub use activate::Activate;
pub use layer::{Layer, Sgd};
pub use linear::Linear;
pub use network::Network;
