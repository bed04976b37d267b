//! `sing fmt`: formats contracts.

use super::sources;
use crate::output::{self, name_of};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Formats files, or names those that are not formatted; `-` is standard input, whose result goes
/// to standard output. A file that does not parse is left unchanged. Returns whether all could be
/// read, and with `check` whether all are formatted.
pub fn run(files: &[PathBuf], check: bool) -> Result<bool, String> {
    if files.iter().filter(|f| is_input(f)).count() > 1 {
        return Err("standard input (-) is named twice; it can be read once".into());
    }
    let mut good = true;
    for file in files {
        match one(file, check) {
            Ok(laid) => good &= laid,
            Err(message) => {
                output::complain_in_colour(message);
                good = false;
            }
        }
    }
    Ok(good)
}

fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

fn one(file: &Path, check: bool) -> Result<bool, String> {
    let name = if is_input(file) {
        "standard input".into()
    } else {
        name_of(file).to_string()
    };
    let unread = |e| format!("sing: {name}: cannot be read: {e}");
    let text = if is_input(file) {
        let mut text = String::new();
        let most = sing_contract::MOST_BYTES;
        let read = std::io::stdin().take(most + 1).read_to_string(&mut text);
        read.map_err(|e| unread(e.to_string()))?;
        if text.len() as u64 > most {
            return Err(unread(format!("it is longer than {} MiB", most >> 20)));
        }
        text
    } else {
        sources::is_text(file).map_err(|e| format!("sing: {e}"))?;
        sing_contract::read_text(file).map_err(unread)?
    };
    let laid =
        sing_contract::format::source(&name, &text).map_err(|found| sources::report(&found))?;
    if check {
        if laid != text {
            output::line(format!("{name}: not laid out; `sing fmt` does it"));
        }
        return Ok(laid == text);
    }
    if is_input(file) {
        sing_files::standard::print(laid);
    } else if laid != text {
        output::write(file, laid.as_bytes()).map_err(|e| format!("sing: {e}"))?;
    }
    Ok(true)
}
