//! Too little memory, or too few addresses: the machine says what is short and what helps, and
//! exits with a status that says so. It never dies without a word.

mod common;

use sing_abi::exit::machine::NO_MEMORY;
use sing_hosted::{Config, HostedHal};
use sing_kernel::hal::Hal;
use std::os::unix::process::CommandExt;

const MIB: u64 = 1 << 20;
/// A limit in MiB that has room for the code, one memory of 4 GiB, and a little more.
const ENOUGH: u64 = 5800;

/// The child: takes memory as the first process of a system does, and reports as the kernel does.
fn play() -> ! {
    let config = Config {
        memory_limit: Some(2 * MIB),
        ..Config::default()
    };
    let hal = HostedHal::new(config).unwrap_or_else(|error| {
        eprintln!("singularity: {error}");
        std::process::exit(error.status())
    });
    // One that takes little leaves the rest to the next.
    let _small = hal.reserve(24 * MIB);
    let Some(mut addresses) = hal.reserve(4 << 30) else {
        eprintln!("short of {}", hal.shortage());
        std::process::exit(NO_MEMORY)
    };
    assert!(hal.commit(addresses.part(0, MIB)));
    assert!(!hal.commit(addresses.part(MIB, 2 * MIB)));
    eprintln!("short of {}", hal.shortage());
    hal.exit(0)
}

#[test]
fn what_is_short_is_said() {
    if common::my_scene().is_some() {
        play();
    }
    let (mut prompts, mut refusals) = (0, 0);
    for mib in [
        256, 512, 1024, 1100, 1500, 2048, 4096, ENOUGH, 8192, 100_000,
    ] {
        let mut child = common::scene("what_is_short_is_said", "play");
        let limit = libc::rlimit {
            rlim_cur: mib * MIB,
            rlim_max: mib * MIB,
        };
        // SAFETY: the call is allowed between fork and exec, and the structure is valid for it.
        unsafe {
            child.pre_exec(
                move || match libc::setrlimit(libc::RLIMIT_AS, &raw const limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                },
            );
        }
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {
                prompts += 1;
                assert!(
                    said.contains("short of memory: raise --memory-limit"),
                    "{said}"
                );
            }
            Some(status) => {
                refusals += 1;
                assert_eq!(status, NO_MEMORY, "{mib} MiB: {said}");
                assert!(said.contains("ulimit -v"), "{mib} MiB: {said}");
                assert!(said.contains("--memory explicit"), "{mib} MiB: {said}");
                // The bytes that are missing: of the code, or of the memory, with those in all.
                let missing = ["1073741824 bytes", "(4294967296 bytes more are needed, "];
                let named = missing.iter().any(|m| said.contains(m));
                assert!(named && mib < ENOUGH, "{mib} MiB: {said}");
            }
            None => panic!("{mib} MiB: {:?}: {said}", output.status),
        }
    }
    assert!(prompts > 0 && refusals > 0, "{prompts} and {refusals}");
}
