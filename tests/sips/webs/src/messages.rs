//! Messages as a browser sees them: beside another program that traces, each with all of its own
//! events; not when as many trace as may; and recorded no longer than somebody watches.

use crate::client::Client;
use crate::watch::Test;
use core::time::Duration;
use sing_sdk::client::Client as Asker;
use sing_sdk::inspect::{self, Trace, TraceKind};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, stop};
use sing_sdk::thread::sleep;
use sing_sdk::time::{Timeout, uptime};

/// How long something may take.
const TIME: Duration = Duration::from_secs(10);
/// Between two looks.
const MOMENT: Duration = Duration::from_millis(50);
/// Longer than the events of messages are apart.
const EVENTS: Duration = Duration::from_millis(600);
/// The most programs that trace at a time.
const TRACERS: usize = 4;
/// Longer than the service takes to learn that its last viewer has gone.
const SETTLED: Duration = Duration::from_secs(3);
/// How often the clock is asked.
const ASKED: usize = 10;

/// A program that traces. What it prints is not read: it waits with it.
struct Tracer {
    child: Child,
    _output: PipeContract::Exp<PipeContract::Start>,
}

impl Tracer {
    fn start() -> Result<Tracer, Error> {
        let (stdout, output) = PipeContract::new_channel()?;
        let child = Child::of("trace").arg("trace").arg("1000");
        Ok(Tracer {
            child: child.endpoint("stdout", stdout).start()?,
            _output: output,
        })
    }
}

impl Test<'_> {
    /// Follows messages of some processes.
    fn messages(&mut self, of: &str) -> Result<Client, Error> {
        self.follow(&format!("?messages={of}"))
    }

    /// All of it.
    pub fn recorded(&mut self) -> Result<(), Error> {
        self.two_readers()?;
        self.too_many()?;
        self.tally
            .holds("nobody traces any more", is_quiet(self.names)?);
        Ok(())
    }

    /// The service and this program both get each message to the clock.
    fn two_readers(&mut self) -> Result<(), Error> {
        let mut viewer = self.messages("clock")?;
        self.tally
            .holds("recording", comes(&mut viewer, "{\"on\":true,"));
        let mut trace = Trace::of(&[TraceKind::Send])?;
        for _ in 0..ASKED {
            ask_clock(self.names)?;
        }
        let me = u64::from(sing_sdk::process::id());
        let clock = inspect::processes()?
            .into_iter()
            .find(|p| p.name == "clock");
        let clock = clock.map_or(0, |clock| clock.id);
        let mut own = 0;
        let mut only_sends = true;
        loop {
            let events = trace.read(Timeout::NONE)?;
            if events.is_empty() {
                break;
            }
            only_sends &= events.iter().all(|e| e.kind == TraceKind::Send as u32);
            let answers = events
                .iter()
                .filter(|e| e.sip == clock && e.c & 0xffff_ffff == me);
            own += answers.count();
        }
        self.tally.holds("each answer of the clock", own >= ASKED);
        self.tally
            .holds("the kinds that were asked for", only_sends);
        let words = "\"contract\":\"ClockContract\",\"message\":\"Utc\"";
        let end = uptime() + TIME;
        while viewer.text().matches(words).count() < ASKED && uptime() < end {
            viewer.more_within(EVENTS);
        }
        let text = viewer.text();
        let seen = text.matches(words).count();
        if seen != ASKED {
            println!("{seen} answers of the clock were shown");
        }
        self.tally.holds("each answer is shown once", seen == ASKED);
        let of = format!("\"to\":{clock},");
        self.tally.holds("what it was asked", text.contains(&of));
        // The other goes on when one ends.
        drop(trace);
        ask_clock(self.names)?;
        let end = uptime() + TIME;
        while viewer.text().matches(words).count() <= ASKED && uptime() < end {
            viewer.more_within(EVENTS);
        }
        let goes_on = viewer.text().matches(words).count() > ASKED;
        self.tally.holds("the viewer goes on", goes_on);
        viewer.abort();
        Ok(())
    }

    /// A viewer who comes when as many programs trace as may is told so. A place is free when its
    /// program ends, however it does.
    fn too_many(&mut self) -> Result<(), Error> {
        let mut tracers = Vec::new();
        for _ in 0..TRACERS {
            tracers.push(Tracer::start()?);
        }
        // The service has a place until it learns that its last viewer has gone: who was refused
        // for that comes again.
        let (end, mut since) = (uptime() + 2 * TIME, uptime());
        while uptime().saturating_sub(since) < SETTLED && uptime() < end {
            let mut all = matches!(Trace::start(), Err(Error::Held));
            for tracer in &mut tracers {
                if tracer.child.join_within(Timeout::NONE)? {
                    *tracer = Tracer::start()?;
                    all = false;
                }
            }
            if !all {
                since = uptime();
            }
            sleep(MOMENT);
        }
        self.tally.holds("four trace", uptime() < end);
        let fifth = Tracer::start()?.child;
        let ended = fifth.join_within(TIME.into())?;
        self.tally
            .holds("the fifth ends", ended && fifth.exit()?.status() != 0);
        let mut viewer = self.messages("")?;
        let refused = "{\"on\":false,\"why\":\"four programs trace already";
        self.tally
            .holds("a viewer is told", comes(&mut viewer, refused));
        self.tally
            .holds("and sees all else", comes(&mut viewer, "event: look\n"));
        viewer.abort();
        for tracer in &tracers {
            tracer.child.stop(stop::KILLED)?;
        }
        let free = || Trace::start().is_ok();
        self.tally.holds("places of who was killed", within(&free));
        Ok(())
    }
}

/// Has the clock say the time.
fn ask_clock(names: &mut Names) -> Result<(), Error> {
    with_clock(names, |ask| ask())
}

/// Does something while it has a channel to the clock, over which the clock can be asked.
fn with_clock<T>(
    names: &mut Names,
    run: impl FnOnce(&mut dyn FnMut() -> Result<(), Error>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut clock = Asker::new("/clock", |names, path| {
        let (clock, exp) = ClockContract::new_channel()?;
        names.bind(path, exp)?;
        Ok(clock.recv_success()?)
    });
    run(&mut || {
        clock
            .ask(names, |clock| clock.call_get_utc().utc())
            .map(drop)
    })
}

/// Waits until a viewer has got this.
fn comes(viewer: &mut Client, words: &str) -> bool {
    let end = uptime() + TIME;
    while !viewer.text().contains(words) {
        if uptime() > end || !viewer.more_within(TIME) {
            return false;
        }
    }
    true
}

fn within(holds: &dyn Fn() -> bool) -> bool {
    let end = uptime() + TIME;
    while !holds() {
        if uptime() > end {
            return false;
        }
        sleep(MOMENT);
    }
    true
}

/// Whether messages over a channel of this program's come to be counted no more: the last viewer has
/// gone.
fn is_quiet(names: &mut Names) -> Result<bool, Error> {
    let me = sing_sdk::process::id();
    let traced = || -> Result<Option<u32>, Error> {
        let all = inspect::channels()?;
        let own = |c: &&inspect::Channel| {
            c.contract == "ClockContract" && c.ends[0].owner == Some(me) && !c.ends[0].closed
        };
        Ok(all.iter().find(own).map(|c| c.traced))
    };
    let end = uptime() + TIME;
    with_clock(names, |ask| {
        ask()?;
        loop {
            let before = traced()?;
            for _ in 0..ASKED {
                ask()?;
            }
            if before.is_some() && traced()? == before {
                return Ok(true);
            }
            if uptime() > end {
                return Ok(false);
            }
            sleep(MOMENT);
        }
    })
}
