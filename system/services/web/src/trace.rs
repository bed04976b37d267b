//! What a request says of itself for a collector: a span for the request, one within it for each step
//! of a program's process and each request to the file system.
//!
//! Invariants:
//! - A request of which nothing is recorded makes no span and asks for no time.
//! - A request has at most so many spans, and each a bounded size.

use crate::server::Id;
use crate::spans::Spans;
use crate::wire::Lost;
use core::net::IpAddr;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::process::Child;
use sing_sdk::time::{uptime, utc};
use spans::context::Context;
use spans::record::text;
use spans::{Kind, Span, Value};
use web::head::Head;

/// The most spans of a request: a large file is read in many pieces.
const MOST: usize = 16;

pub type Attribute = (&'static str, Value);

/// What is recorded of a request, if anything is.
pub struct Trace<'a>(Option<Recorded<'a>>);

struct Recorded<'a> {
    of: &'a Spans,
    /// The request's own span.
    own: Context,
    /// The program's, when it runs: within it is done what the program asks others for.
    run: u64,
    parent: u64,
    /// The clock's time when the system started: what a clock that is set does to times is the same
    /// for all spans of a request.
    start: Duration,
    begin: Duration,
    spans: Vec<Span>,
    status: u16,
    /// The path below which a program answers.
    route: Option<String>,
    attributes: Vec<(String, Value)>,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn owned(attributes: Vec<Attribute>) -> Vec<(String, Value)> {
    let owned = |(key, value): Attribute| (key.into(), value);
    attributes.into_iter().map(owned).collect()
}

/// The context that a request says. One that says two says none.
fn context(head: &Head) -> Option<Context> {
    let mut all = head.headers.iter().filter(|h| h.name == "traceparent");
    let (first, second) = (all.next()?, all.next());
    let text = core::str::from_utf8(&first.value).ok()?;
    Context::read(text).filter(|_| second.is_none())
}

impl<'a> Trace<'a> {
    /// Of a request that begins now. Nothing if no collector is named, or whoever has made the request
    /// does not record it.
    pub fn begin(of: Option<&'a Spans>, head: &Head, peer: IpAddr, id: Id) -> Trace<'a> {
        let Some(of) = of else {
            return Trace(None);
        };
        let context = context(head);
        if context.is_some_and(|context| !context.sampled) {
            return Trace(None);
        }
        let (path, query) = match head.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (head.target.as_str(), None),
        };
        let version = if head.modern { "1.1" } else { "1.0" };
        let mut attributes: Vec<Attribute> = vec![
            ("http.request.method", Value::Text(text(&head.method))),
            ("url.scheme", Value::Text("http".into())),
            ("url.path", Value::Text(text(path))),
            ("network.protocol.version", Value::Text(version.into())),
            ("client.address", Value::Text(peer.to_string())),
            ("singularity.request.id", Value::Text(id.to_string())),
        ];
        if let Some(query) = query {
            attributes.push(("url.query", Value::Text(text(query))));
        }
        let now = uptime();
        Trace(Some(Recorded {
            of,
            own: Context {
                trace: context.map_or_else(|| of.numbers.trace(), |context| context.trace),
                span: of.numbers.next(),
                sampled: true,
            },
            run: of.numbers.next(),
            parent: context.map_or(0, |context| context.span),
            start: utc().saturating_sub(now),
            begin: now,
            spans: Vec::new(),
            status: 0,
            route: None,
            attributes: owned(attributes),
        }))
    }

    /// The header for a program, in place of the client's own.
    pub fn parent(&self) -> Option<String> {
        let of = self.0.as_ref()?;
        let context = Context {
            span: of.run,
            ..of.own
        };
        Some(context.show())
    }

    /// Whether the client's `tracestate` belongs to what its `traceparent` says.
    pub fn goes_on(&self) -> bool {
        self.0.as_ref().is_none_or(|of| of.parent != 0)
    }

    /// When a step begins.
    pub fn now(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |_| uptime())
    }

    /// The status of the answer has been said.
    pub fn answered(&mut self, status: u16) {
        if let Some(of) = &mut self.0 {
            of.status = status;
        }
    }

    /// The path below which a program answers.
    pub fn route(&mut self, path: &str) {
        if let Some(of) = &mut self.0 {
            of.route = Some(path.into());
        }
    }

    /// A step that has begun then, and ends now.
    fn step(&mut self, id: u64, begin: Duration, step: impl FnOnce() -> Step) {
        let Some(of) = self.0.as_mut().filter(|of| of.spans.len() < MOST) else {
            return;
        };
        let step = step();
        of.spans.push(Span {
            trace: of.own.trace,
            id: if id == 0 { of.of.numbers.next() } else { id },
            parent: of.own.span,
            begin: nanos(of.start + begin),
            end: nanos(of.start + uptime()),
            kind: step.kind,
            name: step.name,
            failure: step.failure,
            attributes: owned(step.attributes),
        });
    }

    /// A step of a program's process: what is done, why it has failed (as an `error.type` and in
    /// words), whose it is.
    pub fn process(
        &mut self,
        what: Process,
        begin: Duration,
        (program, child): (&str, Option<&Child>),
        failure: Option<(&'static str, &str)>,
    ) {
        let (id, word) = match (what, &self.0) {
            (Process::Run, Some(of)) => (of.run, "run"),
            (Process::Run, None) => (0, "run"),
            (Process::Create, _) => (0, "create"),
            (Process::End, _) => (0, "end"),
        };
        self.step(id, begin, || {
            let mut attributes: Vec<Attribute> =
                vec![("process.executable.name", Value::Text(program.into()))];
            if let Some(child) = child {
                attributes.push(("process.pid", Value::Number(child.id().into())));
            }
            if let Some((kind, _)) = failure {
                attributes.push(("error.type", Value::Text(kind.into())));
            }
            Step {
                kind: Kind::Internal,
                name: format!("{word} {program}"),
                failure: failure.map(|(_, why)| text(why)),
                attributes,
            }
        });
    }

    /// A request to the file system, with its offset and bytes if it is to read.
    pub fn file(
        &mut self,
        name: &'static str,
        begin: Duration,
        path: Option<&str>,
        failure: Option<&Error>,
    ) {
        self.step(0, begin, || {
            let mut attributes: Vec<Attribute> = Vec::new();
            if let Some(path) = path {
                attributes.push(("file.path", Value::Text(text(path))));
            }
            if let Some(error) = failure {
                attributes.push(("error.type", Value::Text(text(&error.to_string()))));
            }
            Step {
                kind: Kind::Client,
                name: name.into(),
                failure: failure.map(ToString::to_string),
                attributes,
            }
        });
    }

    /// The request has been answered, or cannot be.
    pub fn end(&mut self, method: &str, outcome: &Result<(), Lost>) {
        let Some(mut of) = self.0.take() else {
            return;
        };
        let failure = match outcome {
            Ok(()) if of.status >= 500 => Some(of.status.to_string()),
            Ok(()) => None,
            Err(Lost::Slow) => Some("the client is too slow".into()),
            Err(Lost::Gone | Lost::Over) => Some("the connection has ended".into()),
        };
        let method = text(method);
        let mut attributes: Vec<Attribute> = Vec::new();
        if of.status != 0 {
            let status = Value::Number(of.status.into());
            attributes.push(("http.response.status_code", status));
        }
        if let Some(failure) = &failure {
            attributes.push(("error.type", Value::Text(failure.clone())));
        }
        let name = match of.route {
            Some(route) => {
                attributes.push(("http.route", Value::Text(text(&route))));
                format!("{method} {route}")
            }
            None => method,
        };
        of.attributes.extend(owned(attributes));
        of.spans.push(Span {
            trace: of.own.trace,
            id: of.own.span,
            parent: of.parent,
            begin: nanos(of.start + of.begin),
            end: nanos(of.start + uptime()),
            kind: Kind::Server,
            name,
            failure: failure.map(|_| String::new()),
            attributes: of.attributes,
        });
        of.of.give(of.spans);
    }
}

struct Step {
    kind: Kind,
    name: String,
    failure: Option<String>,
    attributes: Vec<Attribute>,
}

/// What is done with a program's process.
#[derive(Clone, Copy)]
pub enum Process {
    /// It is waited for, or made.
    Create,
    /// It answers.
    Run,
    /// It is ended, or given back.
    End,
}
