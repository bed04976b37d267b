//! The hosted web server with files of its own, asked by programs of the host: what one boot of such a
//! test has in common with another's.

use super::{TIME, ready};
use crate::files;
use crate::host_dir::HostDirectory;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::test::tcp::{free_port, tell};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::time::Instant;

/// What a server serves.
pub struct Served {
    /// Its files, by their path below its root.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Its configuration, but for the port.
    pub config: String,
    /// What `httpd` shows in the end, beside that nothing is served.
    pub shows: &'static str,
}

/// Has a server asked at its port, under a name of the test; in the end all its requests are over, and
/// the kernel's records are in order.
pub fn serve(
    run: &Run,
    name: &str,
    served: Served,
    report: &mut Report,
    ask: impl FnOnce(u16) -> Result<()>,
) -> Result<()> {
    let folder = run
        .project
        .out()
        .join(format!("{name}-{}", std::process::id()));
    let judged = judge(run, &folder, served, ask);
    // What is left lies in the project's output and does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    report.count(name, judged.map_err(|e| format!("{e:#}")));
    Ok(())
}

fn judge(
    run: &Run,
    folder: &Path,
    served: Served,
    ask: impl FnOnce(u16) -> Result<()>,
) -> Result<()> {
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let [port, control] = [free_port()?, free_port()?];
    for (path, bytes) in &served.files {
        let path = folder.join("web").join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        files::write(&path, bytes)?;
    }
    let config = format!("port {port}\n{}", served.config);
    files::write(&folder.join("web.conf"), config)?;
    let mut kernel = Kernel::prepare(&run.project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::sockets("host,192.0.2.0/24")];
    let shown = format!("{}::/mnt", folder.display()).into();
    kernel.directories = vec![HostDirectory::named(&shown)?];
    // The files are to be older than two seconds, so that they are kept in memory.
    let script = format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; cp -r /mnt/web /; cp /mnt/web.conf /\n\
         httpd; sleep 3; echo ready; echo over | nc -l {control}\n\
         sleep 1; httpd; sweep && echo swept; httpd stop\n"
    );
    let deadline = Instant::now() + TIME;
    let mut session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
    let asked = ready(&mut session, deadline).and_then(|_| ask(port));
    // In any case: the system waits for it.
    let told = tell(control);
    let (output, ended) = session.finish(deadline);
    asked.with_context(|| output.clone())?;
    told?;
    for wanted in ["swept\n", "busy         0\n", served.shows] {
        let is_there = output.contains(wanted);
        ensure!(is_there, "no `{}`, {ended:?}\n{output}", wanted.trim());
    }
    Ok(())
}
