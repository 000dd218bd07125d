//! Links libstator.so, from the folder that STATOR_ROOT names: where `cmake --install` put it.

use std::env;

fn main() {
    println!("cargo:rerun-if-env-changed=STATOR_ROOT");
    let root = env::var("STATOR_ROOT").expect("set STATOR_ROOT to the prefix of the installed Stator");
    println!("cargo:rustc-link-search=native={root}/lib");
    println!("cargo:rustc-link-lib=dylib=stator");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{root}/lib");
}
