//! The system image of a run: the services of `sing run` and the program, compiled. It is taken
//! from the cache ([`crate::kept`]) if the same was compiled before.

use super::base::{self, Base, Use};
use super::{Request, image_name, nameless, program_name};
use crate::kept::cache::{Cache, Found, Key};
use crate::kept::known::{self, Settled, stamp};
use crate::kept::{self, Kept, Wanted};
use crate::output::{complain, name_of};
use crate::{input, system};
use sing_compiler::{Features, Options};
use sing_image::elf::Image;
use sing_image::system::{BIN, SystemImage, SystemManifest};
use sing_merge::Kind;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::SystemTime;

/// The functions of WASI for which a program without directories needs a service of the system.
const SERVED: [&str; 1] = ["random_get"];

/// A program's budget if nothing is said: what 32-bit addresses can reach, and the adapter's memory and records.
pub const BUDGET: u64 = 5 << 30;

/// Whether a program runs in a system without services: it is given no directories and no ports, and asks
/// for nothing else that a service has. (Of components, that is not looked for.)
fn is_alone(request: &Request, of: Use, module: &[u8]) -> bool {
    of == Use::Run
        && request.directories.is_empty()
        && sing_merge::kind(module) != Kind::Component
        && !sing_merge::imports_any(module, &SERVED)
}

/// What is left of a system's manifest without its services: the main program.
fn alone(manifest: &SystemManifest) -> SystemManifest {
    SystemManifest {
        start: manifest.start.iter().filter(|s| s.main).cloned().collect(),
        ..SystemManifest::default()
    }
}

/// The file with the image for a run; `base` is that of the services.
pub fn ready(request: &Request, base: &Base) -> Result<File, String> {
    let shown = name_of(&request.file);
    let say = |text: String| {
        if request.verbose {
            complain(format!("sing: {shown}: {text}"));
        }
    };
    let options = Options::default();
    let kept = Kept::open(Wanted {
        cache: request.cache,
        verbose: request.verbose,
    });
    // What is kept is run as it is: a program must not write it.
    let directories = request.directories.iter().map(|(host, _)| host.as_path());
    let cache = kept.cache_unless(|cache| {
        let reached = cache.is_within_reach(directories);
        if reached {
            complain(format!(
                "sing: {shown}: compiled anew each time: --dir leads to {}, where compiled programs are kept; name \
                 a directory that does not",
                name_of(cache.place())
            ));
        }
        reached
    });
    let own = Own::of(base)?;
    let record = own.key_of_record(request, &options);
    if let Some(cache) = &cache
        && let Some((key, file)) = known::find(cache, &record, &request.file)
    {
        say(format!("compiled before, {}", name_of(&cache.path(&key))));
        return Ok(file);
    }
    // Both files' stamps are from before they are read: if one changes meanwhile, it is not known.
    let moment = cache.as_ref().and_then(Cache::moment);
    let before = Settled::module(&request.file, SystemTime::now());
    let module = input::read(&request.file)?;
    if input::kind(&module).map_err(|e| format!("{shown}: {e}"))? == input::Kind::Image {
        let is = match Image::decode(&module) {
            Ok(_) => "is the image of a program of this system",
            Err(_) => "is an ELF file, and no program for WebAssembly",
        };
        return Err(format!(
            "{shown}: {is}; this takes a module of WASI preview 1, or a component"
        ));
    }
    let is_alone = is_alone(request, base.of, &module);
    let Some(cache) = cache else {
        let archive = made(
            request,
            (base.of, is_alone),
            &module,
            &base.bytes(None)?,
            &options,
            None,
            &say,
        )?;
        return without_name(&archive);
    };
    let key = own.key(request, is_alone, &module, &options);
    // One that was just made is compared with its digest by the next run, which notes it.
    let kept = cache.unread(&key).zip(moment);
    let kept = kept.and_then(|(image, moment)| Settled::image(&image, moment));
    match cache.get(&key) {
        Found::Whole(file) => {
            if let (Some(before), Some(kept)) = (&before, &kept) {
                known::note(&cache, &record, before, &key, kept);
            }
            say(format!("compiled before, {}", name_of(&cache.path(&key))));
            return Ok(file);
        }
        Found::Broken(why) => {
            let path = cache.path(&key);
            say(format!("{} is not used: {why}", name_of(&path)));
        }
        Found::Nothing => {}
    }
    let services = base.bytes(Some(&cache))?;
    let archive = made(
        request,
        (base.of, is_alone),
        &module,
        &services,
        &options,
        Some(&cache),
        &say,
    )?;
    match cache.put(&key, &archive) {
        Ok(file) => {
            say(format!("kept as {}", name_of(&cache.path(&key))));
            Ok(file)
        }
        Err(why) => {
            say(format!("not kept: {why}"));
            without_name(&archive)
        }
    }
}

fn without_name(archive: &[u8]) -> Result<File, String> {
    nameless(archive).map_err(|e| {
        let bytes = archive.len();
        match e.kind() {
            io::ErrorKind::FileTooLarge => format!(
                "the system image of {bytes} bytes is larger than files may be here; raise the limit (`ulimit -f`)"
            ),
            _ => format!("the system image cannot be kept: {e}"),
        }
    })
}

/// What all kept files depend on: this command, with its compiler, and the services with the
/// adapter. Each counts by which file it is.
struct Own {
    command: Vec<u8>,
    services: Vec<u8>,
}

impl Own {
    fn of(base: &Base) -> Result<Own, String> {
        let services = match &base.beside {
            Some(file) => {
                let about = std::fs::metadata(file);
                let about = about.map_err(|e| format!("{}: cannot be read: {e}", name_of(file)))?;
                stamp(&about).to_vec()
            }
            // A part of the command.
            None => base.of.image().into(),
        };
        Ok(Own {
            command: kept::command()?,
            services,
        })
    }

    /// The name under which an image is kept.
    fn key(&self, request: &Request, is_alone: bool, module: &[u8], options: &Options) -> Key {
        Key::of(&[
            b"image",
            env!("CARGO_PKG_VERSION").as_bytes(),
            &self.command,
            &self.services,
            format!("{options:?}").as_bytes(),
            // Both are in the image: its name, and the program's in the manifest.
            image_name(&request.file).as_bytes(),
            program_name(&request.file).as_bytes(),
            &request.budget.unwrap_or(BUDGET).to_le_bytes(),
            &[is_alone.into()],
            module,
        ])
    }

    /// The name under which is kept which image a module's file has.
    fn key_of_record(&self, request: &Request, options: &Options) -> Key {
        let path = std::path::absolute(&request.file);
        let path = path.as_deref().unwrap_or(&request.file);
        Key::of(&[
            b"record",
            env!("CARGO_PKG_VERSION").as_bytes(),
            &self.command,
            &self.services,
            format!("{options:?}").as_bytes(),
            &request.budget.unwrap_or(BUDGET).to_le_bytes(),
            // Of the same module there may be two images ([`is_alone`]).
            &[request.directories.is_empty().into()],
            path.as_os_str().as_bytes(),
        ])
    }
}

/// The system image with the program in it, for this use, and perhaps alone.
fn made(
    request: &Request,
    (of, is_alone): (Use, bool),
    module: &[u8],
    base: &[u8],
    options: &Options,
    cache: Option<&Cache>,
    say: &dyn Fn(String),
) -> Result<Vec<u8>, String> {
    let shown = of.image();
    let base = SystemImage::decode(base).map_err(|e| format!("{shown}: {}", e.message))?;
    let name = base::adapter(sing_merge::kind(module));
    let adapter = base.file(name);
    let adapter = adapter.ok_or_else(|| format!("{shown}: has no {name}"))?;
    let budget = request.budget.unwrap_or(BUDGET);
    let merged = merged(&request.file, module, adapter, Some(budget))?;
    let compiled = kept::compile(cache, &request.file, &merged, options, say)?;
    let program = input::elf(&compiled, &request.file)?;
    let mut files: Vec<(String, Vec<u8>)> =
        vec![(format!("{BIN}{}", image_name(&request.file)), program)];
    let manifest = match is_alone {
        true => alone(base.manifest()),
        false => base.manifest().clone(),
    };
    let needed = system::images_of(&manifest);
    for (path, bytes) in base.files() {
        if path
            .strip_prefix(BIN)
            .is_some_and(|name| needed.contains(name))
        {
            files.push((path.into(), bytes.to_vec()));
        }
    }
    let packed = system::pack_for_mapping(&manifest, files);
    packed.map_err(|problems| format!("{shown}: {}", system::in_a_line(&problems)))
}

/// An ordinary program as it is installed: joined with the adapter that is kept beside this
/// command.
pub fn installed(file: &Path, program: &[u8], kind: Kind) -> Result<Vec<u8>, String> {
    let adapter = Base::find(Use::Run).and_then(|base| base.adapter(kind));
    let adapter = adapter.map_err(|e| {
        format!(
            "{}: an ordinary program, which is joined with an adapter; {e}",
            name_of(file)
        )
    })?;
    merged(file, program, &adapter, None)
}

/// A program joined with an adapter, under the name of its file.
fn merged(
    file: &Path,
    program: &[u8],
    adapter: &[u8],
    memory: Option<u64>,
) -> Result<Vec<u8>, String> {
    let name = program_name(file);
    let options = sing_merge::Options {
        features: Features::Sip.of_wasmparser(),
        name: Some(&name),
        memory,
    };
    let merged = sing_merge::merge(program, adapter, &options);
    merged.map_err(|e| format!("{}: {e}", name_of(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Vec<u8> {
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn programs_that_need_no_service_run_alone() {
        let wasi = |name| {
            module(&format!(
                "(module (import \"wasi_snapshot_preview1\" \"{name}\" (func (param i32 i32) (result i32))))"
            ))
        };
        let (plain, random) = (wasi("args_get"), wasi("random_get"));
        let request = Request::default();
        assert!(is_alone(&request, Use::Run, &plain));
        assert!(is_alone(&request, Use::Run, &module("(module)")));
        assert!(!is_alone(&request, Use::Run, &random));
        assert!(!is_alone(&request, Use::Listen, &plain));
        assert!(!is_alone(&request, Use::Serve, &plain));
        assert!(!is_alone(&request, Use::Run, &module("(component)")));
        let mut given = Request::default();
        given.add_directory(".").unwrap();
        assert!(!is_alone(&given, Use::Run, &plain));
        // Each has an image of its own.
        let own = Own {
            command: vec![1],
            services: vec![2],
        };
        let options = Options::default();
        let keys = |request: &Request, module: &[u8]| {
            let is_alone = is_alone(request, Use::Run, module);
            let image = own.key(request, is_alone, module, &options);
            (image.bytes(), own.key_of_record(request, &options).bytes())
        };
        assert_ne!(keys(&request, &plain).0, keys(&given, &plain).0);
        assert_ne!(keys(&request, &plain).1, keys(&given, &plain).1);
        assert_eq!(keys(&request, &random).0, keys(&given, &random).0);
    }

    #[test]
    fn of_a_system_alone_the_main_program_is_left() {
        let all: SystemManifest =
            serde_json::from_slice(include_bytes!("../../../system/wasi/run.json")).unwrap();
        let left = alone(&all);
        let names: Vec<&str> = left.start.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["launcher"]);
        assert!(left.channels.is_empty() && left.services.is_empty());
    }
}
