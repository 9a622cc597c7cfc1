//! Closed and automatic derivatives of the activations that have both: the catalogue takes what is more exact, and of two that are
//! equally exact the shorter. Shorter is counted in machine instructions if there is a ptxas, and in PTX otherwise; `-- --nocapture` shows
//! the table that is in docs/activations.md.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use cuda_builder::{Arch, CudaBuilder, DeviceCode};
use object::{Object, ObjectSection};
use warpsmith_gpu::accuracy::{largest_input, measure, terms};
use warpsmith_gpu::activations::*;
use warpsmith_gpu::math::ulp::{stratified, ulp_error_of_term};
use warpsmith_gpu::{Activation, automatic_derivative};

macro_rules! with_closed_form {
    ($callback:ident) => {
        $callback! {
            SquaredRelu, Hardswish, Tanhshrink, Softsign, Silu, Mish, Swish, GeluErf, GeluTanh, QuickGelu, Celu, Exponential, Gaussian,
            Softplus, Squareplus, Snake
        }
    };
}

/// One element for each thread, and nothing else.
const KERNELS: &str = "#![no_std]
use cuda_std::prelude::*;
use warpsmith_gpu::activations::*;
use warpsmith_gpu::{Activation, automatic_derivative};
#[kernel(module = \"derivatives\")]
pub fn closed<A: Activation>(activation: A, x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) { y.set(i, activation.derivative(x[i])); }
}
#[kernel(module = \"derivatives\")]
pub fn automatic<A: Activation>(activation: A, x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) { y.set(i, automatic_derivative(&activation, x[i])); }
}
";

fn build() -> DeviceCode {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| workspace.join(name);
    let manifest = format!(
        "[package]\nname = \"derivatives\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\n[workspace]\n[dependencies]\n\
         cuda_std = {{ package = \"warpsmith-cuda-std\", path = {:?} }}\nwarpsmith-gpu = {{ path = {:?} }}\n",
        path("gpu/cuda_std"),
        path("gpu")
    );
    macro_rules! names {
        ($($name:ident),*) => { stringify!($($name),*) };
    }
    let names = with_closed_form!(names);
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    let instances = format!("kernels! {{ pub struct Derivatives; closed<{{{names}}}>; automatic<{{{names}}}>; }}\n");
    fs::write(folder.path().join("src/lib.rs"), format!("{KERNELS}{instances}")).unwrap();
    fs::copy(path("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device");
    let builder = || CudaBuilder::new(folder.path()).archs(&[Arch::SM_80]).target_dir(&target);
    // Without ptxas there are no cubins.
    match builder().cubins(true).build() {
        Ok(code) => code,
        Err(_) => builder().build().unwrap_or_else(|error| panic!("{error}")),
    }
}

/// Instructions of each entry: of the machine, or of PTX.
fn instructions(code: &DeviceCode) -> (&'static str, HashMap<String, usize>) {
    let mut counts = HashMap::new();
    let mut kind = "PTX";
    for file in fs::read_dir(code.directory().join("sm_80")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cubin") {
            kind = "SASS";
            let bytes = fs::read(&path).unwrap();
            for section in object::File::parse(&*bytes).unwrap().sections() {
                if let Some(name) = section.name().ok().and_then(|name| name.strip_prefix(".text.")) {
                    // 16 bytes each.
                    counts.insert(name.to_owned(), section.size() as usize / 16);
                }
            }
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            let ptx = fs::read_to_string(&path).unwrap();
            for entry in ptx.split(".entry ").skip(1) {
                let (name, body) = entry.split_once('(').unwrap();
                let count =
                    body.lines().map(str::trim).filter(|line| line.ends_with(';') && !line.starts_with('.')).count();
                counts.entry(name.to_owned()).or_insert(count);
            }
        }
    }
    (kind, counts)
}

/// The largest errors of both, in last places of the largest term.
fn errors<A: Activation>(any: Any, activation: A) -> [f64; 2] {
    let inputs = || stratified(1 << 20).filter(move |x| x.is_finite() && f64::from(x.abs()) <= largest_input(any));
    // Both against the closed form in f64.
    let closed = measure::<A, f32, f32>(&activation, inputs(), terms(any)).derivative_of_term.ulp;
    let automatic = inputs().fold(0.0_f64, |worst, x| {
        let wide = f64::from(x);
        let got = automatic_derivative(&activation, x);
        let term = terms(any).at(&activation, wide)[1];
        worst.max(ulp_error_of_term(got, activation.derivative(wide), term))
    });
    [closed, automatic]
}

#[test]
fn closed_derivatives_earn_their_place() {
    let (kind, counts) = instructions(&build());
    let mut failures = String::new();
    println!("| | closed: ulp | {kind} | automatic: ulp | {kind} |\n| --- | --: | --: | --: | --: |");
    macro_rules! compare {
        ($($name:ident),*) => {$(
            let any: Any = $name::default().into();
            let [closed, automatic] = errors(any, $name::default());
            let count = |form: &str| {
                let entry = counts.iter().find(|(entry, _)| **entry == format!("{form}__{}", any.name()));
                *entry.unwrap_or_else(|| panic!("no entry {form} of {any} among {:?}", counts.keys())).1
            };
            let (short, long) = (count("closed"), count("automatic"));
            println!("| `{}` | {closed:.2} | {short} | {automatic:.2} | {long} |", any.name());
            // A tenth of a last place is no difference.
            let more_exact = closed + 0.1 < automatic;
            if !more_exact && (closed > automatic + 0.1 || short > long) {
                failures += &format!("{any}: closed {closed:.2} ulp and {short} instructions, automatic {automatic:.2} and {long}\n");
            }
        )*};
    }
    with_closed_form!(compare);
    assert!(failures.is_empty(), "the automatic derivative is better:\n{failures}");
}
