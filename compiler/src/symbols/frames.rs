//! How a debugger gets from the frame of a function to that of its caller.
//!
//! Compiled functions keep frame pointers: each one begins with `push rbp; mov rbp, rsp`, and restores
//! `rbp` directly before it returns, where debuggers look at the instruction themselves. Which other
//! registers a function saves is not said: nothing in the frames of its callers is found by them.

use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, FrameDescriptionEntry, FrameTable,
};
use gimli::{Encoding, X86_64};
use sing_image::elf::Image;

/// The first instructions: `push rbp`, then `mov rbp, rsp`.
const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
/// Where the first of them ends, and the second.
const PUSHED: u32 = 1;
const SET: u32 = 4;

/// The frames of all functions that begin so.
pub(super) fn table(image: &Image<'_>, encoding: Encoding) -> FrameTable {
    let mut table = FrameTable::default();
    let mut common = CommonInformationEntry::new(encoding, 1, -8, X86_64::RA);
    common.add_instruction(CallFrameInstruction::Cfa(X86_64::RSP, 8));
    common.add_instruction(CallFrameInstruction::Offset(X86_64::RA, -8));
    let common = table.add_cie(common);
    for func in &image.meta.funcs {
        let code = image.code.get(func.offset as usize..).unwrap_or(&[]);
        if func.size < SET || !code.starts_with(&PROLOGUE) {
            continue;
        }
        let start = Address::Constant(func.offset.into());
        let mut frame = FrameDescriptionEntry::new(start, func.size);
        frame.add_instruction(PUSHED, CallFrameInstruction::CfaOffset(16));
        frame.add_instruction(PUSHED, CallFrameInstruction::Offset(X86_64::RBP, -16));
        frame.add_instruction(SET, CallFrameInstruction::CfaRegister(X86_64::RBP));
        table.add_fde(common, frame);
    }
    table
}
