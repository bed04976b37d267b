//! What is at the far end of a machine's serial port: a file or a Unix socket of the host.

use crate::qemu;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// `FILE`, which is made anew and gets what is sent, or `unix:PATH`, a socket at which somebody
/// listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialLine(OsString);

impl SerialLine {
    /// As the command line names it.
    pub fn named(text: OsString) -> SerialLine {
        SerialLine(text)
    }

    /// As the hosted kernel's option names it.
    pub fn for_hosted(&self) -> &OsStr {
        &self.0
    }

    /// QEMU's arguments for a second serial port.
    pub fn for_qemu(&self) -> [OsString; 4] {
        let (kind, path) = match self.0.as_bytes().strip_prefix(b"unix:") {
            Some(path) => ("socket", OsStr::from_bytes(path)),
            None => ("file", self.0.as_os_str()),
        };
        let mut far = OsString::from(format!("{kind},id=line,path="));
        far.push(qemu::value(path));
        let port = "isa-serial,chardev=line,index=1";
        ["-chardev".into(), far, "-device".into(), port.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_socket_are_told_apart() {
        let far = |text: &str| SerialLine::named(text.into()).for_qemu()[1].clone();
        assert_eq!(far("unix:/s"), "socket,id=line,path=/s");
        assert_eq!(far("a,b"), "file,id=line,path=a,,b");
    }
}
