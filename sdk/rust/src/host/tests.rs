//! Conversations within a process.

use crate as sing_sdk;
use crate::Error;
use crate::contracts::PipeContract;
use crate::rt::{Endpoint, Vector};
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
