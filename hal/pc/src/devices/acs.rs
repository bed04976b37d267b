//! Access control services (PCI Express, 6.12): whether a port, or a function among others of its
//! device, hands every access on to the root, where an IOMMU confines it, or passes some on to its
//! neighbours' registers.

use super::config::Function;

/// The extended capability, and the first place of any.
const CAPABILITY: u32 = 0x000d;
const FIRST: u16 = 0x100;
/// More than fit into the space.
const MOST: usize = 64;

/// Refuses accesses that carry a number not behind the port.
const VALIDATES: u32 = 1;
/// Sends requests to neighbours, and their answers, to the root.
const REDIRECTS: u32 = 1 << 2 | 1 << 3;
/// Hands on to the root what is for something behind the same port.
const FORWARDS: u32 = 1 << 4;

/// Makes a port hand on everything that comes from behind it. Whether it does.
pub fn isolate_port(port: &Function) -> bool {
    isolate(port, VALIDATES | REDIRECTS | FORWARDS)
}

/// Makes a function of several pass nothing on to the others. Whether it does.
pub fn isolate_function(function: &Function) -> bool {
    isolate(function, REDIRECTS)
}

fn isolate(function: &Function, wanted: u32) -> bool {
    let Some(at) = place(function) else {
        return false;
    };
    // What it can do in the lower half, what it is to do in the upper one.
    let old = function.read(at + 4);
    if old & wanted != wanted {
        return false;
    }
    function.write(at + 4, old | wanted << 16);
    function.read(at + 4) >> 16 & wanted == wanted
}

/// Where the capability is.
fn place(function: &Function) -> Option<u16> {
    let mut at = FIRST;
    for _ in 0..MOST {
        let head = function.read(at);
        if head == 0 || head == u32::MAX {
            return None;
        }
        if head & 0xffff == CAPABILITY {
            return Some(at);
        }
        at = (head >> 20) as u16 & !3;
        if at < FIRST {
            return None;
        }
    }
    None
}
