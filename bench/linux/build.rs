//! Links the smallest process without start-up code and libraries.

fn main() {
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,--build-id=none",
    ] {
        println!("cargo:rustc-link-arg-bin=sing-bench-hello={argument}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
