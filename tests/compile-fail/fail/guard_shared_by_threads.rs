//! Threads that share a mutex guard share its data, which must be `Sync`.
#![deny(unsafe_code)]
use core::cell::Cell;
use sing_sdk::sync::MutexGuard;

fn needs_sync<T: Sync>(_: T) {}

fn share(guard: MutexGuard<'static, Cell<u32>>) {
    needs_sync(guard);
}

fn main() {}
