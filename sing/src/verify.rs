//! `sing verify`: whether files may become SIPs.

use crate::input::{self, Kind};
use crate::output::{self, name_of};
use serde_json::{Value, json};
use sing_compiler::Options;
use sing_image::elf::Image;
use sing_image::meta::{Checks, Linkage};
use std::path::{Path, PathBuf};

/// Prints a verdict for each file; returns whether all are accepted.
pub fn run(files: &[PathBuf], json: bool) -> bool {
    let mut good = true;
    let mut all = Vec::new();
    for file in files {
        let name = name_of(file);
        let verdict = one(file);
        good &= verdict.is_ok();
        match verdict {
            _ if json => all.push(in_json(file, verdict)),
            Ok(accepted) => output::line(format!("{name}: {}", accepted.text())),
            Err(reason) => output::line(format!("{name}: refused: {reason}")),
        }
    }
    if json {
        output::json(format!("{:#}", Value::Array(all)));
    }
    good
}

/// A file that may become a SIP.
struct Accepted {
    /// `module` or `image`.
    kind: &'static str,
    what: &'static str,
    name: String,
    privileges: Vec<String>,
    contracts: Vec<String>,
}

fn in_json(file: &Path, verdict: Result<Accepted, String>) -> Value {
    let file = file.display().to_string();
    match verdict {
        Ok(accepted) => json!({
            "file": file,
            "accepted": true,
            "kind": accepted.kind,
            "name": accepted.name,
            "privileges": accepted.privileges,
            "contracts": accepted.contracts,
        }),
        Err(reason) => json!({ "file": file, "accepted": false, "reason": reason }),
    }
}

/// Prints how large a program may be.
pub fn limits() {
    for limit in sing_image::limits::ALL {
        output::line(format!("{:>10}  {}", limit.most, limit.what));
    }
}

fn one(file: &Path) -> Result<Accepted, String> {
    let bytes = sing_contract::read_bounded(file, input::MOST_BYTES)
        .map_err(|e| format!("cannot be read: {e}"))?;
    match input::kind(&bytes)? {
        Kind::Module => {
            // As `sing compile` and `sing run` take it: an ordinary program with its adapter.
            let named = format!("{}: ", name_of(file));
            let module = input::module(file, &bytes)
                .map_err(|e| e.strip_prefix(&named).unwrap_or(&e).to_owned())?;
            let verified =
                sing_compiler::verify(&module, &Options::default()).map_err(|e| e.to_string())?;
            Ok(accepted(
                ("module", "a proper SIP"),
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
                return Err(input::UNCHECKED.into());
            }
            Ok(accepted(
                (
                    "image",
                    "an image of a SIP, whose machine code is not checked",
                ),
                &image.manifest,
                &image.contracts,
            ))
        }
    }
}

fn accepted(
    (kind, what): (&'static str, &'static str),
    manifest: &sing_image::manifest::Manifest,
    contracts: &[sing_image::contract::ContractTable],
) -> Accepted {
    Accepted {
        kind,
        what,
        name: manifest.name.clone(),
        privileges: manifest.privileges.clone(),
        contracts: contracts.iter().map(|c| c.name.clone()).collect(),
    }
}

impl Accepted {
    fn text(&self) -> String {
        let list = |names: &[String]| match names {
            [] => "none".into(),
            names => names.join(", "),
        };
        format!(
            "{}: {:?}; privileges: {}; contracts: {}",
            self.what,
            self.name,
            list(&self.privileges),
            list(&self.contracts)
        )
    }
}
