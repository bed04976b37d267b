//! The system image: kernel configuration, SIPs and files in one archive, which the kernel boots
//! from.
//!
//! Layout: [`MAGIC`], `u32` length of the directory, the directory (postcard), padding to 16, then
//! the files, each at a multiple of 16 bytes from the start of the archive, in the directory's
//! order and without overlap: so what is made of all files is bounded by the archive's size.
//! Installed images lie under `bin/` (`bin/NAME` is what `process_create` calls `NAME`); everything
//! else is a file that `/boot` serves.

use crate::Error;
use crate::elf::Sections;
use crate::manifest::Side;
pub use crate::policy::{Backoff, Dependants, Limit, Restart, Service, When};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use sing_abi::PAGE;

/// First bytes of a system image. The last is the version of the layout of the archive.
pub const MAGIC: &[u8; 8] = b"SINGSYS4";
/// First bytes of a system image of any version.
const ANY_VERSION: &[u8; 7] = b"SINGSYS";
/// The most bytes of a system image.
pub const MOST_BYTES: u64 = 1 << 30;
/// The boot file with the [`Plan`](crate::plan::Plan), which the service manager reads.
pub const PLAN: &str = "services.plan";
/// Folder of the installed images.
pub const BIN: &str = "bin/";

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    path: String,
    offset: u64,
    len: u64,
}

/// A program that the kernel starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The instance's name; unique within the system.
    pub name: String,
    /// Its image under `bin/`.
    pub image: String,
    /// Its arguments; the first is the program's own name by custom.
    #[serde(default)]
    pub args: Vec<String>,
    /// Whether the SIP is essential: when it ends, the system ends, with a status that says so.
    #[serde(default)]
    pub essential: bool,
    /// Whether the SIP is the main process: when it exits, the system ends with its exit code. It
    /// is essential, too.
    #[serde(default)]
    pub main: bool,
    /// The instance that makes a successor of the SIP when that ends: it gets the process's handle
    /// with its start. A supervised SIP is not essential.
    #[serde(default)]
    pub supervisor: Option<String>,
}

/// One end of a declared channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Name of the instance ([`Start::name`]).
    pub of: String,
    /// Name of the start-up endpoint in its manifest.
    pub endpoint: String,
}

/// A channel between two instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// The contract's name.
    pub contract: String,
    /// The importing end.
    pub imp: End,
    /// The exporting end.
    pub exp: End,
}

impl Channel {
    /// Returns the end of this side.
    #[must_use]
    pub fn end(&self, side: Side) -> &End {
        match side {
            Side::Imp => &self.imp,
            Side::Exp => &self.exp,
        }
    }
}

/// The programs that run when the system has started, and their connections ([O] 5.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemManifest {
    /// Programs to start, in this order.
    pub start: Vec<Start>,
    /// Channels between them.
    #[serde(default)]
    pub channels: Vec<Channel>,
    /// Services that the service manager starts, in any order, each with its policy.
    #[serde(default)]
    pub services: Vec<Service>,
    /// Contracts that only some programs may use.
    #[serde(default)]
    pub restricted: Vec<Restricted>,
}

impl SystemManifest {
    /// Adds what another manifest says: a system may be described in several files.
    pub fn add(&mut self, other: SystemManifest) {
        self.start.extend(other.start);
        self.channels.extend(other.channels);
        self.services.extend(other.services);
        self.restricted.extend(other.restricted);
    }
}

/// A contract whose importing side only these programs may have in their images.
///
/// As only the programs of the image can ever run, and a program can send only what it imports,
/// nobody else can use the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restricted {
    /// The contract's name.
    pub contract: String,
    /// The programs, by the names of their images.
    pub to: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Directory {
    manifest: SystemManifest,
    files: Vec<File>,
}

/// Whether a file begins as a system image does, of this version or another.
#[must_use]
pub fn is_of_any_version(archive: &[u8]) -> bool {
    archive.starts_with(ANY_VERSION)
}

/// Why a system image of another version, which begins with these bytes, is not read; `None` if it
/// is of this version, or no system image.
#[must_use]
pub fn of_other_version(archive: &[u8]) -> Option<Error> {
    let (magic, _) = archive.split_first_chunk::<8>()?;
    if magic == MAGIC || !is_of_any_version(magic) {
        return None;
    }
    let [.., version] = *magic;
    let [.., own] = *MAGIC;
    let way_out = match version < own {
        true => "it is older; build it again",
        false => "it is newer; read it with the `sing` that built it, or build it again",
    };
    Some(Error::new(format!(
        "system image: its layout has version {}, and this reads version {}: {way_out}",
        version.escape_ascii(),
        own.escape_ascii()
    )))
}

/// A system image, read in place.
#[derive(Clone, Debug)]
pub struct SystemImage<'a> {
    archive: &'a [u8],
    directory: Directory,
}

impl<'a> SystemImage<'a> {
    /// Reads an archive.
    ///
    /// # Errors
    /// If it is not an archive, or a file lies outside it or overlaps what is before it.
    pub fn decode(archive: &'a [u8]) -> Result<SystemImage<'a>, Error> {
        let err = || Error::new("system image: not a system image, or cut short");
        if let Some(why) = of_other_version(archive) {
            return Err(why);
        }
        let rest = archive.strip_prefix(MAGIC).ok_or_else(err)?;
        let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(err)?;
        let bytes = rest
            .get(..u32::from_le_bytes(*len) as usize)
            .ok_or_else(err)?;
        let directory: Directory = postcard::from_bytes(bytes).map_err(|_| err())?;
        let mut before = (MAGIC.len() + 4 + bytes.len()) as u64;
        let mut paths = BTreeSet::new();
        for f in &directory.files {
            if !paths.insert(&f.path) {
                return Err(Error::new(format!(
                    "system image: file {:?} is there twice",
                    f.path
                )));
            }
            let end = f.offset.checked_add(f.len).ok_or_else(err)?;
            if end > archive.len() as u64 {
                return Err(err());
            }
            if f.offset < before {
                return Err(Error::new(format!(
                    "system image: file {:?} overlaps what is before it",
                    f.path
                )));
            }
            before = end;
        }
        Ok(SystemImage { archive, directory })
    }

    /// Makes an archive.
    ///
    /// # Errors
    /// If the directory cannot be encoded, or the archive is longer than [`MOST_BYTES`].
    pub fn encode(manifest: &SystemManifest, files: &[(String, &[u8])]) -> Result<Vec<u8>, Error> {
        Self::encode_at(manifest, files, |_, _, at| at)
    }

    /// Makes an archive in which the code of each program begins a page, so that it can be mapped
    /// from its file.
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub fn encode_for_mapping(
        manifest: &SystemManifest,
        files: &[(String, &[u8])],
    ) -> Result<Vec<u8>, Error> {
        Self::encode_at(manifest, files, |path, bytes, at| {
            let sections = path.starts_with(BIN).then(|| Sections::find(bytes).ok());
            let Some(sections) = sections.flatten() else {
                return at;
            };
            let within = sections.code.as_ptr().addr() - bytes.as_ptr().addr();
            let place = (at + within).next_multiple_of(PAGE as usize) - within;
            // Files begin at multiples of 16.
            if place.is_multiple_of(16) { place } else { at }
        })
    }

    /// Makes an archive with each file at its place: `place` is told its path, its contents and the
    /// first byte that is free, and says a multiple of 16 from there on.
    fn encode_at(
        manifest: &SystemManifest,
        files: &[(String, &[u8])],
        place: impl Fn(&str, &[u8], usize) -> usize,
    ) -> Result<Vec<u8>, Error> {
        let mut directory = Directory {
            manifest: manifest.clone(),
            files: files
                .iter()
                .map(|(p, b)| File {
                    path: p.clone(),
                    offset: u64::MAX,
                    len: b.len() as u64,
                })
                .collect(),
        };
        let encode = |d: &Directory| {
            postcard::to_allocvec(d).map_err(|_| Error::new("system image: directory too large"))
        };
        // Offsets vary in length; a directory with the widest ones bounds the size of the real one.
        let start = (MAGIC.len() + 4 + encode(&directory)?.len()).next_multiple_of(16);
        let mut at = start;
        for (file, (path, bytes)) in directory.files.iter_mut().zip(files) {
            at = place(path, bytes, at);
            file.offset = at as u64;
            at = (at + bytes.len()).next_multiple_of(16);
        }
        if at as u64 > MOST_BYTES {
            return Err(Error::new(format!(
                "the system image has {at} bytes, where {MOST_BYTES} are allowed: leave files out"
            )));
        }
        let bytes = encode(&directory)?;
        let mut out = Vec::with_capacity(at);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&bytes);
        for (file, (_, bytes)) in directory.files.iter().zip(files) {
            out.resize(file.offset as usize, 0);
            out.extend_from_slice(bytes);
        }
        Ok(out)
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &SystemManifest {
        &self.directory.manifest
    }

    /// Returns all paths, in the archive's order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.directory.files.iter().map(|f| f.path.as_str())
    }

    /// Returns all files, each with its path, in the archive's order.
    pub fn files(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        let files = self.directory.files.iter();
        files.filter_map(|f| Some((f.path.as_str(), self.contents(f)?)))
    }

    /// Returns a file's contents. Looks at one path after the other; for all files, there is
    /// [`Self::files`].
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&'a [u8]> {
        let f = self.directory.files.iter().find(|f| f.path == path)?;
        self.contents(f)
    }

    fn contents(&self, f: &File) -> Option<&'a [u8]> {
        self.archive
            .get(f.offset as usize..(f.offset + f.len) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    /// An archive of 4096 bytes with files at these places, as nobody makes it.
    fn placed(places: &[(u64, u64)]) -> Vec<u8> {
        let directory = Directory {
            manifest: SystemManifest::default(),
            files: (places.iter().zip(0..))
                .map(|(&(offset, len), i)| File {
                    path: format!("bin/{i}"),
                    offset,
                    len,
                })
                .collect(),
        };
        let bytes = postcard::to_allocvec(&directory).unwrap();
        let mut archive = MAGIC.to_vec();
        archive.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        archive.extend_from_slice(&bytes);
        archive.resize(4096, 0);
        archive
    }

    #[test]
    fn an_image_of_another_version_is_told_from_a_broken_one() {
        let archive = SystemImage::encode(&SystemManifest::default(), &[]).unwrap();
        let with = |version: u8| {
            let mut archive = archive.clone();
            archive[7] = version;
            SystemImage::decode(&archive).unwrap_err().to_string()
        };
        for version in *b"13" {
            let said = with(version);
            let parts = ["it is older; build it again", "version 4"];
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        }
        for version in [b'5', 0xff] {
            let said = with(version);
            assert!(said.contains("it is newer"), "{said}");
        }
        let said = SystemImage::decode(b"SINGSYS").unwrap_err().to_string();
        assert!(said.contains("cut short"), "{said}");
    }

    #[test]
    fn no_path_is_there_twice() {
        let twice = [
            ("bin/x".to_string(), &b"one"[..]),
            ("bin/x".to_string(), b"two"),
        ];
        let archive = SystemImage::encode(&SystemManifest::default(), &twice).unwrap();
        let error = SystemImage::decode(&archive).unwrap_err().to_string();
        assert!(
            error.contains("bin/x") && error.contains("twice"),
            "{error}"
        );
    }

    #[test]
    fn no_byte_is_in_two_files() {
        let good = placed(&[(1024, 1024), (2048, 0), (2048, 2048), (4096, 0)]);
        assert_eq!(SystemImage::decode(&good).unwrap().files().count(), 4);
        for places in [
            // The directory itself, the file before, and files in another order.
            &[(0, 4096)][..],
            &[(16, 1)],
            &[(1024, 1024), (2047, 1)],
            &[(1024, 1024), (1024, 1024)],
            &[(2048, 1024), (1024, 1024)],
        ] {
            let error = SystemImage::decode(&placed(places)).unwrap_err();
            assert!(
                error.to_string().contains("overlaps"),
                "{places:?}: {error}"
            );
        }
        for places in [&[(4096, 1)][..], &[(u64::MAX, 1)], &[(1 << 40, 0)]] {
            let error = SystemImage::decode(&placed(places)).unwrap_err();
            assert!(
                error.to_string().contains("cut short"),
                "{places:?}: {error}"
            );
        }
        // However many there are, all of them are no more than the archive.
        let many = placed(&vec![(0, 4096); 500]);
        assert!(SystemImage::decode(&many).is_err());
    }

    #[test]
    fn round_trip() {
        let files = [
            ("bin/a".into(), &b"code"[..]),
            ("notes.txt".into(), &[7; 1000][..]),
        ];
        let archive = SystemImage::encode(&SystemManifest::default(), &files).unwrap();
        let image = SystemImage::decode(&archive).unwrap();
        assert_eq!(image.file("bin/a"), Some(&b"code"[..]));
        assert_eq!(image.file("notes.txt"), Some(&[7; 1000][..]));
        assert_eq!(image.file("none"), None);
        assert_eq!(image.paths().count(), 2);
        let all: Vec<_> = image.files().collect();
        assert_eq!(all, [("bin/a", &b"code"[..]), ("notes.txt", &[7; 1000])]);
        for cut in 0..archive.len() {
            let _ = SystemImage::decode(&archive[..cut]);
        }
        assert!(SystemImage::decode(&archive[..archive.len() - 1]).is_err());
    }
}
