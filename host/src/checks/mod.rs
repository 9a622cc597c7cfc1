//! What must hold on every device, as functions to call: on a GPU machine by the integration tests, here on the CPU and on
//! a pretended driver. Not part of the API.

pub mod cost;
pub mod kernels;
pub mod launches;
pub mod memory;
pub mod streams;
pub mod tensor_maps;

use crate::Runtime;

/// Why a check failed.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;
/// A check by name.
pub type Check = (&'static str, fn(&Runtime) -> Outcome);

/// For every runtime.
pub const EVERYWHERE: &[Check] = &[
    ("buffers", memory::buffers),
    ("fills", memory::fills),
    ("foreign memory", memory::foreign),
    ("empty buffers", memory::empty),
    ("other runtimes", memory::other_runtimes),
    ("matrices", memory::matrices),
    ("pinned transfers", memory::pinned_transfers),
    ("size overflow", memory::size_overflow),
    ("events", streams::events),
    ("tensor map refusals", tensor_maps::refusals),
];

/// For a GPU, or what pretends to be one.
pub const GPU: &[Check] = &[
    ("steady state", memory::steady_state),
    ("out of memory", memory::out_of_memory),
    ("stream limit", streams::stream_limit),
    ("order across streams", streams::order_across_streams),
    ("drop while running", streams::drop_while_running),
    ("graph", streams::graph),
    ("capture errors", streams::capture_errors),
    ("launch", launches::launch),
    ("launch limits", launches::limits),
    ("look-up errors", launches::look_up_errors),
    ("forged PTX version", launches::forged_version),
    ("many threads", launches::many_threads),
];

/// An error unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}
/// An error unless the result is an error of that form.
macro_rules! ensure_error {
    ($result:expr, $pattern:pat) => {
        match $result {
            Err($pattern) => {}
            Err(other) => return Err(format!("expected {}, got {other:?}", stringify!($pattern)).into()),
            Ok(_) => return Err(format!("expected {}, got no error", stringify!($pattern)).into()),
        }
    };
}
pub(crate) use {ensure, ensure_error};
