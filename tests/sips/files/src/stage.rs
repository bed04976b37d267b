//! The processes of a check: a disk and a file system of its own, ended with it.

use core::sync::atomic::{AtomicU32, Ordering};
use sing_sdk::contracts::{VolumeContract, VolumeFault};
use sing_sdk::fs::Directory;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::Child;
use sing_sdk::sync::Mutex;

sing_sdk::contract!(
    "../faultydisk/switches.contract",
    use sing_sdk::contracts::ServiceContract
);

static NAMES: Mutex<Option<Names>> = Mutex::new(None);
static STAGES: AtomicU32 = AtomicU32::new(0);

/// A further channel to the name server.
pub fn connected() -> Result<Names, Error> {
    let mut kept = NAMES.lock();
    let names = match kept.take() {
        Some(names) => names,
        None => Names::new(crate::startup::names().ok_or(Error::NotFound)?)?,
    };
    Names::new(kept.insert(names).connect()?)
}

/// A program that runs until it is dropped.
pub struct Running(pub Child);

impl Running {
    pub fn new(image: &str, arguments: &[&str]) -> Result<Running, Error> {
        let names = NAMES.lock().as_mut().ok_or(Error::NotFound)?.connect()?;
        let child = Child::of(image)
            .arg(image)
            .args(arguments)
            .endpoint("names", names);
        Ok(Running(child.start().map_err(|e| e.error())?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.stop(0);
        let _ = self.0.join();
    }
}

/// Waits until a name is registered.
pub fn appears(names: &mut Names, path: &str) -> Result<(), Error> {
    let (above, name) = sing_sdk::fs::split(path).ok_or(Error::BadArgument)?;
    for _ in 0..2000 {
        let there = names.list(above).unwrap_or_default();
        if there.iter().any(|found| found.name() == name) {
            return Ok(());
        }
        sing_sdk::time::sleep(core::time::Duration::from_millis(2));
    }
    println!("filetest: {path} does not appear");
    Err(Error::Timeout)
}

/// The control worker of a file system.
pub struct Control(Option<VolumeContract::Imp<VolumeContract::Ready>>);

/// A control worker's answer.
pub type Answer<T> = Result<T, VolumeFault>;

impl Control {
    pub fn new(names: &mut Names, path: &str) -> Result<Control, Error> {
        let (imp, exp) = VolumeContract::new_channel()?;
        names.bind(path, exp)?;
        Ok(Control(Some(imp.recv_success()?)))
    }

    fn channel(&mut self) -> Result<VolumeContract::Imp<VolumeContract::Ready>, Error> {
        self.0.take().ok_or(Error::Closed)
    }

    pub fn format(&mut self, disk: &str, label: &str, force: bool) -> Result<Answer<()>, Error> {
        use VolumeContract::imp::Ready_Format as Reply;
        let (disk, label) = (Text::new(disk)?, Text::new(label)?);
        let (answer, next) = match self.channel()?.call_format(disk, label, force) {
            Reply::Done(next) => (Ok(()), next),
            Reply::Failed(fault, next) => (Err(fault), next),
            Reply::Closed => return Err(Error::Closed),
        };
        self.0 = Some(next);
        Ok(answer)
    }

    pub fn mount(&mut self, disk: &str, at: &str, read_only: bool) -> Result<Answer<()>, Error> {
        use VolumeContract::imp::Ready_Mount as Reply;
        let (disk, at) = (Text::new(disk)?, Text::new(at)?);
        let (answer, next) = match self.channel()?.call_mount(disk, at, read_only) {
            Reply::Done(next) => (Ok(()), next),
            Reply::Failed(fault, next) => (Err(fault), next),
            Reply::Closed => return Err(Error::Closed),
        };
        self.0 = Some(next);
        Ok(answer)
    }

    pub fn unmount(&mut self, at: &str, force: bool) -> Result<Answer<()>, Error> {
        use VolumeContract::imp::Ready_Unmount as Reply;
        let at = Text::new(at)?;
        let (answer, next) = match self.channel()?.call_unmount(at, force) {
            Reply::Done(next) => (Ok(()), next),
            Reply::Failed(fault, next) => (Err(fault), next),
            Reply::Closed => return Err(Error::Closed),
        };
        self.0 = Some(next);
        Ok(answer)
    }

    pub fn check(&mut self, disk: &str) -> Result<Answer<(u32, String)>, Error> {
        use VolumeContract::imp::Ready_Check as Reply;
        let disk = Text::new(disk)?;
        let (answer, next) = match self.channel()?.call_check(disk) {
            Reply::Report(problems, text, next) => (Ok((problems, text.to_lossy())), next),
            Reply::Failed(fault, next) => (Err(fault), next),
            Reply::Closed => return Err(Error::Closed),
        };
        self.0 = Some(next);
        Ok(answer)
    }

    pub fn space(&mut self, at: &str) -> Result<Answer<(u64, u64, u64)>, Error> {
        use VolumeContract::imp::Ready_GetSpace as Reply;
        let at = Text::new(at)?;
        let (answer, next) = match self.channel()?.call_get_space(at) {
            Reply::Space(total, free, nodes, next) => (Ok((total, free, nodes)), next),
            Reply::Failed(fault, next) => (Err(fault), next),
            Reply::Closed => return Err(Error::Closed),
        };
        self.0 = Some(next);
        Ok(answer)
    }

    pub fn mounts(&mut self) -> Result<String, Error> {
        use VolumeContract::imp::Ready_GetMounts as Reply;
        match self.channel()?.call_get_mounts() {
            Reply::Mounts(lines, next) => {
                self.0 = Some(next);
                Ok(lines.to_lossy())
            }
            Reply::Failed(..) | Reply::Closed => Err(Error::Closed),
        }
    }
}

/// A disk in memory with an empty file system, mounted.
pub struct Stage {
    pub names: Names,
    pub control: Control,
    pub files: Option<Running>,
    _ram: Running,
    pub disk: String,
    pub at: String,
    pub ctrl: String,
}

impl Stage {
    pub fn new(mib: u32) -> Result<Stage, Error> {
        let mut stage = Stage::unmounted(mib)?;
        let (disk, at) = (stage.disk.clone(), stage.at.clone());
        let made = stage.control.format(&disk, "test", false)?;
        let mounted = stage.control.mount(&disk, &at, false)?;
        if (made, mounted) != (Ok(()), Ok(())) {
            println!("filetest: {made:?}, {mounted:?}");
            return Err(Error::BadState);
        }
        Ok(stage)
    }

    /// With nothing on the disk.
    pub fn unmounted(mib: u32) -> Result<Stage, Error> {
        Stage::with(mib, &[])
    }

    /// With nothing on the disk, and options of the file system.
    pub fn with(mib: u32, options: &[&str]) -> Result<Stage, Error> {
        let mut names = connected()?;
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let (disk, at) = (format!("/test/disk{number}"), format!("/test/fs{number}"));
        let ctrl = format!("/test/ctrl{number}");
        let ram = Running::new("ramdisk", &[&disk, &mib.to_string()])?;
        appears(&mut names, &disk)?;
        let files = Running::new("files", &[&[ctrl.as_str()], options].concat())?;
        appears(&mut names, &ctrl)?;
        let control = Control::new(&mut names, &ctrl)?;
        let files = Some(files);
        Ok(Stage {
            names,
            control,
            files,
            _ram: ram,
            disk,
            at,
            ctrl,
        })
    }

    pub fn root(&mut self) -> Result<Directory, Error> {
        Directory::open(&mut self.names, &self.at)
    }
}

/// A request to hold one of a disk's.
pub type Holding = SwitchContract::Imp<SwitchContract::Ready_Hold>;

/// A disk that fails as told, before another.
pub struct Faulty {
    _running: Running,
    pub path: String,
    switches: Option<SwitchContract::Imp<SwitchContract::Ready>>,
}

impl Faulty {
    /// `through`: nothing is kept in it that an end of it could lose.
    pub fn new(names: &mut Names, of: &str, path: &str, through: bool) -> Result<Faulty, Error> {
        let options: &[&str] = if through { &["--through"] } else { &[] };
        Faulty::with(names, of, path, options)
    }

    /// With options of the program.
    pub fn with(
        names: &mut Names,
        of: &str,
        path: &str,
        options: &[&str],
    ) -> Result<Faulty, Error> {
        let arguments = [&[of, path], options].concat();
        let running = Running::new("faultydisk", &arguments)?;
        appears(names, path)?;
        let (imp, exp) = SwitchContract::new_channel()?;
        names.bind(&format!("{path}-switches"), exp)?;
        let switches = Some(imp.recv_success()?);
        let path = path.into();
        Ok(Faulty {
            _running: running,
            path,
            switches,
        })
    }

    fn channel(&mut self) -> Result<SwitchContract::Imp<SwitchContract::Ready>, Error> {
        self.switches.take().ok_or(Error::Closed)
    }

    pub fn bad(&mut self, from: u64, to: u64) -> Result<(), Error> {
        self.switches = Some(self.channel()?.call_bad(from, to).done()?);
        Ok(())
    }

    pub fn read_only(&mut self, on: bool) -> Result<(), Error> {
        self.switches = Some(self.channel()?.call_read_only(on).done()?);
        Ok(())
    }

    pub fn slow(&mut self, milliseconds: u32) -> Result<(), Error> {
        self.switches = Some(self.channel()?.call_slow(milliseconds).done()?);
        Ok(())
    }

    /// The request that comes after so many others is held.
    pub fn hold(&mut self, before: u32) -> Result<Holding, Error> {
        Ok(self.channel()?.send_hold(before))
    }

    pub fn cut(&mut self, seed: u64) -> Result<(), Error> {
        self.switches = Some(self.channel()?.call_cut(seed).done()?);
        Ok(())
    }
}
