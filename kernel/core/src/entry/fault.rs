//! Processor faults: how a HAL reports them, and what becomes of them.
//!
//! A fault of SIP code is a page that has not been touched before, or the SIP's death. A fault anywhere else
//! is the system's.

use crate::ground::machine::hal;
use crate::mechanism::cpu;
use crate::object::crash;
use crate::object::host::Guest;
use crate::object::sip::{self, End};
use crate::object::thread::Thread;
use sing_abi::trap::Trap;

pub use sing_arch::fault::Kind;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What happened.
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

/// What the HAL does then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Go on at the same instruction: the cause is removed.
    Retry,
    /// Go on at `pc` with this stack pointer (as after a call) and `argument` as the first argument.
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
            if t.sip().guest().is_none() {
                crash::record_fault(t, fault.pc, fault.fp);
            }
            // The frames of the code that trapped are done with: start over at the top of the stack.
            let pc = die as extern "C" fn(u64) -> ! as usize as u64;
            Action::Jump {
                pc,
                sp: sing_arch::frame::entry(t.fiber.stack().end),
                argument: u64::from(trap.code()),
            }
        }
    }
}

/// Why the thread must end, or `None` where it can go on.
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
    // A fault at an instruction that the compiler did not know could fault means a bug of the compiler; it
    // still ends no more than this SIP.
    Some(code.and_then(Trap::from_code).unwrap_or(match fault.kind {
        Kind::Divide => Trap::DivisionByZero,
        Kind::Undefined => Trap::Unreachable,
        Kind::Page | Kind::Other => Trap::MemoryOutOfBounds,
    }))
}

/// Where a thread goes on that has faulted: it ends its SIP.
extern "C" fn die(code: u64) -> ! {
    let trap = Trap::from_code(code as u8).unwrap_or(Trap::Unreachable);
    if let Some(guest) = cpu::current().sip().guest() {
        guest.end(Err(trap));
    }
    sip::exit_current(End::Trap(trap))
}
