//! What breaks a contract does not compile, and says why; what keeps to it does.

#[test]
fn programs() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}
