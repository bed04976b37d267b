//! What can be asked of files. The test that starts this has made them: `index.html`, `a.txt` of 38
//! lines, `docs/index.html`, `large.bin`, and links to `a.txt` and out of the directory.

use crate::Tally;
use crate::client::{Answer, Client, ask, get};
use core::time::Duration;
use sing_sdk::fs::{Directory, Options};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::thread;

/// Asks with further headers.
fn with(names: &mut Names, port: u16, request: &str, headers: &str) -> Result<Answer, Error> {
    let text = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    ask(names, port, text.as_bytes())
}

pub fn check(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    let whole = get(names, port, "/a.txt")?;
    let size = whole.body.len();
    let kind = whole.header("content-type") == Some("text/plain; charset=utf-8");
    tally.is(
        "a file",
        whole.status == 200 && whole.whole && size > 600 && kind,
        &whole,
    );
    for (path, status) in [
        ("/", 200),
        ("/index.html", 200),
        ("/docs/", 200),
        ("/docs", 301),
        ("/link.txt", 200),
        ("/out.txt", 404),
        ("/nothing", 404),
        ("/a.txt/", 404),
        ("/a.txt/b", 404),
        ("/../boot/notes.txt", 400),
        ("/%2e%2e/boot/notes.txt", 400),
        ("/docs%2findex.html", 400),
        ("/%00", 400),
    ] {
        let answer = get(names, port, path)?;
        tally.is(path, answer.status == status && answer.whole, &answer);
    }
    let moved = get(names, port, "/docs?a=b")?;
    tally.is(
        "a directory",
        moved.header("location") == Some("/docs/?a=b"),
        &moved,
    );
    let head = with(names, port, "HEAD /a.txt", "")?;
    let length = head.header("content-length").and_then(|l| l.parse().ok());
    tally.is("HEAD", head.status == 200 && length == Some(size), &head);
    let post = with(names, port, "POST /a.txt", "")?;
    tally.is(
        "POST",
        post.status == 405 && post.header("allow").is_some(),
        &post,
    );
    let options = with(names, port, "OPTIONS *", "")?;
    tally.is("OPTIONS", options.status == 204, &options);
    large(names, port, tally)?;
    packed(names, port, tally, &whole)?;
    changed(names, port, tally)?;
    pieces(names, port, tally)?;
    parts(names, port, tally, &whole)
}

fn large(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    let large = get(names, port, "/large.bin")?;
    tally.is(
        "a large file",
        large.whole && large.body.len() > 200_000,
        &large,
    );
    Ok(())
}

/// Where the test has put the files.
const ROOT: &str = "/web";
/// What is kept in memory has not changed for so long.
const SETTLED: Duration = Duration::from_millis(2200);
/// How often a file is asked for, and the pauses between, so that it is sent from memory without a question.
const TIMES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// A file, how it is changed, and what it has then; nothing for one that is gone.
type Change = (
    &'static str,
    fn(&mut Directory) -> Result<(), Error>,
    &'static [u8],
);

const CHANGES: &[Change] = &[
    (
        "written",
        |d| {
            d.open_with("changing/written", Options::write())?
                .write_at(0, b"later")
        },
        b"later",
    ),
    (
        "longer",
        |d| {
            d.open_with("changing/longer", Options::write())?
                .append(b"!")
        },
        b"first!",
    ),
    (
        "shorter",
        |d| {
            d.open_with("changing/shorter", Options::write())?
                .set_size(2)
        },
        b"fi",
    ),
    (
        "replaced",
        |d| d.rename("changing/other", "changing/replaced"),
        b"other",
    ),
    ("removed", |d| d.remove("changing/removed"), b""),
    // The paths of all lead elsewhere.
    ("moved", |d| d.rename("changing", "changed"), b""),
];

/// A file that is sent from memory is sent as it is as soon as whoever has changed it knows that, also
/// over a connection that has had it before.
fn changed(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    let mut root = Directory::open(names, ROOT)?;
    root.make_directory("changing")?;
    for name in [
        "written", "longer", "shorter", "replaced", "removed", "moved", "other",
    ] {
        let content: &[u8] = if name == "other" { b"other" } else { b"first" };
        let mut file = root.open_with(&format!("changing/{name}"), Options::create_new())?;
        file.write_at(0, content)?;
    }
    thread::sleep(SETTLED);
    let mut client = Client::open(names, port)?;
    let mut get = |name: &str| -> Result<Answer, Error> {
        let text = format!("GET /changing/{name} HTTP/1.1\r\nHost: x\r\n\r\n");
        client.send(text.as_bytes())?;
        Ok(client.answer(false))
    };
    for (name, change, after) in CHANGES {
        for _ in 0..TIMES {
            let before = get(name)?;
            tally.is(
                name,
                before.status == 200 && before.body == b"first",
                &before,
            );
            thread::sleep(PAUSE);
        }
        change(&mut root)?;
        let now = get(name)?;
        let good = match after {
            [] => now.status == 404,
            after => now.status == 200 && now.body == *after,
        };
        tally.is(&format!("{name} meanwhile"), good, &now);
    }
    for name in ["written", "longer", "shorter", "replaced", "moved"] {
        root.remove(&format!("changed/{name}"))?;
    }
    root.remove_directory("changed")
}

/// Bytes of a file of which pieces are kept, and a part that begins and ends within two of them.
const BYTES: usize = 300_000;
const WITHIN: core::ops::RangeInclusive<usize> = 65_000..=200_000;

/// The same of a file of which pieces are kept: it is whole, and so are its parts, and after a change it is as it
/// is then.
fn pieces(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    const NAME: &str = "pieces.bin";
    let mut content: Vec<u8> = (0..BYTES).map(|at| (at / 1000) as u8).collect();
    let mut root = Directory::open(names, ROOT)?;
    let mut file = root.open_with(NAME, Options::create_new())?;
    file.write_at(0, &content)?;
    thread::sleep(SETTLED);
    let mut client = Client::open(names, port)?;
    let mut get = |headers: &str| -> Result<Answer, Error> {
        let text = format!("GET /{NAME} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        client.send(text.as_bytes())?;
        Ok(client.answer(false))
    };
    let range = format!("Range: bytes={}-{}\r\n", WITHIN.start(), WITHIN.end());
    for _ in 0..TIMES {
        let whole = get("")?;
        let good = whole.status == 200 && whole.whole && whole.body == content;
        tally.is("a file in pieces", good, &whole);
        let part = get(&range)?;
        let good = part.status == 206 && part.body == content[WITHIN];
        tally.is("a part of a file in pieces", good, &part);
        thread::sleep(PAUSE);
    }
    for at in [70_000, BYTES - 1] {
        content[at] ^= 0xff;
        file.write_at(at as u64, &content[at..=at])?;
        let now = get("")?;
        tally.is("a piece that was written", now.body == content, &now);
    }
    content.truncate(100_000);
    file.set_size(content.len() as u64)?;
    let now = get("")?;
    tally.is("fewer pieces", now.body == content, &now);
    root.remove(NAME)?;
    let now = get("")?;
    tally.is("no pieces any more", now.status == 404, &now);
    Ok(())
}

fn packed(names: &mut Names, port: u16, tally: &mut Tally, whole: &Answer) -> Result<(), Error> {
    let gzip = with(names, port, "GET /a.txt", "Accept-Encoding: gzip\r\n")?;
    let coded =
        gzip.header("content-encoding") == Some("gzip") && gzip.body.starts_with(&[0x1f, 0x8b]);
    let len = gzip
        .body
        .last_chunk::<4>()
        .map(|bytes| u32::from_le_bytes(*bytes));
    let same = len == u32::try_from(whole.body.len()).ok() && gzip.body.len() < whole.body.len();
    let told = gzip.header("etag") != whole.header("etag") && gzip.header("vary").is_some();
    tally.is("gzip", gzip.status == 200 && coded && same && told, &gzip);
    // Whichever form the client has, it is told that it has it.
    for form in [&gzip, whole] {
        let tag = form.header("etag").unwrap_or_default();
        let headers = format!("Accept-Encoding: gzip\r\nIf-None-Match: {tag}\r\n");
        let unchanged = with(names, port, "GET /a.txt", &headers)?;
        let same = unchanged.status == 304 && unchanged.header("etag") == Some(tag);
        tally.is("unchanged in its form", same, &unchanged);
    }
    let headers = "Accept-Encoding: gzip\r\nIf-Match: \"other\"\r\n";
    let failed = with(names, port, "GET /a.txt", headers)?;
    tally.is("If-Match beside gzip", failed.status == 412, &failed);
    Ok(())
}

fn parts(names: &mut Names, port: u16, tally: &mut Tally, whole: &Answer) -> Result<(), Error> {
    let size = whole.body.len();
    let tag = whole.header("etag").unwrap_or_default();
    let modified = whole.header("last-modified").unwrap_or_default();
    let part = with(names, port, "GET /a.txt", "Range: bytes=10-19\r\n")?;
    let range = part.header("content-range") == Some(&format!("bytes 10-19/{size}"));
    tally.is(
        "a part",
        part.status == 206 && range && part.body == whole.body[10..20],
        &part,
    );
    let last = with(names, port, "GET /a.txt", "Range: bytes=-7\r\n")?;
    tally.is(
        "the last part",
        last.status == 206 && whole.body.ends_with(&last.body),
        &last,
    );
    let beyond = with(names, port, "GET /a.txt", "Range: bytes=100000-\r\n")?;
    tally.is("beyond the end", beyond.status == 416, &beyond);
    let changed = with(
        names,
        port,
        "GET /a.txt",
        "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n",
    )?;
    tally.is(
        "If-Range",
        changed.status == 200 && changed.body == whole.body,
        &changed,
    );
    let same = format!("Range: bytes=0-1\r\nIf-Range: {tag}\r\n");
    let same = with(names, port, "GET /a.txt", &same)?;
    tally.is(
        "If-Range of the same",
        same.status == 206 && same.body.len() == 2,
        &same,
    );
    for headers in [
        format!("If-None-Match: {tag}\r\n"),
        format!("If-Modified-Since: {modified}\r\n"),
    ] {
        let unchanged = with(names, port, "GET /a.txt", &headers)?;
        tally.is(
            &headers,
            unchanged.status == 304 && unchanged.body.is_empty(),
            &unchanged,
        );
    }
    let failed = with(names, port, "GET /a.txt", "If-Match: \"other\"\r\n")?;
    tally.is("If-Match", failed.status == 412, &failed);
    Ok(())
}
