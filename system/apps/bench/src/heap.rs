//! The exchange heap: single accesses, copies, allocation.

use crate::stats::Row;
use crate::{Measure, cycles, timed};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::black_box;
use sing_sdk::Error;
use sing_sdk::rt::Block;

const WORDS: usize = 512;
const ROUNDS: u32 = 8;

struct Load(Block);
struct PlainLoad(Vec<u64>);
struct Copy {
    block: Block,
    buffer: Vec<u8>,
    out: bool,
}
struct Allocate(usize);

impl Measure for Load {
    fn burst(&mut self) -> Result<f64, Error> {
        let mut sum = 0_u64;
        let took = timed(ROUNDS, || {
            for i in 0..WORDS {
                sum = sum.wrapping_add(self.0.load_u64(i * 8));
            }
        });
        black_box(sum);
        Ok(took / WORDS as f64)
    }
}

impl Measure for PlainLoad {
    fn burst(&mut self) -> Result<f64, Error> {
        let mut sum = 0_u64;
        let took = timed(ROUNDS, || {
            for word in black_box(&self.0) {
                sum = sum.wrapping_add(*word);
            }
        });
        black_box(sum);
        Ok(took / WORDS as f64)
    }
}

impl Measure for Copy {
    fn burst(&mut self) -> Result<f64, Error> {
        Ok(timed(50, || {
            if self.out {
                self.block.read(0, &mut self.buffer);
            } else {
                self.block.write(0, &self.buffer);
            }
        }))
    }
}

impl Measure for Allocate {
    fn burst(&mut self) -> Result<f64, Error> {
        let mut failed = false;
        let took = timed(50, || failed |= Block::new(self.0).is_err());
        if failed {
            Err(Error::NoResources)
        } else {
            Ok(took)
        }
    }
}

/// Adds the measurements of this module.
pub fn add(all: &mut Vec<(Row, Box<dyn Measure>)>) -> Result<(), Error> {
    all.push((
        cycles(None, "load from a block, tests inlined"),
        Box::new(Load(Block::new(WORDS * 8)?)),
    ));
    all.push((
        cycles(None, "load from linear memory"),
        Box::new(PlainLoad(alloc::vec![1; WORDS])),
    ));
    for size in [64, 1500, 4096] {
        for (out, way) in [(true, "block to memory"), (false, "memory to block")] {
            let copy = Copy {
                block: Block::new(size)?,
                buffer: alloc::vec![0; size],
                out,
            };
            let name = alloc::format!("copy {size} bytes, {way}");
            all.push((cycles(None, name), Box::new(copy)));
        }
    }
    for size in [64, 4096, 65536] {
        let name = alloc::format!("allocate and free a block of {size} bytes");
        all.push((cycles(None, name), Box::new(Allocate(size))));
    }
    Ok(())
}
