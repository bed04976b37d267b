//! Answers requests.
//!
//! Invariants:
//! - A viewer who does not take an event in time is let go; none is given more than one at a time.
//! - Viewers and threads are counted as long as they are there, however they end.
//! - Beside the text of one event for each viewer, one look is kept, without its largest table.

use crate::collect::Collector;
use crate::tracer::{Tracer, Watcher};
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use sing_sdk::client;
use sing_sdk::inspect;
use sing_sdk::io::Writer;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::stop;
use sing_sdk::sync::Mutex;
use sing_sdk::system;
use sing_sdk::thread;
use sing_sdk::time::{Timeout, sleep, uptime};
use sing_sdk::web::{self, Request, Response};
use watch::access::{self, Refused};
use watch::figures::{self, Viewers};
use watch::look::{Look, Web};
use watch::messages::{self, Filter};
use watch::{event, pages};

/// The most requests at a time: the web server's configuration allows fewer.
const TALKS: u32 = 24;
/// The most of them that follow events.
const VIEWERS: u32 = 8;
/// How old a look may be.
const AGE: Duration = Duration::from_millis(900);
/// Between two events.
const PERIOD: Duration = Duration::from_secs(1);
/// Between two events with messages.
const MESSAGES: Duration = Duration::from_millis(250);
/// How long a viewer may take for a part of an event.
const SLOW: Duration = Duration::from_secs(5);
/// How long events are sent over one request; the browser asks again. The web server's deadline for
/// it is longer.
const LIFE: Duration = Duration::from_secs(50);
/// Bytes that are written at once.
const PIECE: usize = 32 << 10;
/// How long a look is waited for that another takes.
const PATIENCE: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(20);

/// A look, and the event that shows it. A viewer keeps the event alone, as long as it takes it.
struct Taken {
    /// Without what only events show.
    look: Look,
    event: Arc<String>,
}

pub struct App {
    key: Option<String>,
    open: bool,
    talks: AtomicU32,
    viewers: AtomicU32,
    dropped: AtomicU32,
    /// Held by who takes a look.
    collector: Mutex<Collector>,
    tracer: Arc<Tracer>,
    /// Held by who binds a service to ask it.
    names: Mutex<Names>,
    last: Mutex<Option<(Duration, Arc<Taken>)>>,
}

/// One of a bounded number, as long as it is kept.
struct Place(Arc<App>, fn(&App) -> &AtomicU32);

impl Place {
    fn take(app: &Arc<App>, of: fn(&App) -> &AtomicU32, most: u32) -> Option<Place> {
        let place = Place(Arc::clone(app), of);
        // One too many is given back when it is dropped.
        (of(app).fetch_add(1, Ordering::Relaxed) < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers what comes over a channel, in a thread; closes it if there are too many.
pub fn serve(app: &Arc<App>, requests: WebContract::Exp<WebContract::Start>) {
    let Some(place) = Place::take(app, |app| &app.talks, TALKS) else {
        return;
    };
    let run = move || {
        // The web server says what becomes of a request that is not answered.
        let _ = web::serve(requests, |request| answer(&place.0, &request));
    };
    if let Err(error) = thread::spawn(run) {
        sing_sdk::log!("no thread for a request: {error}");
    }
}

fn answer(app: &Arc<App>, request: &Request) -> Response {
    let path = request.path();
    let path = path.strip_suffix('/').unwrap_or(path);
    let acts = matches!(path, "/system/kill" | "/system/service");
    match (request.method.as_str(), acts) {
        ("POST", true) | ("GET" | "HEAD", false) => {}
        (_, acts) => {
            let allowed = if acts { "POST" } else { "GET, HEAD" };
            return text(405, "this cannot be done here").header("allow", allowed);
        }
    }
    if acts {
        return match access::may_act(request, app.key()) {
            Ok(()) => act(app, request, path),
            Err(why) => refused(why),
        };
    }
    if let Some(file) = pages::file(path) {
        return file;
    }
    if !matches!(path, "/system/events" | "/metrics") {
        return text(404, "there is nothing of this name; the page is at /system");
    }
    if let Err(why) = access::may_see(request, app.key(), app.open) {
        return refused(why);
    }
    match path {
        "/metrics" => metrics(app),
        _ => events(app, request),
    }
}

fn text(status: u16, words: &str) -> Response {
    pages::safe(Response::text(&format!("{words}\n")).status(status))
}

fn refused(why: Refused) -> Response {
    text(403, why)
}

fn busy(why: &str) -> Response {
    text(503, why).header("retry-after", "5")
}

fn metrics(app: &Arc<App>) -> Response {
    let Some(taken) = app.look() else {
        return busy("the system does not say how it is");
    };
    let viewers = Viewers {
        now: app.viewers.load(Ordering::Relaxed).into(),
        dropped: app.dropped.load(Ordering::Relaxed).into(),
    };
    let figures = figures::text(&taken.look, app.web().ok(), viewers);
    pages::safe(Response::bytes(figures::KIND, figures.as_bytes()))
}

fn events(app: &Arc<App>, request: &Request) -> Response {
    let Some(place) = Place::take(app, |app| &app.viewers, VIEWERS) else {
        return busy("as many watch as may");
    };
    let hello = event::hello(access::may_act(request, app.key()).err());
    // `messages` asks for those as well: of some processes, or with what carries this.
    let wanted = request.parameter("messages").map(|of| {
        let page = request.parameter("page").is_some_and(|page| page == "1");
        Filter::new(&of, page)
    });
    let stream = Response::stream("text/event-stream", move |out| {
        let app = &place.0;
        let followed = follow(app, hello, wanted, out);
        if followed == Err(Error::Timeout) {
            app.dropped.fetch_add(1, Ordering::Relaxed);
        }
        followed
    });
    pages::safe(stream)
}

/// Writes bytes to a reader who takes them in time.
fn write(out: &mut Writer, bytes: &[u8]) -> Result<(), Error> {
    for piece in bytes.chunks(PIECE) {
        out.settle_within(Timeout::from(SLOW))?;
        out.write(piece)?;
    }
    out.settle_within(Timeout::from(SLOW))
}

fn follow(app: &App, hello: String, wanted: Option<Filter>, out: &mut Writer) -> Result<(), Error> {
    let begin = uptime();
    write(out, hello.as_bytes())?;
    let mut watcher = match wanted.map(|filter| app.tracer.watch(filter)) {
        Some(Ok(watcher)) => Some(watcher),
        Some(Err(error)) => {
            write(out, messages::refused(&why_not(error)).as_bytes())?;
            None
        }
        None => None,
    };
    let step = watcher.as_ref().map_or(PERIOD, |_| MESSAGES);
    let mut look = begin;
    while uptime().saturating_sub(begin) < LIFE {
        let next = uptime() + step;
        if let Some(event) = watcher.as_mut().map(Watcher::event).transpose()?.flatten() {
            write(out, event.as_bytes())?;
        }
        if uptime() >= look {
            look = uptime() + PERIOD;
            let event = Arc::clone(&app.look().ok_or(Error::Timeout)?.event);
            write(out, event.as_bytes())?;
        }
        sleep(next.saturating_sub(uptime()));
    }
    Ok(())
}

fn why_not(error: Error) -> String {
    match error {
        Error::Held => "four programs trace already: end one of them, such as `trace`".into(),
        error => format!("messages are not recorded: {error}"),
    }
}

/// Ends a process, or starts, stops or restarts a service.
fn act(app: &App, request: &Request, path: &str) -> Response {
    let (status, words) = match path {
        "/system/kill" => kill(request),
        _ => control(app, request),
    };
    let peer = request.header("x-peer").unwrap_or_default();
    sing_sdk::log!("for {peer}: {words}");
    text(status, &words)
}

type Done = (u16, String);
type Control = ServiceControlContract::Imp<ServiceControlContract::Ready>;

fn kill(request: &Request) -> Done {
    let id = request
        .parameter("id")
        .and_then(|id| id.parse::<u32>().ok());
    let Some(id) = id else {
        return (400, "`id` is the number of a process".into());
    };
    let name = match inspect::processes() {
        Ok(all) => all.into_iter().find(|p| p.id == id).map(|p| p.name),
        Err(error) => return (503, error.to_string()),
    };
    let Some(name) = name else {
        return (404, format!("there is no process {id} any more"));
    };
    if request
        .parameter("name")
        .is_some_and(|wanted| wanted != name)
    {
        return (409, format!("process {id} is {name}: nothing was ended"));
    }
    match system::stop(id, stop::KILLED) {
        Ok(()) => (200, format!("{name} ({id}) is killed")),
        Err(Error::NotFound) => (404, format!("there is no process {id} any more")),
        Err(Error::NotPermitted) => {
            let why = "the system cannot do without it, and would end";
            (409, format!("{name} ({id}) is not killed: {why}"))
        }
        Err(error) => (503, format!("{name} ({id}) is not killed: {error}")),
    }
}

fn control(app: &App, request: &Request) -> Done {
    use ServiceControlContract::imp::{
        Ready_RestartService as Restart, Ready_StartService as Start, Ready_StopService as Stop,
    };
    let name = request.parameter("name").unwrap_or_default();
    let verb = request.parameter("do").unwrap_or_default();
    if !matches!(verb.as_str(), "start" | "stop" | "restart") {
        return (400, "`do` is start, stop or restart".into());
    }
    let asked = app.with_manager(|manager| {
        let text = Text::new(&name)?;
        Ok(match verb.as_str() {
            "start" => match manager.call_start_service(text) {
                Start::Done(_) => None,
                Start::Refused(why, _) => Some(why),
                Start::Closed => return Err(Error::Closed),
            },
            "stop" => match manager.call_stop_service(text) {
                Stop::Done(_) => None,
                Stop::Refused(why, _) => Some(why),
                Stop::Closed => return Err(Error::Closed),
            },
            _ => match manager.call_restart_service(text) {
                Restart::Done(_) => None,
                Restart::Refused(why, _) => Some(why),
                Restart::Closed => return Err(Error::Closed),
            },
        })
    });
    match asked {
        Ok(None) => (200, format!("{name}: {verb} is done")),
        Ok(Some(ServiceRefusal::NotFound)) => (404, format!("{name}: there is no such service")),
        Ok(Some(ServiceRefusal::SoAlready)) => (409, format!("{name}: it is so already")),
        Ok(Some(ServiceRefusal::Needed)) => (
            409,
            format!("{name}: nothing works without it; it can be restarted"),
        ),
        Err(error) => (503, format!("{name}: the service manager: {error}")),
    }
}

impl App {
    pub fn new(key: Option<String>, open: bool, collector: Collector, names: Names) -> App {
        App {
            key,
            open,
            talks: AtomicU32::new(0),
            viewers: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            collector: Mutex::new(collector),
            tracer: Arc::default(),
            names: Mutex::new(names),
            last: Mutex::new(None),
        }
    }

    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The last look if it is not old, else another; `None` if the system does not answer. While
    /// somebody takes one, others show an older one: they would wait as long as the slowest disk.
    fn look(&self) -> Option<Arc<Taken>> {
        let end = uptime() + PATIENCE;
        loop {
            let last = self.last.lock().clone();
            let fresh = |at: Duration| uptime().saturating_sub(at) < AGE;
            if let Some((at, taken)) = &last
                && fresh(*at)
            {
                return Some(Arc::clone(taken));
            }
            if let Some(collector) = self.collector.try_lock() {
                let mut look = collector.look().ok()?;
                self.tracer.learn(&look);
                let event = Arc::new(event::look(&look));
                look.keep_figures();
                let taken = Arc::new(Taken { look, event });
                *self.last.lock() = Some((uptime(), Arc::clone(&taken)));
                return Some(taken);
            }
            match last {
                Some((_, taken)) => return Some(taken),
                None if uptime() >= end => return None,
                None => sleep(MOMENT),
            }
        }
    }

    /// What the web server has counted: it runs, as this is asked through it.
    fn web(&self) -> Result<Web, Error> {
        let mut names = self.names.lock();
        let server = client::reach(&mut names, "/httpd", |names, path| {
            let (server, exp) = WebServerContract::new_channel()?;
            names.bind(path, exp)?;
            Ok(server.recv_success()?)
        })?;
        drop(names);
        let (text, _) = server.call_get_status().status()?;
        Ok(Web::read(&text.to_lossy()))
    }

    fn with_manager<T>(&self, ask: impl FnOnce(Control) -> Result<T, Error>) -> Result<T, Error> {
        let mut names = self.names.lock();
        let manager = client::reach(&mut names, "/services", |names, path| {
            let (manager, exp) = ServiceControlContract::new_channel()?;
            names.bind(path, exp)?;
            Ok(manager.recv_success()?)
        })?;
        drop(names);
        ask(manager)
    }
}
