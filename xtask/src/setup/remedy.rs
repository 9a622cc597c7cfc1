//! A remedy as discovery words it, turned into something that can be done.

use std::fmt;
use std::process::Command;
use std::str::FromStr;

use anyhow::{Result, bail};

use super::{apt, wheel};
use crate::workspace;

/// One way to get a missing part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// `rustup` with these arguments.
    Rustup(Vec<String>),
    /// Debian packages.
    Apt(Vec<String>),
    /// The PyPI wheel that holds ptxas.
    Ptxas,
}

impl Remedy {
    /// Does it. What the installers print reaches the terminal.
    pub fn apply(&self) -> Result<()> {
        match self {
            Remedy::Rustup(arguments) => workspace::run(Command::new("rustup").args(arguments)),
            Remedy::Apt(packages) => apt::install(packages),
            Remedy::Ptxas => wheel::install(&workspace::python_packages(), wheel::PTXAS),
        }
    }
}

impl FromStr for Remedy {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["rustup", _, ..] => Ok(Remedy::Rustup(words[1..].to_vec())),
            ["apt-get", "install", _, ..] => Ok(Remedy::Apt(words[2..].to_vec())),
            _ => bail!("setup can't do that by itself"),
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Rustup(arguments) => write!(f, "rustup {}", arguments.join(" ")),
            Remedy::Apt(packages) => write!(f, "apt-get install {}", packages.join(" ")),
            Remedy::Ptxas => write!(f, "pip install {} (for ptxas, into the target folder)", wheel::PTXAS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discoverys_wordings_are_understood() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let parse = |text: &str| text.parse::<Remedy>();
        assert_eq!(parse("apt-get install rustc-web llvm-22").unwrap(), Remedy::Apt(words("rustc-web llvm-22")));
        assert_eq!(parse("rustup component add rust-src").unwrap(), Remedy::Rustup(words("component add rust-src")));
        assert!(parse("a correct path in WARPSMITH_DEVICE_RUSTC").is_err());
        assert!(parse("apt-get install").is_err());
        assert!(parse("").is_err());
    }
}
