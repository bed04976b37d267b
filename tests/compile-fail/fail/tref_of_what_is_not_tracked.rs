//! A cell holds only tracked values.
#![deny(unsafe_code)]

pub fn hold(pointer: *mut u8) -> bool {
    sing_sdk::tref::TRef::new(pointer).is_ok()
}

fn main() {}
