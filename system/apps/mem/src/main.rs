//! Shows the uses of memory, and how many objects of each kind there are.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::inspect;

sing_sdk::manifest! {
    name: "mem",
    description: "shows memory and the number of kernel objects",
    privileges: [inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let m = inspect::memory()?;
    let s = inspect::system()?;
    println!(
        "machine        {} ({} processors, scheduler {})",
        s.machine, s.cpus, s.scheduler
    );
    println!(
        "pages in use   {} of {} (4 KiB each)",
        m.used_pages, m.total_pages
    );
    println!("  free         {}", m.free_pages);
    println!(
        "  kernel       {} ({} of records)",
        m.kernel_pages, m.record_pages
    );
    println!("  code         {}", m.code_pages);
    println!("  chunks       {} of small blocks", m.chunk_pages);
    println!(
        "exchange heap  {} allocations, {} bytes",
        m.allocations, m.allocated
    );
    println!("processes      {}", m.processes);
    println!("threads        {}", m.threads);
    println!("channels       {}", m.channels);
    println!("handles        {}", m.handles);
    println!(
        "switches       {} ({} by pre-emption)",
        s.switches, s.preemptions
    );
    println!(
        "longest wait   {} us of an interrupt, until {}:{}",
        m.held_ns / 1000,
        m.held_file,
        m.held_line
    );
    Ok(())
}
