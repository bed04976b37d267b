//! The events of a browser: the whole of what a page shows, in one text of a bounded size. No event
//! needs the one before it, so that a viewer who misses some shows nothing wrong.

use crate::json::Object;
use crate::look::{Look, word};
use alloc::format;
use alloc::string::String;
use sing_sdk::inspect::{Channel, ChannelEnd, Process};

/// The most bytes of an event.
pub const MOST: usize = 144 << 10;
/// The most bytes of each table; with what stands beside them they are less than [`MOST`].
const PROCESSES: usize = 48 << 10;
const SERVICES: usize = 20 << 10;
const NAMES: usize = 20 << 10;
const CHANNELS: usize = 38 << 10;
const DEVICES: usize = 12 << 10;

/// The first event: whether this viewer may act, and why not.
#[must_use]
pub fn hello(refused: Option<&str>) -> String {
    let mut out = String::from("retry: 2000\nevent: hello\ndata: ");
    let mut object = Object::new(&mut out);
    object.flag("control", refused.is_none());
    object.text("why", refused.unwrap_or_default());
    object.end();
    out.push_str("\n\n");
    out
}

fn process(row: &mut Object<'_>, p: &Process) {
    row.number("id", p.id.into());
    row.number("parent", p.parent.into());
    row.text("name", &p.name);
    row.text("state", word(p.state));
    row.number("threads", p.threads.into());
    row.number("pages", p.pages);
    row.number("exchange", p.exchange);
    row.time("cpu", p.cpu_ns);
    row.number("handles", p.handles.into());
    row.number("charged", p.charged);
    row.maybe("budget", Some(p.budget));
    row.flag("essential", p.essential);
}

fn end(row: &mut Object<'_>, end: &ChannelEnd) {
    row.maybe("owner", end.owner.map(u64::from));
    row.text("name", &end.name);
    row.text("state", &end.state);
    row.number("queued", end.queued.into());
    row.flag("closed", end.closed);
}

fn channel(row: &mut Object<'_>, c: &Channel) {
    row.number("id", c.id.into());
    row.text("contract", &c.contract);
    row.list("ends", &c.ends, end);
    row.number("traced", c.traced.into());
}

/// An event of the whole system.
#[must_use]
pub fn look(look: &Look) -> String {
    let mut out = String::from("event: look\ndata: ");
    let mut event = Object::new(&mut out);
    let (system, memory) = (&look.system, &look.memory);
    event.number("now", look.now);
    event.time("uptime", system.uptime_ns);
    event.text("machine", &system.machine);
    event.text("version", &format!("Version {}", system.version));
    event.text("scheduler", &system.scheduler);
    event.number("cpus", system.cpus.into());
    event.object("memory", |row| {
        row.number("total", memory.total_pages * PAGE);
        row.number("used", memory.used_pages * PAGE);
        row.number("kernel", memory.kernel_pages * PAGE);
        row.number("exchange", memory.allocated);
    });
    event.object("counts", |row| {
        row.number("processes", memory.processes);
        row.number("threads", memory.threads);
        row.number("channels", memory.channels);
        row.number("handles", memory.handles);
    });
    let unseen = memory.processes;
    let unseen = unseen.saturating_sub(look.processes.len() as u64);
    event.table("processes", PROCESSES, unseen, &look.processes, process);
    event.table("services", SERVICES, 0, &look.services, |row, s| {
        row.text("name", &s.name);
        row.text("state", &s.state);
        row.number("process", s.process.into());
        row.number("restarts", s.restarts.into());
        row.time("since", s.since);
        row.text("reason", &s.reason);
    });
    event.table("names", NAMES, look.names_left, &look.names, |row, n| {
        row.text("path", &n.path);
        row.text("kind", n.kind);
        row.text("detail", &n.detail);
    });
    event.time("names_age", look.names_age);
    event.table("devices", DEVICES, 0, &look.devices, |row, d| {
        row.text("location", &d.location);
        row.text("signature", &d.signature);
        row.text("names", &d.names);
        row.text("driver", &d.driver);
        row.text("service", &d.service);
        row.text("state", &d.state);
        row.number("process", d.process.into());
        row.number("restarts", d.restarts.into());
    });
    let unseen = memory.channels.saturating_sub(look.channels.len() as u64);
    event.table("channels", CHANNELS, unseen, &look.channels, channel);
    event.end();
    out.push_str("\n\n");
    out
}

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
