//! The code of the README and of the book as documentation tests: compiled, and run where the page does not say `no_run`.

macro_rules! pages {
    ($($name:ident = $file:literal;)*) => {$(
        #[doc = include_str!(concat!("../../", $file))]
        pub struct $name;
    )*};
}

pages! {
    Readme = "README.md";
    Start = "docs/start.md";
    WriteActivation = "docs/write-activation.md";
    WriteKernel = "docs/kernels.md";
    WriteEpilogue = "docs/write-epilogue.md";
    Depend = "docs/depend.md";
    Memory = "docs/memory.md";
    Numerics = "docs/numerics.md";
    Performance = "docs/performance.md";
    Activations = "docs/activations.md";
    Epilogues = "docs/epilogues.md";
    Debugging = "docs/debugging.md";
    ComingFrom = "docs/coming-from.md";
    RustCuda = "docs/rust-cuda.md";
    Troubleshooting = "docs/troubleshooting.md";
    Status = "docs/status.md";
}
