//! Gives files further names, and makes symbolic links.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::Failure;
use file_commands::place::Place;
use file_commands::{open, program};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "ln",
    description: "gives a file a further name: ln PATH TO; a symbolic link: ln -s TEXT TO",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// A symbolic link, with the text TARGET.
    symbolic: flag "-s";
    /// The file, by its whole path; of a symbolic link, the path that it stands for, from where the
    /// link is or from the root.
    target: one String "TARGET";
    /// The new name, or a directory for it.
    to: one Path "TO";
}

fn link(names: &mut Names, target: &str, to: &str, symbolic: bool) -> Result<(), Failure> {
    let to = Place::new(to)?;
    if symbolic {
        let name = target.trim_end_matches('/').rsplit('/').next();
        let name = name.filter(|name| !matches!(*name, "" | "." | ".."));
        let to = open::destination(names, &to, name)?;
        let mut opened = open::above(names, &to)?;
        let made = opened.directory.make_link(&opened.path, target);
        return made.map_err(Failure::of(to.path()));
    }
    let from = Place::new(target)?;
    let to = open::destination(names, &to, from.name())?;
    match open::above_both(names, &from, &to)? {
        Some((mut directory, a, b)) => {
            let linked = directory.link(&a, &b);
            linked.map_err(Failure::of(format!("{from} to {to}")))
        }
        None => {
            let text = format!("is not in the file system of {from}");
            Err(Failure::because(to.path(), text))
        }
    }
}

#[sing_sdk::main]
fn main(
    Arguments {
        symbolic,
        target,
        to,
    }: Arguments,
) -> i32 {
    let mut names = match program::names("ln", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    program::report("ln", link(&mut names, &target, &to, symbolic))
}
