//! Each program by itself, and all together. Runs on the machine that builds: `sing test`.

use sing_sdk::host::NameSpace;
use sing_sdk::prelude::*;
use std::thread;
use store::table::{KEYS, News, Table};
use store::{Reason, StoreContract, client, follow, service};

#[test]
fn the_table_is_bounded_and_news_are_the_last_values() {
    let mut table = Table::default();
    for i in 0..KEYS {
        assert_eq!(table.put(&format!("k{i}"), "0"), Ok(i as u16));
    }
    assert_eq!(table.put("one more", "0"), Err(Reason::Full));
    assert_eq!(table.put("k1", "1"), Ok(1));
    assert_eq!(
        (table.get("k1"), table.get("k")),
        (Ok("1"), Err(Reason::Missing))
    );
    let mut news = News::new("k99".into(), &table);
    for (key, value) in [("k99", "a"), ("k99", "b"), ("k1", "c")] {
        let place = table.put(key, value).unwrap();
        news.changed(key, place);
    }
    // It is there until it has been told.
    assert_eq!(news.next(&table), Some(("k99", "b")));
    assert_eq!(news.next(&table), Some(("k99", "b")));
    news.told();
    assert_eq!(news.next(&table), Some(("k990", "0")));
}

#[test]
fn the_writer_says_what_its_words_say() {
    let mock = StoreContract::Mock::new()
        .on_put(|_key, _value, client| client.send_done())
        .on_get(|_key, client| client.send_refused(Reason::Missing));
    let space = NameSpace::new();
    let came = space.serve("/store", mock);
    let (mut names, mut store) = (space.names(), StoreContract::client("/store"));
    assert_eq!(client::word(&mut names, &mut store, "a=b=c"), Ok(Ok(None)));
    let missing = client::word(&mut names, &mut store, "a");
    assert_eq!(missing, Ok(Err(Reason::Missing)));
    assert_eq!(came.messages(), [r#"Put("a", "b=c")"#, r#"Get("a")"#]);
}

/// The service itself, in a name space of the test's own.
fn running() -> NameSpace {
    let space = NameSpace::new();
    let lookup = space.announce("/store");
    thread::spawn(|| service::serve(lookup));
    space
}

#[test]
fn what_is_put_can_be_asked_for() {
    let space = running();
    let (mut names, mut store) = (space.names(), StoreContract::client("/store"));
    let mut word = |word: &str| client::word(&mut names, &mut store, word).unwrap();
    assert_eq!(word("a"), Err(Reason::Missing));
    assert_eq!(word("a=1"), Ok(None));
    assert_eq!(word("a=2"), Ok(None));
    assert_eq!(word("a"), Ok(Some("2".into())));
    assert_eq!(
        word(&format!("a={}", "x".repeat(257))),
        Err(Reason::TooLong)
    );
}

#[test]
fn a_subscriber_is_told() {
    let space = running();
    let follower = space.names();
    let (say, said) = std::sync::mpsc::channel();
    let following = thread::spawn(move || {
        let mut follower = follower;
        follow::follow(&mut follower, "fruit/", 3, |line| say.send(line).unwrap())
    });
    let (mut names, mut store) = (space.names(), StoreContract::client("/store"));
    let mut put = |word: &str| assert_eq!(client::word(&mut names, &mut store, word), Ok(Ok(None)));
    // The first may be there before the subscriber is.
    put("fruit/apple=3");
    assert_eq!(said.recv().unwrap(), "fruit/apple = 3");
    put("tool/saw=1");
    put("fruit/pear=5");
    assert_eq!(said.recv().unwrap(), "fruit/pear = 5");
    put("fruit/apple=4");
    assert_eq!(said.recv().unwrap(), "fruit/apple = 4");
    assert_eq!(following.join().unwrap(), Ok(()));
}
