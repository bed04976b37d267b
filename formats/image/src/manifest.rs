//! The manifest: a program's declarations, made from its source ([O] 5.2.1).
//!
//! In a module it is JSON text in the custom section `singularity.manifest`, so that any language
//! can write it; the parameters may stand in a section of their own ([`crate::parameters`]). In an
//! installed image it is this structure in postcard form.

use crate::limits::STACK_BYTES;
use crate::parameters::Parameter;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use sing_abi::entry::Privilege;

/// Budget of a SIP whose manifest names none and that makes no children, in bytes. A SIP that makes
/// children has none of its own: it and its descendants are bounded only by its ancestors' budgets.
pub const DEFAULT_BUDGET: u64 = 64 << 20;
/// Default size, in bytes, of the part of a stack that SIP code may use.
const DEFAULT_STACK: u64 = 40 << 10;
/// Part of a stack that SIP code never uses: kernel entries and interrupt frames need it.
pub const STACK_RESERVE: u64 = 24 << 10;
/// The longest deadline for a request, in milliseconds: an hour.
pub const MOST_DEADLINE: u32 = 3_600_000;
/// Bytes that the kernel's records of a SIP and its first thread cost at least.
pub const LEAST_RECORDS: u64 = 1024;

/// Which side of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The importing side: the client. Sends messages whose direction is *in*.
    Imp,
    /// The exporting side: the service. Sends messages whose direction is *out*.
    Exp,
}

impl Side {
    /// 0 for the importing side, 1 for the exporting one.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The other side.
    #[must_use]
    pub fn peer(self) -> Side {
        match self {
            Side::Imp => Side::Exp,
            Side::Exp => Side::Imp,
        }
    }

    /// `Imp` or `Exp`, as in the papers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Imp => "Imp",
            Side::Exp => "Exp",
        }
    }
}

/// An endpoint that the program expects when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartupEndpoint {
    /// The program's name for the endpoint; well-known names are `stdin`, `stdout`, `stderr` and
    /// `names`.
    pub name: String,
    /// The contract's name.
    pub contract: String,
    /// The side that the program gets.
    pub side: Side,
    /// The state that the channel must be in; the contract's first if none is named.
    #[serde(default)]
    pub state: Option<String>,
    /// Whether the program starts without it.
    #[serde(default)]
    pub optional: bool,
    /// Whether any number of such endpoints may follow (the last declaration only).
    #[serde(default)]
    pub many: bool,
}

/// A device that the program expects when it starts, and what it uses of it: it reaches nothing
/// else of it, and no other device ([O] 5.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceUse {
    /// The program's name for the device.
    pub name: String,
    /// Signatures of the devices that it can drive, or prefixes of them: `/pci/01/00/1af4/1042`,
    /// `/virtio/2`.
    pub signatures: Vec<String>,
    /// The numbers of the ranges of registers that it uses.
    #[serde(default)]
    pub registers: Vec<u32>,
    /// Whether it uses the device's interrupt.
    #[serde(default)]
    pub interrupt: bool,
    /// How many queues it uses, from the first on.
    #[serde(default)]
    pub queues: u32,
    /// How many bytes of memory the device reaches at once through the IOMMU, in whole pages; 0 if
    /// it needs none. A device that is not confined by an IOMMU fits only if this is 0.
    #[serde(default)]
    pub dma: u64,
    /// Whether the program starts without the device.
    #[serde(default)]
    pub optional: bool,
}

impl DeviceUse {
    /// Whether it names the device with this signature: by the signature, or by a prefix that ends
    /// where a component ends.
    #[must_use]
    pub fn names(&self, device: &str) -> bool {
        self.signatures.iter().any(|s| is_prefix(s, device))
    }

    /// Whether there can be a device that both name.
    #[must_use]
    pub fn overlaps(&self, other: &DeviceUse) -> bool {
        let mut pairs = self
            .signatures
            .iter()
            .flat_map(|s| other.signatures.iter().map(move |o| (s, o)));
        pairs.any(|(s, o)| is_prefix(s, o) || is_prefix(o, s))
    }
}

fn is_prefix(prefix: &str, signature: &str) -> bool {
    let rest = signature.strip_prefix(prefix.trim_end_matches('/'));
    !prefix.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The most names that a program can serve and use together.
pub const MOST_NAMES: usize = 64;

/// The purpose of a program ([O] 5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// A program that a person or another program starts.
    #[default]
    App,
    /// A program that serves others in the name space.
    Service,
    /// A service that owns a device.
    Driver,
}

impl Category {
    /// All of them.
    pub const ALL: [Category; 3] = [Category::App, Category::Service, Category::Driver];

    /// Its name in `manifest!` and in texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Category::App => "app",
            Category::Service => "service",
            Category::Driver => "driver",
        }
    }
}

/// A contract that the program serves to clients of the name space.
///
/// A name that begins with `/` is a path at which the program registers itself. Any other name is
/// the program's own for a start-up endpoint on which clients are announced; whoever starts the
/// program decides where in the name space that is, so that the program has no global names in it
/// ([O] 5.2.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// A path, or the name of a start-up endpoint.
    pub name: String,
    /// The contract's name.
    pub contract: String,
}

impl Served {
    /// Whether the program registers the path itself.
    #[must_use]
    pub fn registers_itself(&self) -> bool {
        self.name.starts_with('/')
    }
}

/// A service of the name space that the program cannot do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Used {
    /// The path that it binds.
    pub path: String,
    /// The contract's name.
    pub contract: String,
}

/// A default for fields that are true unless stated.
fn yes() -> bool {
    true
}

/// The declarations of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The program's name.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// The program's purpose, in a line.
    #[serde(default)]
    pub description: String,
    /// Version of the ABI that it was written for.
    pub abi: u32,
    /// Names of the privileges the program needs (`sing_abi::entry::Privilege`).
    #[serde(default)]
    pub privileges: Vec<String>,
    /// Start-up endpoints, in order.
    #[serde(default)]
    pub endpoints: Vec<StartupEndpoint>,
    /// Memory budget in bytes: linear memory, exchange heap, stacks and tables together. 0: the
    /// system's default.
    #[serde(default)]
    pub memory: u64,
    /// Stack of each thread in bytes. 0: the system's default.
    #[serde(default)]
    pub stack: u32,
    /// Whether a mutable global of the module may be the pointer of a stack in its memory. Only the
    /// author of a hand-written module can rule that out; it matters if there are threads, each of
    /// which needs a stack of its own.
    #[serde(default = "yes")]
    pub shadow_stack: bool,
    /// The program's behavior: its use of its endpoints, in the notation of the conformance check.
    /// Empty: none declared.
    #[serde(default)]
    pub behavior: String,
    /// Devices, in order.
    #[serde(default)]
    pub devices: Vec<DeviceUse>,
    /// The program's purpose.
    #[serde(default)]
    pub category: Category,
    /// The names that the program serves.
    #[serde(default)]
    pub serves: Vec<Served>,
    /// The services that it uses. The start order is inferred from both.
    #[serde(default)]
    pub uses: Vec<Used>,
    /// What may stand behind its name on a command line; `None` if it does not say.
    #[serde(default)]
    pub parameters: Option<Vec<Parameter>>,
    /// The most time that the program may take to answer one request, in milliseconds, for those
    /// who have requests answered by processes of it. 0: none stated. The last field: programs that
    /// were built before it read manifests without it.
    #[serde(default)]
    pub deadline: u32,
}

impl Manifest {
    /// Returns the most bytes that may be charged to the SIP and its descendants.
    #[must_use]
    pub fn budget(&self) -> u64 {
        let create = Privilege::Create.name();
        match self.memory {
            0 if self.privileges.iter().any(|p| p == create) => u64::MAX,
            0 => DEFAULT_BUDGET,
            bytes => bytes,
        }
    }

    /// Returns the size of each thread's stack in bytes.
    #[must_use]
    pub fn stack_bytes(&self) -> u64 {
        stack_bytes(match self.stack {
            0 => DEFAULT_STACK,
            bytes => u64::from(bytes),
        })
    }
}

/// Returns the size of a stack of which SIP code may use `usable` bytes.
#[must_use]
pub fn stack_bytes(usable: u64) -> u64 {
    (usable.min(STACK_BYTES.most) + STACK_RESERVE).next_power_of_two()
}
