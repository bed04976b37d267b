//! Shared by the test programs that make one check after the other.

use sing_sdk::prelude::*;

/// Whether a check passes.
pub type Check = Result<bool, Error>;

/// A check with its name.
pub type Test = (&'static str, fn() -> Check);

/// Makes the checks; names those that fail, and returns how many.
pub fn run<F: FnOnce() -> Check>(
    program: &str,
    checks: impl IntoIterator<Item = (&'static str, F)>,
) -> i32 {
    let (mut count, mut failed) = (0, 0);
    for (name, check) in checks {
        let text = match check() {
            Ok(true) => None,
            Ok(false) => Some("wrong".to_string()),
            Err(error) => Some(error.to_string()),
        };
        count += 1;
        if let Some(text) = text {
            println!("{program}: {name}: {text}");
            failed += 1;
        }
    }
    println!("{program}: {count} checks, {failed} failed");
    failed
}
