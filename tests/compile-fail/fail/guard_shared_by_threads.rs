//! Who has a mutex has its data alone; threads that share the right share the data, which must allow it.
#![deny(unsafe_code)]
use core::cell::Cell;
use sing_sdk::sync::MutexGuard;

fn needs_sync<T: Sync>(_: T) {}

fn share(guard: MutexGuard<'static, Cell<u32>>) {
    needs_sync(guard);
}

fn main() {}
