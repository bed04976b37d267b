//! Content types, by the ends of names.

/// The type of a file, and whether it is worth packing.
#[must_use]
pub fn of(name: &str) -> (&'static str, bool) {
    const NONE: (&str, bool) = ("application/octet-stream", false);
    let Some((_, end)) = name.rsplit_once('.') else {
        return NONE;
    };
    let is = |ends: &[&str]| ends.iter().any(|e| e.eq_ignore_ascii_case(end));
    let table: [(&[&str], &'static str, bool); 20] = [
        (&["html", "htm"], "text/html; charset=utf-8", true),
        (
            &["txt", "text", "md", "log", "contract"],
            "text/plain; charset=utf-8",
            true,
        ),
        (&["css"], "text/css; charset=utf-8", true),
        (&["js", "mjs"], "text/javascript; charset=utf-8", true),
        (&["json"], "application/json", true),
        (&["xml"], "application/xml", true),
        (&["csv"], "text/csv; charset=utf-8", true),
        (&["svg"], "image/svg+xml", true),
        (&["wasm"], "application/wasm", true),
        (&["png"], "image/png", false),
        (&["jpg", "jpeg"], "image/jpeg", false),
        (&["gif"], "image/gif", false),
        (&["webp"], "image/webp", false),
        (&["avif"], "image/avif", false),
        (&["ico"], "image/x-icon", false),
        (&["pdf"], "application/pdf", false),
        (&["woff2"], "font/woff2", false),
        (&["mp4"], "video/mp4", false),
        (&["gz", "tgz"], "application/gzip", false),
        (&["zip"], "application/zip", false),
    ];
    let found = table.iter().find(|(ends, _, _)| is(ends));
    found.map_or(NONE, |(_, kind, text)| (*kind, *text))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_end_of_the_name_decides() {
        assert_eq!(of("index.HTML").0, "text/html; charset=utf-8");
        assert_eq!(of("a.tar.gz"), ("application/gzip", false));
        assert_eq!(of("README"), ("application/octet-stream", false));
        assert_eq!(of(".json"), ("application/json", true));
    }
}
