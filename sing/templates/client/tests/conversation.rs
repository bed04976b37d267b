//! The client, and a service that the test plays. Runs on the machine that builds: `sing test`.

use sing_sdk::prelude::*;
use {{crate}}::ask;

#[test]
fn an_answer_is_shown() {
    let (client, service) = ClockContract::new_channel().unwrap();
    let service = std::thread::spawn(move || {
        let service = service.send_success().recv_get_utc().unwrap();
        service.send_utc(7_000_000_001)
    });
    let (said, _) = ask(client.recv_success().unwrap()).unwrap();
    assert_eq!(said, "7 seconds since 1970");
    service.join().unwrap();
}

#[test]
fn a_service_that_has_gone_is_an_error() {
    let (client, service) = ClockContract::new_channel().unwrap();
    drop(service.send_success());
    assert!(ask(client.recv_success().unwrap()).is_err());
}
