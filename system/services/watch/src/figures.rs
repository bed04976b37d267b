//! The figures for Prometheus, in its text format 0.0.4.

use crate::event::PAGE;
use crate::look::{Look, Web};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{Display, Write};
use sing_sdk::inspect::Process;

/// The content type.
pub const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The most processes that have figures of their own, the first by number: what there are beside
/// them is in `singularity_processes`.
pub const MOST_PROCESSES: usize = 256;
/// The most characters of a label's value.
const MOST_LABEL: usize = 120;

/// What the service counts of its own viewers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Viewers {
    /// Those that there are.
    pub now: u64,
    /// Those that were too slow, so far.
    pub dropped: u64,
}

struct Figures(String);

type Label<'a> = (&'a str, &'a str);

impl Figures {
    /// Begins a family of figures.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        self.0.push_str(name);
        for (at, (key, text)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{key}=\"", if at == 0 { '{' } else { ',' });
            for c in text.chars().take(MOST_LABEL) {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    c => self.0.push(c),
                }
            }
            self.0.push('"');
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{close} {value}");
    }

    /// A family of one figure.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.value(name, &[], value);
    }

    /// A family with a figure of each process.
    fn each(
        &mut self,
        (name, kind, help): (&str, &str, &str),
        processes: &[Process],
        value: impl Fn(&Process) -> String,
    ) {
        self.family(name, kind, help);
        for process in processes.iter().take(MOST_PROCESSES) {
            let id = process.id.to_string();
            self.value(
                name,
                &[("id", &id), ("name", &process.name)],
                value(process),
            );
        }
    }
}

/// Nanoseconds as seconds.
fn seconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    format!("{whole}.{rest:09}")
}

/// All figures. `web`: what the web server says, if it does.
#[must_use]
pub fn text(look: &Look, web: Option<Web>, viewers: Viewers) -> String {
    let mut out = Figures(String::new());
    let (system, memory) = (&look.system, &look.memory);
    out.family("singularity_info", "gauge", "The system; always 1.");
    let labels = [
        ("machine", system.machine.as_str()),
        ("version", &system.version),
        ("scheduler", &system.scheduler),
    ];
    out.value("singularity_info", &labels, 1);
    let (gauge, counter) = ("gauge", "counter");
    let mut one = |name, kind, help, value: u64| out.one(name, kind, help, value);
    one(
        "singularity_cpus",
        gauge,
        "Processors in use.",
        system.cpus.into(),
    );
    one(
        "singularity_processes",
        gauge,
        "Processes.",
        memory.processes,
    );
    one("singularity_threads", gauge, "Threads.", memory.threads);
    one("singularity_channels", gauge, "Channels.", memory.channels);
    one("singularity_handles", gauge, "Handles.", memory.handles);
    let help = "Context switches since the start.";
    one(
        "singularity_context_switches_total",
        counter,
        help,
        system.switches,
    );
    let help = "Pre-emptions since the start.";
    one(
        "singularity_preemptions_total",
        counter,
        help,
        system.preemptions,
    );
    let help = "Memory that the machine has.";
    one(
        "singularity_memory_bytes",
        gauge,
        help,
        memory.total_pages * PAGE,
    );
    let help = "Memory in use.";
    one(
        "singularity_memory_used_bytes",
        gauge,
        help,
        memory.used_pages * PAGE,
    );
    let help = "Memory of the kernel's own objects.";
    one(
        "singularity_memory_kernel_bytes",
        gauge,
        help,
        memory.kernel_pages * PAGE,
    );
    let help = "Bytes in the exchange heap.";
    one("singularity_exchange_bytes", gauge, help, memory.allocated);
    let help = "Browsers that watch.";
    one("singularity_watch_viewers", gauge, help, viewers.now);
    let help = "Browsers that were let go because they read too slowly.";
    one(
        "singularity_watch_dropped_total",
        counter,
        help,
        viewers.dropped,
    );
    if let Some(web) = web {
        let help = "Connections to the web server.";
        one("singularity_web_connections", gauge, help, web.connections);
        let help = "Connections that the web server has taken.";
        one(
            "singularity_web_accepted_total",
            counter,
            help,
            web.accepted,
        );
        let help = "Requests to the web server.";
        one(
            "singularity_web_requests_total",
            counter,
            help,
            web.requests,
        );
        let help = "Requests that a program has not answered.";
        one("singularity_web_failed_total", counter, help, web.failed);
        if let Some((sent, dropped)) = web.spans {
            let help = "Spans that the collector has taken.";
            one("singularity_web_spans_sent_total", counter, help, sent);
            let help = "Spans that had no room, or that the collector has not taken.";
            one(
                "singularity_web_spans_dropped_total",
                counter,
                help,
                dropped,
            );
        }
    }
    let help = "Time since the start of the system.";
    out.one(
        "singularity_uptime_seconds",
        gauge,
        help,
        seconds(system.uptime_ns),
    );

    let all = &look.processes;
    let help = "Execution time of a process.";
    let family = ("singularity_process_cpu_seconds_total", counter, help);
    out.each(family, all, |p| seconds(p.cpu_ns));
    let help = "Pages that a process occupies, in bytes.";
    let family = ("singularity_process_memory_bytes", gauge, help);
    out.each(family, all, |p| (p.pages * PAGE).to_string());
    let help = "Bytes of a process in the exchange heap.";
    let family = ("singularity_process_exchange_bytes", gauge, help);
    out.each(family, all, |p| p.exchange.to_string());
    let help = "Threads of a process.";
    let family = ("singularity_process_threads", gauge, help);
    out.each(family, all, |p| p.threads.to_string());
    let help = "Handles of a process.";
    let family = ("singularity_process_handles", gauge, help);
    out.each(family, all, |p| p.handles.to_string());

    let help = "Whether a service serves.";
    out.family("singularity_service_up", gauge, help);
    for service in &look.services {
        let up = u32::from(service.state == "up");
        out.value("singularity_service_up", &[("service", &service.name)], up);
    }
    let name = "singularity_service_restarts_total";
    out.family(name, counter, "How often a service was started again.");
    for service in &look.services {
        out.value(name, &[("service", &service.name)], service.restarts);
    }
    out.0
}
