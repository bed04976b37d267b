//! Lists the name space: directories, and what matches patterns.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::{Found, Names};
use sing_sdk::pattern;

sing_sdk::manifest! {
    name: "ls",
    description: "lists directories and finds names: ls [-l] [PATTERN…]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Says what each name is, the contract of a service, and where a link leads.
    long: flag "-l";
    /// Where to look; the root if left out. Of a directory all names are listed. In a pattern, * is
    /// any run of characters, ? one, [a-z] one of these, and ** as a part any number of parts.
    paths: many Pattern "PATTERN";
}

/// Prints one name, as it is shown.
fn show(found: &Found, name: &str, long: bool) {
    let (kind, mark) = match found.kind {
        NameKind::Directory => ("directory", "/"),
        NameKind::Service => ("service", ""),
        NameKind::Link => ("link", ""),
    };
    // The root is its own name.
    let mark = if name.ends_with('/') { "" } else { mark };
    match (long, found.kind, &found.detail[..]) {
        (false, ..) => println!("{name}{mark}"),
        (true, NameKind::Link, target) => println!("{kind:<10}{name} -> {target}"),
        (true, _, "") => println!("{kind:<10}{name}{mark}"),
        (true, _, detail) => println!("{kind:<10}{name}{mark}  {detail}"),
    }
}

/// Prints what matches, as it comes: however much that is, a piece at a time is kept.
fn search(names: &mut Names, spec: &str, whole: bool, long: bool) -> Result<bool, Error> {
    let mut any = false;
    for found in names.search(spec)? {
        let found = found?;
        let name = if whole { &found.path } else { found.name() };
        show(&found, name, long);
        any = true;
    }
    Ok(any)
}

/// Lists a directory, or what matches a pattern.
fn list(names: &mut Names, path: &str, several: bool, long: bool) -> Result<(), Error> {
    let any = if pattern::is_pattern(path) {
        search(names, path, true, long)?
    } else {
        // The link itself is shown where its target is asked for with -l.
        match names.find(path) {
            Ok(found) if found.iter().all(|f| f.kind == NameKind::Directory || !long) => {}
            Ok(found) => {
                found.iter().for_each(|f| show(f, &f.path, long));
                return Ok(());
            }
            Err(reason) => return Err(reason),
        }
        // The path is a specification, in which brackets may stand around wildcards of a name.
        let below = format!("{}/*", path.trim_end_matches('/'));
        if several {
            let (directory, _) = pattern::split(&below).map_err(Refusal::from)?;
            println!("{directory}:");
        }
        match search(names, &below, false, long) {
            // A service is listed as itself.
            Err(Error::Refused(Refusal::NotADirectory)) => search(names, path, true, long)?,
            listed => listed.map(|_| true)?,
        }
    };
    any.then_some(()).ok_or(Error::NotFound)
}

#[sing_sdk::main]
fn main(Arguments { long, mut paths }: Arguments) -> i32 {
    let Some(mut names) = startup::names().and_then(|n| Names::new(n).ok()) else {
        eprintln!("ls: no name server");
        return 1;
    };
    if paths.is_empty() {
        paths.push("/".into());
    }
    let several = paths.len() > 1;
    let mut status = 0;
    for path in paths {
        if let Err(e) = list(&mut names, &path, several, long) {
            eprintln!("ls: {path}: {e}");
            status = 1;
        }
    }
    status
}
