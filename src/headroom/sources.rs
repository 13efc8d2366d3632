//! Hashes of the sources that a result depends on; a part of build scripts.
//!
//! A rebuilt program with other code has other fingerprints, so a journal never mixes rows of both.
//! Comments, tests and the rest of the program are left out: a change of these measures nothing
//! again.

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// Set variables of the compiler, each to the hash of files and folders of `src/headroom`.
pub fn note(code: &[(&str, &[&[&str]])]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| folder.ends_with("src/headroom");
    let root = folder
        .ancestors()
        .find(is_root)
        .expect("a part of Headroom");
    for (variable, parts) in code {
        let mut files = Vec::new();
        for part in parts.iter().copied().flatten() {
            add_files(&root.join(part), &mut files);
        }
        files.sort();
        let hash = hash_of(&files);
        println!("cargo::rustc-env={variable}={hash:016x}");
    }
}

/// Add a file, or all of a folder; cargo runs this again if one of them changes.
fn add_files(path: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", path.display());
    if path.is_dir() {
        for entry in read_dir(path).expect("a folder of sources") {
            add_files(&entry.expect("a source").path(), files);
        }
    } else if path.file_name().is_some_and(|name| name != "tests.rs") {
        files.push(path.to_owned());
    }
}

/// Return the FNV-1a hash of the lines that are no comments.
fn hash_of(files: &[PathBuf]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for path in files {
        let text = read_to_string(path).expect("a source is text");
        for line in text.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with("//") {
                for byte in line.bytes().chain([b'\n']) {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
    }
    hash
}
