//! GPU architectures (`sm_75`, `sm_90a` ...) and versions of the PTX language, with the rules of which includes which.
//!
//! Source: the tables of `.target` and `.version` in NVIDIA's PTX ISA, and LLVM's NVPTX target, which must know the name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far code for an architecture carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Reach {
    /// Every later device too.
    Base,
    /// Later devices of the same major version (`f`).
    Family,
    /// This device only (`a`).
    Specific,
}

/// A GPU architecture, e.g. [`Arch::SM_80`] or `"sm_90a".parse()`.
///
/// ```
/// use cuda_builder::Arch;
///
/// let arch: Arch = "sm_90a".parse()?;
/// assert_eq!(arch, Arch::SM_90A);
/// assert!("sm_90x".parse::<Arch>().is_err());
/// # Ok::<(), cuda_builder::ArchParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Arch {
    number: u16,
    reach: Reach,
}

const fn arch(number: u16, reach: Reach) -> Arch {
    Arch { number, reach }
}

macro_rules! architectures {
    ($($constant:ident $name:literal = $number:literal $reach:ident, $major:literal . $minor:literal;)*) => {
        impl Arch {
            $(#[doc = concat!("`", $name, "`; PTX ", $major, ".", $minor, " or later.")]
            pub const $constant: Arch = arch($number, Reach::$reach);)*

            /// Every architecture that can be built for, in ascending order.
            pub const ALL: &[Arch] = &[$(Arch::$constant),*];

            /// The name, e.g. `"sm_90a"`.
            pub const fn name(self) -> &'static str {
                match (self.number, self.reach) {
                    $(($number, Reach::$reach) => $name,)*
                    _ => unreachable!(),
                }
            }

            /// The lowest version of PTX that knows this architecture.
            pub const fn ptx_isa(self) -> PtxIsa {
                match (self.number, self.reach) {
                    $(($number, Reach::$reach) => PtxIsa { major: $major, minor: $minor },)*
                    _ => unreachable!(),
                }
            }
        }
    };
}

architectures! {
    SM_70 "sm_70" = 70 Base, 6 . 0;
    SM_72 "sm_72" = 72 Base, 6 . 1;
    SM_75 "sm_75" = 75 Base, 6 . 3;
    SM_80 "sm_80" = 80 Base, 7 . 0;
    SM_86 "sm_86" = 86 Base, 7 . 1;
    SM_87 "sm_87" = 87 Base, 7 . 4;
    SM_88 "sm_88" = 88 Base, 9 . 0;
    SM_89 "sm_89" = 89 Base, 7 . 8;
    SM_90 "sm_90" = 90 Base, 7 . 8;
    SM_90A "sm_90a" = 90 Specific, 8 . 0;
    SM_100 "sm_100" = 100 Base, 8 . 6;
    SM_100F "sm_100f" = 100 Family, 8 . 8;
    SM_100A "sm_100a" = 100 Specific, 8 . 6;
    SM_103 "sm_103" = 103 Base, 8 . 8;
    SM_103F "sm_103f" = 103 Family, 8 . 8;
    SM_103A "sm_103a" = 103 Specific, 8 . 8;
    SM_110 "sm_110" = 110 Base, 9 . 0;
    SM_110F "sm_110f" = 110 Family, 9 . 0;
    SM_110A "sm_110a" = 110 Specific, 9 . 0;
    SM_120 "sm_120" = 120 Base, 8 . 7;
    SM_120F "sm_120f" = 120 Family, 8 . 8;
    SM_120A "sm_120a" = 120 Specific, 8 . 7;
    SM_121 "sm_121" = 121 Base, 8 . 8;
    SM_121F "sm_121f" = 121 Family, 8 . 8;
    SM_121A "sm_121a" = 121 Specific, 8 . 8;
}

impl Arch {
    /// The generations in use, from Turing to Blackwell, with Hopper's own instructions.
    pub const USUAL: &[Arch] =
        &[Arch::SM_75, Arch::SM_80, Arch::SM_86, Arch::SM_89, Arch::SM_90, Arch::SM_90A, Arch::SM_100, Arch::SM_120];

    /// The compute capability: (9, 0) for `sm_90` and `sm_90a`.
    pub const fn compute_capability(self) -> (u16, u16) {
        (self.number / 10, self.number % 10)
    }

    /// Whether code that needs at least `least` can be compiled for `self`.
    ///
    /// A base architecture is included in every later one; an `a` architecture only in itself; an `f` architecture in
    /// the `f` and `a` ones of the same major version from it on.
    pub const fn includes(self, least: Arch) -> bool {
        match least.reach {
            Reach::Base => self.number >= least.number,
            Reach::Family => {
                !matches!(self.reach, Reach::Base)
                    && self.number >= least.number
                    && self.number / 10 == least.number / 10
            }
            Reach::Specific => self.number == least.number && matches!(self.reach, Reach::Specific),
        }
    }

    /// Whether machine code (a cubin) assembled for `self` runs on a device of compute capability `major`.`minor`: unlike PTX, it
    /// doesn't carry over to another major version.
    pub const fn cubin_runs_on(self, major: u16, minor: u16) -> bool {
        major == self.number / 10 && self.runs_on(major, minor)
    }

    /// Whether PTX built for `self` loads on a device of compute capability `major`.`minor`.
    pub const fn runs_on(self, major: u16, minor: u16) -> bool {
        let device = major * 10 + minor;
        match self.reach {
            Reach::Base => device >= self.number,
            Reach::Family => device >= self.number && major == self.number / 10,
            Reach::Specific => device == self.number,
        }
    }
}

/// The architecture that is built when none is asked for.
impl Default for Arch {
    fn default() -> Self {
        Arch::SM_75
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchParseError {
    /// The text that was given.
    pub given: String,
}

impl fmt::Display for ArchParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown GPU architecture {:?}; legal values:", self.given)?;
        for (i, arch) in Arch::ALL.iter().enumerate() {
            write!(f, "{} {arch}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for ArchParseError {}

impl FromStr for Arch {
    type Err = ArchParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Arch::ALL
            .iter()
            .copied()
            .find(|arch| arch.name() == text)
            .ok_or_else(|| ArchParseError { given: text.to_owned() })
    }
}

impl TryFrom<String> for Arch {
    type Error = ArchParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Arch> for String {
    fn from(arch: Arch) -> Self {
        arch.name().to_owned()
    }
}

/// A version of the PTX language, e.g. 8.0; in JSON the text `"8.0"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PtxIsa {
    /// The 8 of 8.0.
    pub major: u8,
    /// The 0 of 8.0.
    pub minor: u8,
}

impl fmt::Display for PtxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is no PTX version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxIsaParseError {
    /// The text that was given.
    pub given: String,
}

impl fmt::Display for PtxIsaParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no PTX version; one looks like 8.0", self.given)
    }
}

impl std::error::Error for PtxIsaParseError {}

impl FromStr for PtxIsa {
    type Err = PtxIsaParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || PtxIsaParseError { given: text.to_owned() };
        let (major, minor) = text.split_once('.').ok_or_else(error)?;
        Ok(PtxIsa { major: major.parse().map_err(|_| error())?, minor: minor.parse().map_err(|_| error())? })
    }
}

impl TryFrom<String> for PtxIsa {
    type Error = PtxIsaParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PtxIsa> for String {
    fn from(isa: PtxIsa) -> Self {
        isa.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_errors_list_the_legal_ones() {
        for &arch in Arch::ALL {
            assert_eq!(arch.name().parse(), Ok(arch));
        }
        let error = "sm_81".parse::<Arch>().unwrap_err().to_string();
        assert!(error.starts_with("unknown GPU architecture \"sm_81\"; legal values: sm_70, "), "{error}");
        assert!(error.contains("sm_90a"), "{error}");
    }

    #[test]
    fn base_includes_lower_and_specific_only_itself() {
        assert!(Arch::SM_90.includes(Arch::SM_80) && Arch::SM_90A.includes(Arch::SM_90));
        assert!(!Arch::SM_80.includes(Arch::SM_90));
        assert!(Arch::SM_90A.includes(Arch::SM_90A));
        assert!(!Arch::SM_90.includes(Arch::SM_90A) && !Arch::SM_100A.includes(Arch::SM_90A));
        assert!(Arch::SM_103A.includes(Arch::SM_100F) && !Arch::SM_120F.includes(Arch::SM_100F));
        assert!(!Arch::SM_103.includes(Arch::SM_100F));
    }

    #[test]
    fn ptx_runs_on_later_devices_unless_it_is_specific() {
        assert!(Arch::SM_80.runs_on(9, 0) && !Arch::SM_90.runs_on(8, 9));
        assert!(Arch::SM_90A.runs_on(9, 0) && !Arch::SM_90A.runs_on(10, 0));
        assert!(Arch::SM_100F.runs_on(10, 3) && !Arch::SM_100F.runs_on(12, 0));
        assert!(
            Arch::SM_80.cubin_runs_on(8, 9) && !Arch::SM_86.cubin_runs_on(8, 0) && !Arch::SM_80.cubin_runs_on(9, 0)
        );
        assert!(Arch::SM_90A.cubin_runs_on(9, 0) && !Arch::SM_90A.cubin_runs_on(10, 0));
    }

    #[test]
    fn ptx_versions_order_as_numbers() {
        assert!("7.8".parse::<PtxIsa>().unwrap() < "8.0".parse().unwrap());
        assert_eq!("99.0".parse::<PtxIsa>().unwrap().to_string(), "99.0");
        assert!("8".parse::<PtxIsa>().is_err());
    }
}
