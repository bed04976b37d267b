//! `sing bind c`: headers for C.

use super::sources;
use crate::output::{self, name_of};
use sing_contract_tools::c;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes a header for each contract of the texts and of their imports. A header that exists with
/// the same content is not written again, so that builds that depend on it stay up to date.
pub fn run(files: &[PathBuf], out: &Path) -> Result<bool, String> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for file in files {
        let contracts = sources::text(file)?;
        for header in c::headers(&contracts).map_err(|e| format!("{}: {e}", name_of(file)))? {
            if let Some(other) = headers.get(&header.name)
                && *other != header.text
            {
                return Err(format!(
                    "{}: another of the files has a different contract for {}; bind it into a folder of its own",
                    name_of(file),
                    header.name
                ));
            }
            headers.insert(header.name, header.text);
        }
    }
    std::fs::create_dir_all(out).map_err(|e| format!("{}: cannot be made: {e}", name_of(out)))?;
    for name in headers.keys() {
        output::is_no_input(&out.join(name), files)?;
    }
    for (name, text) in headers {
        output::file(&out.join(name), &text)?;
    }
    Ok(true)
}
