//! The types that the code of `contract!`, `manifest!` and `main` is made of.
//!
//! Programs meet [`Block`], [`Vector`], [`Text`], [`Record`], [`Endpoint`], [`Closed`] and
//! [`Error`] in signatures; everything else here is for generated code.
//!
//! Invariants:
//! - Each owner ([`Endpoint`], [`Block`] and what is made of them) holds a handle that nobody else
//!   holds, and gives it up when dropped. Rust's moves are what makes a SIP's resources linear ([O]
//!   4.5).
//! - Words of a message are judged before they become a value.
//! - On a target that is not WebAssembly everything type-checks, and conversations work within the
//!   process, for tests (`sing_sdk::host`).

mod block;
mod endpoint;
mod generated;
mod object;
mod start;
mod value;

pub use crate::error::Error;
pub use crate::tree::Content;
pub use block::{Block, OneThread, Record, Text, Vector};
pub use endpoint::{Endpoint, Side, State, TypedEndpoint, stand_for};
pub use generated::{keeps, says, terminated, violated};
pub use object::{Closed, Handle, NoRoom, Waitable, is_no_room};
#[cfg(not(target_arch = "wasm32"))]
pub use start::on_the_host;
pub use start::{StartupEndpoints, Termination, not_a_sip, startup_device, startup_endpoint};
pub use value::{Exchangeable, Plain};
