//! A system that answers what is typed at its console, and what looks at it from outside.

use sing_hosted::{Config, Hooks, HostedHal};
use sing_kernel::fault::Action;
use sing_kernel::hal::{Hal, LINE_CONSOLE, LINE_OUTPUT};
use sing_kernel::output::Class;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread::sleep;
use std::time::{Duration, Instant};

static INPUTS: AtomicU64 = AtomicU64::new(0);
static OUTPUTS: AtomicU64 = AtomicU64::new(0);

/// Bytes of a flood: more than the machine, a pipe and a terminal keep together.
pub const FLOOD: usize = 1 << 20;

/// The byte of a flood at this place.
pub fn flood(at: usize) -> u8 {
    b'a' + (at % 23) as u8
}

/// Writes all, waiting for room where there is none.
fn write_all(hal: &HostedHal, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let before = OUTPUTS.load(SeqCst);
        let taken = hal.console().write(bytes);
        bytes = &bytes[taken..];
        while !bytes.is_empty() && OUTPUTS.load(SeqCst) == before {
            hal.idle();
        }
    }
}

/// The child: a system that answers input. Echoes it in brackets, and on some words does something
/// else.
pub fn play() -> ! {
    let interrupt = |line, _| {
        match line {
            LINE_CONSOLE => INPUTS.fetch_add(1, SeqCst),
            LINE_OUTPUT => OUTPUTS.fetch_add(1, SeqCst),
            _ => 0,
        };
    };
    let hooks = Hooks {
        interrupt,
        fault: |_| Action::Fatal,
    };
    let config = Config {
        memory_limit: Some(64 << 20),
        console: true,
        hooks,
        ..Config::default()
    };
    let hal = HostedHal::new(config).unwrap();
    let console = hal.console();
    console.write(b"<ready>");
    if super::my_scene().as_deref() == Some("wait first") {
        while INPUTS.load(SeqCst) == 0 {
            hal.idle();
        }
    }
    let mut bytes = [0; 64];
    loop {
        match console.read(&mut bytes) {
            None => {
                console.write(b"<end>");
                hal.exit(7);
            }
            Some(0) => {
                // Only the interrupt says that a new look is worth it.
                let before = INPUTS.load(SeqCst);
                while INPUTS.load(SeqCst) == before {
                    hal.idle();
                }
            }
            Some(n) => {
                let text = &bytes[..n];
                console.write(format!("[{}]", text.escape_ascii()).as_bytes());
                let has = |word: &str| text.windows(word.len()).any(|w| w == word.as_bytes());
                if has("abort") {
                    // A panic ends in this trap, outside of test programs.
                    std::process::abort();
                } else if has("fault") {
                    // SAFETY: this child is to die of it.
                    unsafe { *(8 as *mut u8) = 1 };
                } else if has("exit") {
                    hal.exit(3);
                } else if has("size") {
                    console.write(format!("{:?}", console.size()).as_bytes());
                } else if has("busy") {
                    // Computing, with no timer set: input must still be noticed.
                    let (start, before) = (hal.now(), INPUTS.load(SeqCst));
                    while INPUTS.load(SeqCst) == before && hal.now() < start + 5_000_000_000 {}
                    let noticed = INPUTS.load(SeqCst) != before;
                    console.write(format!("<noticed {noticed}>").as_bytes());
                } else if has("talk") {
                    write_all(hal, &[b'x'; 10_000_000]);
                    hal.exit(9);
                } else if has("flood") {
                    let bytes: Vec<u8> = (0..FLOOD).map(flood).collect();
                    let taken = console.write(&bytes);
                    // Nobody reads, and yet the machine goes on, and is heard elsewhere.
                    assert!(hal.log(Class::Kernel, format!("taken {taken}").as_bytes()));
                    write_all(hal, &bytes[taken..]);
                    while console.unwritten() > 0 {
                        hal.idle();
                    }
                    assert!(hal.log(Class::Kernel, b"written"));
                    hal.exit(9);
                } else if has("chatter") {
                    let mut lost = 0;
                    for i in 0..100_000 {
                        let line = format!("line {i} ...............................");
                        lost += u32::from(!hal.log(Class::Debug, line.as_bytes()));
                    }
                    assert!(hal.log(Class::Kernel, b"crash: a kernel line has room of its own"));
                    console.write(format!("<lost {lost}>").as_bytes());
                    // Room on one stream does not say that there is room on the other.
                    while OUTPUTS.load(SeqCst) == 0
                        || !hal.log(Class::Debug, b"there is room again")
                    {
                        hal.idle();
                    }
                    hal.exit(9);
                }
            }
        }
    }
}

pub fn child(test: &str) -> Command {
    let mut command = super::scene(test, "play");
    command.stderr(Stdio::piped());
    command
}

/// Reads until `text` has been seen; panics if it does not come.
pub fn expect(from: &mut impl Read, text: &str) -> String {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(text.as_bytes()) {
        match from.read(&mut byte) {
            Ok(1) => all.push(byte[0]),
            other => {
                panic!(
                    "{other:?} while waiting for {text:?}, after {:?}",
                    String::from_utf8_lossy(&all)
                )
            }
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// The child's end, at most ten seconds from now.
pub fn ended(mut child: Child, of: &str) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > Duration::from_secs(10) {
            let _ = child.kill();
            panic!("{of}: the child does not end");
        }
        sleep(Duration::from_millis(2));
    }
}
