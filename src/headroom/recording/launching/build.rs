//! Builds the launcher, a separate program that `mod.rs` embeds in the library.

use std::env::var_os;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "launching/launch.rs";

/// Build it into `OUT_DIR`.
fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let path = |name: &str| PathBuf::from(var_os(name).unwrap_or_default());
    let mut rustc = Command::new(path("RUSTC"));
    rustc.args(["--edition", "2024", "--crate-name", "launch", "-O"]);
    rustc
        .args(["-C", "panic=abort", "-C", "strip=symbols", "--target"])
        .arg(path("TARGET"));
    if let Some(linker) = var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    rustc
        .arg("-o")
        .arg(path("OUT_DIR").join("launch"))
        .arg(SOURCE);
    let status = rustc.status().expect("cargo names a compiler that starts");
    assert!(status.success(), "the launcher did not build: {status}");
}
