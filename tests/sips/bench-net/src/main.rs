//! Measures a network card through `NicContract`: `cargo xtask bench net` gives the machine one, with
//! a program of the host at its far end that sends marked frames back.
//!
//! A burst is as many frames as go into one block. What is measured for frames that are sent is the
//! time until the driver has given them to the device; for those that are echoed, until all are back.
//! A burst of which frames were lost is done again, and counted as such.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

#[path = "../../../../system/apps/bench/src/stats.rs"]
mod stats;

use core::time::Duration;
use sing_sdk::frames::{self, Frames, LONGEST};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::sync;
use sing_sdk::thread::sleep;
use sing_sdk::time::{Timeout, cycle_count, uptime};
use stats::Row;

sing_sdk::manifest! {
    name: "bench-net",
    description: "measures a network card",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    memory: 16 MiB,
}

sing_sdk::arguments! {
    /// The card: /dev/nic0.
    path: one String "PATH";
    /// What the rows call it.
    name: one String "NAME";
    /// Bursts of each measurement.
    bursts: one u32 "BURSTS";
}

type Ready = NicContract::Imp<NicContract::Ready>;
type Receiving = NicContract::Imp<NicContract::Ready_Receive>;
type Received = NicContract::imp::Ready_Receive;
type Sending = NicContract::imp::Ready_Send;
type Lending = NicContract::imp::Ready_Lend;

/// Frames of a burst, and their lengths.
const COUNT: u32 = 32;
const LENGTHS: [(usize, &str); 2] = [(60, "60 B"), (LONGEST, "1514 B")];
/// Bytes of a block, and how many receive beside the one of the request.
const BUFFER: usize = 64 << 10;
const LENT: usize = 2;
/// In a frame, behind addresses and kind (one that is for experiments): whether it comes back, and
/// the number of its burst.
const KIND: [u8; 2] = [0x88, 0xb5];
const MARK: usize = 14;
const NUMBER: usize = 16;
const HEAD: usize = 20;
/// After this time frames count as lost; so many bursts may be.
const PATIENCE: Duration = Duration::from_millis(500);
const MOST_LOST: u32 = 100;
/// How often a card that is not there yet is looked for.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// A card with its two channels, one to send and one that waits for frames.
struct Card {
    sender: Option<Ready>,
    receiver: Option<Receiving>,
    /// The block for frames to send.
    out: Option<Block>,
    mac: [u8; 6],
    number: u32,
    lost: u32,
}

/// A channel to the card, which may be starting.
fn connect(names: &mut Names, path: &str) -> Result<Ready, Error> {
    let mut last = Error::NotFound;
    for _ in 0..LOOKS {
        let (imp, exp) = NicContract::new_channel()?;
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

impl Card {
    fn bind(path: &str) -> Result<Card, Error> {
        let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
        let (mac, _, _, sender) = connect(&mut names, path)?.call_get_info().info()?;
        let [a, b, c, d, e, f, ..] = mac.to_le_bytes();
        let mut receiver = connect(&mut names, path)?;
        for _ in 0..LENT {
            receiver = match receiver.call_lend(Vector::new(BUFFER)?) {
                Lending::Lent(next) => next,
                Lending::Refused(..) => return Err(Error::BadState),
                Lending::Closed => return Err(Error::Closed),
            };
        }
        Ok(Card {
            sender: Some(sender),
            receiver: Some(receiver.send_receive(Vector::new(BUFFER)?)),
            out: Some(Block::new(BUFFER)?),
            mac: [a, b, c, d, e, f],
            number: 0,
            lost: 0,
        })
    }

    /// Sends a burst of frames of this length, to be sent back or not.
    fn send(&mut self, len: usize, back: bool) -> Result<(), Error> {
        self.number += 1;
        let mut frame = [0; LONGEST];
        // To all: no card takes it for another's when it comes back.
        frame[..6].fill(0xff);
        frame[6..12].copy_from_slice(&self.mac);
        frame[12..MARK].copy_from_slice(&KIND);
        frame[MARK] = back.into();
        frame[NUMBER..HEAD].copy_from_slice(&self.number.to_le_bytes());
        let out = self.out.take().ok_or(Error::Closed)?;
        let mut burst = Frames::new(out).map_err(|_| Error::BadState)?;
        for _ in 0..COUNT {
            if !burst.push(&frame[..len]) {
                return Err(Error::BadState);
            }
        }
        let (block, count) = burst.into_parts();
        let sender = self.sender.take().ok_or(Error::Closed)?;
        match sender.call_send(Vector::from_block(block), count) {
            Sending::Sent(block, next) => {
                (self.out, self.sender) = (Some(block.into_block()), Some(next));
                Ok(())
            }
            Sending::Refused(..) => Err(Error::BadState),
            Sending::Closed => Err(Error::Closed),
        }
    }

    /// Receives until all frames of the last burst are back; whether they are.
    fn receive(&mut self) -> Result<bool, Error> {
        let mut here = 0;
        while here < COUNT {
            let receiver = self.receiver.as_ref().ok_or(Error::Closed)?;
            match sync::wait(receiver, Timeout::from(PATIENCE)) {
                Err(Error::Timeout) => return Ok(false),
                waited => waited?,
            }
            let receiver = self.receiver.take().ok_or(Error::Closed)?;
            let (block, count, next) = match receiver.recv() {
                Received::Received(block, count, _, next) => (block.into_block(), count, next),
                Received::Refused(..) => return Err(Error::BadState),
                Received::Closed => return Err(Error::Closed),
            };
            let mut end = 0;
            for _ in 0..count {
                let place = frames::next(&block, end).ok_or(Error::BadState)?;
                end = place.end;
                let mut head = [0; HEAD];
                if place.len() >= HEAD {
                    block.read(place.start, &mut head);
                }
                let is_ours = head[12..MARK] == KIND && head[MARK] == 1;
                here += u32::from(is_ours && head[NUMBER..] == self.number.to_le_bytes());
            }
            self.receiver = Some(next.send_receive(Vector::from_block(block)));
        }
        Ok(true)
    }

    /// A burst; whether all of it has come and gone.
    fn burst(&mut self, len: usize, echo: bool) -> Result<bool, Error> {
        self.send(len, echo)?;
        if echo { self.receive() } else { Ok(true) }
    }
}

/// Frames of one length, sent or echoed.
struct Measurement {
    len: usize,
    echo: bool,
    /// Cycles of a frame; frames and millions of bytes a second.
    rows: [Row; 3],
}

impl Measurement {
    fn new(card: &str, (len, words): (usize, &str), echo: bool) -> Measurement {
        let what = if echo { "echoed" } else { "sent" };
        let row = |subject: &str, unit| Row {
            id: None,
            name: format!("{card} {subject} {what}, {words}"),
            unit,
            samples: Vec::new(),
        };
        Measurement {
            len,
            echo,
            rows: [
                row("frame", "cycles"),
                row("frames", "frames/s"),
                row("bytes", "MB/s"),
            ],
        }
    }

    /// A burst, which is done again if frames were lost.
    fn measure(&mut self, card: &mut Card) -> Result<(), Error> {
        loop {
            let (since, start) = (uptime(), cycle_count());
            let all = card.burst(self.len, self.echo)?;
            let (cycles, took) = (cycle_count() - start, uptime() - since);
            if all {
                let frames = f64::from(COUNT) / took.as_secs_f64().max(1e-9);
                self.rows[0].samples.push(cycles as f64 / f64::from(COUNT));
                self.rows[1].samples.push(frames);
                self.rows[2].samples.push(frames * self.len as f64 / 1e6);
                return Ok(());
            }
            card.lost += 1;
            if card.lost > MOST_LOST {
                eprintln!("bench-net: too many frames are lost");
                return Err(Error::Timeout);
            }
        }
    }
}

#[sing_sdk::main]
fn main(Arguments { path, name, bursts }: Arguments) -> Result<(), Error> {
    let mut card = Card::bind(&path)?;
    let both = [false, true].map(|echo| LENGTHS.map(|len| Measurement::new(&name, len, echo)));
    let mut all: Vec<Measurement> = both.into_iter().flatten().collect();
    // The first burst of each touches memory for the first time, and does not count.
    for one in &mut all {
        one.measure(&mut card)?;
        one.rows.iter_mut().for_each(|row| row.samples.clear());
    }
    for _ in 0..bursts {
        for one in &mut all {
            one.measure(&mut card)?;
        }
    }
    for row in all.iter_mut().flat_map(|one| &mut one.rows) {
        row.print();
    }
    if card.lost > 0 {
        eprintln!(
            "bench-net: {} bursts were done again: frames were lost",
            card.lost
        );
    }
    Ok(())
}
