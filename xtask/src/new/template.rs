//! What a project consists of: `xtask/template/common` and one of the folders beside it, with names and places filled in.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// What the project is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Activation,
    Kernel,
    Epilogue,
}

/// Where the project finds Warpsmith.
pub enum Source {
    /// A checkout.
    Folder(PathBuf),
    /// A repository.
    Git(String),
}

/// Files of the project, and what they are made from.
const COMMON: [(&str, &str); 7] = [
    (".cargo/config.toml", include_str!("../../template/common/config.toml")),
    (".gitignore", include_str!("../../template/common/gitignore")),
    ("Cargo.toml", include_str!("../../template/common/Cargo.toml.in")),
    ("README.md", include_str!("../../template/common/README.md")),
    ("build.rs", include_str!("../../template/common/build.rs")),
    ("kernels/Cargo.toml", include_str!("../../template/common/kernels.Cargo.toml.in")),
    ("rustfmt.toml", include_str!("../../template/common/rustfmt.toml")),
];

macro_rules! of_kind {
    ($folder:literal) => {
        [
            ("kernels/src/lib.rs", include_str!(concat!("../../template/", $folder, "/kernels.rs"))),
            ("src/lib.rs", include_str!(concat!("../../template/", $folder, "/src/lib.rs"))),
            ("src/main.rs", include_str!(concat!("../../template/", $folder, "/src/main.rs"))),
            ("tests/against_cpu.rs", include_str!(concat!("../../template/", $folder, "/tests/against_cpu.rs"))),
            ("benches/speed.rs", include_str!(concat!("../../template/", $folder, "/benches/speed.rs"))),
        ]
    };
}

impl Kind {
    /// A word or two on it.
    pub fn what(self) -> &'static str {
        match self {
            Kind::Activation => "an activation function",
            Kind::Kernel => "a kernel",
            Kind::Epilogue => "a matrix product and its epilogue",
        }
    }

    /// The same for the README.
    fn description(self) -> &'static str {
        match self {
            Kind::Activation => {
                "An activation function in one line of Rust; the gradient follows from it. Forward and backward are kernels on a GPU and \
                 native loops on the CPU."
            }
            Kind::Kernel => {
                "A GPU kernel in Rust, launched with arguments that the compiler checks. Without a GPU every thread of it runs in the \
                 simulator, which finds races, barriers that not all threads reach, and accesses out of bounds."
            }
            Kind::Epilogue => {
                "A matrix product that applies an operation of your own to each element before it is stored, in the same kernel."
            }
        }
    }

    /// What runs it without a GPU.
    fn otherwise(self) -> &'static str {
        match self {
            Kind::Kernel => "in the simulator",
            Kind::Activation | Kind::Epilogue => "on the CPU",
        }
    }

    fn files(self) -> [(&'static str, &'static str); 5] {
        match self {
            Kind::Activation => of_kind!("activation"),
            Kind::Kernel => of_kind!("kernel"),
            Kind::Epilogue => of_kind!("epilogue"),
        }
    }
}

impl Source {
    /// `path = "..."` or `git = "..."`, for the package in this folder of the repository.
    fn dependency(&self, folder: &str) -> Result<String> {
        let (key, place) = match self {
            Source::Git(url) => ("git", url.as_str()),
            Source::Folder(root) => {
                let folder = root.join(folder);
                let place = folder.to_str().map(str::to_owned);
                let place =
                    place.with_context(|| format!("{} is not UTF-8, as a Cargo.toml must be", folder.display()))?;
                return Ok(format!("path = {}", serde_json::to_string(&place)?));
            }
        };
        // A string of JSON is one of TOML.
        Ok(format!("{key} = {}", serde_json::to_string(place)?))
    }
}

/// All files of a project: where they go in its folder, and their text.
pub fn files(kind: Kind, name: &str, source: &Source) -> Result<Vec<(&'static str, String)>> {
    let kernels = if name.contains('-') { format!("{name}-kernels") } else { format!("{name}_kernels") };
    let replacements = [
        ("{{name}}", name.to_owned()),
        ("{{crate}}", name.replace('-', "_")),
        ("{{kernels}}", kernels),
        ("{{what}}", kind.description().to_owned()),
        ("{{otherwise}}", kind.otherwise().to_owned()),
        ("{{warpsmith}}", source.dependency("host")?),
        ("{{warpsmith_gpu}}", source.dependency("gpu")?),
        ("{{cuda_std}}", source.dependency("gpu/cuda_std")?),
        ("{{cuda_builder}}", source.dependency("xtask/cuda_builder")?),
    ];
    let fill = |(file, text): (&'static str, &str)| {
        let text = replacements.iter().fold(text.to_owned(), |text, (mark, by)| text.replace(mark, by));
        (file, text)
    };
    Ok(COMMON.into_iter().chain(kind.files()).map(fill).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_filled_in() {
        for kind in [Kind::Activation, Kind::Kernel, Kind::Epilogue] {
            for (file, text) in files(kind, "my-act", &Source::Git("https://a.example/b".into())).unwrap() {
                assert!(!text.contains("{{name") && !text.contains("}}\""), "{file}: {text}");
                assert!(!text.contains("{{warpsmith") && !text.contains("{{crate"), "{file}: {text}");
                if file.ends_with("Cargo.toml") {
                    let manifest: toml::Table = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
                    assert!(manifest["package"]["name"].as_str().unwrap().starts_with("my-act"));
                    assert!(text.contains(r#"git = "https://a.example/b""#), "{text}");
                }
            }
        }
    }

    #[test]
    fn odd_places_are_quoted() {
        let source = Source::Folder(r#"/a "b"\c"#.into());
        let (_, text) =
            files(Kind::Kernel, "x", &source).unwrap().into_iter().find(|file| file.0 == "Cargo.toml").unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        assert_eq!(manifest["dependencies"]["warpsmith"]["path"].as_str(), Some(r#"/a "b"\c/host"#));
    }
}
