//! The PC HAL's self-test: a kernel of its own, which tests the promises of `sing_kernel::hal` and
//! tries to break them.
//!
//! It takes the kernel's place through the HAL's hooks, and any module of some MiB does for a
//! system image. `README.md` beside `Cargo.toml` says how to start it, `run.rs` what it prints.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod faults;
#[cfg(target_os = "none")]
mod lines;
#[cfg(target_os = "none")]
mod memory;
#[cfg(target_os = "none")]
mod preemption;
#[cfg(target_os = "none")]
mod probe;
#[cfg(target_os = "none")]
mod run;
#[cfg(target_os = "none")]
mod time;
#[cfg(target_os = "none")]
mod views;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("sing-pc-selftest is a kernel; build it with --target x86_64-unknown-none");
    std::process::exit(2);
}
