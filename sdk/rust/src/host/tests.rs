//! Conversations within a process.

use super::NameSpace;
use crate as sing_sdk;
use crate::Error;
use crate::contracts::{
    ClockContract, DiskContract, HealthContract, NamespaceContract, NotifyContract, PipeContract,
    Refusal,
};
use crate::rt::{Closed, Endpoint, Text, Vector};
use crate::select::Select;
use crate::set::EndpointSet;
use crate::sync::{AutoEvent, ManualEvent, wait};
use crate::time::Timeout;
use sing_sdk::rt::Waitable;
use sing_sdk::switch_receive;
use std::time::Duration;
use std::vec::Vec;

type Writer = PipeContract::Imp<PipeContract::Start>;
type Reader = PipeContract::Exp<PipeContract::Start>;

fn pipe() -> (Writer, Reader) {
    PipeContract::new_channel().unwrap()
}

fn data(text: &str) -> Vector<u8> {
    Vector::from_bytes(text.as_bytes()).unwrap()
}

#[test]
fn two_threads_have_a_conversation() {
    let (writer, mut reader) = pipe();
    let writing = std::thread::spawn(move || {
        let mut writer = writer;
        for text in ["one", "two", "three"] {
            writer = writer.call_write(data(text)).ack().unwrap();
        }
    });
    let mut read = Vec::new();
    while let Ok((data, next)) = reader.recv_write() {
        read.push(data.to_vec());
        reader = next.send_ack();
    }
    writing.join().unwrap();
    assert_eq!(
        read,
        ["one", "two", "three"].map(|text| text.as_bytes().to_vec())
    );
}

#[test]
fn a_closed_channel_is_found_behind_its_messages() {
    let (writer, reader) = pipe();
    drop(writer.send_write(data("last")));
    assert!(reader.is_ready());
    let (last, reader) = reader.recv_write().unwrap();
    assert_eq!(last.to_vec(), b"last");
    assert!(reader.send_ack().recv_write().is_err());
    let (writer, reader) = pipe();
    drop(reader);
    assert!(writer.call_write(data("nobody")).ack().is_err());
}

#[test]
fn what_nobody_received_is_given_up() {
    let (outer, inner) = pipe();
    let (writer, reader) = pipe();
    // The message owns an endpoint, as those that open conversations do.
    let raw = u64::from(Endpoint::from(inner).into_raw().raw());
    let sent = super::send(writer.handle().raw(), 0, &[raw], &[0]);
    assert_eq!(sent, 0);
    drop(reader);
    assert!(outer.call_write(data("lost")).ack().is_err());
}

#[test]
fn a_set_serves_all_and_knows_when_they_have_gone() {
    let mut set = EndpointSet::new().unwrap();
    let mut writers = Vec::new();
    for _ in 0..3 {
        let (writer, reader) = pipe();
        set.insert(reader).unwrap();
        writers.push(Some(writer.send_write(data("x"))));
    }
    let (mut served, mut gone) = (0, 0);
    while !set.is_empty() {
        switch_receive! {
            case set[key].Write(_data) as reader => {
                set.put(key, reader.send_ack());
                writers[served] = None;
                served += 1;
            }
            case set[_].ChannelClosed() => gone += 1,
        }
    }
    assert_eq!((served, gone), (3, 3));
}

#[test]
fn a_switch_waits_for_events_and_times() {
    let (writer, reader) = pipe();
    let event = AutoEvent::new(false).unwrap();
    let mut which = "";
    let mut wait_once = |reader: Reader| {
        let reader = reader;
        switch_receive! {
            case reader.Write(_data) as _ => which = "message",
            case reader.ChannelClosed() => which = "closed",
            case &event => which = "event",
            timeout Duration::from_millis(1) => which = "time",
        }
        which
    };
    let (_other, unused) = pipe();
    assert_eq!(wait_once(unused), "time");
    let _writer = writer.send_write(data("x"));
    assert_eq!(wait_once(reader), "message");
    event.set();
    let (_other, unused) = pipe();
    assert_eq!(wait_once(unused), "event");
}

#[test]
fn events_let_waiters_through() {
    let soon = Timeout::from(Duration::from_millis(1));
    let event = AutoEvent::new(true).unwrap();
    assert_eq!(wait(&event, soon), Ok(()));
    assert_eq!(wait(&event, soon), Err(Error::Timeout));
    let event = ManualEvent::new(true).unwrap();
    assert_eq!(wait(&event, soon), Ok(()));
    assert_eq!(wait(&event, soon), Ok(()));
    let nothing = Select::<1>::new().wait(soon);
    assert_eq!(nothing, Err(Error::BadArgument));
}

#[test]
fn blocks_have_bounds() {
    let mut block = data("four").into_block();
    assert_eq!(block.load_u16(2), u16::from_le_bytes(*b"ur"));
    block.store_u8(0, b'F');
    assert_eq!(block.to_vec(), b"Four");
    let beyond = std::thread::spawn(move || {
        let _ = data("four").block().load_u32(1);
    });
    assert!(beyond.join().is_err());
    assert!(Vector::<u8>::new(0).is_err());
}

#[test]
fn a_mock_answers_message_by_message_and_remembers() {
    let mut now = 7;
    let mock = ClockContract::Mock::new().on_get_utc(move |client| {
        now += 1;
        client.send_utc(now)
    });
    let (clock, came) = mock.channel();
    let (first, clock) = clock.recv_success().unwrap().call_get_utc().utc().unwrap();
    let (second, _clock) = clock.call_get_utc().utc().unwrap();
    assert_eq!((first, second), (8, 9));
    assert_eq!(came.messages(), ["GetUtc()", "GetUtc()"]);
    assert_eq!(came.channels(), 1);
}

#[test]
fn a_mock_shows_what_messages_bring_and_may_close() {
    let mock = PipeContract::Mock::new().on_write(|data, _pipe| {
        assert_eq!(data.len(), 3);
        Closed
    });
    let (pipe, came) = mock.channel();
    assert!(pipe.call_write(data("abc")).ack().is_err());
    assert_eq!(came.messages(), ["Write([97, 98, 99])"]);
}

#[test]
#[should_panic(expected = "the mock of PipeContract panicked in its answer to Write([97, 98, 99])")]
fn an_answer_that_panics_fails_the_test() {
    let mock = PipeContract::Mock::new().on_write(|data, _pipe| {
        assert_eq!(data.len(), 4);
        Closed
    });
    let (pipe, came) = mock.channel();
    // The conversation ends, as if the mock had closed it.
    assert!(pipe.call_write(data("abc")).ack().is_err());
    let _ = came.messages();
}

#[test]
#[should_panic(expected = "the mock of PipeContract panicked in its answer to Write([97])")]
fn an_answer_that_panics_fails_also_a_test_that_does_not_ask_what_came() {
    let mock = PipeContract::Mock::new().on_write(|data, pipe| {
        assert_eq!(data.len(), 4);
        pipe.send_ack()
    });
    let (pipe, _came) = mock.channel();
    assert!(pipe.call_write(data("a")).ack().is_err());
}

#[test]
#[should_panic(expected = "the mock of PipeContract has no answer to message 0 in state Start")]
fn a_message_without_an_answer_fails_also_a_test_that_does_not_ask_what_came() {
    let (pipe, _came) = PipeContract::Mock::new().channel();
    assert!(pipe.call_write(data("abc")).ack().is_err());
}

#[test]
#[should_panic(expected = "the mock of PipeContract has no answer to message 0 in state Start")]
fn a_message_without_an_answer_fails_the_test() {
    let (pipe, came) = PipeContract::Mock::new().channel();
    assert!(pipe.call_write(data("abc")).ack().is_err());
    let _ = came.messages();
}

#[test]
#[should_panic(expected = "the mock of NotifyContract has nothing to say, and speaks first")]
fn a_mock_that_speaks_first_says_how() {
    // `Telling` is the service's turn only after a message; `Success` is said by itself.
    let script = super::Script::new::<NotifyContract::Exp<NotifyContract::Initial>>(true);
    let (notify, exp) = NotifyContract::new_channel().unwrap();
    let came = super::played(script, exp);
    assert!(notify.call_changed().ack().is_err());
    let _ = came.messages();
}

#[test]
fn names_lead_to_mocks() {
    let space = NameSpace::new();
    let came = space.serve(
        "/test/clock",
        ClockContract::Mock::new().on_get_utc(|client| client.send_utc(5)),
    );
    let mut names = space.names();
    let clock = ClockContract::connect(&mut names, "/test/clock").unwrap();
    assert_eq!(clock.call_get_utc().utc().unwrap().0, 5);
    assert_eq!(came.messages(), ["GetUtc()"]);
    let missing = ClockContract::connect(&mut names, "/test").unwrap_err();
    assert_eq!(missing, Error::NotFound);
    let found: Vec<_> = names.list("/test").unwrap();
    assert_eq!(found[0].path, "/test/clock");
    assert_eq!(found[0].detail, "ClockContract");
    let other = DiskContract::connect(&mut names, "/test/clock").unwrap_err();
    assert_eq!(other, Error::Refused(Refusal::OtherContract));
    assert!(space.remove("/test/clock"));
    assert!(names.find("/test/clock").is_err());
    // A further channel, as for a child.
    let mut further = crate::names::Names::new(names.connect().unwrap()).unwrap();
    assert!(further.list("/").unwrap().is_empty());
}

#[test]
fn a_service_registers_and_serves_those_who_bind_it() {
    let space = NameSpace::new();
    let channel = space.channel();
    let service = std::thread::spawn(move || {
        let mut names = crate::names::Names::given(Some(channel))?;
        let mut now = 0;
        let clock = ClockContract::service_at(&mut names, "/clock")?.at_most(9);
        clock.serve(|client| {
            let client = client.recv_get_utc()?;
            now += 1;
            Ok(client.send_utc(now))
        })
    });
    let mut names = space.names();
    names.await_paths(["/clock"].into_iter(), Duration::from_secs(5));
    let mut first = ClockContract::client("/clock");
    for expected in 1..4 {
        let now = first.ask(&mut names, |clock| clock.call_get_utc().utc());
        assert_eq!(now, Ok(expected));
    }
    let mut other = space.names();
    let second = ClockContract::connect(&mut other, "/clock").unwrap();
    assert_eq!(second.call_get_utc().utc().unwrap().0, 4);
    assert_eq!(other.register("/clock/below").unwrap_err(), Error::Held);
    // It goes on when a client leaves, and registers again when its name is taken away: the channel
    // over which it is asked closes then.
    drop(first);
    assert!(space.remove("/clock"));
    names.await_paths(["/clock"].into_iter(), Duration::from_secs(5));
    let third = ClockContract::connect(&mut names, "/clock").unwrap();
    assert_eq!(third.call_get_utc().utc().unwrap().0, 5);
    assert!(!service.is_finished());
}

#[test]
fn a_service_with_channels_from_its_start_ends_with_them() {
    let (lookup, announced) = NamespaceContract::new_channel().unwrap();
    let (asking, health) = HealthContract::new_channel().unwrap();
    let service = std::thread::spawn(move || {
        ClockContract::service(Some(announced))?
            .health(Some(health))
            .serve(|client| Ok(client.recv_get_utc()?.send_utc(1)))
    });
    let lookup = lookup.recv_success().unwrap();
    let asking = asking.call_ping().pong().unwrap();
    let (clock, exp) = ClockContract::new_channel().unwrap();
    let path = Text::new("/").unwrap();
    let NamespaceContract::imp::Binding::AckBind(lookup) = lookup.call_bind(path, 0, exp.into())
    else {
        panic!("the client is not taken");
    };
    let clock = clock.recv_success().unwrap();
    let (now, clock) = clock.call_get_utc().utc().unwrap();
    assert_eq!(now, 1);
    drop(asking.call_ping().pong().unwrap());
    let (now, _clock) = clock.call_get_utc().utc().unwrap();
    assert_eq!(now, 1);
    drop(lookup);
    assert_eq!(service.join().unwrap(), Ok(()));
    let nothing = ClockContract::service(None).err();
    assert_eq!(nothing, Some(Error::NotFound));
}

#[test]
fn start_up_clients_are_served_until_all_have_gone() {
    let (writer, reader) = pipe();
    let (other, unused) = pipe();
    drop(other);
    let served = std::thread::spawn(move || {
        let mut bytes = 0;
        crate::serve::clients([reader, unused].into_iter(), |client| {
            let (data, client) = client.recv_write()?;
            bytes += data.len();
            if bytes > 5 {
                Err(Closed)
            } else {
                Ok(client.send_ack())
            }
        })?;
        Ok::<_, Error>(bytes)
    });
    let writer = writer.call_write(data("abc")).ack().unwrap();
    assert!(writer.call_write(data("defg")).ack().is_err());
    assert_eq!(served.join().unwrap(), Ok(7));
}
