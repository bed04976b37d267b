//! Entries for devices: what the machine has, who gets it, registers, interrupts.

use super::reply::put_encoded;
use super::{Entries, caller, fill_table, finish};
use crate::ground::machine::hal;
use crate::ground::trusted::{self, Outside, Registers};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::object::device::{self, Device};
use crate::object::handle::Object;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_image::snapshot::DeviceInfo;
use sing_runtime::CtxRef;

/// Fills the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        DEVICE_INFO = info: fn(u32, u32, u32) -> i32;
        DEVICE_GIVE = give: fn(u32, u32, u32) -> i32;
        STARTUP_DEVICE = startup: fn(u32) -> i32;
        DEVICE_REGISTERS = registers: fn(u32, u32) -> i32;
        DEVICE_IRQ = irq: fn(u32) -> i32;
        IO_LEN = len: fn(u32) -> i32;
        IO_READ = read: fn(u32, u32, u32) -> i64;
        IO_WRITE = write: fn(u32, u32, u32, i64);
    }
}

extern "C" fn info(_: CtxRef, index: u32, out: u32, max: u32) -> i32 {
    finish(describe(index, out, max))
}

fn describe(index: u32, out: u32, max: u32) -> Result<i32, Trap> {
    let described = device::get(index).and_then(|d| Some((d, trusted::device(d.index())?)));
    let Some((device, described)) = described else {
        return Ok(status::NOT_FOUND);
    };
    let info = DeviceInfo {
        location: described.location.as_str(),
        signature: described.signature.as_str(),
        holder: device.holder(),
        interrupt: described.line.is_some(),
        broken: device.is_broken(),
        confined: device.is_confined(),
        own_interrupts: device.is_confined() && hal().confines_interrupts(),
    };
    put_encoded(&info, out, max)
}

extern "C" fn give(_: CtxRef, process: u32, usage: u32, index: u32) -> i32 {
    finish(match caller().object(process) {
        Object::Process(child) => {
            let device = device::get(index).ok_or(status::NOT_FOUND);
            let given = device.and_then(|d| d.give(child, usage));
            Ok(given.err().unwrap_or(status::OK))
        }
        _ => Err(Trap::BadHandle),
    })
}

extern "C" fn startup(_: CtxRef, usage: u32) -> i32 {
    let thread = cpu::current();
    // A reset of a second and its steps: each wait ends at its time.
    while let Some(at) = device::settles_at(thread.sip(), usage) {
        thread.wait_for_time();
        thread.sleep_until(at);
    }
    finish(Ok(match device::take(caller(), usage) {
        Ok(device) => insert(Object::Device(device)),
        Err(status) => status,
    }))
}

/// Gives an object for which a reference has been counted a handle; if there is no room, disposes
/// of it.
fn insert(object: Object) -> i32 {
    let sip = caller();
    match sip.insert(object) {
        Some(handle) => handle as i32,
        None => {
            object.dispose(sip, &mut Work::little());
            status::NO_RESOURCES
        }
    }
}

/// Returns the device that a handle of the caller names.
pub(super) fn device(handle: u32) -> Result<&'static Device, Trap> {
    match caller().object(handle) {
        Object::Device(d) => Ok(d),
        _ => Err(Trap::BadHandle),
    }
}

extern "C" fn registers(_: CtxRef, handle: u32, index: u32) -> i32 {
    finish(device(handle).map(|d| match d.registers(caller(), index) {
        // Declared, so that the number is small (`Registers::of` found it).
        Ok(_) => {
            let (sip, number) = (caller(), index as u8);
            d.retain_registers(sip, number);
            let handle = insert(Object::Io(d, number));
            if handle > 0 {
                d.show(sip, number, handle as u32);
            }
            handle
        }
        Err(status) => status,
    }))
}

extern "C" fn irq(_: CtxRef, handle: u32) -> i32 {
    finish(device(handle).map(|d| match d.take_irq(caller()) {
        Ok(()) => insert(Object::Irq(d)),
        Err(status) => status,
    }))
}

/// Returns the registers that a handle names, and whether the device is still the caller's.
fn io(handle: u32) -> Result<(Registers, bool), Trap> {
    let Object::Io(device, index) = caller().object(handle) else {
        return Err(Trap::BadHandle);
    };
    let registers = Registers::of(device.index(), index.into()).ok_or(Trap::BadHandle)?;
    Ok((registers, device.is_open()))
}

extern "C" fn len(_: CtxRef, handle: u32) -> i32 {
    finish(io(handle).map(|(registers, _)| registers.len() as i32))
}

extern "C" fn read(_: CtxRef, handle: u32, offset: u32, width: u32) -> i64 {
    finish(io(handle).and_then(|(registers, open)| {
        if !open {
            return Ok(-1);
        }
        let value = registers.read(offset, width);
        value
            .map(|v| v as i64)
            .map_err(|Outside| Trap::RegisterOutOfBounds)
    }))
}

extern "C" fn write(_: CtxRef, handle: u32, offset: u32, width: u32, value: i64) {
    finish(io(handle).and_then(|(registers, open)| {
        if !open {
            return Ok(());
        }
        let written = registers.write(offset, width, value as u64);
        written.map_err(|Outside| Trap::RegisterOutOfBounds)
    }));
}
