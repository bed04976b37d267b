//! Roots: a bare system by debootstrap, Rust and a clone of the project in it, and a way to run
//! commands there.
//!
//! Commands run in name spaces of their own, whose processes and mounts end with them, so that
//! nothing is left mounted however they end. A process that waits for this one to end, by Ctrl-C or
//! otherwise, removes the folder of the roots.

use super::case::Case;
use crate::cargo::{self, Outcome};
use crate::project::Project;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The packages that every machine has: those that the README asks for.
const PACKAGES: &str = "build-essential,ca-certificates,curl";
/// The user without rights.
const USER: &str = "user";

/// Variables that configure this machine's network access.
const PASSED_ON: [&str; 10] = [
    "RUSTUP_DIST_SERVER",
    "RUSTUP_UPDATE_ROOT",
    "CARGO_NET_OFFLINE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// The archive of packages that this machine uses.
pub struct Archive {
    address: String,
    suites: Vec<String>,
}

impl Archive {
    /// Asks apt.
    pub fn of_this_machine() -> Result<Archive> {
        let release =
            fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
        let field = |name: &str| {
            let line = release
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap_or_default().trim_matches('"').to_string()
        };
        let own = field("VERSION_CODENAME");
        let targets = Command::new("apt-get")
            .args([
                "indextargets",
                "--format",
                "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                "Created-By: Packages",
            ])
            .output()
            .context("cannot start apt-get, which knows where packages come from")?;
        let text = String::from_utf8_lossy(&targets.stdout);
        let Some(address) = archive(&text, &own) else {
            bail!("apt knows no archive of `{own} main`; is this Debian or Ubuntu?");
        };
        let mut suites = vec![own];
        let further: &[&str] = if field("ID") == "ubuntu" {
            &["jammy", "noble"]
        } else {
            &["bookworm", "trixie"]
        };
        for suite in further {
            if !suites.iter().any(|s| s == suite) {
                suites.push(suite.to_string());
            }
        }
        Ok(Archive { address, suites })
    }

    /// The releases to try: this machine's own, and others of the same archive.
    pub fn suites(&self) -> &[String] {
        &self.suites
    }
}

/// The address of a release's main part, from apt's list of sources.
fn archive(targets: &str, suite: &str) -> Option<String> {
    targets.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next()?;
        (words.eq([suite, "main"])).then(|| address.trim_end_matches('/').to_string())
    })
}

/// A folder that is removed when this process has ended, however it ends.
pub struct Folder {
    path: PathBuf,
    /// A process that waits for the end of its standard input, which is a pipe from this process.
    remover: Option<Child>,
}

impl Folder {
    /// Makes the folder.
    pub fn new(path: &Path, keep: bool) -> Result<Folder> {
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        let script =
            r#"cat; for i in 1 2 3 4 5; do rm -rf --one-file-system "$0" && break; sleep 1; done"#;
        let remover = (!keep)
            .then(|| {
                Command::new("sh")
                    .args(["-c", script])
                    .arg(path)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    // Ctrl-C at the terminal must not reach it.
                    .process_group(0)
                    .spawn()
            })
            .transpose()
            .context("cannot start sh")?;
        Ok(Folder {
            path: path.to_path_buf(),
            remover,
        })
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(remover) = &mut self.remover {
            drop(remover.stdin.take());
            let _ = remover.wait();
        }
    }
}

/// A bare system with Rust and a clone, which no command changes.
pub struct Base {
    path: PathBuf,
    folder: PathBuf,
    clone: PathBuf,
}

impl Base {
    /// Makes the base system.
    pub fn make(
        folder: &Folder,
        archive: &Archive,
        suite: &str,
        project: &Project,
        rustup: bool,
    ) -> Result<Base> {
        let path = folder.path().join(suite);
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", &format!("--include={PACKAGES}"), suite]);
        debootstrap.arg(&path).arg(&archive.address);
        cargo::quiet(&mut debootstrap, &format!("making a bare {suite}"))?;
        // This machine's network configuration: names, certificates, apt's own settings.
        for file in [
            "/etc/resolv.conf",
            "/etc/hosts",
            "/etc/ssl/certs/ca-certificates.crt",
        ] {
            if Path::new(file).is_file() {
                let to = path.join(file.trim_start_matches('/'));
                let _ = fs::remove_file(&to);
                fs::copy(file, &to).with_context(|| format!("cannot write {}", to.display()))?;
            }
        }
        let clone = folder.path().join("clone");
        if !clone.exists() {
            let mut git = Command::new("git");
            git.args(["clone", "-q", "--no-hardlinks"])
                .arg(&project.root)
                .arg(&clone);
            cargo::quiet(&mut git, "cloning the project")?;
        }
        let base = Base {
            path,
            folder: folder.path().to_path_buf(),
            clone,
        };
        base.shell(
            &format!("useradd --create-home --shell /bin/bash {USER}"),
            "making a user",
        )?;
        for home in ["root", &format!("home/{USER}")] {
            base.install_rust(home, project, rustup)?;
        }
        base.shell(&format!("chown -R {USER}: /home/{USER}"), "making a user")?;
        Ok(base)
    }

    /// Installs Rust as the README says, or copies the toolchain in use here.
    fn install_rust(&self, home: &str, project: &Project, rustup: bool) -> Result<()> {
        if rustup {
            // As https://rustup.rs says; or from the mirror that the environment names.
            let address = match std::env::var("RUSTUP_UPDATE_ROOT") {
                Ok(mirror) => format!("{mirror}/rustup-init.sh"),
                Err(_) => "https://sh.rustup.rs".into(),
            };
            let script = format!(
                "export HOME=/{home}; set -o pipefail; curl -sSf '{address}' | \
                 sh -s -- -y --profile minimal --default-toolchain none"
            );
            return self.shell(&script, "installing rustup");
        }
        complain!("/{home}: Rust is copied from this machine (--rustup installs it by rustup)");
        let own = |variable: &str, folder: &str| -> Result<PathBuf> {
            let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(folder));
            let found = std::env::var_os(variable).map(PathBuf::from).or_else(home);
            found.with_context(|| format!("neither {variable} nor HOME is set"))
        };
        let (cargo_home, rustup_home) =
            (own("CARGO_HOME", ".cargo")?, own("RUSTUP_HOME", ".rustup")?);
        let sysroot = Command::new("rustc")
            .current_dir(&project.root)
            .args(["--print", "sysroot"])
            .output()
            .context("cannot start rustc")?;
        let sysroot =
            String::from_utf8(sysroot.stdout).context("rustc --print sysroot: not text")?;
        // The toolchain file asks for it by this name, whatever the name links to here.
        let text = fs::read_to_string(project.root.join("rust-toolchain.toml"))
            .context("cannot read rust-toolchain.toml")?;
        let channel = text
            .split('"')
            .nth(1)
            .context("rust-toolchain.toml names no channel")?;
        let script = r#"set -e
            mkdir -p "$to/.cargo/bin" "$to/.rustup/toolchains/$name"
            (cd "$sysroot" && tar cf - --exclude=share/doc --exclude=share/man .) | tar xf - -C "$to/.rustup/toolchains/$name"
            cp "$rustup/settings.toml" "$to/.rustup/"
            cp -a "$cargo/bin/rustup" "$to/.cargo/bin/"
            for tool in cargo rustc rustdoc rustfmt cargo-fmt cargo-clippy clippy-driver; do ln -sf rustup "$to/.cargo/bin/$tool"; done
            cp -a "$cargo/registry" "$to/.cargo/"
            for file in config.toml config; do [ ! -f "$cargo/$file" ] || cp "$cargo/$file" "$to/.cargo/"; done"#;
        let mut copy = Command::new("sh");
        copy.args(["-c", script]).env("to", self.path.join(home));
        copy.env("sysroot", sysroot.trim())
            .env("name", format!("{channel}-x86_64-unknown-linux-gnu"));
        copy.env("rustup", rustup_home).env("cargo", cargo_home);
        cargo::quiet(&mut copy, "copying Rust")
    }

    fn shell(&self, script: &str, what: &str) -> Result<()> {
        cargo::quiet(&mut inside(&self.path, "/root", true, script), what)
    }

    /// A copy of this for one machine.
    pub fn enter(&self, case: &Case) -> Result<Root> {
        let path = self.folder.join("machine");
        let mut copy = Command::new("cp");
        copy.args(["-a", "--reflink=auto"])
            .arg(&self.path)
            .arg(&path);
        cargo::quiet(&mut copy, "copying a root")?;
        let root = Root { path };
        if !case.packages.is_empty() {
            let line = case.packages.join(" ");
            let script =
                format!("apt-get update && apt-get install -y --no-install-recommends {line}");
            let what = format!("installing {line}");
            cargo::quiet(&mut inside(&root.path, "/root", true, &script), &what)?;
        }
        let to = root
            .path
            .join(case.home().trim_start_matches('/'))
            .join(case.place);
        let mut git = Command::new("cp");
        let above = to.parent().context("a clone lies in a folder")?;
        fs::create_dir_all(above).with_context(|| format!("cannot create {}", above.display()))?;
        cargo::quiet(git.arg("-a").arg(&self.clone).arg(&to), "copying the clone")?;
        let owner = if case.root { "root" } else { USER };
        let own = format!("chown -R {owner}: {0}/*", case.home());
        cargo::quiet(
            &mut inside(&root.path, "/root", true, &own),
            "giving the clone away",
        )?;
        Ok(root)
    }

    /// Removes the copy.
    pub fn remove(self, keep: bool) -> Result<()> {
        Root { path: self.path }.remove(keep)
    }
}

impl Case {
    fn home(&self) -> String {
        if self.root {
            "/root".into()
        } else {
            format!("/home/{USER}")
        }
    }
}

/// A machine.
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// Runs a command in the clone.
    pub fn run(&self, case: &Case, command: &str, what: &str) -> Result<Outcome> {
        let habits = if case.habits.is_empty() {
            ":"
        } else {
            case.habits
        };
        let script = format!("{habits}; cd ~/'{}' && exec {command}", case.place);
        cargo::capture(
            &mut inside(&self.path, &case.home(), case.root, &script),
            what,
        )
    }

    /// Removes the copy.
    pub fn remove(self, keep: bool) -> Result<()> {
        if keep {
            // The next machine reuses the name.
            let kept = (1..)
                .map(|n| self.path.with_extension(n.to_string()))
                .find(|path| !path.exists());
            let kept = kept.context("no name is left")?;
            return fs::rename(&self.path, &kept)
                .with_context(|| format!("cannot rename {}", kept.display()));
        }
        fs::remove_dir_all(&self.path)
            .with_context(|| format!("cannot remove {}", self.path.display()))
    }
}

/// A shell in a root, with mounts and processes of its own that end with it.
fn inside(root: &Path, home: &str, as_root: bool, script: &str) -> Command {
    let prepare = r#"set -e
        mount -t proc proc "$root/proc"; mount -t sysfs -o ro sys "$root/sys"; mount --rbind /dev "$root/dev"; mount -t tmpfs tmp "$root/tmp"
        exec chroot $who "$root" env -i $passed HOME="$home" USER="$user" PATH="$home/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
            DEBIAN_FRONTEND=noninteractive bash -c "$script""#;
    // The end of this process, for any reason, ends the name spaces, too, and with them all their
    // processes and mounts.
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "KILL",
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        prepare,
    ]);
    let passed: Vec<String> = PASSED_ON
        .iter()
        .filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)))
        .collect();
    let user = if as_root { "root" } else { USER };
    command
        .env("root", root)
        .env("home", home)
        .env("script", script)
        .env("user", user);
    command.env("passed", passed.join(" "));
    command.env(
        "who",
        if as_root {
            String::new()
        } else {
            format!("--userspec={USER}:{USER}")
        },
    );
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_that_of_the_release() {
        let said = "http://a.example/extra stable main\nhttp://b.example/debian/ bookworm main\n";
        assert_eq!(
            archive(said, "bookworm").as_deref(),
            Some("http://b.example/debian")
        );
        assert_eq!(archive(said, "trixie"), None);
    }

    #[test]
    fn a_folder_goes_when_its_owner_does() {
        let path = std::env::temp_dir().join(format!("xtask-fresh-{}", std::process::id()));
        let folder = Folder::new(&path, false).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        assert!(folder.path().is_dir());
        drop(folder);
        assert!(!path.exists());
    }
}
