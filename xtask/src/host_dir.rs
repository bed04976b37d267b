//! Directories of the host that a machine has as devices.

use anyhow::{Result, bail};
use sing_p9::{Mount, overlap};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A directory, and where the system is asked to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDirectory {
    /// The directory.
    pub path: PathBuf,
    /// The path in the system's name space.
    pub at: String,
    /// Whether nothing below it can be changed.
    pub read_only: bool,
}

impl HostDirectory {
    /// Reads `HOST::PATH` or `HOST::PATH,rw` from the command line.
    pub fn named(text: &OsString) -> Result<HostDirectory> {
        let shown = text.display();
        let mount = match Mount::named(text.as_bytes()) {
            Ok(mount) => mount,
            Err(bad) => bail!("--dir {shown}: {bad}"),
        };
        Ok(HostDirectory {
            path: OsString::from_vec(mount.host.to_vec()).into(),
            at: mount.at.into(),
            read_only: mount.read_only,
        })
    }

    /// Reads one more, which must lie beside the others.
    pub fn add(all: &mut Vec<HostDirectory>, text: &OsString) -> Result<()> {
        let new = HostDirectory::named(text)?;
        if let Some(other) = all.iter().find(|other| overlap(&other.at, &new.at)) {
            bail!(
                "--dir {}: {} is taken by the directory at {}; give each a path beside the others'",
                text.display(),
                new.at,
                other.at
            );
        }
        all.push(new);
        Ok(())
    }

    /// Refuses one that is not there.
    pub fn check(&self) -> Result<()> {
        let path = self.path.display();
        if !self.path.exists() {
            bail!("--dir {path}: there is no such directory; `mkdir` makes one");
        }
        if !self.path.is_dir() {
            bail!("--dir {path}: it is not a directory; give the one that it is in");
        }
        Ok(())
    }

    /// As the hosted kernel's command line has it.
    pub fn for_hosted(&self) -> OsString {
        let mut text = self.path.clone().into_os_string();
        text.push("::");
        text.push(&self.at);
        // A path may end so, too.
        text.push(if self.read_only { ",ro" } else { ",rw" });
        text
    }

    /// QEMU's arguments for it as device `number`, which is of this kind.
    ///
    /// QEMU reaches the files with its own rights and by names alone, without following links;
    /// `security_model=none` leaves owners and permissions what they are for its own user.
    pub fn for_qemu(&self, number: usize, device: &str) -> [OsString; 4] {
        let mut source = OsString::from(format!(
            "local,id=dir{number},security_model=none,multidevs=remap,path="
        ));
        source.push(crate::qemu::value(self.path.as_os_str()));
        if self.read_only {
            source.push(",readonly=on");
        }
        let device = format!("{device},fsdev=dir{number},mount_tag={}", self.at);
        ["-fsdev".into(), source, "-device".into(), device.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_of_the_host_and_of_the_system() {
        for (text, path, at, read_only) in [
            (".::/mnt", ".", "/mnt", true),
            ("a::b::/mnt/x,rw", "a::b", "/mnt/x", false),
            ("/a,b::/c,ro", "/a,b", "/c", true),
        ] {
            let found = HostDirectory::named(&text.into()).unwrap();
            let expected = HostDirectory {
                path: path.into(),
                at: at.into(),
                read_only,
            };
            assert_eq!(found, expected);
            assert_eq!(HostDirectory::named(&found.for_hosted()).unwrap(), expected);
        }
        let comma = HostDirectory::named(&"/a,b::/c".into()).unwrap();
        let arguments = format!("{:?}", comma.for_qemu(2, "virtio-9p-pci"));
        for part in [
            "id=dir2",
            "path=/a,,b,readonly=on",
            "fsdev=dir2,mount_tag=/c",
        ] {
            assert!(arguments.contains(part), "{part} not in {arguments}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut all = Vec::new();
        HostDirectory::add(&mut all, &".::/mnt".into()).unwrap();
        for (text, reason) in [
            ("here", "write HOST::PATH"),
            ("here::mnt", "not absolute"),
            ("here::/mnt/../x", "`..`"),
            ("here::/mnt/x", "/mnt/x is taken by the directory at /mnt"),
        ] {
            let error = HostDirectory::add(&mut all, &text.into()).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        let missing = HostDirectory::named(&"/no such::/mnt".into()).unwrap();
        assert!(missing.check().unwrap_err().to_string().contains("mkdir"));
        let file = HostDirectory::named(&"/proc/self/exe::/mnt".into()).unwrap();
        assert!(
            file.check()
                .unwrap_err()
                .to_string()
                .contains("not a directory")
        );
    }
}
