//! Names that a module uses: import modules, exports and custom sections.

/// Import module of the kernel ABI, version 1. A later version will have another name.
pub const KERNEL_V1: &str = "sing_v1";
/// Prefix of the import modules of all ABI versions.
pub const KERNEL_PREFIX: &str = "sing_v";
/// Prefix of the import module of a contract; the contract's name follows.
pub const CONTRACT_PREFIX: &str = "contract:";

/// Field under `contract:NAME` that makes a channel: `(out: i32) -> i32`, which writes the
/// importing and the exporting endpoint's handles (two `u32`) at `out`.
pub const NEW_CHANNEL: &str = "new";
/// Prefix of a send by the importing side; the message's name follows.
pub const IMP_SEND: &str = "imp.send.";
/// Prefix of a send by the exporting side; the message's name follows.
pub const EXP_SEND: &str = "exp.send.";
/// Prefix of a send by the importing side that then receives the answer; the message's name
/// follows.
pub const IMP_CALL: &str = "imp.call.";
/// Prefix of a send by the exporting side that then receives the next message; the message's name
/// follows.
pub const EXP_CALL: &str = "exp.call.";
/// A receive by the importing side: `(endpoint: i32, out: i32) -> i32`.
pub const IMP_RECV: &str = "imp.recv";
/// A receive by the exporting side: `(endpoint: i32, out: i32) -> i32`.
pub const EXP_RECV: &str = "exp.recv";
/// Whether an endpoint can be used, from now on, as an importing endpoint of this contract in a
/// state: `(endpoint: i32, state: i32) -> i32`. For endpoints known by a base contract, of a
/// derived contract, or to be narrowed.
pub const IMP_CAST: &str = "imp.cast";
/// The same as [`IMP_CAST`] for an exporting endpoint.
pub const EXP_CAST: &str = "exp.cast";

/// Export that the first thread runs: `() -> i32`, the SIP's exit code.
pub const EXPORT_MAIN: &str = "sip_main";
/// Export that further threads run: `(argument: i32)`.
pub const EXPORT_THREAD: &str = "sip_thread";
/// Prefix of the export of a function that allocates nothing, nor lets anything allocate that it
/// calls; a name of the author's choice follows. Checked at install.
pub const EXPORT_NO_ALLOC: &str = "no_alloc:";
/// Prefix of the export of a function that allocates in a way that its code does not show: from memory
/// that the program has. A name of the author's choice follows.
pub const EXPORT_ALLOC: &str = "alloc:";
/// Exported mutable global with a thread's shadow stack pointer; set for each new thread.
pub const EXPORT_STACK_POINTER: &str = "__stack_pointer";

/// Custom section with the manifest (JSON text).
pub const SECTION_MANIFEST: &str = "singularity.manifest";
/// Custom section with the parameters (JSON text), for manifests that do not hold them.
pub const SECTION_PARAMETERS: &str = "singularity.parameters";
/// Custom section with the source text of every contract that the module names.
pub const SECTION_CONTRACTS: &str = "singularity.contracts";
/// Custom section with the number of the memory that addresses in kernel calls and messages refer to
/// (an unsigned LEB128 number). Without it, they refer to the first memory.
pub const SECTION_MEMORY: &str = "singularity.memory";
