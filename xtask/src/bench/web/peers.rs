//! The peers: nginx with files of its own, and before a back end, in one process each; and `wasmtime
//! serve`, which makes an instance of a component for each request.

use super::load::pin;
use crate::project::Project;
use crate::{build, cargo, files};
use anyhow::{Context, Result, bail, ensure};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start.
const START: Duration = Duration::from_secs(10);

/// A program of the host, which ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// nginx and its back end.
pub struct Nginx {
    pub port: u16,
    /// What it says of itself.
    pub version: String,
    all: [Running; 2],
}

impl Nginx {
    /// Its process and the back end's.
    pub fn processes(&self) -> [u32; 2] {
        [self.all[0].0.id(), self.all[1].0.id()]
    }
}

/// The version of the nginx of this machine, if there is one.
fn version() -> Result<Option<String>> {
    let output = match Command::new("nginx").arg("-v").output() {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        output => output.context("cannot start nginx")?,
    };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text.rsplit(": ").next().unwrap_or(&text);
    Ok(Some(version.trim().into()))
}

/// One worker in one process, nothing logged, files sent by the kernel and kept open, connections
/// to the back end kept.
fn configuration(folder: &Path, port: u16) -> String {
    let at = folder.display();
    format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\npid {at}/nginx.pid;\n\
         error_log {at}/error.log crit;\nevents {{ worker_connections 512; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  tcp_nodelay on;\n  \
         keepalive_requests 1000000000;\n  open_file_cache max=2000 inactive=600s;\n  \
         open_file_cache_valid 600s;\n  client_body_temp_path {at}/body;\n  \
         proxy_temp_path {at}/proxy;\n  fastcgi_temp_path {at}/fastcgi;\n  \
         uwsgi_temp_path {at}/uwsgi;\n  scgi_temp_path {at}/scgi;\n  \
         proxy_buffers 16 64k;\n  proxy_buffer_size 64k;\n  \
         upstream back {{ server unix:{at}/back; keepalive 64; \
         keepalive_requests 1000000000; }}\n  \
         server {{\n    listen 127.0.0.1:{port};\n    root {at}/www;\n    \
         location /kept {{ proxy_pass http://back; proxy_http_version 1.1; \
         proxy_set_header Connection \"\"; }}\n    \
         location /spawn {{ proxy_pass http://back; proxy_http_version 1.1; \
         proxy_set_header Connection \"\"; }}\n  }}\n}}\n"
    )
}

/// Starts nginx, which serves the files in `folder/www`, on this processor; `None`, with a word to
/// the user, if there is none.
pub fn nginx(
    project: &Project,
    folder: &Path,
    port: u16,
    core: Option<usize>,
) -> Result<Option<Nginx>> {
    let Some(version) = version()? else {
        complain!("without nginx, which is not installed: Debian has it as `nginx-light`");
        return Ok(None);
    };
    build::host(project, &["sing-bench-linux"])?;
    let conf = folder.join("nginx.conf");
    files::write(&conf, configuration(folder, port))?;
    let socket = folder.join("back");
    let mut back = Command::new(project.host_binary("sing-bench-linux"));
    back.arg("--web").arg(&socket);
    let back = start(&mut back, core)?;
    let mut server = Command::new("nginx");
    server.arg("-c").arg(&conf).arg("-p").arg(folder);
    server.arg("-e").arg(folder.join("error.log"));
    let mut server = start(&mut server, core)?;
    listening("nginx", &mut server, || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() && socket.exists()
    })?;
    Ok(Some(Nginx {
        port,
        version,
        all: [server, back],
    }))
}

/// Waits until a server that was started answers.
fn listening(name: &str, server: &mut Running, is_ready: impl Fn() -> bool) -> Result<()> {
    let end = Instant::now() + START;
    while !is_ready() {
        if let Ok(Some(status)) = server.0.try_wait() {
            bail!("{name} has ended: {status}");
        }
        ensure!(Instant::now() < end, "{name} does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// `wasmtime serve`.
pub struct Wasmtime {
    pub port: u16,
    server: Running,
}

impl Wasmtime {
    /// Its process.
    pub fn processes(&self) -> [u32; 1] {
        [self.server.0.id()]
    }
}

/// Builds `wasmtime serve` and its handler; both paths.
fn build_wasmtime(project: &Project) -> Result<[PathBuf; 2]> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let folder = project.root.join("bench/serve");
    let out = project.target.join("bench-serve");
    let mut command = cargo::command(&folder, &["build", "--release", "--target-dir"]);
    command.arg(&out);
    cargo::quiet(&mut command, "building `wasmtime serve` (minutes, once)")?;
    let handler = ["build", "--release", "--package", "sing-bench-serve-guest"];
    let mut command = cargo::command(&folder, &handler);
    let guest = project.target.join("bench-serve-guest");
    command
        .args(["--target", TARGET, "--target-dir"])
        .arg(&guest);
    // The flags for programs of this system, shared memory among them, are none for its handler.
    command.env("CARGO_ENCODED_RUSTFLAGS", "-Copt-level=3");
    cargo::quiet(&mut command, "building the handler of `wasmtime serve`")?;
    let handler = format!("{TARGET}/release/sing_bench_serve_guest.wasm");
    Ok([out.join("release/sing-bench-serve"), guest.join(handler)])
}

/// Starts `wasmtime serve` on this processor; `None`, with a word to the user, if it cannot be built.
pub fn wasmtime(project: &Project, port: u16, core: Option<usize>) -> Result<Option<Wasmtime>> {
    let [program, handler] = match build_wasmtime(project) {
        Ok(built) => built,
        Err(error) => {
            complain!("without wasmtime: {error:#}");
            return Ok(None);
        }
    };
    let mut server = Command::new(program);
    server.arg(handler).arg("--addr");
    server.arg(format!("{}:{port}", Ipv4Addr::LOCALHOST));
    let mut server = start(&mut server, core)?;
    listening("wasmtime", &mut server, || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    })?;
    Ok(Some(Wasmtime { port, server }))
}

/// Starts a program on a processor.
fn start(command: &mut Command, core: Option<usize>) -> Result<Running> {
    command.stdin(Stdio::null());
    let name = command.get_program().to_string_lossy().into_owned();
    let started = std::thread::scope(|scope| {
        let starter = scope.spawn(|| {
            core.map_or(Ok(()), pin)?;
            command
                .spawn()
                .with_context(|| format!("cannot start {name}"))
        });
        starter
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    Ok(Running(started?))
}
