//! From texts and files to a model, imports included.

use crate::ast::File;
use crate::diagnostic::{Diagnostic, Severity};
use crate::model::Model;
use crate::source::{Source, Sources, Span};
use crate::{format, lower, parser, resolve};
use sing_image::contract::ContractTable;
use sing_image::shown::Shown;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most bytes of a text that is read from a file.
pub const MOST_BYTES: u64 = 4 << 20;

/// Reads a text from a file. Whatever a path names, this comes to an end: a device or a pipe, which
/// need have none, is not read, nor is a file longer than any text would be.
///
/// # Errors
/// Why it cannot be read.
pub fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_bounded(path, MOST_BYTES)?;
    String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".into())
}

/// Reads a regular file of so many bytes at most.
///
/// # Errors
/// Why it cannot be read.
pub fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    // Asked before it is opened: to open a pipe waits for somebody who writes.
    let about = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if about.is_dir() {
        return Err("it is a directory".into());
    }
    if !about.is_file() {
        return Err("it is no regular file".into());
    }
    let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    // A file may say that it is shorter than it is, as those of /proc do.
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it is longer than {} MiB", most >> 20));
    }
    Ok(bytes)
}

/// A text with what it imports, found to hold.
#[derive(Clone, Debug)]
pub struct Contracts {
    /// As written, imported declarations first, repetitions left in.
    pub file: File,
    /// With names looked up.
    pub model: Model,
    /// Files that were read, in order.
    pub files: Vec<PathBuf>,
    /// Suspicious places that are no errors.
    pub warnings: Vec<Diagnostic>,
}

impl Contracts {
    /// The tables of all contracts, in order.
    #[must_use]
    pub fn tables(&self) -> Vec<ContractTable> {
        lower::tables(&self.model)
    }

    /// The text of all declarations without comments: what a module carries.
    #[must_use]
    pub fn text(&self) -> String {
        format::file(&self.file, false)
    }
}

/// Parses a single text.
pub(crate) fn parse_one(source: &str) -> Result<File, Vec<Diagnostic>> {
    parse_named("contract", source)
}

/// Parses a single text that people know by this name.
pub(crate) fn parse_named(name: &str, source: &str) -> Result<File, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut texts = Vec::new();
    let file = parse_into(&mut texts, name, source, &mut errors);
    if errors.is_empty() {
        Ok(file)
    } else {
        Err(finish(errors, texts))
    }
}

/// Loads a text that imports nothing.
///
/// # Errors
/// The findings of the loaded text.
pub fn load(source: &str) -> Result<Contracts, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut texts = Vec::new();
    let file = parse_into(&mut texts, "contract", source, &mut errors);
    for import in &file.imports {
        errors.push(
            Diagnostic::error(
                format!("{} cannot be imported here", import.text),
                import.span,
                "this text stands alone, not in a file",
            )
            .help("write the declarations into the text itself"),
        );
    }
    check(file, texts, Vec::new(), errors)
}

/// Loads a file and what it imports; a path in an import is relative to the file that it stands in.
///
/// # Errors
/// The findings of the loaded texts, and files that cannot be read.
pub fn load_file(path: &Path) -> Result<Contracts, Vec<Diagnostic>> {
    let mut loader = Loader {
        texts: Vec::new(),
        files: Vec::new(),
        all: File::default(),
        errors: Vec::new(),
    };
    loader.file(path, None);
    check(loader.all, loader.texts, loader.files, loader.errors)
}

fn parse_into(
    texts: &mut Vec<Source>,
    name: &str,
    text: &str,
    errors: &mut Vec<Diagnostic>,
) -> File {
    let index = texts.len() as u32;
    texts.push(Source {
        name: name.into(),
        text: text.into(),
    });
    if u32::try_from(text.len()).is_err() {
        errors.push(Diagnostic::error(
            "this text is too long",
            Span {
                source: index,
                start: 0,
                end: 0,
            },
            "over 4 GiB",
        ));
        return File::default();
    }
    parser::parse(index, text, errors)
}

/// The most findings that one run reports.
const MOST_FINDINGS: usize = 50;

fn finish(mut found: Vec<Diagnostic>, texts: Vec<Source>) -> Vec<Diagnostic> {
    // Errors first matter: a cut must not leave only warnings behind.
    found.sort_by_key(|d| d.severity != Severity::Error);
    if found.len() > MOST_FINDINGS {
        let more = found.len() - MOST_FINDINGS;
        found.truncate(MOST_FINDINGS);
        if let Some(last) = found.pop() {
            found.push(last.note(format!("{more} further findings are not shown")));
        }
    }
    let sources: Sources = Arc::new(texts);
    for d in &mut found {
        d.set_sources(&sources);
    }
    found
}

fn check(
    file: File,
    texts: Vec<Source>,
    files: Vec<PathBuf>,
    mut found: Vec<Diagnostic>,
) -> Result<Contracts, Vec<Diagnostic>> {
    let model = if found.is_empty() {
        resolve::resolve(&file, &mut found)
    } else {
        Model::default()
    };
    let found = finish(found, texts);
    if found.iter().any(|d| d.severity == Severity::Error) {
        return Err(found);
    }
    Ok(Contracts {
        file,
        model,
        files,
        warnings: found,
    })
}

struct Loader {
    texts: Vec<Source>,
    files: Vec<PathBuf>,
    all: File,
    errors: Vec<Diagnostic>,
}

impl Loader {
    /// Reads a file once, what it imports before it.
    fn file(&mut self, path: &Path, import: Option<Span>) {
        let known = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if self.files.contains(&known) {
            return;
        }
        let text = match read_text(path) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("cannot read {}: {error}", Shown(path.display()));
                self.errors.push(match import {
                    Some(span) => Diagnostic::error(message, span, "imported here"),
                    None => Diagnostic::error(message, Span::default(), ""),
                });
                return;
            }
        };
        self.files.push(known);
        let name = Shown(path.display()).to_string();
        let file = parse_into(&mut self.texts, &name, &text, &mut self.errors);
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        if self.files.len() > 256 {
            let span = Span {
                source: self.texts.len() as u32 - 1,
                start: 0,
                end: 0,
            };
            self.errors.push(Diagnostic::error(
                "too many imports",
                span,
                "256 files are enough",
            ));
            return;
        }
        for import in &file.imports {
            self.file(&folder.join(&import.text), Some(import.span));
        }
        self.all.imports.extend(file.imports);
        self.all.items.extend(file.items);
    }
}
