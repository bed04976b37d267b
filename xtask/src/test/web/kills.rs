//! Whatever serves a web page is killed at random moments under load, from the card's driver to the
//! program that answers: pages come, also over the card, and nothing that was synced is lost. On the
//! hosted system the driver of the host's sockets and the service that sends spans are killed, too, while
//! a collector of this machine takes the spans.

use super::collector::Collector;
use crate::build;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::test::tcp::free_port;
use crate::test::{Report, Run};
use anyhow::{Context, Result};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a boot and so many kills may take.
const TIME: Duration = Duration::from_secs(600);
const MANY: u32 = 100;

/// Kills so often on a machine.
pub fn check(run: &Run, machine: Machine, times: u32, report: &mut Report) -> Result<()> {
    let name = format!("everything killed on {}", machine.name());
    if !run.wants(&name) {
        return Ok(());
    }
    build::host(&run.project, &["sing-hosts-peer"])?;
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
    let guest = crate::network::free_address()?;
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    kernel.networks = vec![Network::datagrams(guest, socket.local_addr()?)];
    kernel.entropy = true;
    let hosted = machine == Machine::Hosted;
    // The hosted system's port is this machine's.
    let [port, to] = if hosted {
        [free_port()?, free_port()?]
    } else {
        [80, 0]
    };
    let (mut lines, mut more) = (format!("echo port {port} > /3"), "");
    let collector = hosted.then(|| Collector::start(to)).transpose()?;
    if hosted {
        kernel.networks.push(Network::sockets("host,127.0.0.0/8"));
        lines += &format!("; echo spans http://127.0.0.1:{to}/v1/traces > /4");
        more = " sockets0 spans";
    } else {
        lines += "; echo > /4";
    }
    // The server keeps files that were not changed for two seconds: those before the first count as those behind it.
    let script = format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; mkdir /web\n\
         cp /boot/notes.txt /web; cp /boot/bin/shell /web; cp /boot/web.conf /1; {lines}\n\
         echo mount /try web-try memory 4M at-once 8 > /2; cat /1 /2 /3 /4 > /web.conf; sync /\n\
         sleep 3; httpd; webstorm {times} {port} 10.0.0.1{more}; sleep 1\n\
         umount / && check /dev/disk0\n"
    );
    let began = Instant::now();
    let deadline = began + TIME * times.div_ceil(MANY);
    let session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
    let mut peer = Command::new(run.project.host_binary("sing-hosts-peer"))
        .arg(guest.to_string())
        .stdin(OwnedFd::from(socket))
        .spawn()
        .context("cannot start sing-hosts-peer")?;
    let (output, ended) = session.finish(deadline);
    drop(collector);
    peer.kill().context("cannot end the peer")?;
    peer.wait().context("cannot wait for the peer")?;
    let wanted = [
        format!("webstorm: {times} killed, 0 clients failed, nothing left behind\n"),
        "/dev/disk0: 0 problems\n".into(),
    ];
    let judged = match wanted.iter().find(|line| !output.contains(*line)) {
        Some(missing) => Err(format!("no `{}`, {ended:?}\n{output}", missing.trim())),
        None => {
            println!("  {name}: {times} times in {:.1?}", began.elapsed());
            Ok(())
        }
    };
    report.count(name, judged);
    Ok(())
}
