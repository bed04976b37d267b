//! Who gets a place, and who makes way.

use core::net::IpAddr;
use core::time::Duration;
use web::places::{Places, Use, Verdict};

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Places of these addresses, taken one after the other, a millisecond each; all served but for those named.
fn taken(count: usize, from: &[u8], quiet: &[usize]) -> Places {
    let mut places = Places::new(count);
    for (number, &from) in from.iter().enumerate() {
        let entered = places.enter(address(from), at(number as u64));
        assert_eq!(entered, (Verdict::Takes(number), None));
        if !quiet.contains(&number) {
            assert!(places.turn(number, Use::Busy));
        }
    }
    places
}

#[test]
fn one_address_has_half_and_takes_the_place_of_its_own_beyond() {
    let mut places = taken(8, &[1, 1, 1, 1], &[1, 3]);
    // One that has its answer goes first, then the one that is quiet longest.
    assert!(places.turn(2, Use::Ends(at(9))));
    for leaves in [2, 1, 3] {
        let (verdict, left) = places.enter(address(1), at(20));
        assert_eq!(left, Some(leaves));
        let Verdict::Takes(taken) = verdict else {
            panic!("{verdict:?}");
        };
        assert!(places.turn(taken, Use::Busy));
        // It serves nothing any more.
        assert!(!places.turn(leaves, Use::Busy));
    }
    assert_eq!(places.enter(address(1), at(5000)), (Verdict::Refused, None));
    // Others are not concerned.
    assert!(matches!(
        places.enter(address(2), at(21)),
        (Verdict::Takes(_), None)
    ));
}

#[test]
fn when_all_are_taken_who_has_most_makes_way_at_once() {
    let mut places = taken(6, &[1, 1, 1, 2, 2, 3], &[1, 2, 3, 5]);
    assert_eq!(places.enter(address(4), at(6)), (Verdict::Waits, Some(1)));
    // One for each that comes: as long as it goes, nobody else is told to.
    assert_eq!(places.enter(address(4), at(7)), (Verdict::Waits, None));
    assert!(!places.turn(1, Use::Quiet(at(7))));
    places.free(1);
    assert_eq!(places.enter(address(4), at(8)), (Verdict::Takes(1), None));
    assert!(places.turn(1, Use::Busy));
    // Two of address 1, two of 2: who has none gets the place that is quiet longest.
    assert_eq!(places.enter(address(5), at(9)), (Verdict::Waits, Some(2)));
}

#[test]
fn who_has_as_many_as_any_gets_his_own_place_or_none() {
    let mut places = taken(4, &[1, 2, 1, 2], &[1, 2]);
    assert_eq!(places.enter(address(1), at(5)), (Verdict::Waits, Some(2)));
    places.free(2);
    // Half of four is its share in any case.
    assert_eq!(places.enter(address(1), at(5)), (Verdict::Takes(2), None));
    let mut places = taken(6, &[1, 2, 3, 1, 2, 3], &[1, 2, 4, 5]);
    let refused = (Verdict::Waits, Some(1));
    // Nothing of its own is quiet, and it has no fewer than the others: they have half a second.
    assert_eq!(places.enter(address(1), at(400)), (Verdict::Refused, None));
    assert_eq!(places.enter(address(1), at(501)), refused);
}

#[test]
fn who_has_fewer_waits_when_all_are_served() {
    let mut places = taken(4, &[1, 2, 3, 4], &[]);
    assert_eq!(places.enter(address(5), at(9000)), (Verdict::Waits, None));
    assert!(places.turn(2, Use::Waits(at(9000))));
    assert_eq!(places.enter(address(5), at(9499)), (Verdict::Waits, None));
    assert_eq!(
        places.enter(address(5), at(9500)),
        (Verdict::Waits, Some(2))
    );
}

#[test]
fn a_network_of_ipv6_is_one_and_an_address_within_it_is_of_ipv4() {
    let of = |text: &str| text.parse::<IpAddr>().unwrap();
    let mut places = Places::new(4);
    for (text, verdict) in [
        ("2001:db8::1", Verdict::Takes(0)),
        ("2001:db8::ffff:2", Verdict::Takes(1)),
        ("2001:db8::3", Verdict::Refused),
        ("2001:db8:0:1::3", Verdict::Takes(2)),
        ("192.0.2.1", Verdict::Takes(3)),
    ] {
        assert_eq!(places.enter(of(text), at(0)), (verdict, None), "{text}");
        if let Verdict::Takes(place) = verdict {
            assert!(places.turn(place, Use::Busy));
        }
    }
    places.free(2);
    let mapped = places.enter(of("::ffff:192.0.2.1"), at(0));
    assert_eq!(mapped, (Verdict::Takes(2), None));
    assert!(places.turn(2, Use::Busy));
    assert_eq!(places.enter(of("192.0.2.1"), at(0)).0, Verdict::Refused);
    let uses: Vec<Use> = places.uses().collect();
    assert_eq!(uses, [Use::Busy; 4]);
}
