//! The shell.
#![no_std]
#![no_main]
