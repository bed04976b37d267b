//! Installed images: found in the system image, loaded when first used, shared by all SIPs made of them.

use crate::channel::End;
use crate::contract::{self, Contract};
use crate::machine::hal;
use crate::memory;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sing_arch::lock::SpinLock;
use sing_image::Error;
use sing_image::elf::Image;
use sing_image::manifest::{Manifest, Side, StartupEndpoint};
use sing_image::meta::Linkage;
use sing_image::system::{BIN, SystemImage};
use sing_runtime::Template;

/// Contract bits of an endpoint whose contract the SIP does not know: it can be passed on and closed.
const UNKNOWN: u32 = 0xffff << 16;

/// An installed image, loaded.
pub(crate) struct Installed {
    /// Its name.
    pub(crate) name: String,
    /// What instances are made of.
    pub(crate) template: Arc<Template>,
    /// What it declares.
    pub(crate) manifest: Manifest,
    /// The contracts that its code names, by its numbers for them.
    pub(crate) contracts: Vec<&'static Contract>,
}

struct Registry {
    system: Option<SystemImage<'static>>,
    loaded: BTreeMap<String, &'static Installed>,
    /// Loaded images by address of their code.
    by_code: BTreeMap<u64, &'static Installed>,
}

static REGISTRY: SpinLock<Registry> = SpinLock::new(Registry {
    system: None,
    loaded: BTreeMap::new(),
    by_code: BTreeMap::new(),
});

/// Notes the system image.
pub(crate) fn set_system(system: SystemImage<'static>) {
    REGISTRY.lock().system = Some(system);
}

/// A file of the system image.
pub(crate) fn boot_file(path: &str) -> Option<&'static [u8]> {
    REGISTRY.lock().system.as_ref()?.file(path)
}

/// Path of the `index`th file of the system image.
pub(crate) fn boot_name(index: usize) -> Option<String> {
    REGISTRY
        .lock()
        .system
        .as_ref()?
        .paths()
        .nth(index)
        .map(String::from)
}

/// Names of all installed images.
pub(crate) fn names() -> Vec<String> {
    let registry = REGISTRY.lock();
    let Some(system) = &registry.system else {
        return Vec::new();
    };
    system
        .paths()
        .filter_map(|p| p.strip_prefix(BIN))
        .map(String::from)
        .collect()
}

/// The image of this name, loaded.
///
/// # Errors
/// Where there is none (`Ok(None)`), or it is broken.
pub(crate) fn find(name: &str) -> Result<Option<&'static Installed>, Error> {
    if let Some(image) = REGISTRY.lock().loaded.get(name) {
        return Ok(Some(image));
    }
    match boot_file(&format!("{BIN}{name}")) {
        Some(file) => load(name, file).map(Some),
        None => Ok(None),
    }
}

/// Loads an image: checks it, puts its code into the code arena.
fn load(name: &str, file: &[u8]) -> Result<&'static Installed, Error> {
    let fail = |what: String| Error::new(format!("image {name}: {what}"));
    let image = Image::decode(file).map_err(|e| fail(e.message))?;
    if image.meta.abi_version != sing_abi::ABI_VERSION {
        return Err(fail(format!(
            "compiled for version {} of the ABI; this kernel has version {}",
            image.meta.abi_version,
            sing_abi::ABI_VERSION
        )));
    }
    if image.meta.linkage != Linkage::Sealed {
        return Err(fail("it is not sealed".into()));
    }
    if let Some(f) = image
        .meta
        .cpu_features
        .iter()
        .find(|f| !hal().has_cpu_feature(f))
    {
        return Err(fail(format!(
            "compiled for a processor with {f}, which this one has not"
        )));
    }
    let base = hal()
        .load_code(image.code)
        .ok_or_else(|| fail("no room for its code".into()))?;
    let template = Template::new(image.meta, base, image.code.len() as u64)?;
    if template.main().is_none() {
        return Err(fail("it exports no sip_main".into()));
    }
    memory::count_code(image.code.len() as u64);
    let installed: &'static Installed = Box::leak(Box::new(Installed {
        name: name.into(),
        template,
        manifest: image.manifest,
        contracts: image
            .contracts
            .iter()
            .zip(image.identities)
            .map(|(table, identity)| contract::intern(table, identity))
            .collect(),
    }));
    let mut registry = REGISTRY.lock();
    registry.loaded.insert(name.into(), installed);
    registry.by_code.insert(base, installed);
    Ok(installed)
}

/// Name of the function whose code holds this address, and of its image.
pub(crate) fn function_at(pc: u64) -> Option<(&'static Installed, &'static str)> {
    let registry = REGISTRY.lock();
    let (base, image) = registry.by_code.range(..=pc).next_back()?;
    let f = image
        .template
        .meta()
        .func_at(u32::try_from(pc - base).ok()?)?;
    Some((image, &f.name))
}

impl Installed {
    /// What an end of a channel can be used as where one of contract `name` is asked for: the contract that this image has
    /// under the name, and its number. `None` where the image has none, or another one.
    pub(crate) fn held_as(
        &self,
        end: &End,
        name: &str,
        side: Side,
    ) -> Option<(u32, &'static Contract)> {
        self.asked_for(end, name, side, None, true)
    }

    /// The same, where it is asked for in the state of this name; in any where `None`. `used` says whether it is already used
    /// as one of another contract than its channel's.
    pub(crate) fn asked_for(
        &self,
        end: &End,
        name: &str,
        side: Side,
        state: Option<&str>,
        used: bool,
    ) -> Option<(u32, &'static Contract)> {
        let (number, &wanted) = (0..)
            .zip(&self.contracts)
            .find(|(_, c)| c.table.name == name)?;
        let asked = match state {
            Some(state) => Some(wanted.table.state(state)?),
            None => None,
        };
        let own = end.permission?;
        let can = own.stands_for(wanted, side, end.state, asked, used);
        can.then_some((number, wanted))
    }

    /// Whether the bits of a handle say that its endpoint is used as one of another contract than its channel's.
    pub(crate) fn uses_as_another(&self, bits: u32, real: &'static Contract) -> bool {
        let held = self.contracts.get((bits >> 16) as usize);
        held.is_some_and(|&held| !core::ptr::eq(held, real))
    }

    /// Name of the state that a start-up endpoint must be in: the one that the manifest names, or the first of its
    /// contract. `None` where the image does not have that.
    pub(crate) fn asked_state<'a>(&'a self, endpoint: &'a StartupEndpoint) -> Option<&'a str> {
        if let Some(state) = &endpoint.state {
            return Some(state);
        }
        let contract = self
            .contracts
            .iter()
            .find(|c| c.table.name == endpoint.contract)?;
        contract.table.states.first().map(String::as_str)
    }

    /// What an operation must carry to be used on an endpoint that is held so: `contract << 16 | side << 15`, or bits
    /// that no operation has.
    pub(crate) fn operation_bits(&self, held: Option<(u32, &'static Contract)>, side: Side) -> u32 {
        let side_bit = (side.index() as u32) << 15;
        match held {
            Some((number, _)) => number << 16 | side_bit,
            None => UNKNOWN | side_bit,
        }
    }
}
