//! Never yields. Other processes run all the same: SIPs are pre-empted.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

sing_sdk::manifest! {
    name: "spin",
    description: "never yields; SECONDS at most, if given",
}

sing_sdk::arguments! {
    /// How long; for ever if left out.
    seconds: optional u64 "SECONDS";
}

#[sing_sdk::main]
fn main(Arguments { seconds }: Arguments) {
    let end = seconds.map(|s| {
        let rate = sing_sdk::time::cycles_per_second();
        sing_sdk::time::cycle_count().saturating_add(s.saturating_mul(rate))
    });
    // The loop calls nothing that would let others run: reading the cycle counter does not.
    while end.is_none_or(|end| sing_sdk::time::cycle_count() < end) {
        core::hint::spin_loop();
    }
}
