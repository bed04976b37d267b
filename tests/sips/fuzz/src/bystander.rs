//! Lives beside a herd that fuzzes the kernel, does nothing wrong, and reports any change to its
//! own state: its memory, its blocks, a conversation with a partner, a thread that must not be
//! woken.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod check;

use sing_sdk::prelude::*;

use check::{BYTES, Check};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use sing_sdk::rt::{Block, Vector};
use sing_sdk::sync::{self, ManualEvent};
use sing_sdk::time::{self, Timeout};

sing_sdk::manifest! {
    name: "bystander",
    description: "does nothing wrong beside those who do, and tells whether that has harmed it",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        check: Check.Exp:Start,
        partner: optional Check.Imp:Start,
    },
    memory: 8 MiB,
}

/// Words of memory with a pattern.
const WORDS: usize = 4096;
/// Blocks with a pattern, and how large each is.
const BLOCKS: usize = 4;
/// How long it sleeps before it answers each eighth question.
const NAP: Duration = Duration::from_millis(1);

/// The changes found.
#[derive(Clone, Copy)]
enum Harm {
    Memory = 1,
    Block = 2,
    Question = 3,
    Partner = 4,
    WokenByNobody = 5,
    WokenEarly = 6,
}

/// Whether the thread that waits for an event that is never set has gone on.
static WOKEN: AtomicBool = AtomicBool::new(false);

fn word(n: u32, i: usize) -> u64 {
    (u64::from(n) << 32 | i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

struct Bystander {
    words: Vec<u64>,
    blocks: Vec<Block>,
    partner: Option<Check::Imp<Check::Start>>,
    /// The number of the question with this pattern.
    n: u32,
}

impl Bystander {
    fn new() -> Result<Bystander, Error> {
        let mut blocks = Vec::new();
        for _ in 0..BLOCKS {
            blocks.push(Block::new(WORDS)?);
        }
        let mut new = Bystander {
            words: alloc_words(),
            blocks,
            partner: startup::partner(),
            n: 0,
        };
        new.write(0);
        Ok(new)
    }

    fn write(&mut self, n: u32) {
        self.n = n;
        for (i, w) in self.words.iter_mut().enumerate() {
            *w = word(n, i);
        }
        for (i, block) in self.blocks.iter_mut().enumerate() {
            block.write(0, &[n as u8 ^ i as u8; WORDS]);
        }
    }

    fn look(&mut self, n: u32, data: &[u8]) -> Result<(), Harm> {
        if WOKEN.load(Ordering::Relaxed) {
            return Err(Harm::WokenByNobody);
        }
        let own = self.n;
        if (self.words.iter().enumerate()).any(|(i, w)| *w != word(own, i)) {
            return Err(Harm::Memory);
        }
        for (i, block) in self.blocks.iter().enumerate() {
            if block.to_vec().iter().any(|b| *b != own as u8 ^ i as u8) {
                return Err(Harm::Block);
            }
        }
        if data.len() != BYTES || !check::bytes(n).eq(data.iter().copied()) {
            return Err(Harm::Question);
        }
        if n.is_multiple_of(8) {
            let before = time::uptime();
            time::sleep(NAP);
            if time::uptime() - before < NAP {
                return Err(Harm::WokenEarly);
            }
        }
        let Some(partner) = self.partner.take() else {
            return Ok(());
        };
        let block = Vector::from_bytes(data).map_err(|_| Harm::Partner)?;
        match partner.send_ask(n, block).recv() {
            Check::imp::Start_Ask::Whole(m, back, next)
                if m == n && check::bytes(n).eq(back.to_vec()) =>
            {
                self.partner = Some(next);
                Ok(())
            }
            _ => Err(Harm::Partner),
        }
    }
}

fn alloc_words() -> Vec<u64> {
    vec![0; WORDS]
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let mut bystander = Bystander::new()?;
    let never = ManualEvent::new(false)?;
    let _sleeper = sing_sdk::thread::spawn(move || {
        // No other process has the event, and it is never set.
        let _ = sync::wait(&never, Timeout::FOREVER);
        WOKEN.store(true, Ordering::Relaxed);
    })?;
    let Some(mut exp) = startup::check() else {
        return Ok(2);
    };
    loop {
        match exp.recv() {
            Check::exp::Start::Ask(n, data, next) => {
                let bytes = data.to_vec();
                match bystander.look(n, &bytes) {
                    Ok(()) => {
                        bystander.write(n);
                        exp = next.send_whole(n, data);
                    }
                    Err(harm) => exp = next.send_hurt(harm as u32),
                }
            }
            Check::exp::Start::Closed => return Ok(0),
        }
    }
}
