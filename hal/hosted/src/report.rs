//! The last words of a system that has failed: the fault, its place, and the registers.
//!
//! Written in a signal handler, on the alternate stack, perhaps in the middle of any code:
//! allocates nothing and takes no lock.

use crate::{hosted, output, terminal};
use core::fmt::{self, Write};
use libc::{c_int, greg_t};
use sing_abi::exit::machine::BROKEN;
use sing_kernel::fault::Fault;

unsafe extern "C" {
    /// Start of this program's file in memory; the linker's name for it.
    #[link_name = "__executable_start"]
    static EXECUTABLE: u8;
}

/// The general registers, as in a signal frame.
pub(crate) struct Registers(pub(crate) [greg_t; 23]);

impl Registers {
    /// Returns a register, by libc's index.
    pub(crate) fn get(&self, index: c_int) -> u64 {
        self.0[index as usize] as u64
    }
}

/// Text of bounded length; excess is left out.
struct Text {
    bytes: [u8; 2048],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}

/// Names of the registers, printed four a line.
const NAMES: [(&str, c_int); 17] = [
    ("rax", libc::REG_RAX),
    ("rbx", libc::REG_RBX),
    ("rcx", libc::REG_RCX),
    ("rdx", libc::REG_RDX),
    ("rsi", libc::REG_RSI),
    ("rdi", libc::REG_RDI),
    ("rbp", libc::REG_RBP),
    ("rsp", libc::REG_RSP),
    ("r8", libc::REG_R8),
    ("r9", libc::REG_R9),
    ("r10", libc::REG_R10),
    ("r11", libc::REG_R11),
    ("r12", libc::REG_R12),
    ("r13", libc::REG_R13),
    ("r14", libc::REG_R14),
    ("r15", libc::REG_R15),
    ("flags", libc::REG_EFL),
];

fn name(signal: c_int) -> &'static str {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        _ => "signal",
    }
}

fn compose(
    text: &mut Text,
    signal: c_int,
    code: c_int,
    at: &Registers,
    fault: Option<&Fault>,
) -> fmt::Result {
    let pc = at.get(libc::REG_RIP);
    write!(text, "singularity: fatal ")?;
    match fault {
        Some(fault) => write!(
            text,
            "fault ({:?}, address {:#x}",
            fault.kind, fault.address
        )?,
        None => write!(text, "signal (")?,
    }
    write!(text, "; {} code {code}) at {pc:#x}", name(signal))?;
    let start = &raw const EXECUTABLE as u64;
    match hosted() {
        Some(hosted) if hosted.code.range().contains(&pc) => {
            writeln!(text, ", code arena + {:#x}", pc - hosted.code.range().start)?;
        }
        _ => writeln!(text, ", this program + {:#x}", pc.wrapping_sub(start))?,
    }
    for (i, (name, index)) in NAMES.iter().enumerate() {
        let end = if i % 4 == 3 || i + 1 == NAMES.len() {
            "\n"
        } else {
            ""
        };
        write!(text, "  {name:>5} {:016x}{end}", at.get(*index))?;
    }
    Ok(())
}

/// Prints the fault and ends the process.
pub(crate) fn fatal(signal: c_int, code: c_int, at: &Registers, fault: Option<&Fault>) -> ! {
    terminal::leave();
    let mut text = Text {
        bytes: [0; 2048],
        len: 0,
    };
    let _ = compose(&mut text, signal, code, at, fault);
    output::last_words(&text.bytes[..text.len]);
    crate::end(BROKEN)
}
