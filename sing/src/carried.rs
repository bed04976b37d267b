//! What the command carries in itself: `build.rs` says which, and why there may be no programs.

include!(concat!(env!("OUT_DIR"), "/carried.rs"));

/// The module of a program of the system.
pub fn program(name: &str) -> Option<&'static [u8]> {
    let found = PROGRAMS.iter().find(|(known, _)| *known == name);
    found.map(|(_, module)| *module)
}
