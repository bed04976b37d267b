//! Lists all processes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use ps::state;
use sing_sdk::client;
use sing_sdk::inspect;
use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "ps",
    description: "lists all processes",
    privileges: [inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

/// The processes of services, which the service manager has restarted so often. None without a
/// manager: the table is not worth less without them.
fn restarts() -> Option<Vec<ServiceProcess>> {
    use ServicesContract::imp::Ready_GetProcesses as Answer;
    let mut names = Names::new(startup::names()?).ok()?;
    let info = client::reach(&mut names, "/services", ServicesContract::connect);
    match info.ok()?.call_get_processes() {
        Answer::Processes(all, _) => Some(all.iter().collect()),
        Answer::NoProcesses(_) | Answer::Closed => None,
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let mut table = format!(
        "{:>5} {:<14} {:<9} {:>7} {:>7} {:>11} {:>11} {:>6} {:>8} {}\n",
        "ID", "NAME", "STATE", "THREADS", "PAGES", "EXCHANGE", "CPU", "PARENT", "RESTARTS", "ROLE"
    );
    let restarts = restarts().unwrap_or_default();
    // Lets those finish that were asked, so that the table shows what they do by themselves.
    sing_sdk::thread::yield_now();
    let processes = inspect::processes()?;
    for p in processes {
        let service = restarts.iter().find(|s| s.process == p.id);
        let restarts = service.map_or("-".into(), |s| s.restarts.to_string());
        table.push_str(&format!(
            "{:>5} {:<14} {:<9} {:>7} {:>7} {:>11} {:>11} {:>6} {restarts:>8} {}\n",
            p.id,
            p.name,
            state(p.state),
            p.threads,
            p.pages,
            p.exchange,
            format!("{:.3?}", Duration::from_nanos(p.cpu_ns)),
            p.parent,
            if p.essential { "essential" } else { "-" }
        ));
    }
    print!("{table}");
    Ok(())
}
