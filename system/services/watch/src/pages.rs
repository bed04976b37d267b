//! The page and what it is made of, as files beside this one, and the headers of all answers.

use sing_sdk::web::Response;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const GRAPH: &str = include_str!("page/graph.js");
const CHART: &str = include_str!("page/chart.js");
const TABLES: &str = include_str!("page/tables.js");
const LIVE: &str = include_str!("page/live.js");

/// Nothing is loaded from anywhere else, no script or style stands in the page itself, and no other
/// page shows this one within itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[must_use]
pub fn file(path: &str) -> Option<Response> {
    let script = "text/javascript; charset=utf-8";
    let (kind, text) = match path {
        "/system" => ("text/html; charset=utf-8", PAGE),
        "/system/page.css" => ("text/css; charset=utf-8", STYLE),
        "/system/page.js" => (script, SCRIPT),
        "/system/graph.js" => (script, GRAPH),
        "/system/chart.js" => (script, CHART),
        "/system/tables.js" => (script, TABLES),
        "/system/live.js" => (script, LIVE),
        _ => return None,
    };
    Some(safe(Response::bytes(kind, text.as_bytes())))
}

/// With the headers that all answers have.
#[must_use]
pub fn safe(response: Response) -> Response {
    response
        .header("content-security-policy", POLICY)
        .header("x-content-type-options", "nosniff")
        .header("referrer-policy", "no-referrer")
        .header("cross-origin-resource-policy", "same-origin")
        .header("cross-origin-opener-policy", "same-origin")
        .header("cache-control", "no-store")
}
