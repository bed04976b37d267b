//! Programs that break a contract do not compile, with the expected message; programs that keep to
//! it do.

#[test]
fn programs() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}

/// If the sources of the standard library are installed, the compiler quotes them, otherwise not.
/// Messages in the expectations must not refer to them, or they would hold on some machines only.
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
