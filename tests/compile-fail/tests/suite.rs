//! What breaks a contract does not compile, and says why; what keeps to it does.

#[test]
fn programs() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}

/// Where the sources of the standard library are installed, the compiler quotes them, and elsewhere not: what a program is
/// told must not lead into them, or its expectation would hold on some machines only.
#[test]
fn expectations_quote_no_sources_that_may_be_missing() {
    for entry in std::fs::read_dir("fail").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "stderr") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("$RUST"), "{}", path.display());
        }
    }
}
