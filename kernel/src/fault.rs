//! Processor faults: how a HAL reports them.

/// What the processor found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Access to an address that is not mapped, or not for this.
    Page,
    /// Undefined instruction (`ud2` is how compiled code traps).
    Undefined,
    /// Integer division error.
    Divide,
    /// Anything else.
    Other,
}

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What happened.
    pub kind: Kind,
    /// Program counter.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer (`rbp`).
    pub fp: u64,
    /// The address accessed, for [`Kind::Page`].
    pub address: u64,
}

/// What the HAL does then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Go on at the same instruction: the cause is removed.
    Retry,
    /// Go on at `pc` with this stack pointer (as after a call) and `argument` in `rdi`.
    Jump {
        /// Where.
        pc: u64,
        /// Stack pointer.
        sp: u64,
        /// First argument.
        argument: u64,
    },
    /// Not a SIP's fault: print it and end the system.
    Fatal,
}

/// Decides on a fault. Called from the HAL's fault handler, on whatever stack that uses; does not switch.
pub fn handle(_fault: &Fault) -> Action {
    Action::Fatal
}
