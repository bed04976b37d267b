//! `sing gdb`: gdb, told of the programs of a running system. All knowledge of gdb is in a script
//! (`singularity.py`), which asks `sing symbols` for what an image says, and in those that need it: of processes,
//! their frames, and core files.

use crate::output;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

const SCRIPT: &str = concat!(
    include_str!("singularity.py"),
    include_str!("processes.py"),
    include_str!("frames.py"),
    include_str!("core.py"),
    include_str!("core_process.py")
);

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// gdb, with these arguments.
    Run(Vec<OsString>),
    /// The script, for a gdb that something else starts.
    Script,
}

/// Does it; gdb replaces this process.
pub fn run(request: &Request) -> Result<bool, String> {
    let script = script()?;
    let arguments = match request {
        Request::Script => {
            output::lines(script.trim_end());
            return Ok(true);
        }
        Request::Run(arguments) => arguments,
    };
    // A text of JSON is one of Python, too.
    let text = serde_json::to_string(&script).map_err(|e| e.to_string())?;
    let mut gdb = Command::new("gdb");
    gdb.arg("-ex")
        .arg(format!("python exec({text}, globals())"));
    let failed = gdb.args(arguments).exec();
    Err(match failed.kind() {
        ErrorKind::NotFound => "there is no gdb here; install it: sudo apt-get install gdb".into(),
        _ => format!("gdb cannot be started: {failed}"),
    })
}

/// The script, which knows where this command is.
fn script() -> Result<String, String> {
    let own = std::env::current_exe().map_err(|e| format!("cannot find itself: {e}"))?;
    let own = own.to_str().ok_or("its own path is not UTF-8")?;
    let own = serde_json::to_string(own).map_err(|e| e.to_string())?;
    Ok(format!("SING = {own}\n{SCRIPT}"))
}
