//! What `cargo xtask new` writes, used as its user would: each kind is built, tested, benchmarked once and run.
//!
//! The projects share the target folder, the lock file and the profiles of this workspace, so that most dependencies are there
//! already; by themselves they take what cargo resolves and the profiles of their own Cargo.toml.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}

/// The workspace's own, which the projects share.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder of the target folder")
}

fn xtask(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).current_dir(folder).output().expect("xtask starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A new project. Always in the same folder: cargo keeps what it builds for each, in the shared target folder.
struct Project {
    folder: PathBuf,
    name: &'static str,
}

impl Project {
    fn new(name: &'static str, kind: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        let output = xtask(&folder, &[&["new", name, "--path", "made/too"], kind].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let project = Self { folder, name };
        fs::copy(repository().join("Cargo.lock"), project.path().join("Cargo.lock")).unwrap();
        project.write_profiles();
        project
    }

    /// With the workspace's profiles, what was built for it serves the project too.
    fn write_profiles(&self) {
        let manifest = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let profiles = serde_json::json!({ "profile": manifest["profile"] });
        fs::write(self.profiles(), toml::to_string(&profiles).unwrap()).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.join("made/too").join(self.name)
    }

    fn profiles(&self) -> PathBuf {
        self.folder.join("profiles.toml")
    }

    /// Runs cargo in the project and gives what it prints; warnings are failures.
    fn cargo(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO"));
        command.arg(arguments[0]).arg("--offline").arg("--config").arg(self.profiles()).args(&arguments[1..]);
        command.current_dir(self.path()).env("CARGO_TARGET_DIR", target());
        let output = command.output().expect("cargo starts");
        let (printed, messages) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{command:?}\n{printed}\n{messages}");
        let expected = "no GPU kernels in this build";
        let warned = messages.lines().any(|line| line.starts_with("warning:") && !line.contains(expected));
        assert!(!warned, "{command:?}\n{messages}");
        printed
    }

    /// Everything that its README says, without the time that a real benchmark takes.
    fn use_it(&self, expected: &str) {
        let formatted = Command::new("cargo").args(["fmt", "--all", "--check"]).current_dir(self.path()).output();
        let formatted = formatted.expect("rustfmt starts");
        assert!(formatted.status.success(), "{}", text(&formatted.stdout));
        self.cargo(&["test", "--all-targets"]);
        let printed = self.cargo(&["run"]);
        let (device, results) = printed.split_once('\n').expect("two lines");
        let devices = ["on CPU", "on simulator", "on NVIDIA"];
        assert!(devices.iter().any(|name| device.starts_with(name)), "{printed}");
        assert!(results.contains(expected), "{printed}");
    }
}

#[test]
fn activation() {
    // snake(2) with a = 2: 2 + sin²(4) / 2; its derivative 1 + sin(8).
    Project::new("my-snake", &[]).use_it("     2   2.286375   1.989358");
}

#[test]
fn kernel() {
    Project::new("axpy_example", &["--kernel"]).use_it("[12.0, 24.0, 36.0]");
}

#[test]
fn epilogue() {
    // 30 tanh(1.1 / 30)
    Project::new("soft_cap", &["--epilogue"]).use_it("[1.0995");
}

#[test]
fn refusals_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, reason) in [
        (&["new", "fn", "--path", "made"][..], "keyword"),
        (&["new", "9x", "--path", "made"], "begin with a letter"),
        (&["new", "../x"], "'.'"),
        (&["new", "Snake"], "try `snake`"),
        (&["new", "x", "--kernel", "--epilogue"], "cannot be used with"),
    ] {
        let output = xtask(folder.path(), arguments);
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains(reason), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    }
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/thesis.txt"), "x").unwrap();
    let output = xtask(folder.path(), &["new", "mine"]);
    assert!(!output.status.success() && text(&output.stderr).contains("mine exists"), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(folder.path().join("mine")).unwrap().count(), 1);
}

#[test]
fn a_repository_in_the_place_of_a_folder() {
    if !repository().join(".git").exists() {
        return eprintln!("SKIPPED: these sources are not a git repository");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new/from_git");
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    let clone = folder.join("warpsmith.git");
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "clone", "--quiet", "--bare"]).arg(repository()).arg(&clone);
    let output = git.output().expect("git starts");
    assert!(output.status.success(), "{}", text(&output.stderr));

    let url = format!("file://{}", clone.display());
    let output = xtask(&folder, &["new", "far", "--git", &url]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let project = Project { folder, name: "far" };
    project.write_profiles();
    let path = project.folder.join("far");
    for file in ["Cargo.toml", "kernels/Cargo.toml"] {
        let manifest = fs::read_to_string(path.join(file)).unwrap();
        assert!(manifest.contains(&format!("git = \"{url}\"")), "{manifest}");
    }
    fs::copy(repository().join("Cargo.lock"), path.join("Cargo.lock")).unwrap();
    // What is committed, without its kernels as PTX: that is tested above.
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["check", "--all-targets", "--config"])
        .arg(project.profiles())
        .current_dir(&path)
        .env("CARGO_TARGET_DIR", target());
    let output = command.env("WARPSMITH_SKIP_DEVICE_BUILD", "1").output().expect("cargo starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
}
