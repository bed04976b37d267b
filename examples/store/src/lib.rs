//! A store of short values that tells its subscribers of changes: what its three programs do. It is
//! tested without a system: see `tests`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod client;
pub mod follow;
pub mod service;
pub mod table;

sing_sdk::contract!("store.contract", use sing_sdk::contracts::ServiceContract);
