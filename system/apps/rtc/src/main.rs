//! Shows the machine's real-time clock, and sets it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::calendar::{self, Date};
use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "rtc",
    description: "shows the real-time clock, or sets it: rtc [2026-11-23T04:05:06Z | now]",
    uses: { "/dev/rtc0": RealTimeClockContract, "/dev/rtcctl": SetClockContract },
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// The time to set it to, such as 2026-11-23T04:05:06Z, or `now`: the time of the running
    /// system. Left out: it is shown.
    time: optional String "TIME";
}

const CLOCK: &str = "/dev/rtc0";
const CONTROL: &str = "/dev/rtcctl";

#[sing_sdk::main]
fn main(Arguments { time }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let (place, done) = match time.as_deref() {
        None => (CLOCK, show(&mut names)),
        Some("now") => (CONTROL, set(&mut names, sing_sdk::time::utc().as_secs())),
        Some(text) => match Date::read(text).and_then(Date::seconds) {
            Some(seconds) => (CONTROL, set(&mut names, seconds)),
            None => {
                eprintln!("rtc: {text}: no time; write 2026-11-23T04:05:06Z, or now");
                return Ok(2);
            }
        },
    };
    match done {
        Err(Error::NotFound) => {
            eprintln!(
                "rtc: {place}: the machine has no real-time clock, or `services rtc` says why"
            );
            Ok(1)
        }
        done => done,
    }
}

fn show(names: &mut Names) -> Result<i32, Error> {
    use RealTimeClockContract::imp::Ready_GetTime as Answer;
    let mut clock = RealTimeClockContract::client(CLOCK);
    let time = clock.ask(names, |clock| match clock.call_get_time() {
        Answer::Time(seconds, next) => Ok((Some(seconds), next)),
        Answer::NoTime(next) => Ok((None, next)),
        Answer::Closed => Err(Closed),
    })?;
    let Some(seconds) = time else {
        eprintln!("rtc: the clock has no date; `rtc now` sets it");
        return Ok(1);
    };
    println!("{}", calendar::show(seconds.saturating_mul(1_000_000_000)));
    Ok(0)
}

fn set(names: &mut Names, seconds: u64) -> Result<i32, Error> {
    use SetClockContract::imp::Ready_SetTime as Answer;
    let mut control = SetClockContract::client(CONTROL);
    // Setting it twice is as good as once.
    let set = control.ask(names, |control| match control.call_set_time(seconds) {
        Answer::TimeSet(next) => Ok((true, next)),
        Answer::NotSet(next) => Ok((false, next)),
        Answer::Closed => Err(Closed),
    })?;
    if !set {
        eprintln!("rtc: the clock does not keep that time; it keeps the years from 1970 to 2099");
        return Ok(1);
    }
    Ok(0)
}
