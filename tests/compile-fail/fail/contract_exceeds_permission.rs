//! A permission cannot give what the contract does not have.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract C {
       in message Read();
       out message Data();
       state Start: Read? -> Data! -> Start;
     }
     contract N narrows C.Imp { Read; Write; Data; }"
);

fn main() {}
