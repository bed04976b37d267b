//! The console.
#![no_std]
#![no_main]
