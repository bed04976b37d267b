//! Requests for files: those below one directory and no others. Names are the file system's affair,
//! which lets nobody out of a directory; the path has no part that would lead there either.
//!
//! Small ones are kept in memory (`web::cache`), and sent from there when they are as they were: the file
//! system says so for each request, one message in the place of four; or it has said so once, and that
//! it would tell of any change, of which nothing has come (`root.rs`).

use crate::connection::Talk;
use crate::pieces::Pieces;
use crate::root::Root;
use crate::wire::Lost;
use alloc::sync::Arc;
use sing_sdk::fs::File;
use sing_sdk::prelude::*;
use sing_sdk::thread;
use sing_sdk::time::utc;
use web::answer::{Answer, Length};
use web::cache::{self, Stamp};
use web::conditions::{self, Answer as What, State};
use web::packed::{self, Packer};
use web::target::{self, Target};
use web::{date, kinds};

/// The name of a directory's own page.
const INDEX: &str = "index.html";
/// The stack of a thread that packs: its tables may lie there while they are made.
const STACK: usize = 512 << 10;
const NANOS: u64 = 1_000_000_000;

/// A file's content.
enum Content {
    File(File),
    /// A copy of it, as it is now.
    Kept(Arc<[u8]>),
    /// Pieces of it, as it is now, may be kept; it is not open.
    Pieces,
}

/// A file that was found.
struct Found {
    /// Its path below the directory of files.
    path: String,
    stamp: Stamp,
    content: Content,
}

pub fn stamp(attributes: &FileAttributes) -> Stamp {
    Stamp {
        id: attributes.id,
        bytes: attributes.bytes,
        modified: attributes.modified,
        changed: attributes.changed,
    }
}

/// What is at a path.
enum At {
    File(Found),
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
    let mut asked = true;
    let found = find(talk, target, &mut asked);
    let (path, error) = match &found {
        Ok(At::File(found)) => (Some(found.path.as_str()), None),
        Ok(At::Directory) => (None, None),
        Err(error) => (None, Some(error)),
    };
    if asked {
        talk.trace.file("open", begin, path, error);
    }
    match found {
        Ok(At::File(found)) => {
            let name = target.parts.last().filter(|_| !target.directory);
            let name = name.map_or(INDEX, |name| name.as_str());
            send(talk, found, kinds::of(name))
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

/// Finds what is asked for; `asked`: whether the file system was asked for it.
fn find(talk: &mut Talk<'_>, target: &Target, asked: &mut bool) -> Result<At, Error> {
    match look(talk, target, asked) {
        // The file system was started again: its successor knows the path, too.
        Err(Error::Closed) => {
            *talk.root = None;
            talk.server.watch.forget();
            look(talk, target, asked)
        }
        found => found,
    }
}

fn look(talk: &mut Talk<'_>, target: &Target, asked: &mut bool) -> Result<At, Error> {
    let path = match (target.directory, target.path()) {
        (false, path) => path,
        (true, path) if path.is_empty() => INDEX.into(),
        (true, path) => format!("{path}/{INDEX}"),
    };
    // It is asked for before anything else is: what is found out behind that holds as long as it does.
    let watch = &talk.server.watch;
    if talk.root.is_none() {
        *talk.root = watch.recent();
    }
    let (root, moment) = match talk.root {
        Some(root) => {
            let moment = watch.moment(root);
            (root, moment)
        }
        None => {
            let root = talk.root.insert(Root::open(talk.server)?);
            let moment = watch.opened(root);
            (root, moment)
        }
    };
    let kept = talk.server.cache.lock().look(&path, moment);
    if let Some(kept) = kept {
        *asked = !kept.sure;
        let as_it_was = kept.sure || {
            let known = stamp(&root.directory.attributes(&path)?) == kept.stamp;
            if known && let Some(moment) = moment {
                let mut cache = talk.server.cache.lock();
                cache.confirm(&path, &kept.stamp, moment);
            }
            known
        };
        if as_it_was {
            let content = kept.content.map_or(Content::Pieces, Content::Kept);
            let stamp = kept.stamp;
            return Ok(At::File(Found {
                path,
                stamp,
                content,
            }));
        }
    }
    match root.directory.open_file(&path) {
        Ok(mut file) => {
            let stamp = stamp(&file.attributes()?);
            let content = Content::File(file);
            Ok(At::File(Found {
                path,
                stamp,
                content,
            }))
        }
        Err(Error::File(FileFault::IsDirectory)) if !target.directory => Ok(At::Directory),
        Err(error) => Err(error),
    }
}

/// Reads a small file that is asked for as a whole into memory, and keeps it there.
fn read(talk: &mut Talk<'_>, found: &mut Found) -> Result<(), Error> {
    let (before, size) = (found.stamp, found.stamp.bytes);
    let Content::File(file) = &mut found.content else {
        return Ok(());
    };
    if !talk.server.cache.lock().takes(size) || !before.is_settled(utc().as_nanos() as u64) {
        return Ok(());
    }
    let mut bytes = vec![0; size as usize];
    let begin = talk.trace.now();
    let read = file.read_at(0, &mut bytes);
    talk.trace.file("read", begin, None, read.as_ref().err());
    let read = read?;
    // Whatever has changed it meanwhile, the stamp says so.
    if read == bytes.len() && stamp(&file.attributes()?) == before {
        let content = Arc::from(bytes);
        let mut cache = talk.server.cache.lock();
        cache.keep(&found.path, before, Arc::clone(&content));
        found.content = Content::Kept(content);
    }
    Ok(())
}

/// Sends a file, or the part that is asked for.
fn send(
    talk: &mut Talk<'_>,
    mut found: Found,
    (kind, packs): (&'static str, bool),
) -> Result<(), Lost> {
    let Stamp {
        id,
        modified,
        bytes: size,
        ..
    } = found.stamp;
    let packs = packs && (packed::LEAST..=packed::MOST).contains(&size);
    let plain = format!("\"{id:x}-{size:x}-{modified:x}\"");
    let now = utc().as_secs();
    let modified = (modified / NANOS).min(now);
    let takes = conditions::takes_gzip(&talk.head) && talk.head.list("range").is_none();
    // Who has the file as it is need not get it in another form.
    let wants = packs && takes && !conditions::name_tag(&talk.head, &plain);
    let packed = wants.then(|| format!("{}-gzip\"", plain.trim_end_matches('"')));
    let mut tag = packed.as_ref().unwrap_or(&plain).as_str();
    // Before any work is done for the content.
    let what = conditions::answer(
        &talk.head,
        State {
            tag,
            modified,
            bytes: size,
            now,
        },
    );
    // Also for who asks for the head alone of what has to be packed: it would be packed each time.
    if what == What::Whole && (wants || talk.head.method == "GET") {
        read(talk, &mut found)?;
    }
    let mut content = None;
    if wants && what == What::Whole {
        content = pack(talk, &mut found);
        if content.is_none() {
            tag = &plain;
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
    let mut answer = Answer::new(status, now).with("ETag", tag);
    answer = answer.with("Last-Modified", &date::show(modified));
    if packs {
        answer = answer.with("Vary", "Accept-Encoding");
    }
    if status == 304 {
        talk.begin_whole(answer, Length::None)?;
        return talk.wire.settle(talk.pace, 0);
    }
    answer = answer
        .with("Content-Type", kind)
        .with("X-Content-Type-Options", "nosniff");
    if let Some(content) = content {
        answer = answer.with("Content-Encoding", "gzip");
        return send_packed(talk, answer, &content);
    }
    answer = answer.with("Accept-Ranges", "bytes");
    let (from, to) = match what {
        What::Part(first, last) => {
            answer = answer.header("Content-Range", format!("bytes {first}-{last}/{size}"));
            (first, last + 1)
        }
        _ => (0, size),
    };
    talk.begin_whole(answer, Length::Known(to - from))?;
    if talk.head.method == "HEAD" {
        return talk.wire.settle(talk.pace, 0);
    }
    match found.content {
        Content::Kept(content) => {
            let part = content.get(from as usize..to as usize).ok_or(Lost::Gone)?;
            send_bytes(talk, part)
        }
        Content::File(file) => {
            let pieces = Pieces::new(talk.server, found.path, found.stamp, Some(file));
            send_file(talk, pieces, from, to)
        }
        Content::Pieces => {
            let pieces = Pieces::new(talk.server, found.path, found.stamp, None);
            send_file(talk, pieces, from, to)
        }
    }
}

/// Sends a part of a file, whose blocks move uncopied from the file system to the network, or from memory.
fn send_file(talk: &mut Talk<'_>, mut pieces: Pieces, from: u64, to: u64) -> Result<(), Lost> {
    let mut at = from;
    // The head and a small file go in one block, into which the file system reads.
    let whole = usize::try_from(to - from).unwrap_or(usize::MAX);
    if let Some(file) = pieces.unkept()
        && let Some((block, start)) = talk.wire.begin_block(whole)?
    {
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
        let block = pieces.next(talk, at, to)?;
        at += block.len() as u64;
        talk.wire.push(block)?;
        talk.wire.settle(talk.pace, at - from)?;
    }
    talk.wire.settle(talk.pace, at - from)
}

/// Sends bytes behind a head that waits.
fn send_bytes(talk: &mut Talk<'_>, mut rest: &[u8]) -> Result<(), Lost> {
    let mut sent = 0;
    while !rest.is_empty() {
        let written = talk.wire.write_block(rest)?;
        rest = &rest[written..];
        sent += written as u64;
        talk.wire.settle(talk.pace, sent)?;
    }
    talk.wire.settle(talk.pace, sent)
}

/// A file's content, packed; `None` if that does not pay.
fn pack(talk: &mut Talk<'_>, found: &mut Found) -> Option<Arc<[u8]>> {
    let (stamp, size) = (found.stamp, found.stamp.bytes);
    let name = cache::packed(&found.path);
    let kept = talk.server.cache.lock().find(&name, &stamp);
    if kept.is_some() {
        return kept;
    }
    let (content, is_sure) = match &mut found.content {
        Content::Kept(content) => (Arc::clone(content), true),
        Content::File(file) => {
            let settled = stamp.is_settled(utc().as_nanos() as u64);
            let mut content = vec![0; size as usize];
            let begin = talk.trace.now();
            let read = file.read_at(0, &mut content);
            talk.trace.file("read", begin, None, read.as_ref().err());
            let content = (read.ok()? == content.len()).then(|| content.into())?;
            // It is too large to be kept as it is, and its packed form may not be.
            let is_sure = settled && file.attributes().is_ok_and(|of| self::stamp(&of) == stamp);
            (content, is_sure)
        }
        // Of what may be packed there are no pieces.
        Content::Pieces => return None,
    };
    let _one = talk.server.packing.lock();
    // Another one may have packed it meanwhile.
    let kept = talk.server.cache.lock().find(&name, &stamp);
    if kept.is_some() {
        return kept;
    }
    let pack = move || Packer::default().pack(&content);
    let packed: Arc<[u8]> = thread::spawn_with_stack(STACK, pack)
        .ok()?
        .join()
        .ok()??
        .into();
    if is_sure {
        let mut cache = talk.server.cache.lock();
        cache.keep(&name, stamp, Arc::clone(&packed));
    }
    Some(packed)
}

fn send_packed(talk: &mut Talk<'_>, answer: Answer, content: &[u8]) -> Result<(), Lost> {
    talk.begin_whole(answer, Length::Known(content.len() as u64))?;
    if talk.head.method == "HEAD" {
        return talk.wire.settle(talk.pace, 0);
    }
    send_bytes(talk, content)
}
