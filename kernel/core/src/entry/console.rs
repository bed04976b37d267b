//! The console device, for the SIP whose manifest has the privilege.

use super::{Entries, caller, fill_table, finish};
use crate::ground::console;
use crate::ground::machine::hal;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// The most bytes that one call writes.
const MOST: u32 = 64 << 10;
/// Bytes that are copied on their way at a time, and the most that one call reads.
const PIECE: u32 = 4096;

/// Fills the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        CONSOLE_WRITE = write: fn(u32, u32) -> i32;
        CONSOLE_UNWRITTEN = unwritten: fn() -> i32;
        CONSOLE_READ = read: fn(u32, u32) -> i32;
        CONSOLE_SIZE = size: fn(u32) -> i32;
    }
}

extern "C" fn write(_: CtxRef, text: u32, len: u32) -> i32 {
    finish(write_from(text, len.min(MOST)))
}

fn write_from(text: u32, len: u32) -> Result<i32, Trap> {
    let memory = caller().memory(text, u64::from(len))?;
    let mut piece = [0; PIECE as usize];
    let mut written = 0;
    while written < len {
        let piece = &mut piece[..PIECE.min(len - written) as usize];
        memory.read(text + written, piece)?;
        let taken = console::write(piece);
        written += taken as u32;
        if taken < piece.len() {
            break;
        }
    }
    Ok(written as i32)
}

extern "C" fn unwritten(_: CtxRef) -> i32 {
    let unwritten = hal().console().unwritten();
    finish(Ok(i32::try_from(unwritten).unwrap_or(i32::MAX)))
}

extern "C" fn read(_: CtxRef, out: u32, max: u32) -> i32 {
    finish(read_to(out, max))
}

fn read_to(out: u32, max: u32) -> Result<i32, Trap> {
    let max = max.min(PIECE) as usize;
    let memory = caller().memory(out, max as u64)?;
    let mut buffer = [0; PIECE as usize];
    match console::read(&mut buffer[..max]) {
        Some(n) => {
            memory.write(out, &buffer[..n])?;
            Ok(n as i32)
        }
        None => Ok(status::CLOSED),
    }
}

extern "C" fn size(_: CtxRef, out: u32) -> i32 {
    finish(
        caller()
            .memory(out, 8)
            .and_then(|m| match hal().console().size() {
                Some((columns, rows)) => {
                    m.write_u32(out, columns)?;
                    m.write_u32(out + 4, rows)?;
                    Ok(status::OK)
                }
                None => Ok(status::NOT_FOUND),
            }),
    )
}
