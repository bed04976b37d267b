//! Values that may be absent, with what a message requires of them, and none of it.
#![deny(unsafe_code)]
use compile_fail::*;

pub fn set(c: Lamp::Imp<Lamp::Start>) -> Lamp::Imp<Lamp::Start> {
    let none = const { Lamp::checked_set(None) };
    let c = c.send_set_checked(none, Some(Hue::Warm)).recv_was().expect("an answer").1;
    let c = c.send_set(Some(100), None).recv_was().expect("an answer").1;
    c.send_put(Lit { level: None, hue: Some(Hue::Cold) }).recv_was().expect("an answer").1
}

fn main() {
    assert!(Lamp::may_carry_set(None) && Lamp::may_carry_set(Some(0)));
    assert!(!Lamp::may_carry_set(Some(101)));
    let _ = set as fn(_) -> _;
}
