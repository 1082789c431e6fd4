//! The name by which programs find the shared library when they start: with the number that changes when calls do.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libanabranch.so.0");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
