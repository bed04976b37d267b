//! The contracts of the system, as types. A contract's module has its name.

sing_macros::contract!("contracts/system.contract", const TEXT);
