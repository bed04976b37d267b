//! An endpoint is declared or it is not.
#![deny(unsafe_code)]
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "attribute",
    endpoints: {
        /// Documented.
        stdin: PipeContract.Exp:Start,
        #[cfg(any())]
        stdout: PipeContract.Imp:Start,
    },
}

fn main() {}
