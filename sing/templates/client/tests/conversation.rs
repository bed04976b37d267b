//! The client, with a mock of the service. Runs on the machine that builds: `sing test`.

use sing_sdk::host::NameSpace;
use sing_sdk::prelude::*;
use {{crate}}::ask;

#[test]
fn an_answer_is_shown() {
    let space = NameSpace::new();
    let mock = ClockContract::Mock::new().on_get_utc(|client| client.send_utc(7_000_000_001));
    let came = space.serve("/clock", mock);
    let (mut names, mut clock) = (space.names(), ClockContract::client("/clock"));
    for _ in 0..2 {
        assert_eq!(ask(&mut names, &mut clock).unwrap(), "7 seconds since 1970");
    }
    // Both over one channel.
    assert_eq!(came.messages(), ["GetUtc()", "GetUtc()"]);
    assert_eq!(came.channels(), 1);
}

#[test]
fn a_service_that_has_gone_is_found_again() {
    let mut times = 0;
    let mock = ClockContract::Mock::new().on_get_utc(move |client| {
        times += 1;
        // The first client is closed, as by a service that ends.
        (times > 1).then(|| client.send_utc(9_000_000_000))
    });
    let space = NameSpace::new();
    let came = space.serve("/clock", mock);
    let mut clock = ClockContract::client("/clock");
    assert_eq!(ask(&mut space.names(), &mut clock).unwrap(), "9 seconds since 1970");
    assert_eq!(came.channels(), 2);
}

#[test]
fn nobody_at_the_path_is_an_error() {
    let mut clock = ClockContract::client("/clock");
    assert_eq!(ask(&mut NameSpace::new().names(), &mut clock), Err(Error::NotFound));
}
