//! What servers say, in any pieces, and what none should.

use super::*;
use proptest::prelude::*;

fn all(bytes: &[u8], piece: usize) -> (Vec<Said>, Option<Bad>) {
    let (mut lines, mut said) = (Lines::default(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        lines.push(piece);
        loop {
            match lines.said() {
                Ok(Some(next)) => said.push(next),
                Ok(None) => break,
                Err(bad) => return (said, Some(bad)),
            }
        }
    }
    (said, None)
}

#[test]
fn a_conversation_is_read_however_it_is_cut() {
    let bytes = b"INFO {\"headers\":true}\r\n+OK\r\nPING\r\nMSG a.b 1 5\r\nhello\r\n\
        HMSG _INBOX.x.7 1 re.ply 22 25\r\nNATS/1.0\r\nName: va\r\n\r\nabc\r\n\
        HMSG a 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n-ERR 'Slow Consumer'\r\nPONG\r\n";
    let (whole, bad) = all(bytes, bytes.len());
    assert_eq!(bad, None);
    assert_eq!(whole.len(), 8);
    let Said::Message(message) = &whole[4] else {
        panic!("{whole:?}")
    };
    assert_eq!(message.header("name"), Some("va"));
    assert_eq!(message.reply.as_deref(), Some("re.ply"));
    assert_eq!(message.payload, b"abc");
    let Said::Message(nobody) = &whole[5] else {
        panic!("{whole:?}")
    };
    assert_eq!(nobody.status, Some(503));
    for piece in 1..bytes.len() {
        assert_eq!(
            all(bytes, piece),
            (whole.clone(), None),
            "pieces of {piece}"
        );
    }
}

#[test]
fn what_is_none_ends_the_connection() {
    for (bytes, bad) in [
        (&b"HELLO\r\n"[..], Bad::Line),
        (b"PING\n", Bad::Line),
        (b"\xff\xfe\r\n", Bad::Line),
        (b"MSG a\r\n", Bad::Line),
        (b"MSG a 1 -1\r\n", Bad::Line),
        (b"MSG a 1 b c 5\r\n", Bad::Line),
        (b"MSG a 1 99999999999999999999999\r\n", Bad::Line),
        (b"MSG a 1 18446744073709551615\r\n", Bad::LongMessage),
        (b"MSG a 1 100000000\r\n", Bad::LongMessage),
        (b"HMSG a 1 9 5\r\n", Bad::Message),
        (b"MSG a 1 1\r\nabc\r\n", Bad::Message),
    ] {
        let (_, found) = all(bytes, 7);
        assert_eq!(found, Some(bad), "{}", String::from_utf8_lossy(bytes));
    }
    let (_, found) = all(&vec![b'x'; LINE + 2], 4096);
    assert_eq!(found, Some(Bad::LongLine));
    let long = format!("MSG {} 1 1\r\n", "a".repeat(SUBJECT + 1));
    assert_eq!(all(long.as_bytes(), 100).1, Some(Bad::LongMessage));
}

/// Whoever may send to a subject sends what he likes: no server looks at it.
#[test]
fn a_message_of_no_use_costs_nothing_but_itself() {
    let long = |head: &str, bytes: usize| [head.as_bytes(), &vec![b'x'; bytes], b"\r\n"].concat();
    let far = format!("MSG a 1 {} 1\r\nx\r\n", "r".repeat(SUBJECT + 1));
    for (bytes, reply) in [
        (long("MSG a 1 r 65537\r\n", 65_537), Some("r")),
        (long("HMSG a 1 r 4097 4098\r\n", 4098), Some("r")),
        (b"HMSG a 1 r 4 4\r\nNATS\r\n".to_vec(), Some("r")),
        (
            b"HMSG a 1 16 16\r\nNATS/1.0\r\nab\r\n\r\n\r\n".to_vec(),
            None,
        ),
        (b"HMSG a 1 r 2 2\r\n\xff\xfe\r\n".to_vec(), Some("r")),
        (far.into_bytes(), None),
    ] {
        let useless = Said::Useless(Message {
            subject: "a".into(),
            reply: reply.map(Into::into),
            ..Message::default()
        });
        let bytes = [&bytes[..], b"PING\r\n"].concat();
        for piece in [1, 7, 4096, bytes.len()] {
            let (said, bad) = all(&bytes, piece);
            assert_eq!((&said[..], bad), (&[useless.clone(), Said::Ping][..], None));
        }
    }
    let most = long("MSG a 1 65536\r\n", MOST);
    assert!(matches!(&all(&most, 4096).0[..], [Said::Message(m)] if m.payload.len() == MOST));
}

#[test]
fn a_server_that_cannot_be_used_is_told_from_others() {
    for good in [
        "{\"headers\":true,\"max_payload\":1048576}",
        "{\"headers\": true, \"max_payload\": 69632, \"auth_required\":false}",
        "{\"headers\":true}",
        "{\"headers\":true,\"max_payload\":99999999999999999999999}",
    ] {
        assert_eq!(unfit(good), None, "{good}");
    }
    for (bad, why) in [
        ("{\"max_payload\":1048576}", "no headers"),
        ("{\"headers\":true,\"tls_required\": true}", "TLS"),
        ("{\"headers\":true,\"auth_required\":true}", "password"),
        ("{\"headers\":true,\"max_payload\":69631}", "of 69631 bytes"),
        ("{\"headers\":true,\"max_payload\": 0", "of 0 bytes"),
    ] {
        let said = unfit(bad).unwrap_or_default();
        assert!(said.contains(why), "{bad}: {said}");
    }
}

#[test]
fn subjects_that_are_none_are_refused() {
    for good in ["a", "clock.lab", "_INBOX.x"] {
        assert_eq!(not_a_subject(good), None, "{good}");
    }
    for bad in [
        "",
        "a b",
        "a..b",
        ".",
        "a.*",
        ">",
        "a\r\nPUB b 0",
        "a\u{7f}",
    ] {
        assert!(not_a_subject(bad).is_some(), "{bad:?}");
    }
}

#[test]
fn a_header_begins_no_other_line() {
    let sent = publish("a", None, &[("X", "b\r\nY: c"), ("Z", "d")], b"");
    let text = String::from_utf8(sent).unwrap();
    assert!(
        !text.contains("Y: c") && text.contains("Z: d\r\n"),
        "{text}"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_keep_more(bytes in prop::collection::vec(any::<u8>(), 0..2000), piece in 1usize..50) {
        let _ = all(&bytes, piece);
    }

    #[test]
    fn what_is_sent_is_what_comes(payload in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..50) {
        let sent = publish("a.b", Some("c"), &[("Name", "value")], &payload);
        // A server passes it on under another word, with the number of the subscription.
        let text = [b"HMSG a.b 1 c".as_slice(), &sent["HPUB a.b c".len()..]].concat();
        let (said, bad) = all(&text, piece);
        prop_assert_eq!(bad, None);
        let Some(Said::Message(message)) = said.first() else { panic!("{said:?}") };
        prop_assert_eq!(&message.payload, &payload);
        prop_assert_eq!(message.header("Name"), Some("value"));
    }
}
