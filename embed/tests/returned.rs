//! What a system has had of the process is given back when it is dropped. A test program of its own:
//! the counts are those of the whole process.

mod common;

use TalkContract::imp::Fetching;
use common::{counts, handlers, image};
use sing_embed::System;

sing_embed::contract!("../tests/sips/talker/talker.contract");

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_hundred_systems_leave_nothing() {
    let image = image();
    let before = handlers();
    let once = || {
        let system = System::start(&image).unwrap();
        let plugin = system.program("plugin");
        assert_eq!(plugin.call(b"echo on").unwrap(), b"on");
        assert!(plugin.call(b"crash").is_err());
        let mut kept = plugin.open().unwrap();
        assert_eq!(kept.call(b"asked").unwrap(), b"1");
        let running = plugin.begin(b"loop");
        std::thread::sleep(std::time::Duration::from_millis(1));
        drop(running);
        drop(kept);
        let talker: TalkContract::Imp<'_, TalkContract::Start> =
            system.program("talker").connect("talk").unwrap();
        let Fetching::Data(bytes, ..) = talker.call_fetch(200_000).unwrap() else {
            panic!("it has no room")
        };
        assert_eq!(bytes[255], 255);
    };
    // What the C library and the standard library set up once.
    for _ in 0..5 {
        once();
    }
    let warm = counts();
    for _ in 0..100 {
        once();
    }
    let after = counts();
    assert_eq!(handlers(), before);
    assert_eq!(warm[..2], after[..2], "descriptors, threads");
    assert!(
        after[2] <= warm[2] + 4,
        "mappings: {warm:?}, then {after:?}"
    );
    assert!(
        after[3] <= warm[3] + 4096,
        "addresses: {warm:?}, then {after:?}"
    );
    assert!(
        after[4] <= warm[4] + 4096,
        "memory: {warm:?}, then {after:?}"
    );
}
