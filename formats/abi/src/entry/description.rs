//! How an entry is described: its signature, and who may reach it; and the macro that makes the table.
//!
//! Invariant: an entry has one place in the table, which is its number in compiled code.

/// A parameter or result of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Int {
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
}
/// Parameters (after the context) and results of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Parameters, without the context.
    pub params: &'static [Int],
    /// The result, if there is one.
    pub result: Option<Int>,
}

/// A group of entries that a manifest must grant before a module may import one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Privilege {
    /// Create child processes.
    Create,
    /// Read and write the console device.
    Console,
    /// Read the state of the whole system: processes, channels, memory, trace.
    Inspect,
    /// Stop any process, shut the system down.
    Control,
    /// Read the files of the system image.
    Boot,
    /// See the machine's devices, and give them to children.
    Devices,
}

impl Privilege {
    /// All privileges.
    pub const ALL: [Privilege; 6] = [
        Privilege::Create,
        Privilege::Console,
        Privilege::Inspect,
        Privilege::Control,
        Privilege::Boot,
        Privilege::Devices,
    ];

    /// The privilege's name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Privilege::Create => "create",
            Privilege::Console => "console",
            Privilege::Inspect => "inspect",
            Privilege::Control => "control",
            Privilege::Boot => "boot",
            Privilege::Devices => "devices",
        }
    }

    /// Returns the privilege with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Privilege> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }
}

/// How a module reaches an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By importing it from `names::KERNEL_V1`.
    Import,
    /// Likewise, if its manifest has the privilege.
    Privileged(Privilege),
    /// Only in code that the compiler emits for a WebAssembly instruction or a contract's import.
    Compiler,
    /// Imported by name like the others, but the compiler emits the access itself: no call happens.
    Inline,
}

/// One entry point.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Index in the kernel's table.
    pub index: usize,
    /// Name, unique within the version.
    pub name: &'static str,
    /// How a module may reach the entry.
    pub access: Access,
    /// Parameters and result.
    pub signature: Signature,
}

macro_rules! result {
    () => {
        None
    };
    ($r:ident) => {
        Some($r)
    };
}

macro_rules! entries {
    ($( $(#[$doc:meta])* $id:ident = $name:literal [$access:expr] ($($p:ident),*) $(-> $r:ident)?;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(usize)]
        enum Index { $($id),* , COUNT }
        $( $(#[$doc])* pub const $id: usize = Index::$id as usize; )*
        /// Number of entries.
        pub const COUNT: usize = Index::COUNT as usize;
        /// Every entry, by index.
        pub static ENTRIES: [Entry; COUNT] = [$(Entry {
            index: $id,
            name: $name,
            access: $access,
            signature: Signature { params: &[$($p),*], result: result!($($r)?) },
        }),*];
    };
}
