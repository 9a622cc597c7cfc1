//! [`Record`]: what a failing thread leaves for the host, the same layout on both sides.

/// Values that a message can have.
#[doc(hidden)]
pub const VALUES: usize = 4;

/// What the first failing thread of a module says. Written by the device into memory of the host.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Record {
    /// 0 at first, 1 while a thread writes the rest, 2 afterwards.
    pub state: u32,
    /// The line in the source.
    pub line: u32,
    /// Its block in the grid.
    pub block: [u32; 3],
    /// Its coordinates in the block.
    pub thread: [u32; 3],
    /// What the values are, one byte each: 0 unsigned, 1 signed, 2 an f64, 3 an f32.
    pub kinds: u32,
    /// Bytes of the message.
    pub message_len: u32,
    /// Bytes of the file's name.
    pub file_len: u32,
    /// Keeps the values aligned.
    pub reserved: u32,
    /// The values' bits.
    pub values: [u64; VALUES],
    /// The message, cut at its end if it is longer.
    pub message: [u8; 256],
    /// The file's name, cut at its beginning if it is longer.
    pub file: [u8; 176],
}

const _: () = assert!(size_of::<Record>() == 512);

impl Record {
    /// Nothing has happened.
    pub const EMPTY: Self = Self {
        state: 0,
        line: 0,
        block: [0; 3],
        thread: [0; 3],
        kinds: 0,
        message_len: 0,
        file_len: 0,
        reserved: 0,
        values: [0; VALUES],
        message: [0; 256],
        file: [0; 176],
    };

    /// The message with its values; `None` unless a thread has written all of it.
    #[cfg(not(target_os = "cuda"))]
    pub fn text(&self) -> Option<String> {
        if self.state != 2 {
            return None;
        }
        let template = text(&self.message, self.message_len);
        let value = |i: usize| match self.kinds >> (8 * i) & 0xff {
            0 => self.values[i].to_string(),
            1 => (self.values[i] as i64).to_string(),
            2 => f64::from_bits(self.values[i]).to_string(),
            _ => f32::from_bits(self.values[i] as u32).to_string(),
        };
        if template.matches("{}").count() > VALUES {
            return Some(template);
        }
        let mut parts = template.split("{}");
        let first = parts.next().unwrap_or_default().to_owned();
        Some(parts.enumerate().fold(first, |text, (i, part)| text + &value(i) + part))
    }

    /// The file's name, or its end.
    #[cfg(not(target_os = "cuda"))]
    pub fn file(&self) -> String {
        text(&self.file, self.file_len)
    }
}

#[cfg(not(target_os = "cuda"))]
fn text(bytes: &[u8], len: u32) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(len as usize)]).into_owned()
}

/// A number in a message or in printed text.
pub trait Printable: Copy {
    /// 0 unsigned, 1 signed, 2 an f64, 3 an f32.
    #[doc(hidden)]
    const KIND: u8;
    /// Kind and bits.
    #[doc(hidden)]
    fn print(self) -> (u8, u64);
    /// As C promotes it: to 64 bits.
    #[doc(hidden)]
    #[inline(always)]
    fn promote(self) -> u64 {
        self.print().1
    }
}

macro_rules! printable {
    ($($kind:literal: $($ty:ty)*, |$x:ident| $bits:expr;)*) => {$($(
        impl Printable for $ty {
            const KIND: u8 = $kind;
            #[inline(always)]
            fn print(self) -> (u8, u64) {
                let $x = self;
                (Self::KIND, $bits)
            }
        }
    )*)*};
}

printable! {
    0: u8 u16 u32 u64 usize, |x| x as u64;
    1: i8 i16 i32 i64 isize, |x| x as i64 as u64;
    2: f64, |x| x.to_bits();
}

macro_rules! printable_floats {
    ($($ty:ty, |$x:ident| $single:expr;)*) => {$(
        impl Printable for $ty {
            const KIND: u8 = 3;
            #[inline(always)]
            fn print(self) -> (u8, u64) {
                let $x = self;
                (Self::KIND, u64::from($single.to_bits()))
            }
            #[inline(always)]
            fn promote(self) -> u64 {
                let $x = self;
                f64::from($single).to_bits()
            }
        }
    )*};
}

printable_floats! {
    f32, |x| x;
    crate::f16, |x| x.to_f32();
    crate::bf16, |x| x.to_f32();
}

/// Checks, while the kernel is compiled, that a message has a `{}` for each value and no other braces.
#[doc(hidden)]
pub const fn expect_placeholders(message: &str, values: &[&str]) {
    let message = message.as_bytes();
    let (mut i, mut found) = (0, 0);
    while i < message.len() {
        if message[i] == b'{' {
            assert!(i + 1 < message.len() && message[i + 1] == b'}', "a message can hold {{}} only, without a format");
            found += 1;
            i += 1;
        } else {
            assert!(message[i] != b'}', "a message can hold {{}} only, without a format");
        }
        i += 1;
    }
    assert!(found == values.len(), "the message needs a {{}} for each value");
    assert!(found <= VALUES, "a message has at most four values");
}

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;

    #[test]
    fn values_take_their_places() {
        let mut record = Record::EMPTY;
        assert_eq!(record.text(), None);
        let message = b"x[{}] is {}, not {} or {}";
        record.message[..message.len()].copy_from_slice(message);
        record.message_len = message.len() as u32;
        (record.state, record.kinds) = (2, 0x03_02_01_00);
        record.values = [7, -3i64 as u64, 0.1f64.to_bits(), 0.1f32.to_bits().into()];
        assert_eq!(record.text().as_deref(), Some("x[7] is -3, not 0.1 or 0.1"));
    }
}
