//! The manifest of a module: JSON text in a custom section.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::entry::Privilege;
use sing_abi::names::{SECTION_MANIFEST, SECTION_PARAMETERS};
use sing_image::manifest::{MOST_DEADLINE, MOST_NAMES, Manifest, Side};
use sing_image::parameters::{self, Parameter};
use sing_image::plan::NAMESPACE;
use std::collections::HashSet;

/// Reads and checks the manifest.
pub(super) fn of_module(module: &Module<'_>) -> Result<Manifest> {
    let fail = |message: String| {
        Error::new(ErrorKind::Manifest, message).at(Place::Section(SECTION_MANIFEST))
    };
    let mut sections = module.customs.iter().filter(|c| c.name == SECTION_MANIFEST);
    let section = sections.next().ok_or_else(|| {
        fail(
            "the module has no manifest; declare one with sing_sdk::manifest! { name: \"...\" } or \
             put JSON text like {\"name\": \"...\", \"abi\": 1} into this custom section"
                .into(),
        )
    })?;
    if sections.next().is_some() {
        return Err(fail(
            "the module has more than one manifest; leave one".into(),
        ));
    }
    let text = std::str::from_utf8(section.bytes)
        .map_err(|e| fail(format!("the manifest is not UTF-8 text: {e}")))?;
    let mut manifest: Manifest = serde_json::from_str(text).map_err(|e| {
        let twice = if text.matches("\"abi\"").count() > 1 {
            "; there seem to be two manifests in it, of which one must go"
        } else {
            ""
        };
        fail(format!("the manifest does not read: {e}{twice}"))
    })?;
    if let Some(declared) = parameters(module)? {
        if manifest.parameters.is_some() {
            return Err(fail(format!(
                "the manifest has parameters, and so has the section {SECTION_PARAMETERS}; leave one"
            )));
        }
        manifest.parameters = Some(declared);
    }
    // First, as the checks below iterate over the declarations.
    super::limits::declared(&manifest)?;
    check(&manifest).map_err(fail)?;
    Ok(manifest)
}

/// Reads the parameters in their own section: lists of them, one behind the other, as linkers join
/// them. `None` if there is no such section.
fn parameters(module: &Module<'_>) -> Result<Option<Vec<Parameter>>> {
    let sections = module.customs.iter();
    let mut sections = sections.filter(|c| c.name == SECTION_PARAMETERS).peekable();
    if sections.peek().is_none() {
        return Ok(None);
    }
    let fail = |message: String| {
        Error::new(ErrorKind::Manifest, message).at(Place::Section(SECTION_PARAMETERS))
    };
    let mut all = Vec::new();
    for section in sections {
        super::limits::parameter_text(section.bytes)?;
        let lists = serde_json::Deserializer::from_slice(section.bytes);
        for list in lists.into_iter::<Vec<Parameter>>() {
            let list = list.map_err(|e| fail(format!("the parameters do not read: {e}")))?;
            all.extend(list);
        }
    }
    Ok(Some(all))
}

fn check(manifest: &Manifest) -> std::result::Result<(), String> {
    if manifest.name.is_empty() || manifest.name.chars().any(|c| c.is_control() || c == '/') {
        return Err(format!("{:?} is no name for a program", manifest.name));
    }
    if manifest.abi != sing_abi::ABI_VERSION {
        return Err(format!(
            "the program was written for version {} of the ABI; this system has version {}",
            manifest.abi,
            sing_abi::ABI_VERSION
        ));
    }
    for privilege in &manifest.privileges {
        if Privilege::from_name(privilege).is_none() {
            let known = Privilege::ALL.map(Privilege::name).join(", ");
            return Err(format!(
                "there is no privilege {privilege:?}; there are {known}"
            ));
        }
    }
    if manifest.deadline > MOST_DEADLINE {
        return Err(format!(
            "the deadline of {} ms is too long: {MOST_DEADLINE} ms at most, or none",
            manifest.deadline
        ));
    }
    parameters::check(manifest.parameters.as_deref().unwrap_or_default()).map_err(|e| e.message)?;
    let mut names = HashSet::new();
    for (i, endpoint) in manifest.endpoints.iter().enumerate() {
        let name = &endpoint.name;
        if !names.insert(name) {
            return Err(format!("start-up endpoint {name:?} is declared twice"));
        }
        if endpoint.many && i + 1 != manifest.endpoints.len() {
            return Err(format!(
                "start-up endpoint {name:?} may be given many times, so it must be declared last"
            ));
        }
    }
    served(manifest)?;
    check_devices(manifest)
}

/// Checks what it serves and uses: each once, each a path or a start-up endpoint.
fn served(manifest: &Manifest) -> std::result::Result<(), String> {
    let count = manifest.serves.len() + manifest.uses.len();
    if count > MOST_NAMES {
        return Err(format!(
            "the program serves and uses {count} names, where {MOST_NAMES} are allowed: split it into \
             several"
        ));
    }
    let mut names = HashSet::new();
    for served in &manifest.serves {
        let name = &served.name;
        if !names.insert(name) {
            return Err(format!("the program serves {name:?} twice"));
        }
        let mut endpoints = manifest.endpoints.iter().filter(|e| e.name == *name);
        let announced = endpoints.any(|e| e.contract == NAMESPACE && e.side == Side::Exp);
        if !served.registers_itself() && !announced {
            return Err(format!(
                "the program serves {name:?} without a start-up endpoint {NAMESPACE}.Exp of that name, \
                 on which clients are announced; declare one (`serves` in sing_sdk::manifest! does)"
            ));
        }
    }
    let mut paths = HashSet::new();
    for used in &manifest.uses {
        let path = &used.path;
        if !path.starts_with('/') {
            return Err(format!(
                "the program uses {path:?}, which is no path; a path begins with /"
            ));
        }
        if !paths.insert(path) {
            return Err(format!("the program uses {path:?} twice"));
        }
    }
    Ok(())
}

/// The most devices of a program, and the most signatures, ranges of registers and queues of each.
const DEVICES: usize = 16;
const OF_DEVICE: usize = 16;

fn check_devices(manifest: &Manifest) -> std::result::Result<(), String> {
    let devices = &manifest.devices;
    if devices.len() > DEVICES {
        return Err(format!(
            "{} devices are declared, where {DEVICES} are allowed: make a driver for each kind",
            devices.len()
        ));
    }
    let mut names: HashSet<_> = manifest.endpoints.iter().map(|e| &e.name).collect();
    for device in devices {
        let name = &device.name;
        if !names.insert(name) {
            return Err(format!(
                "device {name:?} has the name of another declaration"
            ));
        }
        if device.signatures.is_empty() {
            return Err(format!(
                "device {name:?} has no signature, like \"/virtio/2\" or \"/pci/01/00/1af4/1042\""
            ));
        }
        let wrong = |s: &&String| !s.starts_with('/') || s.len() < 2 || s.len() > 64;
        if let Some(wrong) = device.signatures.iter().find(wrong) {
            return Err(format!(
                "{wrong:?} of device {name:?} is no signature; it is a path of at most 64 characters, like \
                 \"/virtio/2\" or \"/pci/01/00/1af4/1042\""
            ));
        }
        let most = device.signatures.len().max(device.registers.len());
        if most.max(device.queues as usize) > OF_DEVICE {
            return Err(format!(
                "device {name:?} has more than {OF_DEVICE} signatures, ranges of registers or queues"
            ));
        }
    }
    Ok(())
}
