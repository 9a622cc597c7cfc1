//! [`gpu_println!`](crate::gpu_println): text from inside a kernel.
//!
//! On the device it is CUDA's own `vprintf`: lines go to a buffer of 1 MiB, which the driver prints to the host's standard output
//! when the program synchronises; what doesn't fit is lost, the oldest first. In the simulator it is Rust's `println!`.

use core::marker::PhantomData;

use crate::fault::Printable;

/// Prints a line: `gpu_println!("{} of {}: {:.3}", i, n, x)`.
///
/// The format is a literal. Each `{}` stands for a number of 8 to 64 bits; `{:x}`, a width, a precision, leading zeros and `e`
/// are understood: `{:04x}`, `{:8.3}`, `{:e}`. Floats without a precision print with up to 9 digits on the device.
#[macro_export]
macro_rules! gpu_println {
    ($format:literal $(, $value:expr)* $(,)?) => {{
        #[cfg(target_os = "cuda")]
        {
            struct Text;
            impl $crate::print::Text for Text {
                const TEXT: &'static str = $format;
            }
            $crate::print::print::<Text, _>(($($value,)*));
        }
        #[cfg(not(target_os = "cuda"))]
        {
            struct Text;
            impl $crate::print::Text for Text {
                const TEXT: &'static str = $format;
            }
            $crate::print::check::<Text, _>(&($($value,)*));
            $crate::__private::println!($format $(, $value)*);
        }
    }};
}

/// A format known at compile time.
#[doc(hidden)]
pub trait Text {
    const TEXT: &'static str;
}

/// What a line prints: a tuple of up to eight numbers.
#[doc(hidden)]
pub trait Values {
    const KINDS: &'static [u8];
    /// As C's `printf` takes them, each promoted to 64 bits.
    type Packed;
    fn pack(self) -> Self::Packed;
}

macro_rules! tuples {
    ($(($($name:ident: $ty:ident)*) $count:literal;)*) => {$(
        impl<$($ty: Printable),*> Values for ($($ty,)*) {
            const KINDS: &'static [u8] = &[$($ty::KIND),*];
            type Packed = [u64; $count];

            #[inline(always)]
            fn pack(self) -> [u64; $count] {
                let ($($name,)*) = self;
                [$($name.promote()),*]
            }
        }
    )*};
}

tuples! {
    () 0;
    (a: A) 1;
    (a: A b: B) 2;
    (a: A b: B c: C) 3;
    (a: A b: B c: C d: D) 4;
    (a: A b: B c: C d: D e: E) 5;
    (a: A b: B c: C d: D e: E f: F) 6;
    (a: A b: B c: C d: D e: E f: F g: G) 7;
    (a: A b: B c: C d: D e: E f: F g: G h: H) 8;
}

/// A format in C's language, made while the kernel is compiled.
struct Converted<T, V>(PhantomData<(T, V)>);

/// The longest converted format, with its end.
const CAPACITY: usize = 512;

impl<T: Text, V: Values> Converted<T, V> {
    const FORMAT: [u8; CAPACITY] = convert(T::TEXT.as_bytes(), V::KINDS);
}

/// Rust's format as C's, with a newline and a zero at the end.
const fn convert(text: &[u8], kinds: &[u8]) -> [u8; CAPACITY] {
    let mut out = [0; CAPACITY];
    let (mut from, mut to, mut value) = (0, 0, 0);
    while from < text.len() {
        assert!(to + 8 < CAPACITY, "the format is too long");
        let (this, next) = (text[from], if from + 1 < text.len() { text[from + 1] } else { 0 });
        from += 1;
        match this {
            b'{' if next != b'{' => {
                assert!(value < kinds.len(), "the format has more {{}} than there are values");
                out[to] = b'%';
                to += 1;
                let kind = kinds[value];
                value += 1;
                let (mut letter, mut precise) = (0, false);
                if text[from] == b':' {
                    from += 1;
                }
                while text[from] != b'}' {
                    match text[from] {
                        b'?' => {}
                        b'x' | b'e' => letter = text[from],
                        b'0'..=b'9' | b'.' => {
                            precise |= text[from] == b'.';
                            out[to] = text[from];
                            to += 1;
                        }
                        _ => panic!("a format of gpu_println! can hold digits, a point, x, e and ? only"),
                    }
                    from += 1;
                }
                from += 1;
                let ending: &[u8] = match (kind, letter, precise) {
                    (2 | 3, b'x', _) => panic!("a float has no hexadecimal form"),
                    (2 | 3, b'e', _) => b"e",
                    (2 | 3, _, true) => b"f",
                    (2 | 3, _, false) => b".9g",
                    (_, b'x', _) => b"llx",
                    (1, ..) => b"lld",
                    _ => b"llu",
                };
                let mut i = 0;
                while i < ending.len() {
                    out[to] = ending[i];
                    (i, to) = (i + 1, to + 1);
                }
            }
            b'{' | b'}' => {
                assert!(next == this, "a lone brace in the format; {{ and }} print one");
                from += 1;
                out[to] = this;
                to += 1;
            }
            b'%' => {
                (out[to], out[to + 1]) = (b'%', b'%');
                to += 2;
            }
            _ => {
                out[to] = this;
                to += 1;
            }
        }
    }
    assert!(value == kinds.len(), "there are more values than {{}} in the format");
    out[to] = b'\n';
    out
}

/// Prints on the device.
#[doc(hidden)]
#[cfg(target_os = "cuda")]
#[inline(always)]
pub fn print<T: Text, V: Values>(values: V) {
    unsafe extern "C" {
        fn vprintf(format: *const u8, values: *const core::ffi::c_void) -> i32;
    }
    let format: &'static [u8; CAPACITY] = &Converted::<T, V>::FORMAT;
    let values = values.pack();
    // SAFETY: the format ends with a zero and names as many 64-bit values as there are; the device's own function reads both.
    unsafe {
        vprintf(format.as_ptr(), (&raw const values).cast());
    }
}

/// Checks, in the simulator, what the device would refuse while it is compiled.
#[doc(hidden)]
#[cfg(not(target_os = "cuda"))]
#[inline(always)]
pub fn check<T: Text, V: Values>(_: &V) {
    const { assert!(Converted::<T, V>::FORMAT[CAPACITY - 1] == 0) };
}

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;

    #[test]
    fn formats_become_c() {
        let c = |text: &str, kinds: &[u8]| {
            let bytes = convert(text.as_bytes(), kinds);
            let end = bytes.iter().position(|&byte| byte == 0).unwrap();
            String::from_utf8(bytes[..end].to_vec()).unwrap()
        };
        assert_eq!(c("{} of {:04x}, 100%", &[1, 0]), "%lld of %04llx, 100%%\n");
        assert_eq!(c("{{{:?}}} {:8.3} {:e} {}", &[0, 2, 2, 2]), "{%llu} %8.3f %e %.9g\n");
    }
}
