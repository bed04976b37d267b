//! Short copies and fills of the linear memory: routines of the image that need no call into the
//! kernel, and code in place where the length is a constant.
//!
//! A routine has the kernel entry's arguments and convention, touches no stack, and goes on in the
//! entry, as if it had been called itself, where the length is above 128 bytes or a range does not
//! lie within the memory: so the kernel traps, at the instruction of the function that asked.
//!
//! Invariants:
//! - Nothing is written before all has been read: the ranges may overlap.
//! - Nothing is written where a part lies outside. A routine tests that first; code in place writes
//!   the end of the range first, which is where a range leaves the memory.
//! - Each access to the linear memory is in the image's trap table, as a page may come into being
//!   there.

use super::Translator;
use super::unwind::Routine;
use crate::error::Result;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::{InstructionData, Opcode, Type, Value, ValueDef, types};
use sing_abi::{ctx, entry};
use wasmparser as wp;

/// The most bytes that code in place does.
const IN_PLACE: u64 = 64;

// The routines' code names these places.
const _: () = assert!(ctx::KERNEL_TABLE == 0 && ctx::MEM_BASE == 8 && ctx::MEM_DEF == 16);
const _: () = assert!(ctx::MEM_DEF_LEN == 8);

/// `(context, to, from, length)`, but for the jump at the end.
#[rustfmt::skip]
const COPY: [u8; 342] = [
    0x81, 0xf9, 0x80, 0x00, 0x00, 0x00, // cmp ecx, 0x80
    0x0f, 0x87, 0x47, 0x01, 0x00, 0x00, // ja 0x153
    0x48, 0x8b, 0x47, 0x10, // mov rax, [rdi+0x10]
    0x41, 0x89, 0xcb, // mov r11d, ecx
    0x41, 0x89, 0xf1, // mov r9d, esi
    0x41, 0x89, 0xd2, // mov r10d, edx
    0x4f, 0x8d, 0x04, 0x19, // lea r8, [r9+r11]
    0x4c, 0x3b, 0x40, 0x08, // cmp r8, [rax+0x8]
    0x0f, 0x87, 0x2c, 0x01, 0x00, 0x00, // ja 0x153
    0x4f, 0x8d, 0x04, 0x1a, // lea r8, [r10+r11]
    0x4c, 0x3b, 0x40, 0x08, // cmp r8, [rax+0x8]
    0x0f, 0x87, 0x1e, 0x01, 0x00, 0x00, // ja 0x153
    0x48, 0x8b, 0x47, 0x08, // mov rax, [rdi+0x8]
    0x49, 0x01, 0xc1, // add r9, rax
    0x49, 0x01, 0xc2, // add r10, rax
    0x83, 0xf9, 0x10, // cmp ecx, 0x10
    0x0f, 0x82, 0xbd, 0x00, 0x00, 0x00, // jb 0x105
    0x83, 0xf9, 0x20, // cmp ecx, 0x20
    0x77, 0x19, // ja 0x66
    0xf3, 0x41, 0x0f, 0x6f, 0x02, // movdqu xmm0, [r10]
    0xf3, 0x43, 0x0f, 0x6f, 0x4c, 0x1a, 0xf0, // movdqu xmm1, [r10+r11-0x10]
    0xf3, 0x43, 0x0f, 0x7f, 0x4c, 0x19, 0xf0, // movdqu [r9+r11-0x10], xmm1
    0xf3, 0x41, 0x0f, 0x7f, 0x01, // movdqu [r9], xmm0
    0xc3, // ret
    0x83, 0xf9, 0x40, // cmp ecx, 0x40
    0x77, 0x33, // ja 0x9e
    0xf3, 0x41, 0x0f, 0x6f, 0x02, // movdqu xmm0, [r10]
    0xf3, 0x41, 0x0f, 0x6f, 0x4a, 0x10, // movdqu xmm1, [r10+0x10]
    0xf3, 0x43, 0x0f, 0x6f, 0x54, 0x1a, 0xe0, // movdqu xmm2, [r10+r11-0x20]
    0xf3, 0x43, 0x0f, 0x6f, 0x5c, 0x1a, 0xf0, // movdqu xmm3, [r10+r11-0x10]
    0xf3, 0x43, 0x0f, 0x7f, 0x5c, 0x19, 0xf0, // movdqu [r9+r11-0x10], xmm3
    0xf3, 0x43, 0x0f, 0x7f, 0x54, 0x19, 0xe0, // movdqu [r9+r11-0x20], xmm2
    0xf3, 0x41, 0x0f, 0x7f, 0x49, 0x10, // movdqu [r9+0x10], xmm1
    0xf3, 0x41, 0x0f, 0x7f, 0x01, // movdqu [r9], xmm0
    0xc3, // ret
    0xf3, 0x41, 0x0f, 0x6f, 0x02, // movdqu xmm0, [r10]
    0xf3, 0x41, 0x0f, 0x6f, 0x4a, 0x10, // movdqu xmm1, [r10+0x10]
    0xf3, 0x41, 0x0f, 0x6f, 0x52, 0x20, // movdqu xmm2, [r10+0x20]
    0xf3, 0x41, 0x0f, 0x6f, 0x5a, 0x30, // movdqu xmm3, [r10+0x30]
    0xf3, 0x43, 0x0f, 0x6f, 0x64, 0x1a, 0xc0, // movdqu xmm4, [r10+r11-0x40]
    0xf3, 0x43, 0x0f, 0x6f, 0x6c, 0x1a, 0xd0, // movdqu xmm5, [r10+r11-0x30]
    0xf3, 0x43, 0x0f, 0x6f, 0x74, 0x1a, 0xe0, // movdqu xmm6, [r10+r11-0x20]
    0xf3, 0x43, 0x0f, 0x6f, 0x7c, 0x1a, 0xf0, // movdqu xmm7, [r10+r11-0x10]
    0xf3, 0x43, 0x0f, 0x7f, 0x7c, 0x19, 0xf0, // movdqu [r9+r11-0x10], xmm7
    0xf3, 0x43, 0x0f, 0x7f, 0x74, 0x19, 0xe0, // movdqu [r9+r11-0x20], xmm6
    0xf3, 0x43, 0x0f, 0x7f, 0x6c, 0x19, 0xd0, // movdqu [r9+r11-0x30], xmm5
    0xf3, 0x43, 0x0f, 0x7f, 0x64, 0x19, 0xc0, // movdqu [r9+r11-0x40], xmm4
    0xf3, 0x41, 0x0f, 0x7f, 0x59, 0x30, // movdqu [r9+0x30], xmm3
    0xf3, 0x41, 0x0f, 0x7f, 0x51, 0x20, // movdqu [r9+0x20], xmm2
    0xf3, 0x41, 0x0f, 0x7f, 0x49, 0x10, // movdqu [r9+0x10], xmm1
    0xf3, 0x41, 0x0f, 0x7f, 0x01, // movdqu [r9], xmm0
    0xc3, // ret
    0x83, 0xf9, 0x08, // cmp ecx, 0x8
    0x72, 0x11, // jb 0x11b
    0x49, 0x8b, 0x02, // mov rax, [r10]
    0x4b, 0x8b, 0x4c, 0x1a, 0xf8, // mov rcx, [r10+r11-0x8]
    0x4b, 0x89, 0x4c, 0x19, 0xf8, // mov [r9+r11-0x8], rcx
    0x49, 0x89, 0x01, // mov [r9], rax
    0xc3, // ret
    0x83, 0xf9, 0x04, // cmp ecx, 0x4
    0x72, 0x11, // jb 0x131
    0x41, 0x8b, 0x02, // mov eax, [r10]
    0x43, 0x8b, 0x4c, 0x1a, 0xfc, // mov ecx, [r10+r11-0x4]
    0x43, 0x89, 0x4c, 0x19, 0xfc, // mov [r9+r11-0x4], ecx
    0x41, 0x89, 0x01, // mov [r9], eax
    0xc3, // ret
    0x85, 0xc9, // test ecx, ecx
    0x74, 0x1d, // je 0x152
    0xd1, 0xe9, // shr ecx, 1
    0x41, 0x0f, 0xb6, 0x02, // movzx eax, [r10]
    0x41, 0x0f, 0xb6, 0x14, 0x0a, // movzx edx, [r10+rcx]
    0x47, 0x0f, 0xb6, 0x44, 0x1a, 0xff, // movzx r8d, [r10+r11-0x1]
    0x47, 0x88, 0x44, 0x19, 0xff, // mov [r9+r11-0x1], r8b
    0x41, 0x88, 0x14, 0x09, // mov [r9+rcx], dl
    0x41, 0x88, 0x01, // mov [r9], al
    0xc3, // ret
    0x48, 0x8b, 0x07, // mov rax, [rdi]
];

/// The offsets of the accesses to the linear memory.
#[rustfmt::skip]
const COPY_ACCESSES: [u32; 42] = [77, 82, 89, 96, 107, 112, 118, 125, 132, 139, 146, 152, 158, 163, 169, 175, 181, 188, 195, 202, 209, 216, 223, 230, 237, 243, 249, 255, 266, 269, 274, 279, 288, 291, 296, 301, 311, 315, 320, 326, 331, 335];

/// `(context, to, value, length)`, but for the jump at the end.
#[rustfmt::skip]
const FILL: [u8; 183] = [
    0x81, 0xf9, 0x80, 0x00, 0x00, 0x00, // cmp ecx, 0x80
    0x0f, 0x87, 0xa8, 0x00, 0x00, 0x00, // ja 0xb4
    0x48, 0x8b, 0x47, 0x10, // mov rax, [rdi+0x10]
    0x41, 0x89, 0xcb, // mov r11d, ecx
    0x41, 0x89, 0xf1, // mov r9d, esi
    0x4f, 0x8d, 0x04, 0x19, // lea r8, [r9+r11]
    0x4c, 0x3b, 0x40, 0x08, // cmp r8, [rax+0x8]
    0x0f, 0x87, 0x90, 0x00, 0x00, 0x00, // ja 0xb4
    0x4c, 0x03, 0x4f, 0x08, // add r9, [rdi+0x8]
    0x0f, 0xb6, 0xc2, // movzx eax, dl
    0x49, 0xb8, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, // movabs r8, 0x101010101010101
    0x49, 0x0f, 0xaf, 0xc0, // imul rax, r8
    0x83, 0xf9, 0x10, // cmp ecx, 0x10
    0x72, 0x47, // jb 0x85
    0x66, 0x48, 0x0f, 0x6e, 0xc0, // movq xmm0, rax
    0x66, 0x0f, 0x6c, 0xc0, // punpcklqdq xmm0, xmm0
    0xf3, 0x43, 0x0f, 0x7f, 0x44, 0x19, 0xf0, // movdqu [r9+r11-0x10], xmm0
    0xf3, 0x41, 0x0f, 0x7f, 0x01, // movdqu [r9], xmm0
    0x83, 0xf9, 0x20, // cmp ecx, 0x20
    0x76, 0x5b, // jbe 0xb3
    0xf3, 0x43, 0x0f, 0x7f, 0x44, 0x19, 0xe0, // movdqu [r9+r11-0x20], xmm0
    0xf3, 0x41, 0x0f, 0x7f, 0x41, 0x10, // movdqu [r9+0x10], xmm0
    0x83, 0xf9, 0x40, // cmp ecx, 0x40
    0x76, 0x49, // jbe 0xb3
    0xf3, 0x43, 0x0f, 0x7f, 0x44, 0x19, 0xd0, // movdqu [r9+r11-0x30], xmm0
    0xf3, 0x43, 0x0f, 0x7f, 0x44, 0x19, 0xc0, // movdqu [r9+r11-0x40], xmm0
    0xf3, 0x41, 0x0f, 0x7f, 0x41, 0x30, // movdqu [r9+0x30], xmm0
    0xf3, 0x41, 0x0f, 0x7f, 0x41, 0x20, // movdqu [r9+0x20], xmm0
    0xc3, // ret
    0x83, 0xf9, 0x08, // cmp ecx, 0x8
    0x72, 0x09, // jb 0x93
    0x4b, 0x89, 0x44, 0x19, 0xf8, // mov [r9+r11-0x8], rax
    0x49, 0x89, 0x01, // mov [r9], rax
    0xc3, // ret
    0x83, 0xf9, 0x04, // cmp ecx, 0x4
    0x72, 0x09, // jb 0xa1
    0x43, 0x89, 0x44, 0x19, 0xfc, // mov [r9+r11-0x4], eax
    0x41, 0x89, 0x01, // mov [r9], eax
    0xc3, // ret
    0x85, 0xc9, // test ecx, ecx
    0x74, 0x0e, // je 0xb3
    0xd1, 0xe9, // shr ecx, 1
    0x43, 0x88, 0x44, 0x19, 0xff, // mov [r9+r11-0x1], al
    0x41, 0x88, 0x04, 0x09, // mov [r9+rcx], al
    0x41, 0x88, 0x01, // mov [r9], al
    0xc3, // ret
    0x48, 0x8b, 0x07, // mov rax, [rdi]
];

/// The offsets of the accesses to the linear memory.
#[rustfmt::skip]
const FILL_ACCESSES: [u32; 15] = [71, 78, 88, 95, 106, 113, 120, 126, 138, 143, 152, 157, 167, 172, 176];

/// A routine's code, and its instructions that can trap.
pub(crate) fn code(routine: Routine) -> Option<(Vec<u8>, &'static [u32])> {
    let (start, entry, accesses): (&[u8], _, &[u32]) = match routine {
        Routine::Copy => (&COPY, entry::MEMORY_COPY, &COPY_ACCESSES),
        Routine::Fill => (&FILL, entry::MEMORY_FILL, &FILL_ACCESSES),
        _ => return None,
    };
    // jmp [rax + 8 * entry], where rax has the address of the kernel's table.
    let mut code = [start, &[0xff, 0xa0]].concat();
    code.extend_from_slice(&(entry as u32 * 8).to_le_bytes());
    Some((code, accesses))
}

impl Translator<'_, '_> {
    /// `memory.copy` within the first memory, whose addresses are of 32 bits.
    pub(super) fn copy(&mut self) -> Result<()> {
        let (to, from, len) = self.pop3()?;
        let Some(pieces) = self.constant(len).and_then(pieces) else {
            return self.call_routine(Routine::Copy, &[to, from, len]);
        };
        let size = pieces
            .iter()
            .map(|(at, ty)| at + ty.bytes())
            .max()
            .unwrap_or(0);
        let from = self.range(from, size)?;
        let to = self.range(to, size)?;
        let flags = self.memory_flags();
        let mut read = Vec::new();
        for &(at, ty) in &pieces {
            read.push(self.b.ins().load(ty, flags, from, at as i32));
        }
        for (&(at, _), value) in pieces.iter().zip(read).rev() {
            self.b.ins().store(flags, value, to, at as i32);
        }
        Ok(())
    }

    /// `memory.fill` of the first memory, whose addresses are of 32 bits.
    pub(super) fn fill(&mut self) -> Result<()> {
        let (to, value, len) = self.pop3()?;
        let pieces = self.constant(len).and_then(pieces);
        let (Some(pieces), Some(byte)) = (pieces, self.constant(value)) else {
            return self.call_routine(Routine::Fill, &[to, value, len]);
        };
        let size = pieces
            .iter()
            .map(|(at, ty)| at + ty.bytes())
            .max()
            .unwrap_or(0);
        let to = self.range(to, size)?;
        let flags = self.memory_flags();
        let all = i64::from_ne_bytes([byte as u8; 8]);
        for &(at, ty) in pieces.iter().rev() {
            let value = match ty {
                types::I8X16 => self.vector_constant(&[byte as u8; 16]),
                types::I64 => self.b.ins().iconst(ty, all),
                ty => self.b.ins().iconst(ty, all & ((1 << ty.bits()) - 1)),
            };
            self.b.ins().store(flags, value, to, at as i32);
        }
        Ok(())
    }

    /// The native address of a range of the first memory.
    fn range(&mut self, at: Value, size: u32) -> Result<Value> {
        let (target, offset) = (wp::MemArgTarget::Memory(0), 0);
        let memarg = wp::MemArg {
            align: 0,
            max_align: 0,
            offset,
            target,
            ordering: None,
        };
        Ok(self.address(at, &memarg, size)?.0)
    }

    /// The value of a constant of 32 bits.
    fn constant(&self, value: Value) -> Option<u64> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(dfg.resolve_aliases(value)) else {
            return None;
        };
        match dfg.insts[inst] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(u64::from(imm.bits() as u32)),
            _ => None,
        }
    }

    fn call_routine(&mut self, routine: Routine, arguments: &[Value; 3]) -> Result<()> {
        let function = routine.declare(self.b.func);
        let [a, b, c] = *arguments;
        self.b.ins().call(function, &[self.context, a, b, c]);
        Ok(())
    }
}

/// The accesses that cover a range of so many bytes, by ascending ends; `None` if there are none, or
/// too many.
fn pieces(len: u64) -> Option<Vec<(u32, Type)>> {
    let ty = match len {
        0 => return None,
        1 => types::I8,
        2..4 => types::I16,
        4..8 => types::I32,
        8..16 => types::I64,
        16..=IN_PLACE => types::I8X16,
        _ => return None,
    };
    let (len, size) = (len as u32, ty.bytes());
    let mut pieces: Vec<_> = (0..len / size).map(|n| (n * size, ty)).collect();
    if !len.is_multiple_of(size) {
        pieces.push((len - size, ty));
    }
    Some(pieces)
}
