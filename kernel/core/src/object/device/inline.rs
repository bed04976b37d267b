//! Registers that code of the holder reaches without a kernel call ([`sing_abi::io`]).
//!
//! A handle of registers has an entry in the table of its SIP while the handle and the device are
//! there, and the machine has the registers mapped for code as long as one such handle is. Two
//! things make a window unreachable at once, for all threads of the SIP: its entry loses its key,
//! so that no later access passes the check; and with the last handle, or with the device, the
//! mapping goes, for the thread that was pre-empted between its check and its access.
//!
//! That thread could come to its access when the registers are mapped again, at the same addresses,
//! for another holder. So who has reached registers this way stays the holder until it has ended,
//! and with it its threads ([`Device::release`]).
//!
//! Invariants:
//! - The registers of a device are mapped for code only while the device is open and a handle of
//!   them is there. So nobody's code reaches them when the device gets another holder.
//! - Each key in a SIP's table is a handle of that SIP, of registers of an open device.

use super::Device;
use crate::ground::device::MOST_RANGES;
use crate::ground::trusted::Registers;
use crate::object::handle::Object;
use crate::object::sip::Sip;

/// The handles of a device's registers.
pub(super) struct Shown {
    /// The holder, while there are any.
    sip: Option<&'static Sip>,
    /// How many there are, by the registers' number.
    handles: [u32; MOST_RANGES],
}

impl Shown {
    pub(super) const fn new() -> Shown {
        Shown {
            sip: None,
            handles: [0; MOST_RANGES],
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.handles.iter().sum()
    }
}

impl Device {
    /// The number by which tables know registers of it.
    fn tag(&self, number: u8) -> u32 {
        (self.index as u32) << 8 | u32::from(number)
    }

    /// Whether a table knows registers of it by this number.
    pub(super) fn has_tag(&self, tag: u32) -> bool {
        tag >> 8 == self.index as u32
    }

    /// Counts one more handle of its registers, which `holder` gets.
    pub(crate) fn retain_registers(&self, holder: &'static Sip, number: u8) {
        self.retain();
        let mut shown = self.shown.lock();
        shown.sip = Some(holder);
        if let Some(count) = shown.handles.get_mut(usize::from(number)) {
            *count += 1;
        }
    }

    /// Lets code of its holder reach registers by a handle of them, if the machine can.
    pub(crate) fn show(&self, holder: &Sip, number: u8, handle: u32) {
        if !self.is_open() {
            return;
        }
        let registers = Registers::of(self.index, number.into());
        if let Some(window) = registers.and_then(|r| r.show()) {
            self.state.lock().shown = true;
            holder.with_instance(|i| i.windows().enter(handle, window, self.tag(number)));
        }
    }

    /// A handle of its registers, which `holder` has given up, goes.
    pub(crate) fn release_registers(&self, holder: &'static Sip, number: u8) {
        let tag = self.tag(number);
        let is_gone = |t, handle| t == tag && !matches!(holder.object(handle), Object::Io(..));
        holder.with_instance(|i| i.windows().remove(is_gone));
        let mut shown = self.shown.lock();
        let mut left = 0;
        if let Some(count) = shown.handles.get_mut(usize::from(number)) {
            *count = count.saturating_sub(1);
            left = *count;
        }
        if left == 0
            && let Some(registers) = Registers::of(self.index, number.into())
        {
            registers.hide();
        }
        if shown.count() == 0 {
            shown.sip = None;
        }
        drop(shown);
        self.release();
    }

    /// Keeps code from all its registers: it is given back, or was cut off.
    pub(super) fn hide_all(&self) {
        let shown = self.shown.lock();
        if let Some(holder) = shown.sip {
            holder.with_instance(|i| i.windows().remove(|tag, _| self.has_tag(tag)));
        }
        for number in 0..MOST_RANGES {
            if shown.handles[number] > 0
                && let Some(registers) = Registers::of(self.index, number)
            {
                registers.hide();
            }
        }
    }
}
