//! Requests for files: those below one directory and no others. Names are the file system's affair,
//! which lets nobody out of a directory; the path has no part that would lead there either.

use crate::connection::Talk;
use crate::wire::Lost;
use sing_sdk::fs::{Directory, File};
use sing_sdk::prelude::*;
use sing_sdk::thread;
use sing_sdk::time::utc;
use web::answer::{Answer, Length};
use web::conditions::{self, Answer as What, State};
use web::packed::{self, Packer};
use web::target::{self, Target};
use web::{date, kinds};

/// The name of a directory's own page.
const INDEX: &str = "index.html";
/// The blocks in which files are read.
const PIECE: u64 = 64 << 10;
/// The stack of a thread that packs: its tables may lie there while they are made.
const STACK: usize = 512 << 10;
const NANOS: u64 = 1_000_000_000;

/// What is at a path.
enum At {
    File(File, FileAttributes),
    /// A directory whose path was written like a file's.
    Directory,
}

pub fn answer(talk: &mut Talk<'_>, target: &Target) -> Result<(), Lost> {
    match talk.head.method.as_str() {
        "GET" | "HEAD" => {}
        "OPTIONS" => return talk.options(),
        _ => {
            let page = web::answer::page(405, "files can only be read", None);
            let answer = talk.head(405).header("Allow", "GET, HEAD, OPTIONS");
            return talk.text(answer, &page);
        }
    }
    let begin = talk.trace.now();
    let found = find(talk, target);
    let path = target.path();
    let error = found.as_ref().err();
    talk.trace.file("open", begin, Some(&path), error);
    match found {
        Ok(At::File(file, attributes)) => {
            let name = target.parts.last().filter(|_| !target.directory);
            let name = name.map_or(INDEX, |name| name.as_str());
            send(talk, file, &attributes, kinds::of(name))
        }
        Ok(At::Directory) => {
            let mut place = format!("{}/", target::encode(&format!("/{}", target.path())));
            if !target.query.is_empty() {
                place = format!("{place}?{}", target.query);
            }
            let page = web::answer::page(301, "a directory's path ends with /", None);
            let answer = talk.head(301).header("Location", place);
            talk.text(answer, &page)
        }
        Err(
            Error::NoResources | Error::Closed | Error::File(FileFault::Busy | FileFault::Medium),
        ) => talk.error(503, "the file system cannot answer now"),
        Err(_) => talk.error(404, "there is no such file"),
    }
}

fn find(talk: &mut Talk<'_>, target: &Target) -> Result<At, Error> {
    match look(talk, target) {
        // The file system was started again: its successor knows the path, too.
        Err(Error::Closed) => {
            *talk.root = None;
            look(talk, target)
        }
        found => found,
    }
}

fn look(talk: &mut Talk<'_>, target: &Target) -> Result<At, Error> {
    if talk.root.is_none() {
        *talk.root = Some(talk.server.root()?);
    }
    let root = talk.root.as_mut().ok_or(Error::Closed)?;
    let path = target.path();
    if !target.directory {
        return match root.open_file(&path) {
            Ok(mut file) => {
                let attributes = file.attributes()?;
                Ok(At::File(file, attributes))
            }
            Err(Error::File(FileFault::IsDirectory)) => Ok(At::Directory),
            Err(error) => Err(error),
        };
    }
    let index = match path.as_str() {
        "" => INDEX.into(),
        path => format!("{path}/{INDEX}"),
    };
    open(root, &index)
}

fn open(root: &mut Directory, path: &str) -> Result<At, Error> {
    let mut file = root.open_file(path)?;
    let attributes = file.attributes()?;
    Ok(At::File(file, attributes))
}

/// Sends a file, or the part that is asked for.
fn send(
    talk: &mut Talk<'_>,
    mut file: File,
    attributes: &FileAttributes,
    (kind, packs): (&'static str, bool),
) -> Result<(), Lost> {
    let modified = (attributes.modified / NANOS).min(utc().as_secs());
    let size = attributes.bytes;
    let packs = packs && (packed::LEAST..=packed::MOST).contains(&size);
    let plain = format!("\"{:x}-{size:x}-{:x}\"", attributes.id, attributes.modified);
    let takes = conditions::takes_gzip(&talk.head) && talk.head.header("range").is_none();
    // Who has the file as it is need not get it in another form.
    let wants = packs && takes && !conditions::name_tag(&talk.head, &plain);
    let mut tag = match wants {
        true => format!("{}-gzip\"", plain.trim_end_matches('"')),
        false => plain.clone(),
    };
    // Before any work is done for the content.
    let what = conditions::answer(
        &talk.head,
        State {
            tag: &tag,
            modified,
            bytes: size,
        },
    );
    let mut content = None;
    if wants && what == What::Whole {
        content = pack(talk, &mut file, size);
        if content.is_none() {
            tag = plain;
        }
    }
    let status = match what {
        What::Whole => 200,
        What::Part(..) => 206,
        What::Unchanged => 304,
        What::Failed => return talk.error(412, "the file is not what the request says"),
        What::Nowhere => {
            let page = web::answer::page(416, "the file has no such bytes", None);
            let answer = talk
                .head(416)
                .header("Content-Range", format!("bytes */{size}"));
            return talk.text(answer, &page);
        }
    };
    let mut answer = talk.head(status).header("ETag", &tag);
    answer = answer.header("Last-Modified", date::show(modified));
    if packs {
        answer = answer.header("Vary", "Accept-Encoding");
    }
    if status == 304 {
        talk.begin(answer, Length::None)?;
        return talk.wire.settle(talk.pace, 0);
    }
    answer = answer
        .header("Content-Type", kind)
        .header("X-Content-Type-Options", "nosniff");
    if let Some(content) = content {
        answer = answer.header("Content-Encoding", "gzip");
        return send_packed(talk, answer, &content);
    }
    answer = answer.header("Accept-Ranges", "bytes");
    let (from, to) = match what {
        What::Part(first, last) => {
            answer = answer.header("Content-Range", format!("bytes {first}-{last}/{size}"));
            (first, last + 1)
        }
        _ => (0, size),
    };
    talk.begin(answer, Length::Known(to - from))?;
    if talk.head.method == "HEAD" {
        return talk.wire.settle(talk.pace, 0);
    }
    let mut at = from;
    // The head and a small file go in one block, into which the file system reads.
    let whole = usize::try_from(to - from).unwrap_or(usize::MAX);
    if let Some((block, start)) = talk.wire.begin_block(whole)? {
        let part = start..block.len();
        let wanted = part.len();
        let begin = talk.trace.now();
        let outcome = file.read_part(from, block, part);
        talk.trace.file("read", begin, None, outcome.as_ref().err());
        let (block, read) = outcome?;
        if read < wanted {
            return Err(Lost::Gone);
        }
        talk.wire.end_block(block, wanted)?;
        return talk.wire.settle(talk.pace, to - from);
    }
    while at < to {
        let piece = (to - at).min(PIECE);
        // A file that has become shorter meanwhile: the client learns that a part is missing.
        let begin = talk.trace.now();
        let read = file.read_block(at, piece as usize);
        talk.trace.file("read", begin, None, read.as_ref().err());
        let block = read?.ok_or(Lost::Gone)?;
        at += block.len() as u64;
        talk.wire.push(block)?;
        talk.wire.settle(talk.pace, at - from)?;
    }
    talk.wire.settle(talk.pace, at - from)
}

/// A file's content, packed; `None` if that does not pay.
fn pack(talk: &mut Talk<'_>, file: &mut File, size: u64) -> Option<Vec<u8>> {
    let mut content = vec![0; size as usize];
    let begin = talk.trace.now();
    let read = file.read_at(0, &mut content);
    talk.trace.file("read", begin, None, read.as_ref().err());
    let read = read.ok()?;
    if read < content.len() {
        return None;
    }
    let _one = talk.server.packing.lock();
    let pack = move || Packer::default().pack(&content);
    thread::spawn_with_stack(STACK, pack).ok()?.join().ok()?
}

fn send_packed(talk: &mut Talk<'_>, answer: Answer, content: &[u8]) -> Result<(), Lost> {
    talk.begin(answer, Length::Known(content.len() as u64))?;
    if talk.head.method == "HEAD" {
        return talk.wire.settle(talk.pace, 0);
    }
    let mut sent = 0;
    for piece in content.chunks(PIECE as usize) {
        talk.wire.write(piece)?;
        sent += piece.len() as u64;
        talk.wire.settle(talk.pace, sent)?;
    }
    Ok(())
}
