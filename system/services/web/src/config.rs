//! The configuration: a text with a setting a line.
//!
//! ```text
//! port 80
//! listen /tls
//! root /web
//! mount /hello web-hello fresh memory 4M deadline 2s at-once 8 ahead 2
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use get::url::Url;

/// The most bytes of a configuration.
pub const MOST_BYTES: usize = 64 << 10;
/// The most mounts.
pub const MOST_MOUNTS: usize = 64;

/// The most bytes of files that are kept in memory: the rest of the server's budget is for requests.
const MOST_CACHE: u64 = 64 << 20;

/// The time for one request, where neither mount nor manifest states one.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long a program lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// For one request.
    Fresh,
    /// For one request after the other.
    Kept,
}

/// A program that answers the requests below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The path.
    pub path: String,
    /// The program, or the path of a service.
    pub program: String,
    /// How long each of its processes lives.
    pub life: Life,
    /// The most bytes of memory that the program's manifest may ask for.
    pub memory: u64,
    /// The most time for one request, if the mount states one.
    pub deadline: Option<Duration>,
    /// The most of its processes at a time, and so of its requests.
    pub at_once: usize,
    /// Processes that are made before they are needed.
    pub ahead: usize,
    /// The words of its command line; of none, its name.
    pub words: Vec<String>,
    /// Directories that each of its processes gets, in this order.
    pub directories: Vec<String>,
    /// Whether each gets a source of random bytes.
    pub random: bool,
    /// Whether each gets a name space, which leads to the network.
    pub names: bool,
}

/// What the server is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The port at which it listens.
    pub port: u16,
    /// Where it listens besides: the path of a service that hands connections on, as one that ends
    /// TLS.
    pub listen: Option<String>,
    /// The directory whose files it serves.
    pub root: String,
    /// The most connections.
    pub connections: usize,
    /// The most requests of one connection.
    pub requests: u32,
    /// The most bytes of a request's body.
    pub body: u64,
    /// The most bytes of files that are kept in memory.
    pub cache: usize,
    /// How long a connection may be quiet between two requests.
    pub idle: Duration,
    /// How long the head of a request may take.
    pub header: Duration,
    /// How long requests may take that are under way when the server is stopped.
    pub shutdown: Duration,
    /// The address of a collector of spans, to which nothing is sent if it is not named.
    pub spans: Option<String>,
    /// Its programs, those with longer paths first.
    pub mounts: Vec<Mount>,
}

impl Mount {
    /// The time for one request, where the program's manifest states so many milliseconds, or 0 for
    /// none: the shorter of both, so that neither the program nor its mount widens what the other
    /// has said.
    #[must_use]
    pub fn time(&self, manifest: u32) -> Duration {
        let stated = (manifest > 0).then(|| Duration::from_millis(manifest.into()));
        let both = [self.deadline, stated].into_iter().flatten();
        both.min().unwrap_or(DEADLINE)
    }

    /// Whether the requests go to a service, at a path of the name space.
    #[must_use]
    pub fn is_service(&self) -> bool {
        self.program.starts_with('/')
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            port: 80,
            listen: None,
            root: "/web".into(),
            connections: 32,
            requests: 1000,
            body: 1 << 20,
            cache: 8 << 20,
            idle: Duration::from_secs(15),
            header: Duration::from_secs(10),
            shutdown: Duration::from_secs(5),
            spans: None,
            mounts: Vec::new(),
        }
    }
}

/// A number, as `4096`, `64K` or `4M`.
fn bytes(word: &str) -> Option<u64> {
    let (digits, shift) = match word.strip_suffix('K') {
        Some(digits) => (digits, 10),
        None => match word.strip_suffix('M') {
            Some(digits) => (digits, 20),
            None => (word, 0),
        },
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| plain)?;
    number.checked_mul(1 << shift)
}

/// A time, as `200ms` or `5s`, of at most an hour.
fn time(word: &str) -> Option<Duration> {
    let time = match word.strip_suffix("ms") {
        Some(digits) => Duration::from_millis(bytes(digits)?),
        None => Duration::from_secs(bytes(word.strip_suffix('s')?)?),
    };
    (time > Duration::ZERO && time <= Duration::from_secs(3600)).then_some(time)
}

fn number<T: TryFrom<u64>>(word: &str, least: u64, most: u64) -> Option<T> {
    let number = bytes(word).filter(|n| (least..=most).contains(n))?;
    T::try_from(number).ok()
}

fn path(word: &str) -> Option<String> {
    let is = word.starts_with('/') && !word.split('/').any(|part| matches!(part, "." | ".."));
    is.then(|| word.into())
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The number of the first line that is wrong, and why.
    pub fn read(text: &str) -> Result<Config, String> {
        let mut config = Config::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            let wrong = |why: &str| format!("line {}: {why}", at + 1);
            let Some((key, values)) = words.split_first() else {
                continue;
            };
            if *key == "mount" {
                let mount = mount(values).map_err(|why| wrong(&why))?;
                if config.mounts.iter().any(|m| m.path == mount.path) {
                    return Err(wrong(&format!("{} is mounted twice", mount.path)));
                }
                if config.mounts.len() == MOST_MOUNTS {
                    return Err(wrong(&format!("there are more than {MOST_MOUNTS} mounts")));
                }
                config.mounts.push(mount);
                continue;
            }
            let [value] = values else {
                return Err(wrong(&format!("`{key}` needs one value")));
            };
            config.set(key, value).map_err(|why| wrong(&why))?;
        }
        config
            .mounts
            .sort_by_key(|m| core::cmp::Reverse(m.path.len()));
        Ok(config)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let needs = |what: &str| format!("`{key}` is {what}, not `{value}`");
        let of_time =
            || time(value).ok_or_else(|| needs("a time such as 500ms or 10s, an hour at most"));
        match key {
            "port" => self.port = number(value, 1, 65535).ok_or_else(|| needs("a port"))?,
            "listen" => {
                let of = || needs("the path of a service, such as /tls");
                self.listen = Some(path(value).ok_or_else(of)?);
            }
            "root" => self.root = path(value).ok_or_else(|| needs("a path that begins with /"))?,
            "connections" => {
                self.connections = number(value, 1, 400).ok_or_else(|| needs("1 to 400"))?;
            }
            "requests" => {
                self.requests =
                    number(value, 1, 1 << 30).ok_or_else(|| needs("a number, 1 at least"))?;
            }
            "body" => {
                self.body = number(value, 0, 1 << 40).ok_or_else(|| needs("a size such as 64K"))?
            }
            "cache" => {
                self.cache =
                    number(value, 0, MOST_CACHE).ok_or_else(|| needs("a size, 64M at most"))?;
            }
            "spans" => {
                let good = Url::parse(value).is_ok();
                let of = || needs("an address such as http://127.0.0.1:4318/v1/traces");
                self.spans = Some(good.then(|| value.into()).ok_or_else(of)?);
            }
            "idle" => self.idle = of_time()?,
            "header" => self.header = of_time()?,
            "shutdown" => self.shutdown = of_time()?,
            _ => return Err(format!("there is no setting `{key}`")),
        }
        Ok(())
    }
}

/// A word as in an address, where `%20` is a space.
fn decoded(word: &str) -> Option<String> {
    let (mut out, mut rest) = (Vec::new(), word.as_bytes());
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2)?;
        let digits = core::str::from_utf8(digits).ok()?;
        out.push(u8::from_str_radix(digits, 16).ok()?);
        rest = tail;
    }
    String::from_utf8(out).ok().filter(|word| !word.is_empty())
}

/// Words of a mount that mean nothing for a service.
const OF_PROGRAMS: [&str; 8] = [
    "fresh",
    "kept",
    "memory",
    "ahead",
    "random",
    "names",
    "directory",
    "word",
];

fn mount(words: &[&str]) -> Result<Mount, String> {
    let [at, program, rest @ ..] = words else {
        return Err("a mount is: mount PATH PROGRAM [fresh|kept] [KEY VALUE…]".into());
    };
    let mut mount = Mount {
        path: path(at).ok_or_else(|| format!("`{at}` is no path that begins with /"))?,
        program: (*program).into(),
        life: Life::Fresh,
        memory: 16 << 20,
        deadline: None,
        at_once: 8,
        ahead: 1,
        words: Vec::new(),
        directories: Vec::new(),
        random: false,
        names: false,
    };
    if mount.is_service() {
        path(program).ok_or_else(|| format!("`{program}` is no path of a service"))?;
        mount.ahead = 0;
    }
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if mount.is_service() && OF_PROGRAMS.contains(word) {
            return Err(format!(
                "`{word}` of {at} is for programs, and {program} is a service"
            ));
        }
        let mut value = || words.next().copied().unwrap_or_default();
        let wrong = |what: &str| format!("`{word}` of {at} needs {what}");
        match *word {
            "fresh" => mount.life = Life::Fresh,
            "kept" => mount.life = Life::Kept,
            "memory" => mount.memory = bytes(value()).ok_or_else(|| wrong("a size such as 4M"))?,
            "deadline" => {
                let of = || wrong("a time such as 2s");
                mount.deadline = Some(time(value()).ok_or_else(of)?);
            }
            "at-once" => mount.at_once = number(value(), 1, 48).ok_or_else(|| wrong("1 to 48"))?,
            "ahead" => mount.ahead = number(value(), 0, 8).ok_or_else(|| wrong("0 to 8"))?,
            "random" => mount.random = true,
            "names" => mount.names = true,
            "directory" => {
                let of = || wrong("a path that begins with /");
                mount.directories.push(path(value()).ok_or_else(of)?);
            }
            "word" => {
                let of = || wrong("a word, with %20 for a space");
                mount.words.push(decoded(value()).ok_or_else(of)?);
            }
            _ => return Err(format!("a mount has no `{word}`")),
        }
    }
    Ok(mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read() {
        let text = "# a comment\nport 8080\nroot /docs # there\nbody 64K\nidle 500ms\ncache 2M\n\
                    mount /a first\nmount /a/b second kept memory 4M deadline 2s at-once 3 ahead 0\n";
        let config = Config::read(text).unwrap_or_default();
        assert_eq!(
            (config.port, config.root.as_str(), config.body),
            (8080, "/docs", 65536)
        );
        assert_eq!(
            (config.idle, config.cache),
            (Duration::from_millis(500), 2 << 20)
        );
        let [second, first] = config.mounts.as_slice() else {
            panic!("{config:?}");
        };
        assert_eq!(
            (first.life, first.at_once, first.ahead),
            (Life::Fresh, 8, 1)
        );
        assert_eq!(second.path, "/a/b");
        assert_eq!(
            (second.life, second.memory, second.ahead),
            (Life::Kept, 4 << 20, 0)
        );
        assert_eq!(config.spans, None);
        assert!(!first.random && !first.names);
        assert!(first.words.is_empty() && first.directories.is_empty());
        let config = Config::read("mount / p random directory /mnt/0 word a%20%23%c3%a4 word --\n");
        let mounts = config.unwrap_or_default().mounts;
        assert_eq!(mounts[0].words, ["a #ä", "--"]);
        assert_eq!(
            (mounts[0].directories.as_slice(), mounts[0].random),
            (&["/mnt/0".into()][..], true)
        );
        let config = Config::read("mount / p names\n").unwrap_or_default();
        assert!(config.mounts[0].names && !config.mounts[0].random);
        let config = Config::read("spans http://[::1]:4318/v1/traces\n").unwrap_or_default();
        assert_eq!(config.spans.as_deref(), Some("http://[::1]:4318/v1/traces"));
        let config = Config::read("listen /tls\n").unwrap_or_default();
        assert_eq!(config.listen.as_deref(), Some("/tls"));
        assert_eq!(Config::read(""), Ok(Config::default()));
        let config = Config::read("mount /a /watch/pages deadline 60s at-once 4\n");
        let mounts = config.unwrap_or_default().mounts;
        assert!(mounts[0].is_service() && mounts[0].ahead == 0);
        assert_eq!((mounts[0].at_once, mounts[0].time(0).as_secs()), (4, 60));
    }

    #[test]
    fn the_shorter_deadline_counts() {
        let time = |words: &str, manifest| {
            let config = Config::read(&format!("mount /a first {words}\n"));
            let mounts = config.unwrap_or_default().mounts;
            mounts[0].time(manifest).as_millis()
        };
        assert_eq!(time("", 0), 5000);
        assert_eq!(time("", 300), 300);
        assert_eq!(time("", 20_000), 20_000);
        assert_eq!(time("deadline 2s", 0), 2000);
        assert_eq!(time("deadline 2s", 300), 300);
        assert_eq!(time("deadline 2s", 20_000), 2000);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, why) in [
            ("port", "line 1: `port` needs one value"),
            ("\nport 0", "line 2: `port` is a port, not `0`"),
            ("port 70000", "line 1: `port` is a port, not `70000`"),
            (
                "listen 443",
                "line 1: `listen` is the path of a service, such as /tls, not `443`",
            ),
            ("prot 1", "line 1: there is no setting `prot`"),
            (
                "cache 65M",
                "line 1: `cache` is a size, 64M at most, not `65M`",
            ),
            (
                "root web",
                "line 1: `root` is a path that begins with /, not `web`",
            ),
            (
                "root /a/../b",
                "line 1: `root` is a path that begins with /, not `/a/../b`",
            ),
            (
                "idle 0s",
                "line 1: `idle` is a time such as 500ms or 10s, an hour at most, not `0s`",
            ),
            (
                "mount /a",
                "line 1: a mount is: mount PATH PROGRAM [fresh|kept] [KEY VALUE…]",
            ),
            ("mount /a b slow", "line 1: a mount has no `slow`"),
            (
                "mount /a b memory",
                "line 1: `memory` of /a needs a size such as 4M",
            ),
            (
                "mount /a b memory 99999999999999M",
                "line 1: `memory` of /a needs a size such as 4M",
            ),
            (
                "mount /a b word a%2",
                "line 1: `word` of /a needs a word, with %20 for a space",
            ),
            (
                "mount /a b directory x",
                "line 1: `directory` of /a needs a path that begins with /",
            ),
            (
                "spans https://x/v1/traces",
                "line 1: `spans` is an address such as http://127.0.0.1:4318/v1/traces, not \
                 `https://x/v1/traces`",
            ),
            ("mount /a b\nmount /a c", "line 2: /a is mounted twice"),
            (
                "mount /a /b/../c",
                "line 1: `/b/../c` is no path of a service",
            ),
            (
                "mount /a /b kept",
                "line 1: `kept` of /a is for programs, and /b is a service",
            ),
            (
                "mount /a /b names",
                "line 1: `names` of /a is for programs, and /b is a service",
            ),
        ] {
            assert_eq!(Config::read(text).err().as_deref(), Some(why), "{text}");
        }
    }
}
