//! The hosted HAL: an unprivileged Linux process.

fn main() {}
