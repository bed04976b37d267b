//! Links the kernel at its fixed address. Builds for the host (tests) need no link arguments.

fn main() {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rerun-if-changed=link.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        println!("cargo::rustc-link-arg-bins=-T{manifest}/link.ld");
        println!("cargo::rustc-link-arg-bins=--no-pie");
    }
}
