//! The kernel's foundations: the machine, pages, installed images and their contracts, and the log.

pub mod console;
#[expect(
    clippy::disallowed_methods,
    reason = "a contract is made ready once, with the first image that names it"
)]
pub(crate) mod contract;
pub mod device;
pub mod hal;
pub(crate) mod ids;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an image is loaded once, for all SIPs of it"
)]
pub(crate) mod image;
pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod machine;
pub(crate) mod memory;
pub mod output;
pub(crate) mod trace;
pub(crate) mod trusted;
pub(crate) mod work;
