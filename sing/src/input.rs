//! Input files: modules and images, recognised by their first bytes.

use crate::output::name_of;
use crate::progress::Progress;
use sing_compiler::{Compiled, Options, Work};
use sing_image::elf::Image;
use sing_image::meta::Checks;
use sing_image::system::{is_of_any_version, of_other_version};
use std::borrow::Cow;
use std::path::Path;

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Module,
    Image,
}

/// Why a system may refuse an image that was compiled with `--checks none`.
pub const UNCHECKED: &str = "compiled without checks: only a hosted system that was started with --measure loads such a program";

/// The most bytes of a file: a system image with all its contents.
pub const MOST_BYTES: u64 = sing_image::system::MOST_BYTES;

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let read = sing_contract::read_bounded(path, MOST_BYTES);
    read.map_err(|e| format!("{}: cannot be read: {e}", name_of(path)))
}

/// The kind of a file.
pub fn kind(bytes: &[u8]) -> Result<Kind, String> {
    if bytes.starts_with(b"\0asm") {
        Ok(Kind::Module)
    } else if bytes.starts_with(b"\x7fELF") {
        Ok(Kind::Image)
    } else if let Some(why) = of_other_version(bytes) {
        let why = why.message.trim_start_matches("system image: ");
        Err(format!(
            "a system image, where a module or the image of one program is asked for; {why}"
        ))
    } else if is_of_any_version(bytes) {
        Err(
            "a system image, where a module or the image of one program is asked for; `sing inspect`, \
             `sing check contracts`, `sing count` and `sing doc` take system images"
                .into(),
        )
    } else if bytes.is_empty() {
        Err("the file is empty; a WebAssembly module or an image (an ELF file) is asked for".into())
    } else if is_text_format(bytes) {
        Err(
            "this looks like WebAssembly text, and a module is binary; make one with `wat2wasm`"
                .into(),
        )
    } else {
        Err("neither a WebAssembly module nor an image (an ELF file)".into())
    }
}

/// Refuses a file that is no text of contracts or of a system, by its first bytes and, under a name
/// that is not usual for one, by its words: an error for each that means nothing there would not
/// say what is wrong. `wanted` says what to name instead.
pub fn is_text(path: &Path, bytes: &[u8], wanted: &str) -> Result<(), String> {
    if let Some(why) = of_other_version(bytes) {
        return Err(format!("{}: {why}", name_of(path)));
    }
    let usual = path.extension();
    let usual = usual.is_some_and(|e| e == "contract" || e == "system");
    let is = match kind(bytes) {
        Ok(Kind::Module) => "a WebAssembly module",
        Ok(Kind::Image) => "the image of a program (an ELF file)",
        Err(_) if is_of_any_version(bytes) => "a system image",
        Err(_) if is_text_format(bytes) && !usual => "WebAssembly text",
        Err(_) if bytes.contains(&0) => "no text",
        Err(_) if !usual && !bytes.trim_ascii().is_empty() && !declares(bytes) => {
            "no text of contracts or of a system"
        }
        Err(_) => return Ok(()),
    };
    Err(format!("{}: is {is}; name {wanted}", name_of(path)))
}

/// Whether some line of a text may begin a declaration.
fn declares(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let words = ["public", "contract", "enum", "rep", "process", "channel"];
    let begins = |line: &str, word: &str| {
        let rest = line.strip_prefix(word);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let imports = |line: &str| {
        let rest = line.strip_prefix("import").map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with('"'))
    };
    let mut lines = text.split(['\n', ';', '/', '}']);
    lines.any(|line| {
        let line = line.trim_start();
        imports(line) || words.iter().any(|word| begins(line, word))
    })
}

/// Whether a file begins as a module in the text format does, perhaps after comments to the ends of
/// their lines.
fn is_text_format(bytes: &[u8]) -> bool {
    let mut rest = bytes.trim_ascii_start();
    while rest.starts_with(b";;") {
        let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        rest = rest[end..].trim_ascii_start();
    }
    let inner = rest.strip_prefix(b"(").map(<[u8]>::trim_ascii_start);
    rest.starts_with(b"(;") || inner.is_some_and(|inner| inner.starts_with(b"module"))
}

/// The image in a file's bytes; a module is compiled.
pub fn image(path: &Path, bytes: Vec<u8>, options: &Options) -> Result<Vec<u8>, String> {
    let name = name_of(path);
    match kind(&bytes).map_err(|e| format!("{name}: {e}"))? {
        Kind::Image => Ok(bytes),
        Kind::Module => elf(&compile(path, &bytes, options)?, path),
    }
}

/// The module in a file's bytes; an ordinary program is joined with the adapter.
pub fn module<'a>(path: &Path, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
    let name = name_of(path);
    if kind(bytes).map_err(|e| format!("{name}: {e}"))? == Kind::Image {
        return Err(format!(
            "{name}: is an image already; `sing verify` and `sing inspect` say what is in it"
        ));
    }
    match sing_merge::kind(bytes) {
        sing_merge::Kind::Own => Ok(Cow::Borrowed(bytes)),
        kind => crate::run::installed(path, bytes, kind).map(Cow::Owned),
    }
}

/// Compiles a module; an ordinary program is joined with the adapter before.
pub fn compile(path: &Path, bytes: &[u8], options: &Options) -> Result<Compiled, String> {
    compile_by(path, bytes, options, &Work::default())
}

/// The same, with the work done in this way.
pub fn compile_by(
    path: &Path,
    bytes: &[u8],
    options: &Options,
    work: &Work<'_>,
) -> Result<Compiled, String> {
    let module = module(path, bytes)?;
    let progress = Progress::of(path);
    let at = |done, of| progress.at(done, of);
    let work = Work {
        progress: Some(&at),
        ..*work
    };
    let compiled = sing_compiler::compile_by(&module, options, &work);
    compiled.map_err(|e| format!("{}: refused: {e}", name_of(path)))
}

/// What is to be said of programs, by name, whose images lack the tests of what they do; `None` if all have
/// them.
pub fn unchecked<'a>(programs: impl Iterator<Item = (&'a str, &'a [u8])>) -> Option<String> {
    let lacks = |bytes| Image::decode(bytes).is_ok_and(|image| image.meta.checks == Checks::None);
    let names: Vec<_> = programs
        .filter(|(_, bytes)| lacks(bytes))
        .map(|(name, _)| name)
        .collect();
    (!names.is_empty()).then(|| format!("{}: {UNCHECKED}", names.join(", ")))
}

/// A compiled module's image.
pub fn elf(compiled: &Compiled, path: &Path) -> Result<Vec<u8>, String> {
    compiled
        .to_elf()
        .map_err(|e| format!("{}: {e}", name_of(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sing_image::system::MAGIC;

    #[test]
    fn a_text_of_another_kind_is_no_contract() {
        let refusal = |name: &str, bytes: &[u8]| {
            let refused = is_text(Path::new(name), bytes, "a FILE.contract");
            refused.err().unwrap_or_default()
        };
        for (name, bytes, part) in [
            (
                "m.wasm",
                &b"\0asm\x01"[..],
                "a.contract: is a WebAssembly module; name a FILE",
            ),
            ("m", b"\x7fELF", "the image of a program"),
            ("s", MAGIC, "a system image"),
            ("a.wat", b"(module)", "WebAssembly text"),
            ("a.png", b"\x89PNG\0", "no text;"),
            (
                "a.py",
                b"import os\nprint('contract')\n",
                "no text of contracts",
            ),
        ] {
            let part = part.replace("a.contract", name);
            assert!(refusal(name, bytes).contains(&part), "{name}");
        }
        for (name, text) in [
            ("a.contract", "imprt \"b\";"),
            ("a.system", ""),
            ("any", "/* one */ contract C {"),
            ("any", "import \"b.contract\"; process p: any;"),
            ("any", "\n  public contract"),
            ("any", "import \"b.contract\";"),
            ("any", "\n"),
        ] {
            assert_eq!(refusal(name, text.as_bytes()), "", "{text}");
        }
    }

    #[test]
    fn a_file_is_recognised_by_its_beginning() {
        assert_eq!(kind(b"\0asm\x01"), Ok(Kind::Module));
        assert_eq!(kind(b"\x7fELF"), Ok(Kind::Image));
        assert!(kind(MAGIC).unwrap_err().contains("`sing inspect`"));
        let other = kind(b"SINGSYS1").unwrap_err();
        assert!(other.starts_with("a system image, where"), "{other}");
        assert!(other.contains("asked for; its layout has version 1, and this reads version"));
        for text in [
            "(module)",
            " (module $m",
            ";; a\n;; b\n( module",
            "(; a ;) (module",
        ] {
            assert!(
                kind(text.as_bytes()).unwrap_err().contains("wat2wasm"),
                "{text}"
            );
        }
        assert!(kind(b"").unwrap_err().starts_with("the file is empty"));
        for other in ["(", ";; no end", "text", "(list)"] {
            let error = kind(other.as_bytes()).unwrap_err();
            assert!(error.starts_with("neither"), "{other}: {error}");
        }
    }
}
