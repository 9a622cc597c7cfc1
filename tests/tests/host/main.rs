//! Every test that needs no device: the catalogue's accuracy, the contract of activations, and the simulator itself.

mod asynchronous_checks;
mod catalogue;
mod contract;
mod debugger;
mod simulated;
mod simulator_checks;
