//! Devices as SIPs hold them ([O] 5.1): each has one holder at a time, which was named for it
//! before its start and whose manifest declares it.
//!
//! Invariants:
//! - A device is given to a SIP that has not been started, under a declaration of its manifest that
//!   names the device's signature; the SIP gets handles for what that declaration says, and nothing
//!   else leads to the device.
//! - A handle to the device or to a part of it (registers, interrupt, queue) is a reference. While
//!   there is one, nobody else gets the device.
//! - When the device's own handle goes, the device is reset, its line masked, and its access to
//!   memory cut off; from then on the handles of its parts do nothing. If it cannot be cut off, it
//!   is broken: nobody gets it any more, and what it knew of is never freed.
//! - A device reaches memory by a window ([`crate::object::window`]) only if an IOMMU confines it
//!   and its holder's manifest says how much.

mod inline;
mod sweep;

pub(crate) use sweep::sweep;

use crate::ground::device::MOST_DEVICES;
use crate::ground::machine::{hal, log};
use crate::ground::trusted::{self, Registers, Transport};
use crate::ground::trusted::{parts_restart, variables};
use crate::ground::work::Work;
use crate::mechanism::interrupt;
use crate::object::queue::{MOST_QUEUES, Queue};
use crate::object::sip::Sip;
use crate::object::window::Window;
use sing_abi::status;
use sing_arch::lock::SpinLock;
use sing_image::manifest::DeviceUse;

/// A device's holder, and how far the holder has got with it.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Id of the SIP that has it; 0 for none.
    holder: u32,
    /// Number of the declaration in the holder's manifest under which it has the device.
    usage: u32,
    /// Whether the holder has taken its handle.
    taken: bool,
    /// Whether that handle is there.
    open: bool,
    /// Whether its interrupt has a handle.
    has_irq: bool,
    /// Handles to it and to its parts.
    references: u32,
    /// Whether its holder's code has reached registers without a kernel call.
    shown: bool,
    /// Features that it offered at the last reset; `None` before, and when they were accepted.
    offered: Option<u64>,
    /// Whether it agreed to features since the last reset.
    agreed: bool,
    /// Whether it was set aside: it did not confirm a reset, did not come back from one, or could
    /// not be cut off from memory.
    broken: bool,
}

/// A device of the machine.
pub(crate) struct Device {
    index: usize,
    state: SpinLock<State>,
    /// The handles of its registers.
    shown: SpinLock<inline::Shown>,
    /// Its queues.
    pub(crate) queues: [Queue; MOST_QUEUES],
    /// What it reaches by way of an IOMMU.
    pub(crate) window: Window,
}

variables! { restart:
    static DEVICES: [Device; MOST_DEVICES] = all();
}

parts_restart!(Device: state shown queues window);

const fn all() -> [Device; MOST_DEVICES] {
    let mut devices = [const {
        Device {
            index: 0,
            state: SpinLock::new(State {
                holder: 0,
                usage: 0,
                taken: false,
                open: false,
                has_irq: false,
                references: 0,
                shown: false,
                offered: None,
                agreed: false,
                broken: false,
            }),
            shown: SpinLock::new(inline::Shown::new()),
            queues: [const { Queue::new() }; MOST_QUEUES],
            window: Window::new(),
        }
    }; MOST_DEVICES];
    let mut i = 0;
    while i < devices.len() {
        devices[i].index = i;
        i += 1;
    }
    devices
}

/// The device with this index; `None` if the machine has none.
pub(crate) fn get(index: u32) -> Option<&'static Device> {
    let index = index as usize;
    DEVICES.get(index).filter(|_| index < hal().devices().len())
}

/// All devices of the machine.
pub(crate) fn each() -> impl Iterator<Item = &'static Device> {
    DEVICES.iter().take(hal().devices().len())
}

/// The devices without a holder that a declaration names.
pub(crate) fn free(declared: &DeviceUse) -> impl Iterator<Item = &'static Device> {
    each().filter(|d| d.is_free() && d.matches(declared))
}

/// The device that a SIP was given under this declaration of its manifest, and has not taken.
fn given(sip: &Sip, usage: u32) -> Option<&'static Device> {
    each().find(|d| {
        let s = d.state.lock();
        s.holder == sip.id() && s.usage == usage && !s.taken
    })
}

/// The time until which a SIP's start-up device is being reset, after its last holder gave it back.
/// Called again and again, it moves the reset on.
pub(crate) fn settles_at(sip: &Sip, usage: u32) -> Option<u64> {
    hal().settle(given(sip, usage)?.index)
}

/// Takes a SIP's start-up device, whose reset is over: the device, or `NOT_FOUND`, or `BAD_STATE` if it is broken.
pub(crate) fn take(sip: &Sip, usage: u32) -> Result<&'static Device, i32> {
    let device = given(sip, usage).ok_or(status::NOT_FOUND)?;
    if !hal().connect(device.index) {
        if !core::mem::replace(&mut device.state.lock().broken, true) {
            log!(
                "system: device {} does not come back and is set aside",
                device.index
            );
        }
        return Err(status::BAD_STATE);
    }
    // Firmware, or a holder before, may have left it at work.
    if Transport::of(device.index).is_some_and(|t| !t.reset()) {
        let cut = hal().disconnect(device.index, false);
        device.state.lock().broken = true;
        log!(
            "system: device {} does not stop and is set aside (cut off: {cut})",
            device.index
        );
        return Err(status::BAD_STATE);
    }
    let mut s = device.state.lock();
    s.taken = true;
    s.open = true;
    s.references = 1;
    Ok(device)
}

/// A SIP has ended, and has no handle any more: it loses the devices that it has not taken.
pub(crate) fn forget(sip: &Sip) {
    for device in each() {
        let mut s = device.state.lock();
        if s.holder == sip.id() {
            debug_assert_eq!(s.references, 0);
            s.let_go();
        }
    }
}

impl State {
    /// Has no holder from now on.
    fn let_go(&mut self) {
        *self = State {
            broken: self.broken,
            ..State::default()
        };
    }
}

impl Device {
    /// Its index among the machine's devices.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Id of the SIP that has it; 0 for none.
    pub(crate) fn holder(&self) -> u32 {
        self.state.lock().holder
    }

    fn is_free(&self) -> bool {
        let s = self.state.lock();
        s.holder == 0 && !s.broken
    }

    fn matches(&self, declared: &DeviceUse) -> bool {
        let device = trusted::device(self.index);
        let reaches = declared.dma == 0 || self.is_confined();
        reaches && device.is_some_and(|d| declared.names(&d.signature))
    }

    /// Gives it to a SIP that has not been started, under number `usage` of its manifest's devices.
    ///
    /// # Errors
    /// A status, as for `device_give`.
    pub(crate) fn give(&self, sip: &Sip, usage: u32) -> Result<(), i32> {
        let declared = sip.image().manifest.devices.get(usage as usize);
        let declared = declared.ok_or(status::NOT_FOUND)?;
        if sip.is_started() || !sip.is_alive() || given(sip, usage).is_some() {
            return Err(status::BAD_STATE);
        }
        if !self.matches(declared) {
            return Err(status::NOT_PERMITTED);
        }
        let mut s = self.state.lock();
        if s.broken {
            return Err(status::BAD_STATE);
        }
        if s.holder != 0 {
            return Err(status::HELD);
        }
        s.holder = sip.id();
        s.usage = usage;
        Ok(())
    }

    /// Whether an IOMMU confines its access to memory.
    pub(crate) fn is_confined(&self) -> bool {
        hal().confines(self.index)
    }

    /// The declaration under which its holder has it.
    fn declared(&self, holder: &Sip) -> Option<&'static DeviceUse> {
        let s = self.state.lock();
        let devices = &holder.image().manifest.devices;
        devices
            .get(s.usage as usize)
            .filter(|_| s.holder == holder.id())
    }

    /// Whether the handle of the whole device is still there.
    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().open
    }

    /// The registers with this number, if the holder's manifest declares them.
    pub(crate) fn registers(&self, holder: &Sip, index: u32) -> Result<Registers, i32> {
        let declared = self.declared(holder).ok_or(status::NOT_PERMITTED)?;
        if !declared.registers.contains(&index) {
            return Err(status::NOT_PERMITTED);
        }
        Registers::of(self.index, index as usize).ok_or(status::NOT_FOUND)
    }

    /// Takes its interrupt line.
    pub(crate) fn take_irq(&self, holder: &Sip) -> Result<(), i32> {
        let declared = self.declared(holder).ok_or(status::NOT_PERMITTED)?;
        if !declared.interrupt {
            return Err(status::NOT_PERMITTED);
        }
        let line = trusted::device(self.index).and_then(|d| d.line);
        let line = line.ok_or(status::NOT_FOUND)?;
        interrupt::hold(line)?;
        self.state.lock().has_irq = true;
        self.retain();
        Ok(())
    }

    /// Its line, as threads wait for it; `None` if it has none.
    pub(crate) fn line(&self) -> Option<&'static interrupt::Device> {
        interrupt::device(trusted::device(self.index)?.line?)
    }

    /// Acknowledges its interrupts, at the device and at the line.
    pub(crate) fn acknowledge(&self) {
        if !self.is_open() {
            return;
        }
        if let Some(transport) = Transport::of(self.index) {
            transport.acknowledge();
        }
        if let Some(line) = self.line() {
            line.acknowledge();
        }
    }

    /// The handle of its interrupt goes.
    pub(crate) fn release_irq(&self) {
        if let Some(line) = self.line() {
            line.release();
        }
        self.state.lock().has_irq = false;
        self.release();
    }

    /// Resets a virtio device: the features that it offers.
    ///
    /// # Errors
    /// `BAD_STATE`.
    pub(crate) fn reset(&self) -> Result<u64, i32> {
        let transport = Transport::of(self.index).filter(|_| self.is_open());
        let transport = transport.ok_or(status::BAD_STATE)?;
        if self.queues.iter().any(Queue::is_there) {
            return Err(status::BAD_STATE);
        }
        if !transport.reset() {
            self.cut_off();
            return Err(status::BAD_STATE);
        }
        let offered = transport.offered().ok_or(status::BAD_STATE)?;
        let mut s = self.state.lock();
        s.offered = Some(offered);
        s.agreed = false;
        Ok(offered)
    }

    /// Accepts features of a virtio device that has been reset.
    ///
    /// # Errors
    /// A status, as for `device_accept`.
    pub(crate) fn accept(&self, features: u64) -> Result<(), i32> {
        let transport = Transport::of(self.index).ok_or(status::BAD_STATE)?;
        let offered = self.state.lock().offered.take().ok_or(status::BAD_STATE)?;
        if features & !offered != 0 {
            return Err(status::BAD_ARGUMENT);
        }
        if !transport.accept(features) {
            return Err(status::NOT_PERMITTED);
        }
        self.state.lock().agreed = true;
        Ok(())
    }

    /// Its transport, if it is a virtio device that has agreed to features.
    pub(crate) fn agreed(&self) -> Option<Transport> {
        let s = self.state.lock();
        Transport::of(self.index).filter(|_| s.open && s.agreed)
    }

    /// How many queues its holder may use.
    pub(crate) fn queues_declared(&self, holder: &Sip) -> u32 {
        self.declared(holder).map_or(0, |d| d.queues)
    }

    /// How many bytes its holder may let it reach through its window.
    pub(crate) fn dma_declared(&self, holder: &Sip) -> u64 {
        self.declared(holder).map_or(0, |d| d.dma)
    }

    /// Counts one more handle.
    pub(crate) fn retain(&self) {
        self.state.lock().references += 1;
    }

    /// Counts one handle less. After the last one, the device has no holder. A holder whose code
    /// has reached its registers keeps the name until it has ended: a thread of it may still be
    /// between its check and its access, which must not meet the next holder's registers.
    pub(crate) fn release(&self) {
        let mut s = self.state.lock();
        s.references = s.references.saturating_sub(1);
        if s.references == 0 && !s.shown {
            s.let_go();
        }
    }

    /// Resets it, so that it uses no queue any more: whether it has confirmed. What it was working
    /// on is lost.
    pub(crate) fn stop(&self) -> bool {
        if self.is_broken() {
            return false;
        }
        let confirmed = Transport::of(self.index).is_none_or(|t| t.reset());
        let mut s = self.state.lock();
        s.offered = None;
        s.agreed = false;
        drop(s);
        if confirmed {
            self.queues.iter().for_each(Queue::lose);
        }
        confirmed
    }

    /// Resets it and cuts it off from memory. Returns false if it could reach memory all the same:
    /// what it knew of is then never freed. It is broken from then on in that case, and also if it
    /// was cut off but has not confirmed the reset.
    pub(crate) fn cut_off(&self) -> bool {
        self.hide_all();
        let confirmed = self.stop();
        if let Some(line) = self.line() {
            line.mask();
        }
        let safe = hal().disconnect(self.index, confirmed);
        if let Some(refused) = hal().refused(self.index) {
            let location = trusted::device(self.index).map_or("", |d| &d.location);
            let (page, reason) = (refused.page, refused.reason);
            let what = if refused.write {
                "writing to"
            } else {
                "reading"
            };
            log!("system: {location} was kept from {what} page {page:#x} (reason {reason:#x})");
        }
        let mut s = self.state.lock();
        s.open = false;
        // One that has not confirmed would go on where it was when it is connected again.
        let stopped = safe && confirmed;
        if !stopped && !s.broken {
            s.broken = true;
            let location = trusted::device(self.index).map_or("", |d| &d.location);
            log!("system: {location} does not stop; it and its memory are set aside");
        }
        drop(s);
        if safe {
            self.queues.iter().for_each(Queue::lose);
        }
        safe
    }

    /// Whether it was set aside: it did not confirm a reset, or could not be cut off from memory.
    pub(crate) fn is_broken(&self) -> bool {
        self.state.lock().broken
    }

    /// The handle of the whole device goes.
    pub(crate) fn dispose(&self, work: &mut Work) {
        // One that could not be cut off keeps what it reaches.
        if self.cut_off() {
            self.window.dispose(work);
        }
        self.release();
    }

    /// The handle of a queue goes: what its requests have is freed once the device is done with it.
    pub(crate) fn dispose_queue(&self, index: u8, work: &mut Work) {
        if let Some(queue) = self.queues.get(usize::from(index)) {
            if queue.is_used() && !self.stop() {
                self.cut_off();
            }
            // A broken device keeps it.
            if !queue.is_used() {
                queue.dispose(work);
            }
        }
        self.release();
    }
}

#[cfg(test)]
mod tests;
