//! A client of a network card: answers ARP, and sends each UDP frame back to where it came from,
//! with the addresses exchanged, until one says `end`. When the card's driver ends it binds the next
//! one and goes on.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use core::time::Duration;
use sing_sdk::frames::{self, Frames, LONGEST};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::thread::sleep;

sing_sdk::manifest! {
    name: "frames",
    description: "tests a network card",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    memory: 16 MiB,
}

sing_sdk::arguments! {
    /// The card: /dev/nic0.
    path: one String "PATH";
    /// How often the card must have been bound before `end` is heard.
    binds: one u32 "BINDS";
}

type Start = NicContract::Imp<NicContract::Start>;
type Ready = NicContract::Imp<NicContract::Ready>;
type Lending = NicContract::imp::Ready_Lend;
type Receiving = NicContract::imp::Ready_Receive;
type Sending = NicContract::imp::Ready_Send;

const ADDRESS: [u8; 4] = [10, 0, 0, 2];
/// Bytes of a buffer, and how many there are beside the one of the request.
const BUFFER: usize = 32 << 10;
const LENT: usize = 2;
/// How often a card that is not there yet is looked for.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// Places in a frame.
const KIND: usize = 12;
const ARP_OPERATION: usize = 20;
const ARP_FROM: usize = 22;
const ARP_TO: usize = 32;
const ARP_END: usize = 42;
const IP_FROM: usize = 26;
const IP_TO: usize = 30;
const UDP: usize = 34;
const DATA: usize = 42;

/// What a frame calls for.
enum Answer {
    None,
    Arp,
    Echo,
    End,
}

/// Makes the answer to a frame in its place.
fn answer(frame: &mut [u8], mac: [u8; 6]) -> Answer {
    if frame.len() < ARP_END {
        return Answer::None;
    }
    let to_all = frame[..6] == [0xff; 6];
    if !to_all && frame[..6] != mac {
        return Answer::None;
    }
    let kind = [frame[KIND], frame[KIND + 1]];
    let asks = frame[ARP_OPERATION..ARP_OPERATION + 2] == [0, 1];
    if kind == [8, 6] && asks && frame[ARP_TO + 6..ARP_END] == ADDRESS {
        frame.copy_within(6..12, 0);
        frame[6..12].copy_from_slice(&mac);
        frame[ARP_OPERATION + 1] = 2;
        frame.copy_within(ARP_FROM..ARP_FROM + 10, ARP_TO);
        frame[ARP_FROM..ARP_FROM + 6].copy_from_slice(&mac);
        frame[ARP_FROM + 6..ARP_TO].copy_from_slice(&ADDRESS);
        return Answer::Arp;
    }
    if kind == [8, 0] && frame[23] == 17 && frame[IP_TO..UDP] == ADDRESS {
        frame.copy_within(6..12, 0);
        frame[6..12].copy_from_slice(&mac);
        for i in 0..4 {
            frame.swap(IP_FROM + i, IP_TO + i);
        }
        frame.swap(UDP, UDP + 2);
        frame.swap(UDP + 1, UDP + 3);
        return match frame[DATA..].starts_with(b"end") {
            true => Answer::End,
            false => Answer::Echo,
        };
    }
    Answer::None
}

/// A channel to the card, which may be starting.
fn connect(names: &mut Names, path: &str) -> Result<Ready, Error> {
    let mut last = Error::NotFound;
    for _ in 0..LOOKS {
        let (imp, exp): (Start, _) = NicContract::new_channel()?;
        match names.bind(path, exp) {
            Ok(()) => match imp.recv_success() {
                Ok(ready) => return Ok(ready),
                Err(Closed) => last = Error::Closed,
            },
            Err(error) => last = error,
        }
        sleep(PAUSE);
    }
    Err(last)
}

/// What has been done.
#[derive(Default)]
struct Tally {
    bound: u32,
    arp: u32,
    echoed: u32,
    lost: u32,
    ended: bool,
}

/// Serves until a frame says so, or the card's driver ends.
fn serve(names: &mut Names, path: &str, binds: u32, tally: &mut Tally) -> Result<(), Error> {
    let sender = connect(names, path)?;
    let mut receiver = connect(names, path)?;
    tally.bound += 1;
    let (mac, _, _, mut sender) = sender.call_get_info().info()?;
    let [a, b, c, d, e, f, ..] = mac.to_le_bytes();
    let mac = [a, b, c, d, e, f];
    for _ in 0..LENT {
        receiver = match receiver.call_lend(Vector::new(BUFFER)?) {
            Lending::Lent(next) => next,
            Lending::Refused(..) => return Err(Error::BadState),
            Lending::Closed => return Err(Error::Closed),
        };
    }
    let mut empty = Vector::new(BUFFER)?;
    let mut out = Block::new(BUFFER)?;
    let mut frame = [0; LONGEST];
    while !tally.ended {
        let (block, count, lost, next) = match receiver.call_receive(empty) {
            Receiving::Received(block, count, lost, next) => {
                (block.into_block(), count, lost, next)
            }
            Receiving::Refused(..) => return Err(Error::BadState),
            Receiving::Closed => return Err(Error::Closed),
        };
        tally.lost += lost;
        let mut answers = Frames::new(out).map_err(|_| Error::BadState)?;
        let mut end = 0;
        for _ in 0..count {
            let place = frames::next(&block, end).ok_or(Error::BadState)?;
            end = place.end;
            let frame = &mut frame[..place.len()];
            block.read(place.start, frame);
            match answer(frame, mac) {
                Answer::None => continue,
                Answer::Arp => tally.arp += 1,
                Answer::Echo => tally.echoed += 1,
                Answer::End if tally.bound < binds => continue,
                Answer::End => tally.ended = true,
            }
            if !answers.push(frame) {
                return Err(Error::BadState);
            }
        }
        let (block_out, count) = answers.into_parts();
        (out, sender) = match sender.call_send(Vector::from_block(block_out), count) {
            Sending::Sent(block, next) => (block.into_block(), next),
            Sending::Refused(..) => return Err(Error::BadState),
            Sending::Closed => return Err(Error::Closed),
        };
        receiver = next;
        empty = Vector::from_block(block);
    }
    Ok(())
}

/// What cannot be is refused, and the block comes back. How often it was not so.
fn refusals(names: &mut Names, path: &str) -> Result<usize, Error> {
    let mut nic = connect(names, path)?;
    let mut wrong = 0;
    // Too small for a frame, and too large.
    for size in [1, frames::ROOM - 1, (64 << 10) + 1] {
        nic = match nic.call_receive(Vector::new(size)?) {
            Receiving::Refused(NicFault::BadBuffer, block, next) => {
                wrong += usize::from(block.len() != size);
                next
            }
            _ => return Err(Error::BadState),
        };
    }
    // One of which a view is kept, so that nobody can write it; nor end who would.
    let mut block = Block::new(BUFFER)?;
    let view = block.share(0..BUFFER)?;
    nic = match nic.call_receive(Vector::from_block(block)) {
        Receiving::Refused(NicFault::BadBuffer, back, next) => {
            block = back.into_block();
            next
        }
        _ => return Err(Error::BadState),
    };
    nic = match nic.call_lend(Vector::from_block(block)) {
        Lending::Refused(NicFault::BadBuffer, back, next) => {
            wrong += usize::from(back.len() != BUFFER);
            next
        }
        _ => return Err(Error::BadState),
    };
    drop(view);
    // Lengths that no network carries, more than the block has, and a count that it does not hold.
    for (len, count) in [
        (0, 1),
        (13, 1),
        (1515, 1),
        (u32::MAX, 1),
        (14, 2),
        (14, u32::MAX),
    ] {
        let mut block = Block::new(2048)?;
        block.store_u32(0, len);
        nic = match nic.call_send(Vector::from_block(block), count) {
            Sending::Refused(NicFault::BadFrames, block, next) => {
                wrong += usize::from(block.len() != 2048);
                next
            }
            _ => return Err(Error::BadState),
        };
    }
    // More buffers than a channel may have.
    let mut lent = 0;
    loop {
        nic = match nic.call_lend(Vector::new(BUFFER)?) {
            Lending::Lent(next) => next,
            Lending::Refused(NicFault::NoResources, ..) => break,
            _ => return Err(Error::BadState),
        };
        lent += 1;
    }
    wrong += usize::from(lent != 8);
    // Channels that are closed while they wait for frames keep no places.
    for _ in 0..100 {
        let waiting = connect(names, path)?;
        drop(waiting.send_receive(Vector::new(BUFFER)?));
    }
    Ok(wrong)
}

#[sing_sdk::main]
fn main(Arguments { path, binds }: Arguments) -> Result<(), Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    println!("refused: {} wrong", refusals(&mut names, &path)?);
    let mut tally = Tally::default();
    while !tally.ended {
        match serve(&mut names, &path, binds, &mut tally) {
            Ok(()) | Err(Error::Closed) => {}
            Err(error) => return Err(error),
        }
    }
    println!(
        "bound {}, arp {}, echoed {}, lost {}",
        tally.bound, tally.arp, tally.echoed, tally.lost
    );
    Ok(())
}
