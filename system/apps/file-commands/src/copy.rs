//! Copying files, links and directories with all below them.

use crate::failure::{Failure, is};
use crate::tree::{Tree, is_directory, join, pop, push, same};
use alloc::string::String;
use alloc::vec;
use sing_sdk::Error;
use sing_sdk::contracts::{FileAttributes, FileFault, FileKind};
use sing_sdk::fs::{File, Options};
use sing_sdk::rt::Vector;

/// A file's content, as copying sees it.
pub trait Content {
    /// Its attributes.
    ///
    /// # Errors
    /// As the file system says; so with all requests.
    fn attributes(&mut self) -> Result<FileAttributes, Error>;

    /// Throws its content away.
    ///
    /// # Errors
    /// As [`Content::attributes`].
    fn empty(&mut self) -> Result<(), Error>;
}

/// Moves the content of one file to the end of another, which is empty.
pub trait Fill<From>: Content {
    /// Does it.
    ///
    /// # Errors
    /// Whether reading or writing failed, and why.
    fn fill(&mut self, from: &mut From) -> Result<(), Half>;
}

/// The half of a copy that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Reading.
    Read(Error),
    /// Writing.
    Write(Error),
}

impl Content for File {
    fn attributes(&mut self) -> Result<FileAttributes, Error> {
        File::attributes(self)
    }

    fn empty(&mut self) -> Result<(), Error> {
        self.set_size(0)
    }
}

/// Writes a part of a block at `offset`, all of it; the block comes back.
///
/// # Errors
/// [`FileFault::NoSpace`] if only a part could be written; as the file system says.
pub fn write_all(
    file: &mut File,
    offset: u64,
    mut data: Vector<u8>,
    count: usize,
) -> Result<Vector<u8>, Error> {
    let mut done = 0;
    while done < count {
        let end = count.min(done + sing_sdk::fs::PIECE);
        let (back, written) = file.write(offset + done as u64, data, done..end)?;
        if written == 0 {
            return Err(FileFault::NoSpace.into());
        }
        data = back;
        done += written;
    }
    Ok(data)
}

impl Fill<File> for File {
    /// One block goes back and forth between the two file systems, and is not copied here.
    fn fill(&mut self, from: &mut File) -> Result<(), Half> {
        let mut block = Vector::new(sing_sdk::fs::PIECE).map_err(Half::Read)?;
        let mut offset = 0;
        loop {
            let (filled, count) = from.read(offset, block).map_err(Half::Read)?;
            if count == 0 {
                return Ok(());
            }
            block = write_all(self, offset, filled, count).map_err(Half::Write)?;
            offset += count as u64;
        }
    }
}

/// Something in a tree.
pub struct At<'a, T> {
    /// The tree.
    pub tree: &'a mut T,
    /// The path in it.
    pub path: &'a str,
    /// The path of the tree itself, for what is said of failures.
    pub root: &'a str,
}

impl<T> At<'_, T> {
    fn failed(&self, path: &str, error: Error) -> Failure {
        Failure::of(join(self.root.trim_end_matches('/'), path))(error)
    }
}

/// How things are copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// The copies have the times of the originals.
    pub times: bool,
}

/// Copies the content of a file into one that is made, or replaced, at the other path.
fn file<S, D>(from: &mut At<'_, S>, to: &mut At<'_, D>, a: &str, b: &str) -> Result<(), Failure>
where
    S: Tree,
    D: Tree,
    S::File: Content,
    D::File: Fill<S::File>,
{
    let open = from.tree.open(a, Options::read());
    let mut source = open.map_err(|e| from.failed(a, e))?;
    let open = to.tree.open(b, Options::create());
    let mut target = open.map_err(|e| to.failed(b, e))?;
    let read = source.attributes().map_err(|e| from.failed(a, e))?;
    let write = |e| to.failed(b, e);
    // Looked at before anything is thrown away.
    if same(&read, &target.attributes().map_err(write)?) {
        let path = to.failed(b, Error::Held).path;
        return Err(Failure::because(path, "is the file that is to be copied"));
    }
    target.empty().map_err(write)?;
    target.fill(&mut source).map_err(|half| match half {
        Half::Read(e) => from.failed(a, e),
        Half::Write(e) => to.failed(b, e),
    })
}

fn link<S: Tree, D: Tree>(
    from: &mut At<'_, S>,
    to: &mut At<'_, D>,
    a: &str,
    b: &str,
) -> Result<(), Failure> {
    let text = from.tree.read_link(a).map_err(|e| from.failed(a, e))?;
    match to.tree.make_link(b, &text) {
        // The same link, perhaps of an earlier attempt.
        Err(error)
            if is(error, FileFault::Exists)
                && to.tree.read_link(b).is_ok_and(|there| there == text) =>
        {
            Ok(())
        }
        made => made.map_err(|e| to.failed(b, e)),
    }
}

/// Copies what is at one path to another, directories with all below them; ends at the first
/// failure. Files at the other path are replaced, directories kept and filled. Symbolic links are
/// copied as links, with the same text.
///
/// # Errors
/// The path at which something could not be read or written, and the reason.
pub fn copy<S, D>(mut from: At<'_, S>, mut to: At<'_, D>, how: How) -> Result<(), Failure>
where
    S: Tree,
    D: Tree,
    S::File: Content,
    D::File: Fill<S::File>,
{
    let (mut a, mut b) = (String::from(from.path), String::from(to.path));
    let attributes = from.tree.attributes(&a).map_err(|e| from.failed(&a, e))?;
    if !is_directory(&attributes) {
        return one(&mut from, &mut to, (&a, &b), attributes.kind, how);
    }
    let top = make(&mut to, &b)?;
    // How far each directory on the way down has been copied.
    let mut levels = vec![0];
    while let Some(place) = levels.last_mut() {
        let entries = from.tree.entries(&a, *place);
        let entries = entries.map_err(|e| from.failed(&a, e))?;
        if entries.is_empty() {
            levels.pop();
            if how.times {
                times(&mut from, &mut to, (&a, &b))?;
            }
            if !levels.is_empty() {
                pop(&mut a);
                pop(&mut b);
            }
            continue;
        }
        for entry in entries {
            *place = entry.next;
            push(&mut a, &entry.name);
            push(&mut b, &entry.name);
            if entry.kind == FileKind::Directory {
                let below = from.tree.attributes(&a).map_err(|e| from.failed(&a, e))?;
                if same(&below, &top) {
                    let path = from.failed(&a, Error::Held).path;
                    return Err(Failure::because(path, "the copy lies in what is copied"));
                }
                make(&mut to, &b)?;
                levels.push(0);
                break;
            }
            one(&mut from, &mut to, (&a, &b), entry.kind, how)?;
            pop(&mut a);
            pop(&mut b);
        }
    }
    Ok(())
}

/// Copies a file or link.
fn one<S, D>(
    from: &mut At<'_, S>,
    to: &mut At<'_, D>,
    (a, b): (&str, &str),
    kind: FileKind,
    how: How,
) -> Result<(), Failure>
where
    S: Tree,
    D: Tree,
    S::File: Content,
    D::File: Fill<S::File>,
{
    if kind == FileKind::Link {
        return link(from, to, a, b);
    }
    file(from, to, a, b)?;
    if how.times {
        times(from, to, (a, b))?;
    }
    Ok(())
}

/// Makes a directory, or takes the one that is there; its attributes.
fn make<D: Tree>(to: &mut At<'_, D>, path: &str) -> Result<FileAttributes, Failure> {
    let made = match to.tree.make_directory(path) {
        Err(error) if is(error, FileFault::Exists) => None,
        other => Some(other.map_err(|e| to.failed(path, e))?),
    };
    let attributes = to.tree.attributes(path).map_err(|e| to.failed(path, e))?;
    if made.is_none() && !is_directory(&attributes) {
        return Err(to.failed(path, FileFault::Exists.into()));
    }
    Ok(attributes)
}

/// Gives the copy the times of the original.
fn times<S: Tree, D: Tree>(
    from: &mut At<'_, S>,
    to: &mut At<'_, D>,
    (a, b): (&str, &str),
) -> Result<(), Failure> {
    let of = from.tree.attributes(a).map_err(|e| from.failed(a, e))?;
    let set = to.tree.set_times(b, of.accessed, of.modified);
    set.map_err(|e| to.failed(b, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use alloc::format;
    use alloc::vec::Vec;

    fn copied(from: &Model, a: &str, to: &Model, b: &str, how: How) -> Result<(), Failure> {
        let (mut from, mut to) = (from.clone(), to.clone());
        let from = At {
            tree: &mut from,
            path: a,
            root: "/one",
        };
        let to = At {
            tree: &mut to,
            path: b,
            root: "/two",
        };
        copy(from, to, how)
    }

    fn failure(outcome: Result<(), Failure>) -> String {
        format!("{}", outcome.unwrap_err())
    }

    const PLAIN: How = How { times: false };

    #[test]
    fn a_tree_is_copied_with_all_below_it() {
        let (mut one, two) = (Model::default(), Model::default());
        for i in 0..200 {
            let bytes = [i as u8; 3];
            one.file(&format!("a/d{}/e/f{i}", i % 7), &bytes);
            one.file(&format!("a/f{i}"), &bytes);
        }
        one.link("a/out", "../elsewhere");
        one.file("b", b"not copied");
        copied(&one, "a", &two, "c", PLAIN).unwrap();
        let expected: Vec<String> = one
            .paths()
            .into_iter()
            .filter(|p| p != "b")
            .map(|p| p.replacen('a', "c", 1))
            .collect();
        assert_eq!(two.paths(), expected);
        assert_eq!(two.content("c/d3/e/f3"), [3; 3]);
        assert_eq!(two.content("c/out"), b"../elsewhere");
    }

    #[test]
    fn files_are_replaced_and_directories_filled() {
        let (mut one, mut two) = (Model::default(), Model::default());
        one.file("a/x", b"new");
        two.file("a/x", b"the old, longer content");
        two.file("a/y", b"stays");
        copied(&one, "a", &two, "a", PLAIN).unwrap();
        assert_eq!(two.content("a/x"), b"new");
        assert_eq!(two.content("a/y"), b"stays");
        // A file is not replaced by a directory.
        one.file("b/x", b"");
        two.file("b", b"");
        let said = failure(copied(&one, "b", &two, "b", PLAIN));
        assert_eq!(said, "/two/b: exists already");
    }

    #[test]
    fn a_link_that_is_there_is_no_failure_and_another_one_is() {
        let (mut one, mut two) = (Model::default(), Model::default());
        one.link("a/l", "../elsewhere");
        copied(&one, "a", &two, "a", PLAIN).unwrap();
        copied(&one, "a", &two, "a", PLAIN).unwrap();
        two.link("b/l", "../elsewhere/still");
        let said = failure(copied(&one, "a", &two, "b", PLAIN));
        assert_eq!(said, "/two/b/l: exists already");
        assert_eq!(two.content("b/l"), b"../elsewhere/still");
    }

    #[test]
    fn a_file_is_not_copied_onto_itself() {
        let mut one = Model::default();
        one.file("a", b"precious");
        let said = failure(copied(&one, "a", &one, "a", PLAIN));
        assert_eq!(said, "/two/a: is the file that is to be copied");
        assert_eq!(one.content("a"), b"precious");
    }

    #[test]
    fn a_directory_is_not_copied_into_itself_for_ever() {
        let mut one = Model::default();
        one.file("a/x", b"x");
        one.file("a/b/y", b"y");
        let said = failure(copied(&one, "a", &one, "a/b/c", PLAIN));
        assert_eq!(said, "/one/a/b/c: the copy lies in what is copied");
        let said = failure(copied(&one, "a", &one, "a", PLAIN));
        assert!(said.ends_with("is the file that is to be copied"), "{said}");
        assert_eq!(one.content("a/x"), b"x");
    }

    #[test]
    fn failures_name_the_side_and_the_reason() {
        let (mut one, mut two) = (Model::default(), Model::default());
        one.file("a/x", b"x");
        let said = failure(copied(&one, "b", &two, "b", PLAIN));
        assert!(said.starts_with("/one/b: "), "{said}");
        two.refuse("a/x", FileFault::NoSpace);
        let said = failure(copied(&one, "a", &two, "a", PLAIN));
        assert_eq!(said, "/two/a/x: the disk is full");
    }

    #[test]
    fn times_are_kept_where_that_is_asked_for() {
        let (mut one, two) = (Model::default(), Model::default());
        one.file("a/x", b"x");
        copied(&one, "a", &two, "with", How { times: true }).unwrap();
        copied(&one, "a", &two, "without", PLAIN).unwrap();
        assert_eq!(two.modified("with/x"), one.modified("a/x"));
        assert_eq!(two.modified("with"), one.modified("a"));
        assert_ne!(two.modified("without/x"), one.modified("a/x"));
    }
}
