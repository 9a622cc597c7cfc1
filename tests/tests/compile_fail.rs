//! Mistakes that the compiler must refuse, and what it says.

#[test]
fn launches_and_kernels() {
    // SAFETY: the only thread so far. What is compiled here never runs, so it needs no device code.
    unsafe { std::env::set_var("WARPSMITH_SKIP_DEVICE_BUILD", "1") };
    let tests = trybuild::TestCases::new();
    tests.compile_fail("ui/*.rs");
    tests.pass("ui/pass/*.rs");
}
