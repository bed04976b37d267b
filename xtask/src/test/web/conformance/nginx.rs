//! nginx with the same files, before the same programs, if the machine has it.

use crate::files;
use crate::project::Project;
use crate::test::tcp::free_port;
use anyhow::{Context, Result, ensure};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to listen.
const START: Duration = Duration::from_secs(10);

/// A running nginx, which ends with this value.
pub struct Nginx {
    pub port: u16,
    /// What it says of itself.
    pub version: String,
    folder: PathBuf,
    process: Child,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended, and what is left in the project's output does no harm.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What it needs to serve the files, with times and limits like ours, and to ask `back` for programs.
fn configuration(folder: &Path, port: u16, back: u16) -> String {
    let at = folder.display();
    format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\npid {at}/pid;\n\
         error_log {at}/error.log crit;\nevents {{ worker_connections 64; }}\n\
         http {{\n  access_log off;\n  types {{ text/plain txt; text/html html; }}\n  gzip on;\n  \
         gzip_vary on;\n  gzip_types text/plain;\n  gzip_min_length 256;\n  keepalive_timeout 3s;\n  \
         client_header_timeout 3s;\n  client_max_body_size 1m;\n  client_body_temp_path {at}/body;\n  \
         proxy_temp_path {at}/proxy;\n  fastcgi_temp_path {at}/fastcgi;\n  \
         uwsgi_temp_path {at}/uwsgi;\n  scgi_temp_path {at}/scgi;\n  \
         server {{\n    listen 127.0.0.1:{port};\n    root {at}/www;\n    \
         location /try {{ proxy_pass http://127.0.0.1:{back}; }}\n  }}\n}}\n"
    )
}

impl Nginx {
    /// Starts one before a web server; `None` if the machine has none.
    pub fn start(
        project: &Project,
        content: &[(&str, Vec<u8>)],
        back: u16,
    ) -> Result<Option<Nginx>> {
        let said = match Command::new("nginx").arg("-v").output() {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                println!("  no nginx to compare with: Debian has it as `nginx-light`");
                return Ok(None);
            }
            said => said.context("cannot start nginx")?,
        };
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        let version = text.rsplit(": ").next().unwrap_or(&text).trim().to_owned();
        let name = format!("conformance-nginx-{}", std::process::id());
        let folder = project.out().join(name);
        for (path, bytes) in content {
            let path = folder.join("www").join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            files::write(&path, bytes)?;
        }
        let port = free_port()?;
        let conf = folder.join("nginx.conf");
        files::write(&conf, configuration(&folder, port, back))?;
        let process = Command::new("nginx")
            .arg("-c")
            .arg(&conf)
            .arg("-p")
            .arg(&folder)
            .arg("-e")
            .arg(folder.join("error.log"))
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start nginx")?;
        let mut nginx = Nginx {
            port,
            version,
            folder,
            process,
        };
        let end = Instant::now() + START;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let ended = nginx.process.try_wait()?;
            ensure!(ended.is_none(), "nginx has ended: {ended:?}");
            ensure!(Instant::now() < end, "nginx does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(nginx))
    }
}
