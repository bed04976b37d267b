//! The store: a service that the service manager starts when somebody binds it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::prelude::*;
use store::StoreContract;

sing_sdk::manifest! {
    name: "store",
    description: "stores short values, and tells subscribers of changes",
    serves: { store: StoreContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    memory: 4 MiB,
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    store::service::serve(startup::store().ok_or(Error::NotFound)?)
}
