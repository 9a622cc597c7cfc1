//! What is behind the compiler's words where device code doesn't compile, for the mistakes that are only mistakes on a GPU.

/// Pieces of the compiler's messages, and what they mean there. The first that is found counts.
const HINTS: [(&[&str], &str); 4] = [
    (
        &["can't find crate for `std`", "can't find crate for `alloc`"],
        "a dependency needs std or alloc, which a GPU doesn't have: switch its default features off, or depend on it under \
         [target.'cfg(not(target_os = \"cuda\"))'.dependencies] and use it there alone",
    ),
    (
        &[
            "found for type `f32` in the current scope",
            "found for type `f64` in the current scope",
            "found for type `{float}`",
            "found for type `f32`",
            "found for type `f64`",
        ],
        "functions of f32 and f64 such as exp are std's, which a GPU doesn't have: `use warpsmith_gpu::Real;` gives them, with the \
         same bits on both machines",
    ),
    (
        &[
            "`std`",
            "cannot find macro `println`",
            "cannot find macro `format`",
            "cannot find macro `vec`",
            "undeclared type `Vec`",
            "undeclared type `String`",
            "undeclared type `Box`",
            "cannot find type `Vec`",
            "cannot find type `String`",
            "cannot find type `Box`",
        ],
        "kernels have core and not std: `gpu_println!` prints, arrays of a fixed length take the place of Vec; what only the host \
         needs goes behind #[cfg(not(target_os = \"cuda\"))]",
    ),
    (
        &["`#[panic_handler]` function required"],
        "cuda_std has the panic handler: depend on it and name it, for instance by `use cuda_std as _;`",
    ),
];

/// The hint for the messages of a build that failed.
pub fn hint(messages: &str) -> Option<&'static str> {
    HINTS.iter().find(|(pieces, _)| pieces.iter().any(|piece| messages.contains(piece))).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn only_what_is_known_gets_a_hint() {
        assert!(hint("error[E0463]: can't find crate for `std`").unwrap().starts_with("a dependency needs std"));
        let method = "error[E0599]: no method named `exp` found for type `f32` in the current scope";
        assert!(hint(method).unwrap().contains("warpsmith_gpu::Real"));
        assert_eq!(hint("error: expected one of `!` or `::`, found `x`"), None);
    }
}
