//! Kinds of virtio devices, and which of them a driver may have.

/// The kind of virtio device with this PCI device id; `None` for what is none.
pub fn of(id: u16) -> Option<u32> {
    Some(match id {
        // Transitional ones have ids of their own.
        0x1000 => 1,
        0x1001 => 2,
        0x1002 => 5,
        0x1003 => 3,
        0x1004 => 8,
        0x1005 => 4,
        0x1009 => 9,
        0x1041..=0x107f => u32::from(id) - 0x1040,
        _ => return None,
    })
}

/// Whether requests to this kind of virtio device hold data and no addresses of memory: a driver
/// writes what it likes into a request. Balloons, graphics cards, IOMMUs and memory devices take
/// addresses there.
pub fn takes_no_addresses(kind: u32) -> bool {
    matches!(kind, 1 | 2 | 3 | 4 | 8 | 9 | 18 | 19 | 25)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_whose_requests_hold_addresses_are_told_from_others() {
        let used = |id| of(id).is_some_and(takes_no_addresses);
        // Network, disk, console, entropy; transitional and modern.
        for id in [
            0x1000, 0x1001, 0x1003, 0x1005, 0x1041, 0x1042, 0x1043, 0x1044,
        ] {
            assert!(used(id), "{id:#x}");
        }
        // Balloons, graphics, IOMMU, memory.
        for id in [0x1002, 0x1045, 0x1050, 0x1057, 0x1058, 0x1006, 0x1110] {
            assert!(!used(id), "{id:#x}");
        }
    }
}
