//! Processor faults: the HAL's report, and the kernel's decision.
//!
//! A fault of SIP code is the first touch of a page, or ends the SIP. A fault anywhere else ends
//! the system.

use crate::ground::machine::hal;
use crate::mechanism::cpu;
use crate::object::crash;
use crate::object::host::Guest;
use crate::object::sip::{self, End};
use crate::object::thread::Thread;
use sing_abi::trap::Trap;

pub use sing_arch::fault::Kind;

/// A processor fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Kind of fault.
    pub kind: Kind,
    /// Program counter.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// The address accessed, for [`Kind::Page`].
    pub address: u64,
}

/// The action that the HAL takes after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Resume at the same instruction: the cause is removed.
    Retry,
    /// Resume at `pc` with this stack pointer (as after a call) and `argument` as the first
    /// argument.
    Jump {
        /// Program counter.
        pc: u64,
        /// Stack pointer.
        sp: u64,
        /// First argument.
        argument: u64,
    },
    /// The fault is not a SIP's: print it and end the system.
    Fatal,
}

/// Decides on a fault. Called from the HAL's fault handler, on any stack; does not switch.
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
            if t.sip().guest().is_none() {
                crash::record_fault(t, fault.pc, fault.fp);
            }
            // The frames of the code that trapped are abandoned: start over at the top of the
            // stack.
            let pc = die as extern "C" fn(u64) -> ! as usize as u64;
            Action::Jump {
                pc,
                sp: sing_arch::frame::entry(t.fiber.stack().end),
                argument: u64::from(trap.code()),
            }
        }
    }
}

/// Returns the reason for which the thread must end, or `None` if it can resume.
fn reason(t: &'static Thread, fault: &Fault) -> Option<Trap> {
    let sip = t.sip();
    let host = sip.guest().map(Guest::host);
    if fault.kind == Kind::Page {
        let touched = match host {
            Some(host) => host.touch(fault.address),
            None => sip.commit_address(fault.address),
        };
        match touched {
            Ok(()) => return None,
            Err(Trap::OutOfMemory) => return Some(Trap::OutOfMemory),
            Err(_) => {}
        }
    }
    let code = if let Some(host) = host {
        host.trap_at(fault.pc)
    } else {
        let template = sip.template();
        let offset = fault.pc.checked_sub(template.code().start);
        offset.and_then(|o| template.meta().trap_at(u32::try_from(o).ok()?))
    };
    // A fault at an instruction that the compiler did not list as able to trap is a bug of the
    // compiler; it still ends no more than this SIP.
    Some(code.and_then(Trap::from_code).unwrap_or(match fault.kind {
        Kind::Divide => Trap::DivisionByZero,
        Kind::Undefined => Trap::Unreachable,
        Kind::Page | Kind::Other => Trap::MemoryOutOfBounds,
    }))
}

/// Resumes a thread that has faulted: ends its SIP.
extern "C" fn die(code: u64) -> ! {
    let trap = Trap::from_code(code as u8).unwrap_or(Trap::Unreachable);
    if let Some(guest) = cpu::current().sip().guest() {
        guest.end(Err(trap));
    }
    sip::exit_current(End::Trap(trap))
}
