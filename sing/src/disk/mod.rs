//! `sing disk`: disk images with a file system, as ordinary files.
//!
//! A command changes the image whole or not at all as far as a sync does: a file that is put gets
//! its name when all of it is there. An image is taken for anybody's work: it is verified as it is
//! mounted, and what it contains is neither followed (symbolic links) nor trusted.

mod file;
mod names;
mod parse;

pub use parse::parse;

use crate::output::{self, name_of};
use file::ImageFile;
use names::Name;
use serde_json::{Value, json};
use sing_files::standard;
use sing_store::{Entry, Error, FormatOptions, Kind, MountOptions, NodeId, Progress, ROOT, Store};
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes that are copied at a time.
const PIECE: usize = 1 << 20;
/// Entries that are listed at a time.
const ENTRIES: usize = 1000;
/// Problems of an image that are named.
const PROBLEMS: usize = 20;
/// Memory for metadata.
const CACHE: usize = 64 << 20;

/// The command with what it needs.
pub enum Request {
    Create {
        file: PathBuf,
        bytes: u64,
        label: String,
        force: bool,
    },
    Ls {
        file: PathBuf,
        path: String,
        json: bool,
    },
    Get {
        file: PathBuf,
        path: String,
        /// `-`: standard output.
        out: PathBuf,
    },
    Put {
        file: PathBuf,
        source: PathBuf,
        path: String,
    },
    Rm {
        file: PathBuf,
        path: String,
    },
    Mkdir {
        file: PathBuf,
        path: String,
    },
    Check {
        file: PathBuf,
    },
    Df {
        file: PathBuf,
    },
}

type Done<T = ()> = Result<T, String>;
type Image = Store<ImageFile>;

/// Runs a command. False: the image was checked and has problems.
pub fn run(request: &Request) -> Done<bool> {
    let name = name_of(request.file());
    // The checksums keep damage from the database, but checksums can be made up: then the database
    // may panic.
    let done = catch_unwind(AssertUnwindSafe(|| request.run()));
    let broken =
        "the image is damaged in a way that its checksums do not show; nothing can be read";
    done.unwrap_or_else(|_| Err(broken.into()))
        .map_err(|e| format!("disk: {name}: {e}"))
}

impl Request {
    fn file(&self) -> &Path {
        match self {
            Request::Create { file, .. }
            | Request::Ls { file, .. }
            | Request::Get { file, .. }
            | Request::Put { file, .. }
            | Request::Rm { file, .. }
            | Request::Mkdir { file, .. }
            | Request::Check { file }
            | Request::Df { file } => file,
        }
    }

    fn run(&self) -> Done<bool> {
        match self {
            Request::Create {
                file,
                bytes,
                label,
                force,
            } => create(file, *bytes, label, *force)?,
            Request::Ls { file, path, json } => ls(file, path, *json)?,
            Request::Get { file, path, out } => get(file, path, out)?,
            Request::Put { file, source, path } => put(file, source, path)?,
            Request::Rm { file, path } => change(file, |image| rm(image, path))?,
            Request::Mkdir { file, path } => change(file, |image| mkdir(image, path))?,
            Request::Check { file } => return check(file),
            Request::Df { file } => df(file)?,
        }
        Ok(true)
    }
}

fn say(error: Error) -> String {
    error.to_string()
}

fn at(path: &str) -> impl Fn(Error) -> String {
    move |error| format!("{}: {error}", Name(path))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos().try_into().unwrap_or(u64::MAX))
}

fn create(file: &Path, bytes: u64, label: &str, force: bool) -> Done {
    let mut uuid = [0; 16];
    let random = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut uuid));
    random.map_err(|e| format!("no random number for its name: {e}"))?;
    let options = FormatOptions {
        label: label.into(),
        uuid,
        now: now(),
    };
    let disk = ImageFile::create(file, bytes, force)?;
    let made = Store::format(disk, &options).map_err(say);
    if made.is_err() && !force {
        // It was not there before.
        let _ = std::fs::remove_file(file);
    }
    made.map(drop)
}

fn mount(file: &Path, read_only: bool) -> Done<Image> {
    let disk = ImageFile::open(file, read_only)?;
    let options = MountOptions {
        read_only,
        cache: CACHE,
        ..MountOptions::default()
    };
    Store::mount(disk, &options).map_err(say)
}

/// Does something to an image, and finishes what others have left to be given back. If not all of that can
/// be given back, the change is made all the same, and that is said.
fn change(file: &Path, work: impl FnOnce(&mut Image) -> Done) -> Done {
    let mut image = mount(file, false)?;
    let done = work(&mut image);
    let tidied = loop {
        match image.tidy() {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    image.unmount().map_err(say)?;
    if let Err(error) = tidied {
        let file = name_of(file);
        output::complain(format!(
            "sing: disk: {file}: not all space of removed files could be given back: {error}; `sing disk check \
             {file}` says what is wrong"
        ));
    }
    done
}

/// The parts of a path, from the root on.
fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// What a path leads to. No symbolic link is followed.
fn find(image: &mut Image, path: &str) -> Done<Entry> {
    let mut found = Entry {
        name: String::new(),
        node: ROOT,
        kind: Kind::Directory,
        cookie: 0,
    };
    for part in parts(path) {
        found = image.lookup(found.node, part).map_err(at(path))?;
    }
    Ok(found)
}

/// The directory in which a path's last part is to lie, and that part.
fn place<'a>(image: &mut Image, path: &'a str) -> Done<(NodeId, &'a str)> {
    let Some(name) = parts(path).next_back() else {
        return Err(format!("{}: name something below the root", Name(path)));
    };
    let above: Vec<&str> = parts(path).collect();
    let above = above[..above.len() - 1].join("/");
    let found = find(image, &above)?;
    if found.kind == Kind::Directory {
        Ok((found.node, name))
    } else {
        Err(format!("{}: {}", Name(&above), Error::NotDirectory))
    }
}

/// An entry as a listing shows it: its size in bytes, and where a link leads.
struct Listed {
    entry: Entry,
    bytes: u64,
    target: Option<String>,
}

fn ls(file: &Path, path: &str, json: bool) -> Done {
    let mut image = mount(file, true)?;
    let mut all = Vec::new();
    let mut say = |listed: Listed| match json {
        true => all.push(listed.json()),
        false => output::line(listed.to_string()),
    };
    let found = find(&mut image, path)?;
    if found.kind == Kind::Directory {
        let mut cookie = 0;
        loop {
            let entries = image.list(found.node, cookie, ENTRIES).map_err(at(path))?;
            let Some(last) = entries.last() else { break };
            cookie = last.cookie;
            for entry in entries {
                say(listed(&mut image, entry)?);
            }
        }
    } else {
        say(listed(&mut image, found)?);
    }
    if json {
        output::json(Value::Array(all).to_string());
    }
    Ok(())
}

fn listed(image: &mut Image, entry: Entry) -> Done<Listed> {
    let bytes = image.attributes(entry.node).map_err(at(&entry.name))?.size;
    let target = match entry.kind {
        Kind::Link => Some(image.read_link(entry.node).map_err(at(&entry.name))?),
        Kind::File | Kind::Directory => None,
    };
    Ok(Listed {
        entry,
        bytes,
        target,
    })
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Name(&self.entry.name);
        match self.entry.kind {
            Kind::File => write!(f, "{:>12}  {name}", self.bytes),
            Kind::Directory => write!(f, "{:>12}  {name}/", "directory"),
            Kind::Link => {
                let target = self.target.as_deref().unwrap_or_default();
                write!(f, "{:>12}  {name} -> {}", "link", Name(target))
            }
        }
    }
}

impl Listed {
    /// For another program: with the names as they are.
    fn json(&self) -> Value {
        let name = &self.entry.name;
        match (self.entry.kind, &self.target) {
            (Kind::Directory, _) => json!({"name": name, "kind": "directory"}),
            (Kind::Link, target) => json!({"name": name, "kind": "link", "target": target}),
            (Kind::File, _) => json!({"name": name, "kind": "file", "bytes": self.bytes}),
        }
    }
}

fn get(file: &Path, path: &str, out: &Path) -> Done {
    let mut image = mount(file, true)?;
    let found = find(&mut image, path)?;
    if found.kind != Kind::File {
        return Err(format!("{}: {}", Name(path), Error::NotFile));
    }
    if out == Path::new("-") {
        return copy_out(&mut image, found.node, path, |piece| {
            standard::print(piece);
            Ok(!standard::is_lost())
        });
    }
    output::is_no_input(out, [&file.to_path_buf()])?;
    let mut failed = None;
    let made = sing_files::make(out, |place| {
        let mut out = File::create(place)?;
        let done = copy_out(&mut image, found.node, path, |piece| {
            out.write_all(piece)?;
            Ok(true)
        });
        done.map_err(|e| {
            failed = Some(e);
            std::io::Error::other("failed")
        })
    });
    made.map_err(|e| match failed {
        Some(reason) => reason,
        None => format!("{}: cannot be written: {e}", name_of(out)),
    })
}

fn copy_out(
    image: &mut Image,
    node: NodeId,
    path: &str,
    mut write: impl FnMut(&[u8]) -> std::io::Result<bool>,
) -> Done {
    let mut piece = vec![0; PIECE];
    let mut offset = 0;
    loop {
        let bytes = image.read_at(node, offset, &mut piece).map_err(at(path))?;
        if bytes == 0 {
            return Ok(());
        }
        let wanted = write(&piece[..bytes]);
        if !wanted.map_err(|e| format!("the copy cannot be written: {e}"))? {
            return Ok(());
        }
        offset += bytes as u64;
    }
}

fn put(file: &Path, source: &Path, path: &str) -> Done {
    output::is_no_input(file, [&source.to_path_buf()])?;
    let source_name = name_of(source);
    let mut from = File::open(source).map_err(|e| format!("{source_name}: {e}"))?;
    change(file, |image| {
        let (directory, name) = match find(image, path) {
            Ok(found) if found.kind == Kind::Directory => {
                let name = source.file_name().and_then(|name| name.to_str());
                let name = name.ok_or_else(|| format!("{}: say under which name", Name(path)))?;
                (found.node, name)
            }
            _ => place(image, path)?,
        };
        // Under another name until all of it is there.
        let (node, hidden) = hidden_file(image, directory)?;
        let copied = copy_in(image, node, path, &mut from).and_then(|()| {
            let to = (directory, name);
            image
                .rename((directory, &hidden), to, now())
                .map_err(at(path))
        });
        if copied.is_err() {
            let _ = image.unlink(directory, &hidden, now());
        }
        copied
    })
}

fn hidden_file(image: &mut Image, directory: NodeId) -> Done<(NodeId, String)> {
    for number in 0..1000 {
        let name = format!(".sing-put-{number}");
        match image.create(directory, &name, now()) {
            Err(Error::Exists) => {}
            made => return made.map(|node| (node, name)).map_err(say),
        }
    }
    Err("there are too many files named .sing-put-* in the directory; remove them".into())
}

fn copy_in(image: &mut Image, node: NodeId, path: &str, from: &mut File) -> Done {
    let mut piece = vec![0; PIECE];
    let mut offset = 0;
    loop {
        let mut bytes = 0;
        while bytes < PIECE {
            match from.read(&mut piece[bytes..]) {
                Ok(0) => break,
                Ok(more) => bytes += more,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("the source cannot be read: {e}")),
            }
        }
        if bytes == 0 {
            return Ok(());
        }
        image
            .write_at(node, offset, &piece[..bytes], now())
            .map_err(at(path))?;
        offset += bytes as u64;
    }
}

fn rm(image: &mut Image, path: &str) -> Done {
    let (directory, name) = place(image, path)?;
    let found = image.lookup(directory, name).map_err(at(path))?;
    match found.kind {
        Kind::Directory => image.remove_directory(directory, name, now()),
        _ => image.unlink(directory, name, now()),
    }
    .map_err(at(path))
}

fn mkdir(image: &mut Image, path: &str) -> Done {
    let (directory, name) = place(image, path)?;
    image
        .make_directory(directory, name, now())
        .map(drop)
        .map_err(at(path))
}

fn check(file: &Path) -> Done<bool> {
    let mut image = mount(file, true)?;
    let report = image.check(PROBLEMS).map_err(say)?;
    for text in &report.texts {
        output::line(text);
    }
    let name = name_of(file);
    match report.problems {
        0 => output::line(format!("{name}: {} nodes, no problem", report.nodes)),
        1 => output::line(format!("{name}: 1 problem")),
        more => output::line(format!("{name}: {more} problems")),
    }
    Ok(report.is_clean())
}

fn df(file: &Path) -> Done {
    let image = mount(file, true)?;
    let space = image.space();
    let volume = image.volume();
    let hex: String = volume
        .uuid
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    output::line(format!("label     {}", Name(&volume.label)));
    output::line(format!("uuid      {hex}"));
    output::line(format!("format    {}", volume.version));
    for (what, bytes) in [
        ("size", volume.bytes),
        (
            "files",
            space.total.saturating_sub(space.free + space.metadata),
        ),
        ("metadata", space.metadata),
        ("free", space.free),
    ] {
        output::line(format!("{what:<9} {bytes:>14} bytes"));
    }
    output::line(format!("nodes     {:>14}", space.nodes));
    Ok(())
}
