//! Machine checks: the processor reports errors of memory, buses or itself.
//!
//! They end the system, after the contents of the processor's error banks have been printed. If
//! they were not enabled, an error would reset the machine silently.

use crate::serial::line;
use raw_cpuid::CpuId;
use x86_64::registers::control::{Cr4, Cr4Flags};
use x86_64::registers::model_specific::Msr;

const CAPABILITY: u32 = 0x179;
const GLOBAL_CONTROL: u32 = 0x17b;
/// Control, status and address of the first bank; each bank has four registers.
const CONTROL: u32 = 0x400;
const STATUS: u32 = 0x401;
const ADDRESS: u32 = 0x402;

const HAS_GLOBAL_CONTROL: u64 = 1 << 8;
const VALID: u64 = 1 << 63;
const ADDRESS_VALID: u64 = 1 << 58;

/// Enables the reports, if the processor has them.
pub fn init() {
    if let Some(banks) = banks() {
        // SAFETY: the processor has the registers, `banks` of them; all errors are reported, and
        // old ones forgotten.
        unsafe {
            if Msr::new(CAPABILITY).read() & HAS_GLOBAL_CONTROL != 0 {
                Msr::new(GLOBAL_CONTROL).write(u64::MAX);
            }
            for bank in 0..banks {
                Msr::new(CONTROL + 4 * bank).write(u64::MAX);
                Msr::new(STATUS + 4 * bank).write(0);
            }
        }
    }
    if CpuId::new().get_feature_info().is_some_and(|f| f.has_mce()) {
        // SAFETY: the interrupt table has an entry for machine checks, with a stack of its own.
        unsafe { Cr4::update(|c| c.insert(Cr4Flags::MACHINE_CHECK_EXCEPTION)) };
    }
}

/// Prints the valid banks.
pub fn report() {
    line!("machine check: the processor reports a hardware error");
    for bank in 0..banks().unwrap_or(0) {
        // SAFETY: the processor has so many banks; reading them changes nothing.
        let (status, address) = unsafe {
            let status = Msr::new(STATUS + 4 * bank).read();
            let has_address = status & VALID != 0 && status & ADDRESS_VALID != 0;
            (
                status,
                has_address.then(|| Msr::new(ADDRESS + 4 * bank).read()),
            )
        };
        if status & VALID != 0 {
            let address = address.unwrap_or(0);
            line!("bank {bank}: status {status:#x}, address {address:#x}");
        }
    }
}

/// The number of banks; `None` if the processor has no such registers.
fn banks() -> Option<u32> {
    let features = CpuId::new().get_feature_info()?;
    // SAFETY: the processor has the register where it has the feature.
    (features.has_mce() && features.has_mca())
        .then(|| unsafe { Msr::new(CAPABILITY).read() as u32 & 0xff })
}
