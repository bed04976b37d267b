//! Who may see the system, and who may end processes of it.
//!
//! Invariants:
//! - What is live is shown only to who has the key, unless the system manifest opens it to all.
//! - Something is done only for who has the key, and has connected from this machine.
//! - No page of another site can have something done: browsers send the key only where a script of
//!   this page puts it, and what a browser says of the asking page is looked at beside that.

use core::net::IpAddr;
use sing_sdk::web::Request;

/// Why not, for people.
pub type Refused = &'static str;

const NO_KEY: Refused = "there is no key: the machine has no source of entropy (/dev/random0)";
const WRONG: Refused =
    "the key is missing or wrong; `httpd` on the console shows the address with it";
const ELSEWHERE: Refused = "only who has connected from this machine (127.0.0.1) can end or start \
    something; ask on the console";
const FOREIGN: Refused = "the request comes from another site's page";

/// Whether two texts are the same, in a time that does not depend on where they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    let differ = |(a, b): (&u8, &u8)| a ^ b;
    let differences = one.iter().zip(other).map(differ);
    one.len() == other.len() && differences.fold(0, |all, one| all | one) == 0
}

fn has_key(request: &Request, key: Option<&str>) -> Result<(), Refused> {
    let key = key.ok_or(NO_KEY)?;
    let given = request.header("authorization");
    let given = given.and_then(|value| value.split_once(' '));
    match given {
        Some((scheme, given))
            if scheme.eq_ignore_ascii_case("bearer") && same(given.as_bytes(), key.as_bytes()) =>
        {
            Ok(())
        }
        _ => Err(WRONG),
    }
}

/// Whether this client may see the system. `open`: all may.
///
/// # Errors
/// Why not.
pub fn may_see(request: &Request, key: Option<&str>, open: bool) -> Result<(), Refused> {
    match open {
        true => Ok(()),
        false => has_key(request, key),
    }
}

/// Whether this client may do something.
///
/// # Errors
/// Why not.
pub fn may_act(request: &Request, key: Option<&str>) -> Result<(), Refused> {
    has_key(request, key)?;
    let local = request
        .peer()
        .is_some_and(|peer| IpAddr::to_canonical(&peer).is_loopback());
    if !local {
        return Err(ELSEWHERE);
    }
    if let Some(origin) = request.header("origin") {
        let own = origin.strip_prefix("http://");
        if own.is_none() || own != request.header("host") {
            return Err(FOREIGN);
        }
    }
    match request.header("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(FOREIGN),
    }
}
