//! The subscriber: prints changes.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use store::StoreContract;

sing_sdk::manifest! {
    name: "store-follow",
    description: "prints what is put below a prefix: store-follow PREFIX [COUNT]",
    uses: { "/store": StoreContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// How the keys begin.
    prefix: one String "PREFIX";
    /// After how many changes it ends.
    count: default u32 = 1, "COUNT";
}

#[sing_sdk::main]
fn main(Arguments { prefix, count }: Arguments) -> Result<(), Error> {
    let mut names = Names::given(startup::names())?;
    store::follow::follow(&mut names, &prefix, count, |line| println!("{line}"))
}
