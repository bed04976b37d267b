//! A compressor builds its tables on the stack: more than the 16 KiB that programs have otherwise.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg=-zstack-size=1048576");
    }
}
