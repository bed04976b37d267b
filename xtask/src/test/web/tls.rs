//! TLS before the hosted web server, asked by curl and by OpenSSL: pages come whole; what is not TLS
//! 1.3, takes too long or is dropped is refused or cut, and the service goes on. Without these two
//! programs the test is left out, and says so.

use super::ready;
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
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const NAME: &str = "TLS";
/// How long all may take.
const TIME: Duration = Duration::from_secs(120);
/// A handshake's time, as configured, and until when it has been cut for sure on a busy machine.
const HANDSHAKE: Duration = Duration::from_secs(2);
const CUT: Duration = Duration::from_secs(20);
/// A file of 1 MiB.
const LARGE: usize = 1 << 20;
/// Connections that are dropped at different points.
const DROPPED: usize = 60;
/// Handshakes that are held open, more than there may be.
const HELD: usize = 40;
/// How often the service is killed under load, and how long all of that takes at least.
const KILLS: usize = 8;
const KILLING: Duration = Duration::from_secs(3);

/// On the hosted system.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    if !run.wants(NAME) {
        return Ok(());
    }
    for (program, word) in [("curl", "--version"), ("openssl", "version")] {
        let tried = Command::new(program)
            .arg(word)
            .stdout(Stdio::null())
            .status();
        if !tried.is_ok_and(|status| status.success()) {
            let why = format!("{NAME}: no {program}; `apt-get install {program}`");
            report.skipped.push(why);
            return Ok(());
        }
    }
    let folder = run
        .project
        .out()
        .join(format!("tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let judged = judge(run, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    report.count(NAME, judged.map_err(|e| format!("{e:#}")));
    Ok(())
}

/// Makes a certificate and its key, as the documentation says.
fn certify(folder: &Path) -> Result<()> {
    for (kind, name) in [("ec", "p256"), ("ed25519", "ed25519")] {
        let mut command = Command::new("openssl");
        command.current_dir(folder);
        command.args(["req", "-x509", "-newkey", kind, "-nodes", "-days", "90"]);
        if kind == "ec" {
            command.args(["-pkeyopt", "ec_paramgen_curve:P-256"]);
        }
        command.args(["-subj", "/CN=localhost"]);
        command.args(["-addext", "subjectAltName=DNS:localhost"]);
        command.args(["-keyout", &format!("{name}.key.pem")]);
        command.args(["-out", &format!("{name}.cert.pem")]);
        let output = command.output().context("cannot start openssl")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "openssl: {said}");
    }
    Ok(())
}

/// Clients of the port.
struct Asked {
    port: u16,
    certificate: PathBuf,
}

impl Asked {
    /// Asks by curl.
    fn curl(&self, options: &[&str], path: &str) -> Result<Output> {
        let mut command = Command::new("curl");
        command.args(["-sSf", "--max-time", "30", "--cacert"]);
        command.arg(&self.certificate).args(options);
        command.arg(format!("https://localhost:{}/{path}", self.port));
        command.output().context("cannot start curl")
    }

    fn reach(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(CUT))?;
        Ok(stream)
    }

    /// A greeting of OpenSSL's, as it comes from a client.
    fn hello(&self) -> Result<Vec<u8>> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let to = format!("127.0.0.1:{}", listener.local_addr()?.port());
        let mut client = Command::new("openssl")
            .args(["s_client", "-tls1_3", "-connect", &to])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut bytes = vec![0; 8192];
        let count = listener.accept()?.0.read(&mut bytes);
        let _ = client.wait();
        bytes.truncate(count?);
        ensure!(bytes.first() == Some(&22), "no greeting: {bytes:?}");
        Ok(bytes)
    }

    /// Pages come as they are.
    fn pages(&self, large: &[u8]) -> Result<()> {
        let hello = self.curl(&[], "hello?name=TLS")?;
        let text = String::from_utf8_lossy(&hello.stdout);
        let error = String::from_utf8_lossy(&hello.stderr);
        ensure!(
            text.starts_with("Hello, TLS, from a process"),
            "{text}{error}"
        );
        let suites = ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"];
        for suite in suites {
            for group in ["X25519", "P-256"] {
                let options = ["--tls13-ciphers", suite, "--curves", group];
                let got = self.curl(&options, "large.bin")?;
                let error = String::from_utf8_lossy(&got.stderr);
                let count = got.stdout.len();
                let what = format!("{suite}, {group}: {count} bytes, {error}");
                ensure!(got.status.success() && got.stdout == large, "{what}");
            }
        }
        // To the server, and back.
        let sent = format!(
            "@{}",
            self.certificate.with_file_name("large.bin").display()
        );
        let counted = self.curl(&["--data-binary", &sent], "try/count")?;
        let text = String::from_utf8_lossy(&counted.stdout);
        ensure!(text.contains(&LARGE.to_string()), "{text}");
        Ok(())
    }

    /// A client that knows no TLS 1.3 is told so, and what is none is refused with an alert.
    fn refused(&self) -> Result<()> {
        let old = self.curl(&["--tls-max", "1.2"], "hello")?;
        let error = String::from_utf8_lossy(&old.stderr);
        ensure!(!old.status.success(), "TLS 1.2 is answered");
        ensure!(error.contains("protocol version"), "TLS 1.2: {error}");
        for bytes in [
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(),
            &[0xff; 3000],
        ] {
            let mut stream = self.reach()?;
            stream.write_all(bytes)?;
            let mut told = Vec::new();
            stream.read_to_end(&mut told)?;
            // A record of an alert that ends the connection.
            let is_alert = told.len() == 7 && told[0] == 21 && told[5] == 2;
            ensure!(is_alert, "garbage is answered {told:?}");
        }
        Ok(())
    }

    /// Half a handshake is cut at its time, and more of them than there may be keep no client out.
    fn held(&self, hello: &[u8]) -> Result<()> {
        let mut held = Vec::new();
        let since = Instant::now();
        for _ in 0..HELD {
            let mut stream = self.reach()?;
            stream.write_all(&hello[..hello.len() / 2])?;
            held.push(stream);
        }
        let among = self.curl(&[], "notes.txt")?;
        ensure!(among.status.success(), "no answer among held handshakes");
        let mut last = held.pop().context("none")?;
        // It is reset, or ended.
        let _ = last.read_to_end(&mut Vec::new());
        let took = since.elapsed();
        ensure!(took < CUT, "half a handshake lasts {took:?}");
        ensure!(took >= HANDSHAKE / 2, "a handshake has {took:?}");
        Ok(())
    }

    /// Connections that are dropped within the handshake, and behind it within an answer.
    fn dropped(&self, hello: &[u8]) -> Result<()> {
        for at in 0..DROPPED {
            let mut stream = self.reach()?;
            stream.write_all(&hello[..hello.len() * at / (DROPPED - 1)])?;
            // Behind a whole greeting, within the answer.
            if at == DROPPED - 1 {
                let _ = stream.read(&mut [0; 100]);
            }
        }
        for _ in 0..4 {
            let cut = self.curl(&["--max-time", "0.3", "--limit-rate", "10k"], "large.bin")?;
            ensure!(!cut.status.success(), "an answer was not cut");
        }
        Ok(())
    }
}

impl Asked {
    /// Pages come whole, or are asked for again, while the service is killed.
    fn killed(&self, large: &[u8]) -> Result<()> {
        let (since, mut pages, mut again) = (Instant::now(), 0, 0);
        let mut last = since;
        while since.elapsed() < KILLING || pages == 0 {
            let got = self.curl(&["--max-time", "10"], "large.bin")?;
            let good = got.status.success();
            ensure!(
                !good || got.stdout == large,
                "a part is taken for the whole"
            );
            if good {
                (pages, last) = (pages + 1, Instant::now());
            } else {
                again += 1;
                let error = String::from_utf8_lossy(&got.stderr);
                ensure!(last.elapsed() < TIME, "no page any more: {error}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        println!("  {pages} pages over TLS while it was killed, {again} asked for again");
        Ok(())
    }
}

fn judge(run: &Run, folder: &Path) -> Result<()> {
    certify(folder)?;
    let large: Vec<u8> = (0..LARGE as u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    files::write(&folder.join("large.bin"), &large)?;
    let project = &run.project;
    let mut images = image::compile_programs(project, Programs::WithTests, MemoryMode::Guard)?;
    images.push(image::tls(project, MemoryMode::Guard)?);
    let [plain, port, control] = [free_port()?, free_port()?, free_port()?];
    let time = HANDSHAKE.as_secs();
    for (name, text) in [
        (
            "web.conf",
            format!(
                "port {plain}\nlisten /tls\nmount /hello web-hello ahead 2\nmount /try web-try deadline 9s\n"
            ),
        ),
        (
            "tls.conf",
            format!(
                "port {port}\nkey /mnt/p256.key.pem\ncertificate /mnt/p256.cert.pem\nhandshake {time}s\n"
            ),
        ),
        (
            "wrong.conf",
            "certificate /mnt/p256.cert.pem\nkey /mnt/ed25519.key.pem\n".into(),
        ),
        (
            "missing.conf",
            "certificate /mnt/none.pem\nkey /mnt/p256.key.pem\n".into(),
        ),
    ] {
        files::write(&folder.join(name), text)?;
    }
    let mut kernel = Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::sockets("host,192.0.2.0/24")];
    let served = format!("{}::/mnt", folder.display()).into();
    kernel.directories = vec![HostDirectory::named(&served)?];
    let script = format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; mkdir /web\n\
         cp /mnt/large.bin /boot/notes.txt /web; cp /mnt/web.conf /mnt/tls.conf /\n\
         httpd; sleep 1; echo ready\n\
         echo over | nc -l {control}; webs beside {plain} {control}\n\
         tls /mnt/wrong.conf; tls /mnt/missing.conf; services tls\n\
         echo over | nc -l {control}; {}echo over | nc -l {control}; httpd; sweep && echo swept; httpd stop\n",
        "kill tls; sleep 0.3; ".repeat(KILLS)
    );
    let deadline = Instant::now() + TIME;
    let mut session = Session::start(launch(project, &images, &kernel, Some(&script))?)?;
    let asked = Asked {
        port,
        certificate: folder.join("p256.cert.pem"),
    };
    let talk = || -> Result<()> {
        let hello = asked.hello()?;
        asked.pages(&large).context("pages")?;
        asked.refused().context("what is refused")?;
        asked.held(&hello).context("held handshakes")?;
        asked.dropped(&hello).context("dropped connections")?;
        asked.pages(&large).context("pages behind all of it")
    };
    // Twice: what programs keep for good they have after the first.
    let mut talked = ready(&mut session, deadline).and_then(|_| talk());
    if talked.is_ok() {
        std::thread::sleep(2 * HANDSHAKE + Duration::from_secs(3));
        talked = tell(control)
            .and_then(|()| ready(&mut session, deadline).map(drop))
            .and_then(|()| talk());
        std::thread::sleep(2 * HANDSHAKE + Duration::from_secs(3));
        talked = talked
            .and(tell(control))
            .and_then(|()| tell(control))
            .and_then(|()| asked.killed(&large).context("pages while it is killed"))
            .and_then(|()| tell(control));
    } else {
        for _ in 0..4 {
            drop(TcpStream::connect((Ipv4Addr::LOCALHOST, control)));
        }
    }
    let (output, ended) = session.finish(deadline);
    talked.with_context(|| output.clone())?;
    for wanted in [
        "is not the key of the certificate in /mnt/p256.cert.pem, line 1",
        "tls: /mnt/none.pem: ",
        "listen       /tls listening\n",
        "restarts   0\n",
        "nothing left behind\n",
        "swept\n",
        "busy         0\n",
    ] {
        let is_there = output.contains(wanted);
        ensure!(is_there, "no `{}`, {ended:?}\n{output}", wanted.trim());
    }
    Ok(())
}
