//! Runs on the machine that builds: `sing test`.

use {{crate}}::greeting;

#[test]
fn everybody_is_greeted() {
    assert_eq!(greeting(&[]), "Hello from {{name}}.");
    let people = ["Ada".to_string(), "Grace".to_string()];
    assert_eq!(greeting(&people), "Hello, Ada and Grace.");
}
