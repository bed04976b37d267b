//! Interfaces of WASI 0.2 as an adapter has them: the export `wasi:io/streams#[method]input-stream.read`
//! for a function, in any version 0.2; and one function that drops a resource of any type.

use crate::parts::Parts;

/// The adapter's function that drops resources.
const DROP: &str = "resource-drop";

/// The name of the adapter's export for a function of an interface.
///
/// # Errors
/// Why there is none.
pub(crate) fn export(
    adapter: &Parts<'_>,
    interface: &str,
    function: &str,
) -> Result<String, &'static str> {
    const NONE: &str = "this system has no such interface";
    let Some((name, version)) = interface.split_once('@') else {
        return Err(NONE);
    };
    let has = |prefix: &str| adapter.exports.iter().any(|e| e.name.starts_with(prefix));
    let package = name.split_once('/').map_or(name, |(package, _)| package);
    if !has(&format!("{package}/")) {
        return Err(NONE);
    }
    if !version.starts_with("0.2.") {
        return Err("this system has version 0.2 of it");
    }
    if function.starts_with("[resource-drop]") {
        return match adapter.exported(DROP) {
            Some(_) => Ok(DROP.into()),
            None => Err(NONE),
        };
    }
    let export = format!("{name}#{function}");
    match adapter.exported(&export) {
        Some(_) => Ok(export),
        None if has(&format!("{name}#")) => Err("the interface here has no such function"),
        None => Err(NONE),
    }
}
