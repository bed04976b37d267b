//! Requests to services, and printing.

use crate::{Check, Test};
use core::fmt;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[("a request without memory", without_memory)];

/// A request for which there is no memory leaves the channel to the name server as it was.
fn without_memory() -> Check {
    let Some(channel) = crate::startup::names() else {
        return Ok(false);
    };
    let mut names = Names::new(channel)?;
    // As much again does not fit the program's budget.
    let path = "x".repeat(5 << 20);
    let refused = [
        names.bind(
            &path,
            sing_sdk::contracts::ServiceContract::new_channel()?.1,
        ),
        names.find(&path).map(drop),
        names.register(&path).map(drop),
        names.deregister(&path),
        names.notify(&path).map(drop),
    ];
    Ok(refused == [Err(Error::NoResources); 5] && names.find("/").is_ok())
}

/// Prints while it is printed.
pub struct Prints;

impl fmt::Display for Prints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        println!("inner");
        f.write_str("done")
    }
}
