//! The contracts of the system, as types. A contract's module has its name.

sing_macros::contract!("../../system/contracts/system.contract", const TEXT);
