//! `sing strip`: takes debug information, and perhaps names, out of a module or an image; and `sing
//! symbols`, which writes those of an image to a file of their own.

use crate::input::{self, Kind};
use crate::output::{self, name_of};
use std::path::{Path, PathBuf};

/// Writes what is left of the file; returns true.
pub fn run(file: &PathBuf, out: &Path, names: bool) -> Result<bool, String> {
    output::is_no_input(out, [file])?;
    let bytes = input::read(file)?;
    let name = name_of(file);
    let stripped = match input::kind(&bytes).map_err(|e| format!("{name}: {e}"))? {
        Kind::Module => sing_compiler::strip::module(&bytes, names),
        Kind::Image => sing_compiler::strip::image(&bytes, names),
    };
    let stripped = stripped.map_err(|e| format!("{name}: {e}"))?;
    output::write(out, &stripped)?;
    output::line(format!(
        "{name}: {} of {} bytes in {}",
        stripped.len(),
        bytes.len(),
        name_of(out)
    ));
    Ok(true)
}

/// Writes the symbols of an image; returns true.
pub fn symbols(image: &PathBuf, out: &Path) -> Result<bool, String> {
    output::is_no_input(out, [image])?;
    let bytes = input::read(image)?;
    let name = name_of(image);
    if input::kind(&bytes).map_err(|e| format!("{name}: {e}"))? == Kind::Module {
        return Err(format!(
            "{name}: a WebAssembly module, where the image of a program is asked for; `sing compile` \
             makes one"
        ));
    }
    let symbols = sing_compiler::symbols::file(&bytes);
    let symbols = symbols.map_err(|e| format!("{name}: {e}"))?;
    output::write(out, &symbols)?;
    Ok(true)
}
