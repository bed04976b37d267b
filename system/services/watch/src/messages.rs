//! The messages of the system, as the chart of the page shows them: what the kernel has traced, kept
//! for all viewers, and for each what is new to it.
//!
//! Invariants:
//! - As many are kept as [`KEPT`], and names as many as [`NAMES`], whatever happens; a text has
//!   [`MOST`] bytes at most, and is made in time that is bounded by what is kept.
//! - Messages of this service are not kept: to show one would make the next.
//! - What a viewer misses is counted for it, before what comes behind the gap.

use crate::json::Object;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sing_sdk::inspect::{Channel, Contract, Process, TraceEvent, TraceKind};

/// The most that are kept.
pub const KEPT: usize = 8_192;
/// The most processes whose names are known: those that were heard of last.
const NAMES: usize = 4_096;
/// As many are left of too many.
const NAMES_LEFT: usize = NAMES / 4 * 3;
/// The most that a viewer is shown at once, the latest.
const ROWS: usize = 200;
/// The most bytes of an event.
pub const MOST: usize = 48 << 10;
/// The most bytes of its rows and of its names: with what stands beside them less than [`MOST`].
const ROW_BYTES: usize = 32 << 10;
const NAME_BYTES: usize = 12 << 10;
/// The kinds of events that are looked at.
pub const KINDS: [TraceKind; 3] = [TraceKind::Send, TraceKind::Create, TraceKind::End];

/// The contracts by which a page goes from this service to the network's card, a step a line.
const WAY: [&[&str]; 3] = [
    &["WebServiceContract", "WebContract"],
    &["TcpConnectionContract", "TcpListenContract"],
    &["NicContract", "HostSocketsContract"],
];

/// What a viewer wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Processes by number, or by a part of the name in lower case; all if there are none.
    of: Vec<String>,
    /// Also what goes to and fro between the processes that carry the page.
    page: bool,
}

impl Filter {
    /// The most words, and characters of each.
    const WORDS: usize = 12;
    const CHARACTERS: usize = 40;

    /// Of words between commas or spaces.
    #[must_use]
    pub fn new(of: &str, page: bool) -> Filter {
        let words = of.split([',', ' ']).filter(|word| !word.is_empty());
        let cut = |word: &str| {
            let word = word.chars().take(Filter::CHARACTERS);
            word.flat_map(char::to_lowercase).collect()
        };
        Filter {
            of: words.take(Filter::WORDS).map(cut).collect(),
            page,
        }
    }

    fn wants(&self, id: u32, name: &str) -> bool {
        let (id, name) = (id.to_string(), name.to_lowercase());
        self.of
            .iter()
            .any(|word| *word == id || name.contains(word.as_str()))
    }
}

/// How far a viewer has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    next: u64,
    lost: u64,
    /// Whether it knows already that there is something to be seen.
    begun: bool,
}

/// Something that has happened.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time_ns: u64,
    what: What,
    /// The process that acted, and the one that it acted on.
    from: u32,
    to: u32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Message {
        channel: u32,
        contract: u32,
        message: u32,
    },
    Made,
    Ended {
        how: u32,
        code: i32,
    },
}

/// The name of a process.
#[derive(Debug)]
struct Name {
    text: String,
    /// When it was last heard of, by [`Messages::heard`].
    heard: u64,
}

/// All of it.
#[derive(Debug)]
pub struct Messages {
    /// This process.
    me: u32,
    /// By number.
    contracts: Vec<Contract>,
    images: Vec<String>,
    names: BTreeMap<u32, Name>,
    /// How often something was heard of a process.
    heard: u64,
    /// The processes that carry the page.
    carriers: Vec<u32>,
    entries: VecDeque<Entry>,
    /// The number of the first of them.
    first: u64,
    /// Events that the kernel had no room for.
    lost: u64,
    /// Whether something was seen of a process, or of a contract, that is not known.
    strange: Strange,
}

/// What is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strange {
    /// The name of a process.
    pub process: bool,
    /// A contract: they are numbered when a program that uses them is first started.
    pub contract: bool,
}

impl Messages {
    /// None yet, in a system of these images.
    #[must_use]
    pub fn new(me: u32, images: Vec<String>) -> Messages {
        Messages {
            me,
            contracts: Vec::new(),
            images,
            strange: Strange::default(),
            names: BTreeMap::new(),
            heard: 0,
            carriers: Vec::new(),
            entries: VecDeque::new(),
            first: 0,
            lost: 0,
        }
    }

    /// Learns the contracts that there are.
    pub fn learn_contracts(&mut self, mut contracts: Vec<Contract>) {
        contracts.sort_unstable_by_key(|c| c.id);
        self.contracts = contracts;
    }

    /// What was not known of what has come since this was last asked.
    pub fn take_strange(&mut self) -> Strange {
        core::mem::take(&mut self.strange)
    }

    /// Learns names.
    pub fn learn_names(&mut self, processes: &[Process]) {
        for process in processes {
            self.name(process.id, &process.name);
        }
    }

    /// Learns names, and who carries the page.
    pub fn learn(&mut self, processes: &[Process], channels: &[Channel]) {
        self.learn_names(processes);
        let mut all = alloc::vec![self.me];
        let (mut here, mut next) = (alloc::vec![self.me], Vec::new());
        for contracts in WAY {
            let of = |c: &&Channel| contracts.contains(&c.contract.as_str());
            for channel in channels.iter().filter(of) {
                let [a, b] = channel.ends.each_ref().map(|end| end.owner.unwrap_or(0));
                for (one, other) in [(a, b), (b, a)] {
                    if here.contains(&one) && other != 0 && !all.contains(&other) {
                        all.push(other);
                        next.push(other);
                    }
                }
            }
            here = core::mem::take(&mut next);
        }
        self.carriers = all;
    }

    fn name(&mut self, id: u32, name: &str) {
        if self.hear(id) && self.names.get(&id).is_some_and(|known| known.text == name) {
            return;
        }
        let name = Name {
            text: name.into(),
            heard: self.heard,
        };
        self.names.insert(id, name);
        if self.names.len() > NAMES {
            // Many at once, as each of them is looked at.
            let mut heard: Vec<u64> = self.names.values().map(|name| name.heard).collect();
            let (_, oldest, _) = heard.select_nth_unstable(self.names.len() - NAMES_LEFT);
            self.names.retain(|_, name| name.heard >= *oldest);
        }
    }

    /// Notes that a process does something: whether its name is known.
    fn hear(&mut self, id: u32) -> bool {
        self.heard += 1;
        let name = self.names.get_mut(&id);
        name.map(|name| name.heard = self.heard).is_some()
    }

    /// Keeps what the kernel has traced.
    pub fn note(&mut self, events: &[TraceEvent]) {
        for event in events {
            let is = |kind: TraceKind| event.kind == kind as u32;
            if is(TraceKind::Lost) {
                self.lost += u64::from(event.a);
                continue;
            }
            let (what, to) = if is(TraceKind::Send) {
                let what = What::Message {
                    channel: event.a,
                    contract: (event.c >> 32) as u32,
                    message: event.b,
                };
                (what, event.c as u32)
            } else if is(TraceKind::Create) {
                let at = usize::try_from(event.c).ok();
                let image = at.and_then(|at| self.images.get(at.checked_sub(1)?));
                if let Some(image) = image.cloned() {
                    self.name(event.a, &image);
                }
                (What::Made, event.a)
            } else if is(TraceKind::End) {
                let (how, code) = (event.b, event.c as i32);
                (What::Ended { how, code }, event.a)
            } else {
                continue;
            };
            if event.sip == self.me || to == self.me {
                continue;
            }
            for id in [event.sip, to] {
                self.strange.process |= id != 0 && !self.hear(id);
            }
            if let What::Message { contract, .. } = what {
                let at = self.contracts.binary_search_by_key(&contract, |c| c.id);
                self.strange.contract |= at.is_err();
            }
            if self.entries.len() == KEPT {
                self.entries.pop_front();
                self.first += 1;
            }
            self.entries.push_back(Entry {
                time_ns: event.time_ns,
                what,
                from: event.sip,
                to,
            });
        }
    }

    /// For a viewer who begins.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor {
            next: self.first + self.entries.len() as u64,
            lost: self.lost,
            begun: false,
        }
    }

    fn is_wanted(&self, entry: &Entry, filter: &Filter, known: &mut BTreeMap<u32, bool>) -> bool {
        let carries = |id| self.carriers.contains(&id);
        if !filter.page && carries(entry.from) && carries(entry.to) {
            return false;
        }
        let mut wants = |id: u32| {
            let name = || self.names.get(&id).map_or("", |name| &name.text);
            *known.entry(id).or_insert_with(|| filter.wants(id, name()))
        };
        filter.of.is_empty() || wants(entry.from) || wants(entry.to)
    }

    /// An event with what is new to a viewer; `None` if nothing is.
    pub fn event(&self, cursor: &mut Cursor, filter: &Filter) -> Option<String> {
        // What was taken out since the viewer has looked, and what the kernel had no room for.
        let gap = self.first.saturating_sub(cursor.next);
        let mut lost = gap + (self.lost - cursor.lost);
        let at = cursor.next.saturating_sub(self.first);
        let new = self.entries.iter().skip(at as usize);
        let mut known = BTreeMap::new();
        let mut rows: VecDeque<&Entry> = VecDeque::new();
        for entry in new.filter(|entry| self.is_wanted(entry, filter, &mut known)) {
            if rows.len() == ROWS {
                rows.pop_front();
                lost += 1;
            }
            rows.push_back(entry);
        }
        let first = !cursor.begun;
        *cursor = Cursor {
            begun: true,
            ..self.cursor()
        };
        if rows.is_empty() && lost == 0 && !first {
            return None;
        }
        let mut ids: Vec<u32> = rows.iter().flat_map(|e| [e.from, e.to]).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut out = String::from("event: messages\ndata: ");
        let mut event = Object::new(&mut out);
        event.flag("on", true);
        event.number("lost", lost);
        let names = ids.iter().filter_map(|id| self.names.get_key_value(id));
        event.table("names", NAME_BYTES, 0, names, |row, (id, name)| {
            row.number("id", (*id).into());
            row.text("name", &name.text);
        });
        event.table("rows", ROW_BYTES, 0, rows, |row, entry| {
            self.row(row, entry);
        });
        event.end();
        out.push_str("\n\n");
        Some(out)
    }

    fn row(&self, row: &mut Object<'_>, entry: &Entry) {
        row.time("time", entry.time_ns);
        row.number("from", entry.from.into());
        row.number("to", entry.to.into());
        match entry.what {
            What::Message {
                channel,
                contract,
                message,
            } => {
                row.text("kind", "message");
                row.number("channel", channel.into());
                let at = self.contracts.binary_search_by_key(&contract, |c| c.id);
                let of = at.ok().and_then(|at| self.contracts.get(at));
                row.text("contract", of.map_or("", |c| c.name.as_str()));
                let name = of.and_then(|c| c.messages.get(message as usize));
                let name = name
                    .cloned()
                    .unwrap_or_else(|| format!("message {message}"));
                row.text("message", &name);
            }
            What::Made => row.text("kind", "made"),
            What::Ended { how, code } => {
                row.text("kind", "ended");
                let word = ["exit", "stop", "trap"].get(how as usize).unwrap_or(&"end");
                row.text("message", &format!("{word} {code}"));
            }
        }
    }
}

/// The event that says why nothing is recorded.
#[must_use]
pub fn refused(why: &str) -> String {
    let mut out = String::from("event: messages\ndata: ");
    let mut event = Object::new(&mut out);
    event.flag("on", false);
    event.text("why", why);
    event.end();
    out.push_str("\n\n");
    out
}
