//! A component of Rust's standard library (`tests/ordinary/net.rs`) that uses the network, with servers and clients
//! of this machine on the other side; and a module that is given a socket.

use super::components::{PREVIEW_2, of_rust};
use super::{Ordinary, free_port, is, says};
use crate::cargo;
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The test's name.
pub const NETWORK: &str = "components on the network";

/// How long any part of it may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Connections at once.
const MANY: usize = 100;

/// The program, and where what is compiled of it is kept.
struct Program<'a> {
    machine: &'a Ordinary<'a>,
    module: PathBuf,
    cache: PathBuf,
}

/// A program that runs, and its standard output.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// The next line that it writes.
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().into())
    }

    /// The rest, when it has ended.
    fn end(mut self) -> Result<String> {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "{status}: {rest}");
        Ok(rest)
    }
}

impl Drop for Running {
    /// Of a test that has failed, nothing is left running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program<'_> {
    fn run(&self, options: &[&str], words: &[&str]) -> Result<Output> {
        self.machine
            .run_with_cache(&self.cache, options, &self.module, words, b"")
    }

    /// Runs it with the network; what it writes.
    fn says(&self, words: &[&str]) -> Result<String> {
        let output = self.run(&["--net"], words)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "{words:?}: {text}{output:?}");
        Ok(text)
    }

    /// Starts it with the network.
    fn start(&self, words: &[&str]) -> Result<Running> {
        let mut command = Command::new(self.machine.run.project.host_binary("sing"));
        command.env("SING_CACHE", &self.cache);
        command.args(["run", "--net"]).arg(&self.module).args(words);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("no output")?;
        Ok(Running {
            child,
            output: BufReader::new(output),
        })
    }
}

/// All of it.
pub fn network(machine: &Ordinary<'_>) -> Result<()> {
    let source = machine.run.project.root.join("tests/ordinary/net.rs");
    let program = Program {
        machine,
        module: of_rust(machine, &source, PREVIEW_2)?,
        cache: machine.folder.join("cache"),
    };
    type Part = fn(&Program<'_>) -> Result<()>;
    let parts: [(&str, Part); 11] = [
        ("denied", denied),
        ("options", options),
        ("within", within),
        ("talk", talk),
        ("refused", refused),
        ("many", many),
        ("listen", listen),
        ("killed", killed),
        ("datagrams", datagrams),
        ("names", names),
        ("in the shell", in_the_shell),
    ];
    for (name, part) in parts {
        part(&program).with_context(|| name)?;
    }
    Ok(())
}

/// Without leave there is nothing, though somebody listens; with leave for others, not what is asked for.
fn denied(program: &Program<'_>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?.to_string();
    let denied = "Some(PermissionDenied)\n".repeat(3) + "true\n";
    is(
        &program.run(&[], &["denied", &address])?,
        0,
        denied.as_bytes(),
    )?;
    let elsewhere = program.run(&["--net=10.0.0.0/8"], &["talk", &address])?;
    ensure!(elsewhere.status.code() == Some(1), "{elsewhere:?}");
    let text = String::from_utf8_lossy(&elsewhere.stdout);
    ensure!(text.contains("PermissionDenied"), "{text}");
    ensure!(listener.accept().is_err(), "somebody has come all the same");
    Ok(())
}

/// What `--net` says to those who use it wrongly.
fn options(program: &Program<'_>) -> Result<()> {
    let output = program.run(&["--net=nobody"], &["own"])?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    says(
        &output,
        "`nobody` is no range of addresses; write 10.0.0.0/8",
    )?;
    let output = program.run(&["--net", "--net"], &["own"])?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    says(&output, "--net is said twice")?;
    let output = program.machine.run(&["--net"], "words", &[], b"")?;
    is(&output, 1, b"")?;
    says(&output, "words.wasm is no component, and only a component")
}

/// Both sides are the program's own.
fn within(program: &Program<'_>) -> Result<()> {
    program.says(&["own"]).map(drop)
}

/// What comes goes back when all of it has come: each side ends its direction by itself.
fn talk(program: &Program<'_>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = thread::spawn(move || -> Result<SocketAddr> {
        let (mut stream, from) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all)?;
        stream.write_all(&all)?;
        stream.shutdown(Shutdown::Write)?;
        let (mut second, _) = listener.accept()?;
        second.set_read_timeout(Some(PATIENCE))?;
        ensure!(second.read(&mut [0])? == 0, "both directions have ended");
        Ok(from)
    });
    let said = program.says(&["talk", &address.to_string()])?;
    let from = server.join().ok().context("the server")??;
    ensure!(said.trim_end() == from.to_string(), "{said} is not {from}");
    Ok(())
}

fn refused(program: &Program<'_>) -> Result<()> {
    let said = program.says(&["refused", &format!("127.0.0.1:{}", free_port()?)])?;
    ensure!(said == "Some(ConnectionRefused)\n", "{said}");
    Ok(())
}

/// The last that has come is answered first, when all have come.
fn many(program: &Program<'_>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = thread::spawn(move || -> Result<()> {
        let all: std::io::Result<Vec<_>> = (0..MANY).map(|_| listener.accept()).collect();
        for (mut stream, _) in all?.into_iter().rev() {
            stream.set_read_timeout(Some(PATIENCE))?;
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            stream.write_all(&byte)?;
        }
        Ok(())
    });
    let said = program.says(&["many", &address])?;
    server.join().ok().context("the server")??;
    ensure!(said == format!("{MANY}\n"), "{said}");
    Ok(())
}

/// It listens at a port that was chosen, and its clients are of this machine.
fn listen(program: &Program<'_>) -> Result<()> {
    const CLIENTS: usize = 20;
    let mut server = program.start(&["listen", "127.0.0.1:0", &CLIENTS.to_string()])?;
    let address = server.line()?;
    let clients: std::io::Result<Vec<_>> =
        (0..CLIENTS).map(|_| TcpStream::connect(&address)).collect();
    for (number, mut client) in clients?.into_iter().enumerate() {
        client.set_read_timeout(Some(PATIENCE))?;
        let sent = vec![number as u8; 100_000];
        client.write_all(&sent)?;
        client.shutdown(Shutdown::Write)?;
        let mut back = Vec::new();
        client.read_to_end(&mut back)?;
        ensure!(back == sent, "{} bytes of {number} came back", back.len());
    }
    let rest = server.end()?;
    ensure!(rest == "Some(AddrInUse)\n", "{rest}");
    ensure!(
        TcpStream::connect(&address).is_err(),
        "{address} is still there"
    );
    Ok(())
}

/// Two systems; that of the server is killed while it has not read what came.
fn killed(program: &Program<'_>) -> Result<()> {
    let mut server = program.start(&["hold", "127.0.0.1:0"])?;
    let address = server.line()?;
    let mut client = program.start(&["killed", &address])?;
    let taken = server.line()?;
    ensure!(taken == "taken", "{taken}");
    // Only then it is no matter of time whether the server's bytes have left it.
    let came = client.line()?;
    ensure!(came == "came", "{came}");
    server.child.kill()?;
    let said = client.end()?;
    ensure!(said == "BrokenPipe\n", "{said}");
    Ok(())
}

/// With a port that was chosen, and with any address.
fn datagrams(program: &Program<'_>) -> Result<()> {
    let (said, from) = echoes(program, "--net", "datagrams")?;
    ensure!(said.trim_end() == from.to_string(), "{said} is not {from}");
    for option in ["--net", "--net=127.0.0.0/8"] {
        echoes(program, option, "client").with_context(|| option)?;
    }
    Ok(())
}

/// What the program says to whom each datagram comes back, and from where the last came; for `two`, which is that,
/// something comes from another port before.
fn echoes(program: &Program<'_>, option: &str, way: &str) -> Result<(String, SocketAddr)> {
    let server = UdpSocket::bind("127.0.0.1:0")?;
    let other = UdpSocket::bind("127.0.0.1:0")?;
    server.set_read_timeout(Some(PATIENCE))?;
    let address = server.local_addr()?.to_string();
    let server = thread::spawn(move || -> Result<SocketAddr> {
        let mut room = vec![0; 70_000];
        loop {
            let (len, from) = server.recv_from(&mut room)?;
            let last = &room[..len] == b"two";
            if last {
                other.send_to(b"other", from)?;
            }
            server.send_to(&room[..len], from)?;
            if last {
                return Ok(from);
            }
        }
    });
    let output = program.run(&[option], &[way, &address])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{said}{output:?}");
    Ok((said, server.join().ok().context("the server")??))
}

/// A server of names that knows one.
fn names(program: &Program<'_>) -> Result<()> {
    const KNOWN: &[u8] = b"\x04some\x04host\x04test\x00";
    let server = UdpSocket::bind("127.0.0.1:0")?;
    let address = server.local_addr()?;
    // It ends with this process.
    drop(thread::spawn(move || -> Result<()> {
        loop {
            let mut question = [0; 512];
            let (len, from) = server.recv_from(&mut question)?;
            let question = question.get(..len).context("a question")?;
            let Some((head, asked)) = question.split_at_checked(12) else {
                bail!("a question without a head");
            };
            let known = asked.starts_with(KNOWN);
            let has = known && asked[KNOWN.len()..].starts_with(&[0, 1]);
            let mut answer = head[..2].to_vec();
            // An answer; of a name that it does not know, that there is none.
            answer.extend([
                0x81,
                if known { 0x80 } else { 0x83 },
                0,
                1,
                0,
                has.into(),
                0,
                0,
                0,
                0,
            ]);
            let end = asked.iter().position(|b| *b == 0).context("a name")? + 5;
            answer.extend(asked.get(..end).context("a type")?);
            if has {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 1, 2, 3]);
            }
            server.send_to(&answer, from)?;
        }
    }));
    let option = format!("--net=dns={address}");
    let output = program.run(&[&option], &["names", "some.host.test"])?;
    let expected =
        "some.host.test [10.1.2.3:80]\n127.0.0.1 [127.0.0.1:80]\nlocalhost [127.0.0.1:80]\ntrue\n";
    is(&output, 0, expected.as_bytes())
}

/// As a command of the shell it has the network that the shell's other commands have.
fn in_the_shell(program: &Program<'_>) -> Result<()> {
    let script = "net own\nnet refused 127.0.0.1:9\n";
    let module = program.module.clone();
    let (output, status) = program.machine.shell("net", module, script)?;
    ensure!(status.is_some(), "{output}");
    for said in ["there and back", "Some(ConnectionRefused)"] {
        ensure!(output.contains(said), "no {said:?} in {output}");
    }
    Ok(())
}

/// A program that listens has clients of this machine, one after the other; without leave it has no socket.
pub fn sockets(machine: &Ordinary<'_>) -> Result<()> {
    let module = machine.folder.join("listen.wasm");
    let mut clang = Command::new("clang");
    clang.args(["--target=wasm32", "-O2", "-nostdlib", "-Wall", "-Werror"]);
    clang.arg("-Wl,--export=_start").arg("-o").arg(&module);
    clang.arg(machine.run.project.root.join("tests/ordinary/listen.c"));
    cargo::quiet(&mut clang, "compiling listen.c")?;
    let cache = machine.folder.join("cache");
    let run = |options: &[&str]| machine.run_with_cache(&cache, options, &module, &[], b"");
    is(&run(&[])?, 2, b"")?;
    let output = run(&["--tcplisten", "0.0.0.0:80"])?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    says(
        &output,
        "--tcplisten 0.0.0.0:80: programs listen at this machine's loopback",
    )?;
    let address = format!("127.0.0.1:{}", free_port()?);
    // More than any buffer on the way.
    let many: Vec<u8> = (0..3_000_001_u32).map(|i| (i * 31 / 7) as u8).collect();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| run(&["--tcplisten", &address]));
        let talked = [&b"a client"[..], &many]
            .into_iter()
            .try_for_each(|data| echoed(&address, data));
        let output = server.join().ok().context("the server")??;
        talked?;
        is(&output, 0, b"")
    })
}

/// What this server sends back to a client that sends this.
fn echoed(address: &str, data: &[u8]) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(20);
    let mut client = loop {
        match TcpStream::connect(address) {
            Ok(client) => break client,
            Err(e) if Instant::now() >= end => return Err(e).context("the server does not listen"),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let mut writer = client.try_clone()?;
    let sent = data.to_vec();
    let writer = std::thread::spawn(move || {
        let written = writer.write_all(&sent);
        written.and_then(|()| writer.shutdown(Shutdown::Write))
    });
    client.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut back = Vec::new();
    client.read_to_end(&mut back)?;
    writer.join().ok().context("the writer")??;
    ensure!(
        back == data,
        "{} bytes of {} came back",
        back.len(),
        data.len()
    );
    Ok(())
}
