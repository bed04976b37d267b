//! Processor faults: how a HAL reports them, and what becomes of them.
//!
//! A fault of SIP code is a page that has not been touched before, or the SIP's death. A fault anywhere else
//! is the system's.

use crate::cpu;
use crate::crash;
use crate::machine::hal;
use crate::sip::{self, End};
use crate::thread::Thread;
use sing_abi::trap::Trap;

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
pub fn handle(fault: &Fault) -> Action {
    if !hal().code_arena().contains(&fault.pc) {
        return Action::Fatal;
    }
    let Some(t) = cpu::this().running() else {
        return Action::Fatal;
    };
    match reason(t, fault) {
        None => Action::Retry,
        Some(trap) => {
            if !crate::harness::is_harness(t.sip()) {
                crash::record_fault(t, fault.pc, fault.fp);
            }
            // The frames of the code that trapped are done with: start over at the top of the stack.
            let sp = (t.stack().top() - 64) & !15;
            let pc = die as extern "sysv64" fn(u64) -> ! as usize as u64;
            Action::Jump {
                pc,
                sp: sp - 8,
                argument: u64::from(trap.code()),
            }
        }
    }
}

/// Why the thread must end, or `None` where it can go on.
fn reason(t: &'static Thread, fault: &Fault) -> Option<Trap> {
    let sip = t.sip();
    let harness = crate::harness::is_harness(sip);
    if fault.kind == Kind::Page {
        let touched = if harness {
            crate::harness::commit_address(fault.address)
        } else {
            sip.commit_address(fault.address)
        };
        match touched {
            Ok(()) => return None,
            Err(Trap::OutOfMemory) => return Some(Trap::OutOfMemory),
            Err(_) => {}
        }
    }
    let code = if harness {
        crate::harness::trap_at(fault.pc)
    } else {
        let template = sip.template();
        let offset = fault.pc.checked_sub(template.code().start);
        offset.and_then(|o| template.meta().trap_at(u32::try_from(o).ok()?))
    };
    // A fault at an instruction that the compiler did not know could fault means a bug of the compiler; it
    // still ends no more than this SIP.
    Some(code.and_then(Trap::from_code).unwrap_or(match fault.kind {
        Kind::Divide => Trap::DivisionByZero,
        Kind::Undefined => Trap::Unreachable,
        Kind::Page | Kind::Other => Trap::MemoryOutOfBounds,
    }))
}

/// Where a thread goes on that has faulted: it ends its SIP.
extern "sysv64" fn die(code: u64) -> ! {
    let trap = Trap::from_code(code as u8).unwrap_or(Trap::Unreachable);
    crate::harness::trapped(trap);
    sip::exit_current(End::Trap(trap))
}
