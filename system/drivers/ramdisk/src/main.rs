#![no_std]
#![no_main]
use sing_sdk::prelude::*;
sing_sdk::manifest! { name: "ramdisk", description: "x" }
#[sing_sdk::main]
fn main() {}
