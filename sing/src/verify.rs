//! `sing verify`: whether files may become SIPs.

use crate::input::{self, Kind};
use crate::output;
use sing_compiler::Options;
use sing_image::elf::Image;
use sing_image::meta::{Checks, Linkage};
use std::path::{Path, PathBuf};

/// Prints a verdict for each file; returns whether all are accepted.
pub fn run(files: &[PathBuf]) -> bool {
    let mut good = true;
    for file in files {
        let name = file.display();
        match one(file) {
            Ok(what) => output::line(format!("{name}: {what}")),
            Err(reason) => {
                good = false;
                output::line(format!("{name}: refused: {reason}"));
            }
        }
    }
    good
}

/// Prints how large a program may be.
pub fn limits() {
    for limit in sing_image::limits::ALL {
        output::line(format!("{:>10}  {}", limit.most, limit.what));
    }
}

fn one(file: &Path) -> Result<String, String> {
    let bytes = sing_contract::read_bounded(file, input::MOST_BYTES)
        .map_err(|e| format!("cannot be read: {e}"))?;
    match input::kind(&bytes)? {
        Kind::Module => {
            // As `sing compile` and `sing run` take it: an ordinary program with its adapter.
            let named = format!("{}: ", file.display());
            let module = input::module(file, &bytes)
                .map_err(|e| e.strip_prefix(&named).unwrap_or(&e).to_owned())?;
            let verified =
                sing_compiler::verify(&module, &Options::default()).map_err(|e| e.to_string())?;
            Ok(describe(
                "a proper SIP",
                &verified.manifest,
                &verified.contracts,
            ))
        }
        Kind::Image => {
            let image = Image::decode(&bytes).map_err(|e| e.message)?;
            if image.meta.abi_version != sing_abi::ABI_VERSION {
                return Err(format!(
                    "compiled for version {} of the ABI; this system has version {}",
                    image.meta.abi_version,
                    sing_abi::ABI_VERSION
                ));
            }
            if image.meta.linkage != Linkage::Sealed {
                return Err("an open image, which no system loads".into());
            }
            if image.meta.checks == Checks::None {
                return Err(
                    "compiled without checks: only a hosted system that was started with --measure \
                     loads it"
                        .into(),
                );
            }
            Ok(describe(
                "an image of a SIP, whose machine code is not checked",
                &image.manifest,
                &image.contracts,
            ))
        }
    }
}

fn describe(
    what: &str,
    manifest: &sing_image::manifest::Manifest,
    contracts: &[sing_image::contract::ContractTable],
) -> String {
    let list = |names: Vec<&str>| {
        if names.is_empty() {
            "none".into()
        } else {
            names.join(", ")
        }
    };
    format!(
        "{what}: {:?}; privileges: {}; contracts: {}",
        manifest.name,
        list(manifest.privileges.iter().map(String::as_str).collect()),
        list(contracts.iter().map(|c| c.name.as_str()).collect())
    )
}
