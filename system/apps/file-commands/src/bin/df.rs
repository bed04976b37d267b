//! Says how full file systems are.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::{
    failure::Failure,
    program,
    volume::{Worker, human},
};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "df",
    description: "shows how full mounted file systems are: df [AT…]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Where they are mounted; all, if none is named.
    paths: many Path "AT";
}

fn act(names: &mut Names, paths: &[String]) -> Result<(), Failure> {
    let (mounts, mut worker) = Worker::bind(names)?.mounts()?;
    let wanted = |at: &String| paths.is_empty() || paths.contains(at);
    if let Some(path) = paths
        .iter()
        .find(|path| !mounts.iter().any(|m| m.at == **path))
    {
        return Err(Failure::because(path, "nothing is mounted there"));
    }
    println!(
        "{:<16} {:<16} {:>10} {:>10} {:>10}",
        "DISK", "AT", "SIZE", "FREE", "NODES"
    );
    for mount in mounts.iter().filter(|m| wanted(&m.at)) {
        let (space, next) = worker.space(&mount.at)?;
        worker = next;
        let (total, free) = (human(space.total), human(space.free));
        let (disk, at, nodes) = (&mount.disk, &mount.at, space.nodes);
        println!("{disk:<16} {at:<16} {total:>10} {free:>10} {nodes:>10}");
    }
    Ok(())
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    match program::names("df", startup::names()) {
        Ok(mut names) => program::report("df", act(&mut names, &paths)),
        Err(code) => code,
    }
}
