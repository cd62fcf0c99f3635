//! Gives the shared library its SONAME, `libpalpate_c.so.0.1`: a program keeps the library of the minor version that it
//! was linked with, and from version 1 on that of the major version.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| var(name).expect("set by Cargo");
    if variable("CARGO_CFG_TARGET_OS") == "linux" {
        let [major, minor] =
            ["MAJOR", "MINOR"].map(|part| variable(&format!("CARGO_PKG_VERSION_{part}")));
        let version = if major == "0" { format!("0.{minor}") } else { major };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpalpate_c.so.{version}");
    }
}
