//! Makes the code that carries messages of some contracts to another machine and back, from the
//! contracts' tables: a sealed program can speak no contract with which it was not installed, so a
//! further one is a line here.

mod generate;

use std::path::Path;
use std::{env, fs};

/// The file of each contract, its name, and the module that has its types.
const CONTRACTS: [(&str, &str, &str); 3] = [
    (
        "../../contracts/clock.contract",
        "ClockContract",
        "sing_sdk::contracts",
    ),
    (
        "../../contracts/entropy.contract",
        "EntropyContract",
        "sing_sdk::contracts",
    ),
    ("remote.contract", "RemoteContract", "crate"),
];

fn main() {
    println!("cargo::rerun-if-changed=build");
    let mut text = String::new();
    for (file, name, module) in CONTRACTS {
        println!("cargo::rerun-if-changed={file}");
        let contracts = sing_contract::load_file(Path::new(file));
        let contracts = match contracts {
            Ok(contracts) => contracts,
            Err(faults) => {
                let first = faults.first().map(|f| format!("{f:?}")).unwrap_or_default();
                fail(&format!("{file}: {first}"))
            }
        };
        match generate::code(&contracts, name, module) {
            Ok(code) => text += &code,
            Err(reason) => fail(&reason),
        }
    }
    let out = env::var("OUT_DIR").unwrap_or_default();
    if let Err(error) = fs::write(Path::new(&out).join("bridged.rs"), text) {
        fail(&format!("cannot write bridged.rs: {error}"));
    }
}

fn fail(reason: &str) -> ! {
    println!("cargo::error={reason}");
    std::process::exit(1)
}
