//! Entries for devices that an IOMMU confines: what they reach, and what they share with their
//! drivers.

use super::devices::device;
use super::{Entries, caller, fill_table, finish};
use crate::ground::machine::hal;
use crate::ground::trusted::DeviceMemory;
use crate::mechanism::cpu;
use crate::object::window::Wanted;
use sing_abi::trap::Trap;
use sing_abi::{MAX_DMA_COPY, PAGE, status};
use sing_runtime::CtxRef;

/// Bytes that are copied by way of the stack at a time.
const STEP: usize = 256;

/// Fills the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        DMA_MAP = map: fn(u32, u32, u32, u32, u32) -> i64;
        DMA_UNMAP = unmap: fn(u32, i64) -> i32;
        DMA_LOAD = load: fn(u32, i64, u32) -> i64;
        DMA_STORE = store: fn(u32, i64, u32, i64);
        DMA_COPY_OUT = copy_out: fn(u32, i64, u32, u32);
        DMA_COPY_IN = copy_in: fn(u32, i64, u32, u32);
        DMA_FAULT = fault: fn(u32) -> i64;
    }
}

extern "C" fn map(_: CtxRef, handle: u32, block: u32, start: u32, len: u32, kind: u32) -> i64 {
    finish(map_part(handle, block, start, len, kind))
}

fn map_part(handle: u32, block: u32, start: u32, len: u32, kind: u32) -> Result<i64, Trap> {
    let device = device(handle)?;
    let thread = cpu::current();
    let (allocation, _) = thread.allocation(block).ok_or(Trap::BadHandle)?;
    let sip = caller();
    let most = device.dma_declared(sip);
    if most == 0 || !device.is_confined() {
        return Ok(status::NOT_PERMITTED.into());
    }
    if !device.is_open() {
        return Ok(status::CLOSED.into());
    }
    let wanted = Wanted {
        allocation,
        start,
        len,
        kind,
    };
    let mapped = device
        .window
        .map(device.index(), &wanted, most, sip.account());
    Ok(match mapped {
        Ok(address) => {
            thread.take_allocation(block);
            // Window addresses are small.
            address as i64
        }
        Err(status) => status.into(),
    })
}

extern "C" fn unmap(_: CtxRef, handle: u32, address: i64) -> i32 {
    finish(device(handle).map(|device| {
        let allocation = match device.window.unmap(device.index(), address as u64) {
            Ok(allocation) => allocation,
            Err(status) => {
                if status == status::CLOSED {
                    device.cut_off();
                }
                return status;
            }
        };
        match cpu::current().insert_allocation(allocation) {
            Some(block) => {
                device.window.finish(address as u64);
                block as i32
            }
            None => status::NO_RESOURCES,
        }
    }))
}

/// What a device and its driver share at this address.
fn shared(handle: u32, address: i64) -> Result<(DeviceMemory, u32), Trap> {
    let shared = device(handle)?.window.shared(address as u64);
    shared.ok_or(Trap::RegisterOutOfBounds)
}

extern "C" fn load(_: CtxRef, handle: u32, address: i64, width: u32) -> i64 {
    finish(shared(handle, address).and_then(|(memory, offset)| {
        let value = memory.load(offset, width);
        value.map(|v| v as i64).ok_or(Trap::RegisterOutOfBounds)
    }))
}

extern "C" fn store(_: CtxRef, handle: u32, address: i64, width: u32, value: i64) {
    finish(shared(handle, address).and_then(|(memory, offset)| {
        let stored = memory.store(offset, width, value as u64);
        stored.ok_or(Trap::RegisterOutOfBounds)
    }));
}

extern "C" fn copy_out(_: CtxRef, handle: u32, address: i64, to: u32, len: u32) {
    finish(copy(handle, address, to, len, false));
}

extern "C" fn copy_in(_: CtxRef, handle: u32, address: i64, from: u32, len: u32) {
    finish(copy(handle, address, from, len, true));
}

fn copy(handle: u32, address: i64, at: u32, len: u32, into: bool) -> Result<(), Trap> {
    if len > MAX_DMA_COPY {
        return Err(Trap::BadArgument);
    }
    let memory = caller().memory(at, len.into())?;
    // After that, which may let another thread run, who may unmap it.
    let (shared, offset) = shared(handle, address)?;
    let mut bytes = [0; STEP];
    let mut done = 0;
    while done < len {
        let step = &mut bytes[..((len - done) as usize).min(STEP)];
        let copied = if into {
            memory.read(at + done, step)?;
            shared.write(offset + done, step)
        } else {
            let read = shared.read(offset + done, step);
            memory.write(at + done, step)?;
            read
        };
        copied.ok_or(Trap::RegisterOutOfBounds)?;
        done += step.len() as u32;
    }
    Ok(())
}

extern "C" fn fault(_: CtxRef, handle: u32) -> i64 {
    finish(device(handle).map(|device| {
        let refused = hal().refused(device.index());
        refused.map_or(status::NOT_FOUND.into(), |refused| {
            // No address of memory has the highest bit.
            let page = (refused.page & i64::MAX as u64) / PAGE * PAGE;
            page as i64 | i64::from(refused.write)
        })
    }))
}
