//! The compiler's check of a switch: everything that can come has a case.
//!
//! These functions run while a program is compiled, in the constants that `switch_receive!` makes;
//! their panics are the compiler's errors. They run over what each endpoint can bring: its
//! messages, and that its channel is closed, which is numbered behind them.

use super::Message;

/// How the close of a channel is called in a case.
const CHANNEL_CLOSED: &str = "ChannelClosed";
/// Combinations looked at before a switch counts as too large to check.
const MOST: usize = 20_000;

/// A text that is put together while a program is compiled.
struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Text {
    const fn new() -> Text {
        Text {
            bytes: [0; 1024],
            len: 0,
        }
    }

    /// Text that finds no room is left out.
    const fn push(&mut self, text: &str) {
        let text = text.as_bytes();
        if self.len + text.len() > self.bytes.len() {
            return;
        }
        let mut i = 0;
        while i < text.len() {
            self.bytes[self.len] = text[i];
            self.len += 1;
            i += 1;
        }
    }

    #[track_caller]
    const fn fail(&self) -> ! {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => panic!("names of a switch are no text"),
        }
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The name of the `i`th thing that can come.
const fn name(messages: &[Message], i: usize) -> &str {
    if i < messages.len() {
        messages[i].name
    } else {
        CHANNEL_CLOSED
    }
}

/// Whether `case` holds when endpoint `e` brings what `brings[e]` says.
const fn fires(case: &[(usize, &str)], endpoints: &[(&str, &[Message])], brings: &[usize]) -> bool {
    let mut i = 0;
    while i < case.len() {
        let (endpoint, what) = case[i];
        if !same(what, name(endpoints[endpoint].1, brings[endpoint])) {
            return false;
        }
        i += 1;
    }
    true
}

/// Whether there is a case for just this.
const fn alone(cases: &[&[(usize, &str)]], endpoint: usize, what: &str) -> bool {
    let mut i = 0;
    while i < cases.len() {
        if cases[i].len() == 1 && cases[i][0].0 == endpoint && same(cases[i][0].1, what) {
            return true;
        }
        i += 1;
    }
    false
}

/// Fails if a message that can break its promises stands where that would leave the switch without
/// a way on.
#[track_caller]
const fn promises(endpoints: &[(&str, &[Message])], cases: &[&[(usize, &str)]]) {
    let mut c = 0;
    while c < cases.len() {
        let mut t = 0;
        while t < cases[c].len() {
            let (endpoint, what) = cases[c][t];
            let (called, messages) = endpoints[endpoint];
            let mut m = 0;
            while m < messages.len() {
                if messages[m].promises && same(messages[m].name, what) {
                    let mut text = Text::new();
                    if cases[c].len() > 1 {
                        text.push(called);
                        text.push(".");
                        text.push(what);
                        text.push(
                            " cannot stand in an `&&`: it promises something of its arguments, and where that does not \
                             hold, what was received with it could not be given back; receive it in a case of its own",
                        );
                        text.fail();
                    } else if !alone(cases, endpoint, CHANNEL_CLOSED) {
                        text.push("no `case ");
                        text.push(called);
                        text.push(".ChannelClosed()`: ");
                        text.push(called);
                        text.push(".");
                        text.push(what);
                        text.push(
                            " promises something of its arguments, and where that does not hold, the channel is closed",
                        );
                        text.fail();
                    }
                }
                m += 1;
            }
            t += 1;
        }
        c += 1;
    }
}

/// Fails, while a program is compiled, unless for everything that the endpoints can bring together
/// some case fires. Those of `cases` name endpoints by their index. Of a `partial` switch only the
/// promises are looked at.
#[doc(hidden)]
#[track_caller]
pub const fn exhaustive<const N: usize>(
    endpoints: [(&str, &[Message]); N],
    cases: &[&[(usize, &str)]],
    partial: bool,
) {
    promises(&endpoints, cases);
    if partial {
        return;
    }
    // A message with a case of its own needs no further look. If every message of one endpoint has
    // one, the switch always ends.
    let mut brings = [0; N];
    let mut e = 0;
    while e < N {
        brings[e] = match open(&endpoints, cases, e, 0) {
            Some(first) => first,
            None => return,
        };
        e += 1;
    }
    let mut looked = 0;
    loop {
        let mut fired = false;
        let mut c = 0;
        while c < cases.len() && !fired {
            fired = fires(cases[c], &endpoints, &brings);
            c += 1;
        }
        if !fired {
            missing(&endpoints, &brings);
        }
        looked += 1;
        if looked == MOST {
            panic!(
                "too many combinations to look at; write `else wait` behind the cases, or give more messages a case of \
                 their own"
            );
        }
        // The next combination.
        let mut e = 0;
        loop {
            if e == N {
                return;
            }
            if let Some(next) = open(&endpoints, cases, e, brings[e] + 1) {
                brings[e] = next;
                break;
            }
            brings[e] = match open(&endpoints, cases, e, 0) {
                Some(first) => first,
                None => return,
            };
            e += 1;
        }
    }
}

/// The first thing from `from` on that an endpoint can bring and that has no case of its own.
const fn open(
    endpoints: &[(&str, &[Message])],
    cases: &[&[(usize, &str)]],
    endpoint: usize,
    from: usize,
) -> Option<usize> {
    let messages = endpoints[endpoint].1;
    let mut i = from;
    while i <= messages.len() {
        if !alone(cases, endpoint, name(messages, i)) {
            return Some(i);
        }
        i += 1;
    }
    None
}

#[track_caller]
const fn missing(endpoints: &[(&str, &[Message])], brings: &[usize]) -> ! {
    let mut text = Text::new();
    text.push("no case for ");
    let mut e = 0;
    while e < endpoints.len() {
        if e > 0 {
            text.push(" && ");
        }
        text.push(endpoints[e].0);
        text.push(".");
        text.push(name(endpoints[e].1, brings[e]));
        e += 1;
    }
    text.push(
        "; add one, or write `else wait` behind the cases: the switch then waits until one of them can fire",
    );
    text.fail()
}

/// Fails, while a program is compiled, unless everything that an endpoint of a set can bring has a
/// case.
#[doc(hidden)]
#[track_caller]
pub const fn covers_all(set: &str, messages: &[Message], cases: &[&str]) {
    let mut i = 0;
    while i <= messages.len() {
        let mut c = 0;
        while c < cases.len() && !same(cases[c], name(messages, i)) {
            c += 1;
        }
        if c == cases.len() {
            let mut text = Text::new();
            text.push("no case for ");
            text.push(set);
            text.push(".");
            text.push(name(messages, i));
            text.push("; whatever an endpoint of a set can bring needs one");
            text.fail();
        }
        i += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use std::panic::catch_unwind;

    const fn message(name: &'static str, promises: bool) -> Message {
        Message { name, promises }
    }
    const ANSWERS: &[Message] = &[message("Reply", false), message("Error", false)];

    fn verdict(cases: &[&[(usize, &str)]], partial: bool) -> Result<(), String> {
        of([("a", ANSWERS), ("b", ANSWERS)], cases, partial)
    }

    fn of<const N: usize>(
        endpoints: [(&str, &[Message]); N],
        cases: &[&[(usize, &str)]],
        partial: bool,
    ) -> Result<(), String> {
        let (endpoints, cases) = (&endpoints, &cases);
        catch_unwind(move || exhaustive(*endpoints, cases, partial))
            .map_err(|e| e.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn one_endpoint_with_all_cases_is_enough() {
        let cases: &[&[(usize, &str)]] = &[
            &[(0, "Reply")],
            &[(0, "Error")],
            &[(0, "ChannelClosed")],
            &[(1, "Reply")],
        ];
        assert_eq!(verdict(cases, false), Ok(()));
        let missing = verdict(&cases[1..], false).unwrap_err();
        assert!(
            missing.starts_with("no case for a.Reply && b.Error;"),
            "{missing}"
        );
    }

    #[test]
    fn the_papers_example_leaves_something_out() {
        let cases: &[&[(usize, &str)]] = &[
            &[(0, "Reply"), (1, "Reply")],
            &[(0, "Error")],
            &[(1, "Error")],
            &[(0, "ChannelClosed")],
        ];
        let missing = verdict(cases, false).unwrap_err();
        assert!(
            missing.starts_with("no case for a.Reply && b.ChannelClosed;"),
            "{missing}"
        );
        assert_eq!(verdict(cases, true), Ok(()));
    }

    #[test]
    fn every_combination_is_looked_at() {
        // All nine pairs, then each left out in turn.
        let all: alloc::vec::Vec<[(usize, &str); 2]> = ["Reply", "Error", "ChannelClosed"]
            .iter()
            .flat_map(|x| ["Reply", "Error", "ChannelClosed"].map(|y| [(0, *x), (1, y)]))
            .collect();
        let cases: alloc::vec::Vec<&[(usize, &str)]> = all.iter().map(|c| &c[..]).collect();
        assert_eq!(verdict(&cases, false), Ok(()));
        for left in 0..cases.len() {
            let mut fewer = cases.clone();
            let case = fewer.remove(left);
            let expected = alloc::format!("no case for a.{} && b.{};", case[0].1, case[1].1);
            assert!(verdict(&fewer, false).unwrap_err().starts_with(&expected));
        }
    }

    #[test]
    fn promises_need_a_way_on() {
        const ASKS: &[Message] = &[message("Request", true)];
        let alone: &[&[(usize, &str)]] = &[&[(0, "Request")]];
        let text = of([("c", ASKS)], alone, true).unwrap_err();
        assert!(
            text.starts_with("no `case c.ChannelClosed()`: c.Request"),
            "{text}"
        );
        let both: &[&[(usize, &str)]] = &[&[(0, "Request")], &[(0, "ChannelClosed")]];
        assert_eq!(of([("c", ASKS)], both, false), Ok(()));
        let together: &[&[(usize, &str)]] =
            &[&[(0, "Request"), (1, "Reply")], &[(0, "ChannelClosed")]];
        let text = of([("c", ASKS), ("a", ANSWERS)], together, true).unwrap_err();
        assert!(
            text.starts_with("c.Request cannot stand in an `&&`"),
            "{text}"
        );
    }

    #[test]
    fn sets_need_all() {
        covers_all("s", ANSWERS, &["Error", "ChannelClosed", "Reply"]);
        let fails = catch_unwind(|| covers_all("s", ANSWERS, &["Error", "Reply"]));
        let text = fails.unwrap_err().downcast_ref::<String>().cloned();
        assert!(text.is_some_and(|t| t.starts_with("no case for s.ChannelClosed;")));
    }
}
