//! Builds the launcher and the observer, separate programs that `mod.rs` embeds in the library.

use std::env::var_os;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Build both into `OUT_DIR`.
fn main() {
    println!("cargo::rerun-if-changed=launching/observe");
    build("launch");
    build("observe");
}

fn build(name: &str) {
    let source = format!("launching/{name}.rs");
    println!("cargo::rerun-if-changed={source}");
    let path = |name: &str| PathBuf::from(var_os(name).unwrap_or_default());
    let mut rustc = Command::new(path("RUSTC"));
    rustc.args(["--edition", "2024", "--crate-name", name, "-O"]);
    rustc
        .args(["-C", "panic=abort", "-C", "strip=symbols", "--target"])
        .arg(path("TARGET"));
    if let Some(linker) = var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    rustc.arg("-o").arg(path("OUT_DIR").join(name)).arg(source);
    let status = rustc.status().expect("cargo names a compiler that starts");
    assert!(status.success(), "{name} did not build: {status}");
}
