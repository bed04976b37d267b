//! Invariants of devices and queues ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{Device, each};
use crate::object::exheap;
use crate::object::handle::Object;
use crate::object::sip;
use crate::object::sweep::Findings;
use alloc::format;
use sing_runtime::Instance;

/// Checks all of them.
pub(crate) fn sweep(found: &mut Findings) {
    for device in each() {
        found.seen();
        check(found, device);
    }
}

fn check(found: &mut Findings, device: &'static Device) {
    let n = device.index;
    let state = *device.state.lock();
    let mut handles = 0;
    let mut foreign = 0;
    let mut registers = 0;
    let mut reachable = 0;
    for sip in sip::records() {
        sip.handles.lock().each(|object| {
            let of = match object {
                Object::Device(d) | Object::Io(d, _) | Object::Irq(d) | Object::Queue(d, _) => d,
                _ => return,
            };
            if core::ptr::eq(*of, device) {
                handles += 1;
                foreign += u32::from(sip.id() != state.holder);
                registers += u32::from(matches!(object, Object::Io(..)));
            }
        });
        let of_no_handle = |&(tag, handle): &(u32, u32)| {
            let named = matches!(sip.object(handle), Object::Io(d, _) if core::ptr::eq(d, device));
            device.has_tag(tag) && !(named && state.open)
        };
        let count = |i: &Instance| i.windows().iter().filter(of_no_handle).count();
        reachable += sip.with_instance(count).unwrap_or(0);
    }
    found.check(handles == state.references && foreign == 0, || {
        format!(
            "device {n} has {} references, but {handles} handles, {foreign} of them foreign",
            state.references
        )
    });
    let counted = device.shown.lock().count();
    found.check(counted == registers && reachable == 0, || {
        format!(
            "device {n} has {registers} handles of registers, but counts {counted}, and code \
             reaches {reachable} windows without any"
        )
    });
    found.check(state.holder != 0 || state.references == 0, || {
        format!("device {n} has no holder, but references")
    });
    let mapped = device.window.allocations_are_there(exheap::is_there);
    found.check(mapped || state.broken, || {
        format!("the window of device {n} has a block that is free")
    });
    for (i, queue) in device.queues.iter().enumerate() {
        let there = queue.allocations_are_there(exheap::is_there);
        found.check(there || state.broken, || {
            format!("queue {i} of device {n} has a block that is free")
        });
    }
}
