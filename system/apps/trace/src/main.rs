//! Shows the activity of the system as it happens: messages, context switches, processes that start
//! and end.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::inspect::{self, Contract, Process, Trace, TraceEvent, TraceKind};

sing_sdk::manifest! {
    name: "trace",
    description: "shows messages and context switches: trace SECONDS",
    privileges: [inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        /// If given: trace until it is closed.
        until: optional PipeContract.Exp:Start,
    },
    memory: 16 MiB,
}

/// Names for the numbers in events, as far as they are known.
struct Names {
    processes: Vec<Process>,
    contracts: Vec<Contract>,
    images: Vec<String>,
    /// Ids and names of processes that were made during the trace, and may have ended already.
    made: Vec<(u32, String)>,
}

impl Names {
    fn begin() -> Result<Names, Error> {
        Ok(Names {
            processes: inspect::processes()?,
            contracts: inspect::contracts()?,
            images: inspect::system()?.images,
            made: Vec::new(),
        })
    }

    fn learn(&mut self, events: &[TraceEvent]) -> Result<(), Error> {
        for event in events.iter().filter(|e| e.kind == TraceKind::Create as u32) {
            let image = (event.c as usize)
                .checked_sub(1)
                .and_then(|at| self.images.get(at));
            self.made.extend(image.map(|name| (event.a, name.clone())));
        }
        // A contract is known from the time on when the first image that names it is loaded. Their
        // numbers ascend.
        let last = self.contracts.iter().map(|c| u64::from(c.id)).max();
        let is_message = |e: &&TraceEvent| {
            e.kind == TraceKind::Send as u32 || e.kind == TraceKind::Receive as u32
        };
        let mut messages = events.iter().filter(is_message);
        if messages.any(|e| last.is_none_or(|last| e.c >> 32 > last)) {
            self.contracts = inspect::contracts()?;
        }
        Ok(())
    }

    fn process(&self, id: u32) -> String {
        let made = self
            .made
            .iter()
            .find(|(made, _)| *made == id)
            .map(|(_, name)| name);
        let name = made.or_else(|| self.processes.iter().find(|p| p.id == id).map(|p| &p.name));
        match name {
            Some(name) => format!("{name}({id})"),
            None if id == 0 => "?".into(),
            None => format!("({id})"),
        }
    }

    fn message(&self, contract: u64, message: u32) -> String {
        let contract = self.contracts.iter().find(|c| u64::from(c.id) == contract);
        match contract.and_then(|c| Some((c, c.messages.get(message as usize)?))) {
            Some((contract, message)) => format!("{}.{message}", contract.name),
            None => format!("message {message}"),
        }
    }

    fn show(&self, e: &TraceEvent) -> Option<String> {
        let sip = self.process(e.sip);
        let other = self.process(e.c as u32);
        let message = || format!("{} on channel {}", self.message(e.c >> 32, e.b), e.a);
        let is = |kind: TraceKind| e.kind == kind as u32;
        Some(if is(TraceKind::Send) {
            format!("{sip} -> {other}  {}", message())
        } else if is(TraceKind::Receive) {
            format!("{sip} <- {other}  {}", message())
        } else if is(TraceKind::Switch) {
            format!("thread {} of {} runs", e.a, self.process(e.b))
        } else if is(TraceKind::Create) {
            format!("{sip} made {}", self.process(e.a))
        } else if is(TraceKind::End) {
            let how = ["exit", "stop", "trap"].get(e.b as usize).unwrap_or(&"end");
            format!("{} ended: {how} {}", self.process(e.a), e.c as i32)
        } else if is(TraceKind::Lost) {
            format!("{} events were lost", e.a)
        } else {
            return None;
        })
    }
}

sing_sdk::arguments! {
    /// How long. Only the shell leaves it out, for `trace COMMAND`, and says by a channel when to
    /// end.
    seconds: optional Duration "SECONDS";
}

#[sing_sdk::main]
fn main(Arguments { seconds }: Arguments) -> Result<i32, Error> {
    let me = sing_sdk::process::id();
    let mut until = startup::until();
    let Some(time) = seconds.or(until.is_some().then_some(Duration::MAX)) else {
        return Ok(USAGE
            .refuse("SECONDS is missing: only the shell, for `trace COMMAND`, starts it without"));
    };
    let mut trace = match Trace::start() {
        Err(Error::Held) => {
            eprintln!("trace: four programs trace already; one of them has to end first");
            return Ok(1);
        }
        started => started?,
    };
    let mut names = Names::begin()?;
    let start = sing_sdk::time::uptime();
    // The answer to the first block lets the shell begin; the end of the channel ends the trace.
    until = until
        .and_then(|c| c.recv_write().ok())
        .map(|(_, c)| c.send_ack());
    let watches = until.is_some();
    loop {
        let over = sing_sdk::time::uptime().saturating_sub(start) >= time
            || (watches && until.as_ref().is_none_or(PipeContract::Exp::is_ready));
        let events = trace.read(Duration::from_millis(if over { 0 } else { 10 }).into())?;
        names.learn(&events)?;
        let mut text = String::new();
        // Tracing the printing of the trace would never end.
        let own = |e: &TraceEvent| e.sip == me || e.b == me && e.kind == TraceKind::Switch as u32;
        for event in events.iter().filter(|e| !own(e)) {
            if let Some(line) = names.show(event) {
                let at = Duration::from_nanos(event.time_ns).saturating_sub(start);
                text.push_str(&format!("{:>12.3} ms  {line}\n", at.as_secs_f64() * 1000.0));
            }
        }
        print!("{text}");
        if over && events.is_empty() {
            return Ok(0);
        }
    }
}
