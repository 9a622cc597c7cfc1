//! Every test that needs no device: the catalogue's accuracy, the contract of activations, and the simulator itself.

/// Runs a kernel of one output in the simulator, with all checks on.
macro_rules! run {
    ($kernel:ty, $shape:expr, $len:expr) => {
        run!($kernel, $shape, $len, Options::CHECKED)
    };
    ($kernel:ty, $shape:expr, $len:expr, $options:expr) => {
        cuda_std::simulator::launch_with::<$kernel>($options, $shape, (view(&mut vec![0u32; $len]),))
    };
}

mod asynchronous_checks;
mod catalogue;
mod contract;
mod debugger;
mod simulated;
mod simulator_checks;
mod simulator_launches;
mod uninitialized;

fn view<T: Copy>(slice: &mut [T]) -> cuda_std::GlobalMut<'_, T> {
    cuda_std::GlobalMut::from_slice(slice)
}
