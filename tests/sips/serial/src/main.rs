//! A client of a serial line: asks for what cannot be, and sends back what it receives.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::io::{Reader, Writer};
use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "serial-echo",
    description: "sends back what a serial line brings: serial-echo LINE BYTES",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// The line.
    line: one Path "LINE";
    /// How many bytes are sent back.
    bytes: one u32 "BYTES";
}

type Ready = SerialContract::Imp<SerialContract::Ready>;
type Joined = SerialContract::Imp<SerialContract::Joined>;
type Reading = PipeContract::Exp<PipeContract::Start>;
type Writing = PipeContract::Imp<PipeContract::Start>;

fn bind(names: &mut Names, path: &str) -> Result<Ready, Error> {
    let (line, exp) = SerialContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(line.recv_success()?)
}

/// Connects; `Err` with the channel if another client is.
fn connect(line: Ready) -> Result<Result<(Joined, Reading, Writing), Ready>, Error> {
    use SerialContract::imp::Connecting;
    let (received, reading) = PipeContract::new_channel()?;
    let (writing, sent) = PipeContract::new_channel()?;
    match line.send_connect(received, sent).recv() {
        Connecting::Connected(line) => Ok(Ok((line, reading, writing))),
        Connecting::Busy(line) => Ok(Err(line)),
        Connecting::Closed => Err(Error::Closed),
    }
}

/// The speed that the line has, if it takes this.
fn set(
    line: Joined,
    baud: u32,
    bits: u32,
    parity: Parity,
    stops: u32,
) -> Result<(Joined, Option<u32>), Error> {
    use SerialContract::imp::Joined_SetLine as Answer;
    match line.call_set_line(baud, bits, parity, stops) {
        Answer::LineSet(baud, line) => Ok((line, Some(baud))),
        Answer::NotSet(line) => Ok((line, None)),
        Answer::Closed => Err(Error::Closed),
    }
}

#[sing_sdk::main]
fn main(Arguments { line, bytes }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let (path, wanted) = (line, bytes as usize);
    let Ok((mut line, reading, writing)) = connect(bind(&mut names, &path)?)? else {
        eprintln!("serial-echo: {path} is connected already");
        return Ok(1);
    };
    let second = connect(bind(&mut names, &path)?)?;
    println!(
        "second client: {}",
        if second.is_err() {
            "refused"
        } else {
            "connected"
        }
    );
    let mut refused = 0;
    for (baud, bits, parity, stops) in [
        (0, 8, Parity::None, 1),
        (u32::MAX, 8, Parity::None, 1),
        (1, 8, Parity::None, 1),
        (100_000, 8, Parity::None, 1),
        (9600, 4, Parity::None, 1),
        (9600, 9, Parity::None, 1),
        (9600, 8, Parity::None, 0),
        (9600, 8, Parity::None, 3),
    ] {
        let (next, set) = set(line, baud, bits, parity, stops)?;
        line = next;
        refused += u32::from(set.is_none());
    }
    println!("settings refused: {refused} of 8");
    let (next, slow) = set(line, 9600, 7, Parity::Even, 2)?;
    let (next, fast) = set(next, 115_200, 8, Parity::None, 1)?;
    println!("speeds: {slow:?} {fast:?}");
    let line = next.call_send_break(1).break_begun()?;
    let (mut input, mut output) = (Reader::new(reading), Writer::new(writing));
    output.write(b"ready\n")?;
    let mut moved = 0;
    while moved < wanted {
        let Some(data) = input.receive() else { break };
        moved += data.len();
        output.send(data)?;
    }
    output.settle()?;
    println!("sent back: {moved}");
    drop(line);
    Ok(i32::from(moved != wanted))
}
