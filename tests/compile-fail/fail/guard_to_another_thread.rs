//! A mutex is released by the thread that acquired it.
#![deny(unsafe_code)]
use sing_sdk::sync::MutexGuard;

fn needs_send<T: Send>(_: T) {}

fn give(guard: MutexGuard<'static, u32>) {
    needs_send(guard);
}

fn main() {}
