//! Debian packages, installed without questions, or the reason why not with the command to type.

use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace;

/// Installs the packages. Fails, naming the command, where this is no Debian or the user is not root.
pub fn install(packages: &[String]) -> Result<()> {
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    if !is_debian(&system) {
        bail!("this is not Debian; install what these packages hold another way: {}", packages.join(" "));
    }
    if !rustix::process::geteuid().is_root() {
        bail!("only root may install packages; run as root: apt-get install {}", packages.join(" "));
    }
    // A source that can't be reached matters only if it has the packages, and then the next command fails.
    let _ = workspace::run(apt_get().arg("update"));
    // --no-remove: rustc-web conflicts with Debian's own rustup and rustc, which must not vanish unasked.
    workspace::run(apt_get().args(["install", "-y", "--no-install-recommends", "--no-remove"]).args(packages))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q");
    command
}

/// Derivatives have `debian` only in ID_LIKE, and not these packages.
fn is_debian(os_release: &str) -> bool {
    os_release.lines().any(|line| line.trim_end() == "ID=debian" || line.trim_end() == "ID=\"debian\"")
}

#[cfg(test)]
mod tests {
    use super::is_debian;

    #[test]
    fn only_debian_itself_counts() {
        assert!(is_debian("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n"));
        assert!(!is_debian("ID=ubuntu\nID_LIKE=debian\n"));
        assert!(!is_debian(""));
    }
}
