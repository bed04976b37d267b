//! Accesses to registers that a driver's code began while it had them, and that another of its
//! threads overtook by giving them back: the code had passed its check ([`sing_abi::io`]), and then
//! found the registers hidden. Such an access reads all bits set, or writes nothing, as one by a
//! kernel call would.
//!
//! Only the instructions that the compiler emits for these accesses are known here; another one
//! ends the SIP.

/// An access: how long its instruction is, and what it would have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Bytes of the instruction.
    pub len: u64,
    /// The general register that it loads, by its number in instructions, and the value of all
    /// bits of the device's register; `None` for a store.
    pub loads: Option<(u8, u64)>,
}

/// The access that an instruction makes; `None` if it is no such access. `byte` returns its bytes
/// by their number, and is asked for no byte behind the instruction.
pub fn decode(byte: impl Fn(u64) -> Option<u8>) -> Option<Access> {
    let mut at = 0;
    let mut next = || {
        at += 1;
        byte(at - 1)
    };
    let mut opcode = next()?;
    let half = opcode == 0x66;
    if half {
        opcode = next()?;
    }
    let mut rex = 0;
    if opcode & 0xf0 == 0x40 {
        rex = opcode;
        opcode = next()?;
    }
    let wide = rex & 8 != 0;
    // The value that a load leaves, or bytes of a store's constant.
    let (ones, constant) = match opcode {
        0x8b if !half => (Some(if wide { u64::MAX } else { u64::from(u32::MAX) }), 0),
        0x0f => match next()? {
            0xb6 => (Some(u64::from(u8::MAX)), 0),
            0xb7 => (Some(u64::from(u16::MAX)), 0),
            _ => return None,
        },
        0x88 | 0x89 => (None, 0),
        0xc6 => (None, 1),
        0xc7 if half => (None, 2),
        0xc7 => (None, 4),
        _ => return None,
    };
    let modrm = next()?;
    let (form, number, base) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
    if form == 3 {
        return None;
    }
    let based = base != 4 || next()? & 7 != 5;
    let displacement = match form {
        1 => 1,
        2 => 4,
        // Relative to the instruction, or without a base: nothing that the compiler emits.
        _ if base == 5 || !based => return None,
        _ => 0,
    };
    let number = number | (rex & 4) << 1;
    Some(Access {
        len: at + displacement + constant,
        loads: ones.map(|ones| (number, ones)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &[u8]) -> Option<Access> {
        decode(|i| code.get(i as usize).copied())
    }

    fn load(len: u64, number: u8, ones: u64) -> Option<Access> {
        let loads = Some((number, ones));
        Some(Access { len, loads })
    }

    fn store(len: u64) -> Option<Access> {
        Some(Access { len, loads: None })
    }

    #[test]
    fn what_the_compiler_emits_is_known() {
        for (code, access) in [
            // movzx rcx, byte [rcx+4]; movzx eax, word [r10]; movzx r9, word [rax+rsi]
            (&[0x48, 0x0f, 0xb6, 0x49, 0x04][..], load(5, 1, 0xff)),
            (&[0x41, 0x0f, 0xb7, 0x02], load(4, 0, 0xffff)),
            (&[0x4c, 0x0f, 0xb7, 0x0c, 0x30], load(5, 9, 0xffff)),
            // mov esi, [rdi+rdx+0x100]; mov r11, [r13+0]; mov rax, [rsp+8]
            (&[0x8b, 0xb4, 0x17, 0, 1, 0, 0], load(7, 6, 0xffff_ffff)),
            (&[0x4d, 0x8b, 0x5d, 0], load(4, 11, u64::MAX)),
            (&[0x48, 0x8b, 0x44, 0x24, 8], load(5, 0, u64::MAX)),
            // mov [rax], sil; mov [rcx+4], dx; mov [rbx], edi; mov [r12], rax
            (&[0x40, 0x88, 0x30], store(3)),
            (&[0x66, 0x89, 0x51, 4], store(4)),
            (&[0x89, 0x3b], store(2)),
            (&[0x49, 0x89, 0x04, 0x24], store(4)),
            // mov byte [rax], 1; mov word [rax+4], 1; mov dword [rax], 1; mov qword [rax], 1
            (&[0xc6, 0x00, 1], store(3)),
            (&[0x66, 0xc7, 0x40, 4, 1, 0], store(6)),
            (&[0xc7, 0x00, 1, 0, 0, 0], store(6)),
            (&[0x48, 0xc7, 0x00, 1, 0, 0, 0], store(7)),
        ] {
            assert_eq!(of(code), access, "{code:x?}");
            assert_eq!(of(&code[..1]), None, "a part of {code:x?}");
        }
    }

    #[test]
    fn other_instructions_are_not() {
        for code in [
            &[][..],
            // A nop, an addition to memory, a load by a register's low half, a move between
            // registers, an address relative to the instruction, one without a base.
            &[0x90],
            &[0x01, 0x08],
            &[0x66, 0x8b, 0x08],
            &[0x8b, 0xc1],
            &[0x8b, 0x05, 0, 0, 0, 0],
            &[0x8b, 0x04, 0x25, 0, 0, 0, 0],
        ] {
            assert_eq!(of(code), None, "{code:x?}");
        }
    }
}
