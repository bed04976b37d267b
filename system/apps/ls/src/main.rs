//! Lists what is below paths of the name space.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "ls",
    description: "lists what is below a path: ls [PATH…]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Where to look; the root if left out.
    paths: many String "PATH";
}

#[sing_sdk::main]
fn main(Arguments { mut paths }: Arguments) -> i32 {
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
        match names.find(&path) {
            Ok(found) => {
                if several {
                    println!("{path}:");
                }
                for name in found {
                    println!("{name}");
                }
            }
            // Not a directory; perhaps a file.
            Err(Error::NotFound) if names.open(&path).is_ok() => println!("{path}"),
            Err(e) => {
                eprintln!("ls: {path}: {e}");
                status = 1;
            }
        }
    }
    status
}
