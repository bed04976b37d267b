//! The kernel's command line: options of the HAL, and arguments for the system.
//!
//! The HAL's own words stand first: `console=COLUMNSxROWS`, `console=none`, `polled`, `report` (say
//! what the machine has), `clock=SOURCE` (take the clock's rate from nothing else),
//! `watch=MICROSECONDS` (let the timer tick this often), `stress=switch` (let another thread run at
//! every place where one could; both for tests). What a hypervisor adds to describe its devices
//! (`virtio_mmio.device=SIZE@ADDRESS:INPUT`) stands among these or at the very end of the line. The
//! first other word begins the system's arguments, and so does `--`, behind which every word is the
//! system's. Double quotes keep blanks inside a word.

use core::ops::RangeInclusive;

/// Microseconds between ticks of the timer that can be asked for: with less, there would be time
/// for nothing else.
pub const WATCH: RangeInclusive<u64> = 50..=1_000_000;

/// The command line, as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Columns and rows of the terminal at the console; `None` if it is not a terminal.
    pub console: Option<(u32, u32)>,
    /// Whether to poll the console's input even if the machine can interrupt.
    pub polled: bool,
    /// Nanoseconds between ticks of the timer, for tests; 0 for none.
    pub watch: u64,
    /// The last word that is one of the HAL's and means nothing.
    pub mistake: Option<&'a str>,
    /// Whether to print what the machine has.
    pub report: bool,
    /// The only source from which to take the clock's rate.
    pub clock: Option<&'a str>,
    /// Whether to switch threads wherever that is possible, for tests.
    pub stress: bool,
    /// The system's arguments, not yet split.
    pub rest: &'a str,
    /// The HAL's words, and those that a hypervisor has put at the end.
    devices: [&'a str; 2],
    /// Whether they stood behind `--`, so that all of them are the system's.
    pub whole: bool,
}

impl<'a> Request<'a> {
    /// Reads a command line.
    pub fn parse(line: &'a str) -> Self {
        // A serial terminal cannot be asked for its size; this is the customary one.
        let mut request = Request {
            console: Some((80, 24)),
            polled: false,
            watch: 0,
            mistake: None,
            report: false,
            clock: None,
            stress: false,
            rest: "",
            devices: [""; 2],
            whole: false,
        };
        let line = line.trim();
        let own = without_devices(line);
        request.devices[1] = &line[own.len()..];
        let mut rest = own;
        while !rest.is_empty() {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            match word {
                "polled" => request.polled = true,
                "report" => request.report = true,
                "stress=switch" => request.stress = true,
                "--" => {
                    request.rest = after.trim();
                    request.whole = true;
                    break;
                }
                _ if word.starts_with("virtio_mmio.device=") => {}
                _ => match word.split_once('=') {
                    Some(("console", size)) => request.console = console_size(size),
                    Some(("clock", source)) => request.clock = Some(source),
                    Some(("watch", microseconds)) => {
                        let microseconds = microseconds.parse().ok();
                        match microseconds.filter(|us| WATCH.contains(us)) {
                            Some(us) => request.watch = us * 1000,
                            None => request.mistake = Some(word),
                        }
                    }
                    _ => {
                        request.rest = rest;
                        break;
                    }
                },
            }
            rest = after.trim_start();
        }
        request.devices[0] = &own[..own.len() - request.rest.len()];
        request
    }

    /// The virtio transports that the line names.
    pub fn virtio(&self) -> impl Iterator<Item = VirtioMmio> + use<'a> {
        let words = self.devices.into_iter().flat_map(str::split_whitespace);
        words.filter_map(VirtioMmio::parse)
    }

    /// The system's arguments.
    pub fn words(&self) -> impl Iterator<Item = Word<'a>> + use<'a> {
        let mut rest = self.rest.trim_start();
        let whole = self.whole;
        core::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut quoted = false;
            let end = rest
                .find(|c: char| {
                    quoted ^= c == '"';
                    c.is_whitespace() && !quoted
                })
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after.trim_start();
            Some(Word(word))
        })
        .filter(move |w| whole || !w.0.starts_with("virtio_mmio.device="))
    }
}

/// A virtio transport with memory-mapped registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtioMmio {
    /// Physical address of its registers.
    pub base: u64,
    /// Bytes of registers.
    pub len: u64,
    /// The input of the I/O APICs at which its interrupt arrives.
    pub input: u32,
}

impl VirtioMmio {
    /// Reads `virtio_mmio.device=SIZE@ADDRESS:INPUT`, perhaps with `:ID` behind it, as Linux does:
    /// numbers in decimal or, after `0x`, hexadecimal; the size perhaps in K or M.
    fn parse(word: &str) -> Option<VirtioMmio> {
        let (len, rest) = word.strip_prefix("virtio_mmio.device=")?.split_once('@')?;
        let mut parts = rest.split(':');
        let (base, input) = (number(parts.next()?)?, number(parts.next()?)?);
        let (len, shift) = match len.strip_suffix(['K', 'k']) {
            Some(len) => (len, 10),
            None => match len.strip_suffix(['M', 'm']) {
                Some(len) => (len, 20),
                None => (len, 0),
            },
        };
        Some(VirtioMmio {
            base,
            len: number(len)?.checked_mul(1 << shift)?,
            input: u32::try_from(input).ok()?,
        })
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A line without the words at its end that name virtio transports.
fn without_devices(line: &str) -> &str {
    let mut rest = line;
    loop {
        let last = rest.rsplit(char::is_whitespace).next().unwrap_or("");
        if VirtioMmio::parse(last).is_none() {
            return rest;
        }
        rest = rest[..rest.len() - last.len()].trim_end();
    }
}

/// A word with its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a>(&'a str);

impl Word<'_> {
    /// Its characters without the quotes.
    pub fn chars(self) -> impl Iterator<Item = char> {
        self.0.chars().filter(|&c| c != '"')
    }
}

fn console_size(text: &str) -> Option<(u32, u32)> {
    let (columns, rows) = text.split_once('x')?;
    Some((columns.parse().ok()?, rows.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        Request::parse(line)
            .words()
            .map(|w| w.chars().collect())
            .collect()
    }

    #[test]
    fn separates_the_hals_words_from_the_systems() {
        assert_eq!(words("--script /boot/script"), ["--script", "/boot/script"]);
        assert_eq!(words("console=100x30 polled -- report"), ["report"]);
        assert_eq!(
            words("polled a virtio_mmio.device=512@0xfeb00e00:12"),
            ["a"]
        );
        assert_eq!(
            words("virtio_mmio.device=512@0xfeb00e00:12"),
            [] as [&str; 0]
        );
        assert_eq!(words(""), [] as [&str; 0]);
        assert_eq!(
            words("polled virtio_mmio.device=1@2:3 -- a virtio_mmio.device=b c"),
            ["a", "virtio_mmio.device=b", "c"]
        );
        let r = Request::parse("console=100x30 polled x");
        assert_eq!((r.console, r.polled), (Some((100, 30)), true));
        let r = Request::parse("report clock=pit clock x");
        assert_eq!((r.report, r.clock, r.rest), (true, Some("pit"), "clock x"));
        assert!(!r.stress && Request::parse("console=none stress=switch -- x").stress);
        assert_eq!(Request::parse("console=none").console, None);
        assert_eq!(Request::parse("watch=200 -- x").watch, 200_000);
        assert_eq!(Request::parse("watch=50 -- x").watch, 50_000);
        assert_eq!(Request::parse("watch=1000000").watch, 1_000_000_000);
        assert_eq!(Request::parse("watch=50").mistake, None);
        for wrong in ["soon", "0", "1", "49", "1000001", "4294967297", "-50", ""] {
            let line = format!("watch={wrong} -- x");
            let r = Request::parse(&line);
            assert_eq!(
                (r.watch, r.rest, r.mistake),
                (0, "x", line.split(' ').next())
            );
        }
        assert_eq!(Request::parse("console=axb").console, None);
    }

    #[test]
    fn virtio_transports_are_named_before_the_arguments_or_behind_them() {
        let found = |line: &str| -> Vec<_> {
            let request = Request::parse(line);
            request.virtio().map(|v| (v.len, v.base, v.input)).collect()
        };
        let one = (512, 0xfeb0_0e00, 12);
        assert_eq!(found("virtio_mmio.device=512@0xfeb00e00:12"), [one]);
        assert_eq!(
            found("polled virtio_mmio.device=512@0xfeb00e00:12 -- a"),
            [one]
        );
        let line = "a b virtio_mmio.device=4K@0xd0000000:5 virtio_mmio.device=512@0xfeb00e00:12:3";
        assert_eq!(found(line), [(4096, 0xd000_0000, 5), one]);
        assert_eq!(words(line), ["a", "b"]);
        let line = "console=none -- a virtio_mmio.device=512@0xfeb00e00:12 ";
        assert_eq!((found(line), words(line)), (vec![one], vec!["a".into()]));
        // One in the middle is an argument, and what names none is a word.
        let line = "-- virtio_mmio.device=512@0xfeb00e00:12 a";
        assert_eq!(found(line), []);
        assert_eq!(words(line).len(), 2);
        for wrong in [
            "",
            "1",
            "1@2",
            "x@2:3",
            "1@0xg:3",
            "-1@2:3",
            "1@2:99999999999",
            "99999999999999999M@1:2",
        ] {
            assert_eq!(found(&format!("virtio_mmio.device={wrong} --")), []);
        }
    }

    #[test]
    fn quotes_keep_blanks() {
        assert_eq!(
            words(r#"-c "ps; hello" x"y z""#),
            ["-c", "ps; hello", "xy z"]
        );
        assert_eq!(words(r#""open to the end"#), ["open to the end"]);
        assert_eq!(words(r#"a "" b"#), ["a", "", "b"]);
    }
}
