//! The system as a browser and Prometheus see it: what is shown to whom, who may end something, and
//! viewers that are too many or read nothing.

use crate::Tally;
use crate::client::{Answer, Client, ask, get};
use core::time::Duration;
use sing_sdk::inspect;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit, stop};
use sing_sdk::sync::wait;
use sing_sdk::thread::sleep;
use sing_sdk::time::{Timeout, uptime};

/// The most requests for events at a time, as the configuration says.
const VIEWERS: usize = 4;
/// How long two events may take, and until a viewer is let go that reads nothing.
const EVENTS: Duration = Duration::from_secs(10);
const DROPPED: Duration = Duration::from_secs(45);
/// Directories that never answer, and how long three events and figures may take beside them.
const SILENT: usize = 6;
const SOON: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1500);
/// Channels that there are to be seen, and the bytes that `watch` may need to show them to all
/// viewers: it asks for 4,000 channels at most.
const CHANNELS: usize = 15_000;
const MEMORY: u64 = 4 << 20;
/// A device that each system of the tests has.
const DISK: &str =
    "\"names\":\"/dev/disk0\",\"driver\":\"virtio-blk\",\"service\":\"disk0\",\"state\":\"up\"";
/// A family of figures that counts such viewers.
const COUNT: &str = "singularity_watch_dropped_total ";

/// The key, as `httpd` gets it.
fn key(names: &mut Names) -> Result<String, Error> {
    use WatchKeyContract::imp::Ready_GetKey as Got;
    let (watch, exp) = WatchKeyContract::new_channel()?;
    names.bind("/watch/key", exp)?;
    match watch.recv_success()?.call_get_key() {
        Got::Key(key, _) => Ok(key.to_lossy()),
        Got::NoKey(_) => Err(Error::NotFound),
        Got::Closed => Err(Error::Closed),
    }
}

/// A request of a method and a target, with headers.
fn request(line: &str, headers: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: x\r\n{headers}\r\n")
}

/// What is asked of the web server.
pub struct Test<'a> {
    /// To connect to it.
    pub names: &'a mut Names,
    port: u16,
    /// What has been asked.
    pub tally: &'a mut Tally,
    /// The header with the key.
    bearer: String,
}

pub fn check(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    let bearer = format!("Authorization: Bearer {}\r\n", key(names)?);
    let mut test = Test {
        names,
        port,
        tally,
        bearer,
    };
    test.page()?;
    test.unseen()?;
    test.events()?;
    test.kill()?;
    test.services()?;
    test.figures()?;
    test.recorded()?;
    test.crowd()?;
    test.silent_names()?;
    test.stuck()
}

/// How many different looks a page of events has shown: each has the time at which it was taken.
fn looks(client: &Client) -> usize {
    let text = client.text();
    let times = text.split("event: look\ndata: {\"now\":").skip(1);
    let mut times: Vec<&str> = times.filter_map(|look| look.split(',').next()).collect();
    times.dedup();
    times.len()
}

impl Test<'_> {
    /// Asks; the answer is to have this status.
    fn ask(&mut self, line: &str, headers: &str, status: u16) -> Result<Answer, Error> {
        let answer = ask(self.names, self.port, request(line, headers).as_bytes())?;
        let good = answer.status == status && answer.whole;
        self.tally.is(&format!("{line} {headers}"), good, &answer);
        Ok(answer)
    }

    /// The page and its parts are anybody's, and load nothing from elsewhere.
    fn page(&mut self) -> Result<(), Error> {
        for (path, kind, begins) in [
            ("/system", "text/html; charset=utf-8", "<!doctype html>"),
            ("/system/page.css", "text/css; charset=utf-8", "/* "),
            ("/system/page.js", "text/javascript; charset=utf-8", "// "),
            ("/system/graph.js", "text/javascript; charset=utf-8", "// "),
            ("/system/chart.js", "text/javascript; charset=utf-8", "// "),
            ("/system/tables.js", "text/javascript; charset=utf-8", "// "),
            ("/system/live.js", "text/javascript; charset=utf-8", "// "),
        ] {
            let answer = get(self.names, self.port, path)?;
            let policy = answer.header("content-security-policy").unwrap_or_default();
            let good = answer.status == 200
                && answer.header("content-type") == Some(kind)
                && policy.starts_with("default-src 'none'; ")
                && !policy.contains("unsafe")
                && answer.text().starts_with(begins)
                && !answer.text().contains("//x");
            self.tally.is(path, good, &answer);
        }
        self.ask("POST /system", "Content-Length: 0\r\n", 405)?;
        self.ask("GET /system/nothing", "", 404)?;
        self.ask("GET /system/kill?id=1", "", 405)?;
        Ok(())
    }

    /// Nothing that is live is shown without the key.
    fn unseen(&mut self) -> Result<(), Error> {
        for path in ["/system/events", "/metrics"] {
            let line = format!("GET {path}");
            self.ask(&line, "", 403)?;
            self.ask(
                &line,
                "Authorization: Bearer 00112233445566778899aabbccddeeff\r\n",
                403,
            )?;
        }
        Ok(())
    }

    /// Opens the events, by these parameters.
    pub fn follow(&mut self, parameters: &str) -> Result<Client, Error> {
        let mut client = Client::open(self.names, self.port)?;
        let line = format!("GET /system/events{parameters}");
        client.send(request(&line, &self.bearer).as_bytes())?;
        Ok(client)
    }

    /// Two events come one after the other, and show this process.
    fn events(&mut self) -> Result<(), Error> {
        let mut client = self.follow("")?;
        let end = uptime() + EVENTS;
        let own = format!("{{\"id\":{},", sing_sdk::process::id());
        loop {
            let text = client.text();
            let looks: Vec<&str> = text.split("event: look\n").skip(1).collect();
            // The second is whole when the third begins.
            if looks.len() >= 3 {
                let hello = text.contains("event: hello\ndata: {\"control\":true,");
                let shows = |look: &&str| {
                    [
                        "\"name\":\"webs\"",
                        "\"name\":\"clock\"",
                        "\"path\":\"/services\"",
                    ]
                    .iter()
                    .all(|word| look.contains(word))
                        && look.contains(&own)
                        && look.contains("\"contract\":\"WebContract\"")
                        && look.contains(DISK)
                };
                let good = text.starts_with("HTTP/1.1 200 OK\r\n")
                    && hello
                    && looks[..2].iter().all(shows)
                    && looks[0] != looks[1];
                self.tally.holds("two events", good);
                return Ok(());
            }
            if uptime() > end || !client.more() {
                self.tally.holds("no two events within the time", false);
                return Ok(());
            }
        }
    }

    /// A process ends for who has the key, and not for another, nor for another site's page.
    fn kill(&mut self) -> Result<(), Error> {
        let child = Child::of("sleep").arg("sleep").arg("1000").start()?;
        let id = child.id();
        let line = format!("POST /system/kill?id={id}&name=sleep");
        let bearer = self.bearer.clone();
        let with = |more: &str| format!("{bearer}{more}Content-Length: 0\r\n");
        for headers in [
            "Content-Length: 0\r\n".into(),
            "Authorization: Bearer 0\r\nContent-Length: 0\r\n".into(),
            // What a client says of its address is not believed, and helps nobody.
            "X-Peer: 127.0.0.1\r\nContent-Length: 0\r\n".into(),
            with("Origin: http://elsewhere.example\r\n"),
            with("Sec-Fetch-Site: cross-site\r\n"),
        ] {
            self.ask(&line, &headers, 403)?;
        }
        let other = format!("POST /system/kill?id={id}&name=spin");
        self.ask(&other, &with(""), 409)?;
        self.ask("POST /system/kill?id=x", &with(""), 400)?;
        let runs = child.join_within(Timeout::NONE) == Ok(false);
        self.tally.holds("it runs still", runs);
        self.ask(
            &line,
            &with("Origin: http://x\r\nX-Peer: 10.9.9.9\r\n"),
            200,
        )?;
        let ended = child.exit() == Ok(Exit::Stopped(stop::KILLED));
        self.tally.holds("it has ended", ended);
        self.ask(&line, &with(""), 404)?;
        let all = inspect::processes()?;
        for essential in all.iter().filter(|p| p.essential) {
            self.ask(
                &format!("POST /system/kill?id={}", essential.id),
                &with(""),
                409,
            )?;
        }
        Ok(())
    }

    fn services(&mut self) -> Result<(), Error> {
        let bearer = format!("{}Content-Length: 0\r\n", self.bearer);
        let line = "POST /system/service?name=clock&do=";
        self.ask(&format!("{line}restart"), "Content-Length: 0\r\n", 403)?;
        self.ask(&format!("{line}dance"), &bearer, 400)?;
        self.ask("POST /system/service?name=nobody&do=stop", &bearer, 404)?;
        self.ask(&format!("{line}restart"), &bearer, 200)?;
        self.ask(&format!("{line}start"), &bearer, 409)?;
        self.ask("POST /system/service?name=console&do=stop", &bearer, 409)?;
        Ok(())
    }

    /// Every line of the figures is what the format says.
    fn figures(&mut self) -> Result<(), Error> {
        let bearer = self.bearer.clone();
        let answer = self.ask("GET /metrics", &bearer, 200)?;
        let kind = answer.header("content-type");
        self.tally.holds(
            "its type",
            kind == Some("text/plain; version=0.0.4; charset=utf-8"),
        );
        let text = answer.text();
        let wrong = wrong_line(&text);
        if let Some(line) = wrong {
            println!("no figure: {line}");
        }
        self.tally.holds(
            "all lines are figures",
            wrong.is_none() && text.ends_with('\n'),
        );
        for begin in [
            "singularity_info{machine=\"",
            "singularity_process_cpu_seconds_total{id=\"",
            "singularity_service_restarts_total{service=\"clock\"} ",
            "singularity_service_up{service=\"web\"} 1",
            "singularity_web_requests_total ",
        ] {
            let found = text.lines().any(|line| line.starts_with(begin));
            self.tally.holds(begin, found);
        }
        Ok(())
    }

    /// One viewer more than may be is told to come again, and does when another has gone.
    fn crowd(&mut self) -> Result<(), Error> {
        let mut viewers = Vec::new();
        for _ in 0..VIEWERS {
            let mut viewer = self.follow("")?;
            self.tally.holds("a viewer", viewer.more());
            viewers.push(viewer);
        }
        let bearer = self.bearer.clone();
        self.ask("GET /system/events", &bearer, 503)?;
        // The others go on meanwhile, and so does all else.
        self.ask("GET /metrics", &bearer, 200)?;
        for viewer in viewers {
            viewer.abort();
        }
        let end = uptime() + EVENTS;
        loop {
            let mut viewer = self.follow("")?;
            let comes = viewer.more() && viewer.text().starts_with("HTTP/1.1 200 ");
            if comes || uptime() > end {
                self.tally.holds("a viewer when others have gone", comes);
                viewer.abort();
                return Ok(());
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// Directories whose server never answers keep no viewer waiting, and no figures. The name
    /// server goes on past each after a while.
    fn silent_names(&mut self) -> Result<(), Error> {
        let paths = (0..SILENT).map(|n| self.names.register(&format!("/silent{n}")));
        let silent: Vec<_> = paths.collect::<Result<_, _>>()?;
        let mut client = self.follow("")?;
        let end = uptime() + EVENTS;
        let is_asked = || silent.iter().any(|d| wait(d, Timeout::NONE).is_ok());
        while !is_asked() && uptime() < end && client.more_within(LOOK) {}
        self.tally.holds("a silent directory is asked", is_asked());
        let (from, begin) = (looks(&client), uptime());
        while looks(&client) < from + 3 && client.more_within(EVENTS) {}
        let time = uptime().saturating_sub(begin);
        let good = looks(&client) >= from + 3 && time < SOON;
        self.tally.holds("events beside silent directories", good);
        let (bearer, begin) = (self.bearer.clone(), uptime());
        self.ask("GET /metrics", &bearer, 200)?;
        let good = uptime().saturating_sub(begin) < LOOK;
        self.tally.holds("figures beside silent directories", good);
        client.abort();
        Ok(())
    }

    /// Viewers that read nothing are let go. Until then they cost little, however much there is to
    /// be seen.
    fn stuck(&mut self) -> Result<(), Error> {
        let channels = (0..CHANNELS).map(|_| ClockContract::new_channel());
        let channels: Vec<_> = channels.collect::<Result<_, _>>()?;
        let viewers = (0..VIEWERS).map(|_| self.follow(""));
        let viewers: Vec<_> = viewers.collect::<Result<_, _>>()?;
        let mut most = 0;
        let bearer = self.bearer.clone();
        let end = uptime() + DROPPED;
        loop {
            let answer = self.ask("GET /metrics", &bearer, 200)?;
            let text = answer.text();
            let mut counts = text.lines().filter_map(|line| line.strip_prefix(COUNT));
            let dropped = counts.next().is_some_and(|count| count != "0");
            most = most.max(memory_of("watch")?);
            if dropped || uptime() > end {
                self.tally
                    .holds("a viewer that reads nothing is let go", dropped);
                break;
            }
            sleep(Duration::from_millis(500));
        }
        println!("memory       {} KiB at most", most >> 10);
        self.tally.holds("little memory", most < MEMORY);
        drop((viewers, channels));
        Ok(())
    }
}

/// Bytes that a program occupies.
fn memory_of(name: &str) -> Result<u64, Error> {
    let all = inspect::processes()?;
    let pages = all.iter().filter(|p| p.name == name).map(|p| p.pages);
    Ok(pages.sum::<u64>() * 4096)
}

/// The first line that is no figure of the format, or of another family than the last comment says.
fn wrong_line(text: &str) -> Option<&str> {
    let (mut helped, mut typed) = ("", "");
    text.lines().find(|line| {
        if let Some(help) = line.strip_prefix("# HELP ") {
            helped = help.split(' ').next().unwrap_or_default();
            return !help.ends_with('.');
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            typed = kind.split(' ').next().unwrap_or_default();
            let counts = kind.ends_with(" counter");
            return typed != helped || counts != typed.ends_with("_total");
        }
        !line.strip_prefix(typed).is_some_and(is_value)
    })
}

/// Labels, if there are any, and a number.
fn is_value(rest: &str) -> bool {
    let number = match rest.strip_prefix('{') {
        None => rest,
        Some(labels) => match behind_labels(labels) {
            Some(behind) => behind,
            None => return false,
        },
    };
    number
        .strip_prefix(' ')
        .is_some_and(|n| n.parse::<f64>().is_ok())
}

fn behind_labels(mut rest: &str) -> Option<&str> {
    loop {
        let (name, value) = rest.split_once("=\"")?;
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
            return None;
        }
        let mut chars = value.char_indices();
        rest = loop {
            match chars.next()? {
                (at, '"') => break &value[at + 1..],
                (_, '\\') => {
                    chars
                        .next()
                        .filter(|(_, c)| matches!(c, '"' | '\\' | 'n'))?;
                }
                _ => {}
            }
        };
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return rest.strip_prefix('}'),
        }
    }
}
