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

/// What becomes of one of an address that comes, and who makes way.
fn comes(places: &mut Places, from: u8, now: u64) -> (Verdict, Option<usize>) {
    waits(places, from, now, now)
}

/// The same of one that has come before.
fn waits(places: &mut Places, from: u8, came: u64, now: u64) -> (Verdict, Option<usize>) {
    places.enter(address(from), at(came), at(now))
}

/// Places of these addresses, taken one after the other, a millisecond each; all served but for those named.
fn taken(count: usize, from: &[u8], quiet: &[usize]) -> Places {
    let mut places = Places::new(count);
    for (number, &from) in from.iter().enumerate() {
        let entered = comes(&mut places, from, number as u64);
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
    // The one that is quiet longest goes first.
    for leaves in [1, 3] {
        let (verdict, left) = comes(&mut places, 1, 50);
        assert_eq!(left, Some(leaves));
        let Verdict::Takes(taken) = verdict else {
            panic!("{verdict:?}");
        };
        assert!(places.turn(taken, Use::Busy));
        // It serves nothing any more.
        assert!(!places.turn(leaves, Use::Busy));
    }
    assert_eq!(comes(&mut places, 1, 5000), (Verdict::Refused, None));
    // Others are not concerned.
    assert!(matches!(
        comes(&mut places, 2, 51),
        (Verdict::Takes(_), None)
    ));
}

#[test]
fn when_all_are_taken_who_has_most_makes_way_at_once() {
    let mut places = taken(6, &[1, 1, 1, 2, 2, 3], &[1, 2, 3, 5]);
    assert_eq!(comes(&mut places, 4, 50), (Verdict::Waits, Some(1)));
    // One for each that comes: as long as it goes, nobody else is told to.
    assert_eq!(comes(&mut places, 4, 51), (Verdict::Waits, None));
    assert!(!places.turn(1, Use::Quiet(at(51))));
    places.free(1);
    assert_eq!(comes(&mut places, 4, 52), (Verdict::Takes(1), None));
    assert!(places.turn(1, Use::Busy));
    // Two of address 1, two of 2: who has none gets the place that is quiet longest.
    assert_eq!(comes(&mut places, 5, 53), (Verdict::Waits, Some(2)));
    // One that was told, and does not go, keeps nobody else from being told for long.
    assert_eq!(comes(&mut places, 6, 1052), (Verdict::Waits, None));
    assert_eq!(comes(&mut places, 6, 1053), (Verdict::Waits, Some(3)));
}

#[test]
fn an_answer_on_its_way_is_not_cut_unless_who_comes_has_waited() {
    for (of, young) in [
        (Use::Begins as fn(Duration) -> Use, 30),
        (Use::Quiet, 100),
        (Use::Sends, 500),
    ] {
        let mut places = taken(4, &[1, 1, 2, 3], &[]);
        assert!(places.turn(0, of(at(1000))));
        assert_eq!(
            comes(&mut places, 4, 1000 + young - 1),
            (Verdict::Waits, None)
        );
        // One in a request goes before.
        let mut other = taken(4, &[1, 1, 2, 3], &[]);
        assert!(other.turn(0, of(at(1000))) && other.turn(1, Use::Waits(at(972))));
        assert_eq!(comes(&mut other, 4, 1001), (Verdict::Waits, None));
        assert_eq!(comes(&mut other, 4, 1002), (Verdict::Waits, Some(1)));
        let mut same = taken(4, &[1, 1, 2, 3], &[]);
        assert!(same.turn(0, of(at(1000))));
        assert_eq!(comes(&mut same, 4, 1000 + young), (Verdict::Waits, Some(0)));
        // However young they are, they go when who comes has waited.
        assert!(places.turn(0, of(at(2099))));
        assert_eq!(waits(&mut places, 4, 2000, 2099), (Verdict::Waits, None));
        assert_eq!(waits(&mut places, 4, 2000, 2100), (Verdict::Waits, Some(0)));
    }
}

#[test]
fn who_has_as_many_as_any_gets_his_own_place_or_none() {
    let mut places = taken(4, &[1, 2, 1, 2], &[1, 2]);
    assert_eq!(comes(&mut places, 1, 50), (Verdict::Waits, Some(2)));
    places.free(2);
    // Half of four is its share in any case.
    assert_eq!(comes(&mut places, 1, 50), (Verdict::Takes(2), None));
    // Nothing of its own is quiet, and it has no fewer than the others: they have half a second.
    let mut places = taken(6, &[1, 2, 3, 1, 2, 3], &[1, 2, 4, 5]);
    assert_eq!(comes(&mut places, 1, 400), (Verdict::Refused, None));
    assert_eq!(comes(&mut places, 1, 501), (Verdict::Waits, Some(1)));
    // Who has fewer than it makes way only when he has been quiet for long.
    let mut places = taken(6, &[1, 1, 2, 3, 4, 5], &[2]);
    assert_eq!(comes(&mut places, 1, 5001), (Verdict::Refused, None));
    assert_eq!(comes(&mut places, 1, 5002), (Verdict::Waits, Some(2)));
}

/// Somebody looks again before the place that is vacated for him is free.
#[test]
fn who_waits_for_one_that_goes_is_not_refused() {
    let mut places = taken(8, &[1, 1, 1, 1, 2, 3, 4, 5], &[3]);
    assert_eq!(waits(&mut places, 1, 50, 50), (Verdict::Waits, Some(3)));
    assert_eq!(waits(&mut places, 1, 50, 51), (Verdict::Waits, None));
    places.free(3);
    assert_eq!(waits(&mut places, 1, 50, 52), (Verdict::Takes(3), None));
}

#[test]
fn who_has_few_waits_when_all_are_served() {
    let mut places = taken(8, &[1, 2, 3, 4, 5, 6, 7, 8], &[]);
    assert_eq!(waits(&mut places, 9, 0, 9000), (Verdict::Waits, None));
    // As many as any, but few: for a while, which is shorter for who has more.
    let mut two = taken(9, &[1, 1, 2, 3, 4, 5, 6, 7, 8], &[]);
    assert_eq!(waits(&mut two, 1, 8501, 9000), (Verdict::Waits, None));
    assert_eq!(waits(&mut two, 1, 8500, 9000), (Verdict::Refused, None));
    assert_eq!(waits(&mut places, 1, 8001, 9000), (Verdict::Waits, None));
    assert_eq!(waits(&mut places, 1, 8000, 9000), (Verdict::Refused, None));
    assert!(places.turn(2, Use::Waits(at(9000))));
    assert_eq!(comes(&mut places, 9, 9499), (Verdict::Waits, None));
    assert_eq!(comes(&mut places, 9, 9500), (Verdict::Waits, Some(2)));
}

/// As many addresses as there are places, each of which asks before half a second has gone.
#[test]
fn who_asks_again_and_again_does_not_keep_out_who_waits() {
    let mut places = taken(4, &[1, 2, 3, 4], &[]);
    for place in 0..4 {
        assert!(places.turn(place, Use::Quiet(at(1000 + place as u64))));
    }
    let mut within = taken(4, &[1, 2, 3, 4], &[]);
    for place in 0..4 {
        assert!(within.turn(place, Use::Waits(at(1000))));
    }
    assert_eq!(waits(&mut places, 5, 1200, 1299), (Verdict::Waits, None));
    // In the midst of a request they have half a second.
    assert_eq!(waits(&mut within, 5, 1200, 1499), (Verdict::Waits, None));
    assert_eq!(waits(&mut within, 5, 1200, 1500), (Verdict::Waits, Some(0)));
    // Answers that were just given may be on their way.
    assert!(places.turn(0, Use::Quiet(at(1299))));
    assert_eq!(waits(&mut places, 5, 1200, 1300), (Verdict::Waits, Some(1)));
    // But not for ever.
    let mut young = taken(4, &[1, 2, 3, 4], &[]);
    for place in 0..4 {
        assert!(young.turn(place, Use::Quiet(at(1690 - place as u64))));
    }
    assert_eq!(waits(&mut young, 5, 1200, 1699), (Verdict::Waits, None));
    assert_eq!(waits(&mut young, 5, 1200, 1700), (Verdict::Waits, Some(3)));
    // Who has more than they do not drive them out.
    let mut more = taken(9, &[1, 1, 2, 3, 4, 5, 6, 7, 8], &[]);
    assert!(more.turn(8, Use::Quiet(at(1000))));
    assert_eq!(waits(&mut more, 1, 1000, 1400), (Verdict::Waits, None));
}

#[test]
fn a_network_of_ipv6_is_one_and_an_address_within_it_is_of_ipv4() {
    let mut places = Places::new(4);
    let mut enter = |text: &str| {
        let (verdict, leaves) = places.enter(text.parse().unwrap(), at(0), at(0));
        assert_eq!(leaves, None);
        if let Verdict::Takes(place) = verdict {
            assert!(places.turn(place, Use::Busy));
        }
        verdict
    };
    for (text, verdict) in [
        ("2001:db8::1", Verdict::Takes(0)),
        ("2001:db8::ffff:2", Verdict::Takes(1)),
        ("2001:db8::3", Verdict::Refused),
        ("192.0.2.1", Verdict::Takes(2)),
        ("::ffff:192.0.2.1", Verdict::Takes(3)),
        ("192.0.2.1", Verdict::Refused),
    ] {
        assert_eq!(enter(text), verdict, "{text}");
    }
    let uses: Vec<Use> = places.uses().collect();
    assert_eq!(uses, [Use::Busy; 4]);
}
