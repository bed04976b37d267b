//! Tests of the search, on stacks put together by hand.

use super::*;
use crate::ground::image::{ASKED, SCANNED};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

/// Where the tests' stack begins.
const STACK: u64 = 0x10_0000;
/// Functions of 256 bytes.
const MAIN: u64 = 0x1000;
const X: u64 = 0x1100;
const A: u64 = 0x1200;
const B: u64 = 0x1300;
const STALE: u64 = 0x1400;

/// The most that is looked at: places in the code by both searches, and the items and bytes that
/// say how functions are called. All of it is done in one stretch.
const TAKEN: u32 = 2 * ASKED as u32;
const LEAVING: u32 = SCANNED as u32;
const MOST: u32 = 6 * CANDIDATES + 4 * LINKS + QUESTIONS * TAKEN;
const _: () = assert!(LEAVING <= TAKEN && MOST < 100_000);

/// Code with these calls, as large as is looked through; it counts what is looked at.
#[derive(Default)]
struct Calls {
    calls: Vec<(u64, Callee)>,
    sizes: Vec<(u64, u64)>,
    taken: Vec<u64>,
    leaving: Vec<u64>,
    questions: Cell<u32>,
}

impl Calls {
    /// Returns the address behind a call in a function of another.
    fn direct(&mut self, inside: u64, callee: u64) -> u64 {
        self.call(inside, Callee::Known(callee))
    }

    /// Returns the address behind a call in a function of an entry of the kernel, say.
    fn indirect(&mut self, inside: u64) -> u64 {
        self.call(inside, Callee::Unknown)
    }

    fn call(&mut self, inside: u64, callee: Callee) -> u64 {
        let back = inside + 1 + self.calls.len() as u64;
        self.calls.push((back, callee));
        back
    }

    /// Searches a stack of these words.
    fn search(&self, words: &[u64]) -> Option<(u64, Option<u64>)> {
        let range = STACK..STACK + 8 * words.len() as u64;
        search(self, &range, STACK, |at| {
            words.get(((at - STACK) / 8) as usize).copied()
        })
    }
}

impl Code for Calls {
    fn holds(&self, address: u64) -> bool {
        (MAIN..STALE + 0x100).contains(&address)
    }

    fn called_before(&self, address: u64) -> Option<Callee> {
        self.questions.set(self.questions.get() + 1);
        let call = self.calls.iter().find(|c| c.0 == address)?;
        Some(match call.1 {
            Callee::Known(function) => Callee::Known(function),
            Callee::Unknown => Callee::Unknown,
        })
    }

    fn function_at(&self, address: u64) -> Option<u64> {
        self.questions.set(self.questions.get() + 1);
        self.holds(address).then_some(address & !0xff)
    }

    fn is_taken(&self, function: u64) -> bool {
        self.questions.set(self.questions.get() + TAKEN);
        self.taken.contains(&function)
    }

    fn leaves(&self, function: u64) -> bool {
        self.questions.set(self.questions.get() + LEAVING);
        self.leaving.contains(&function)
    }

    fn frame_size(&self, function: u64) -> u64 {
        let size = self.sizes.iter().find(|s| s.0 == function);
        size.map_or(1 << 20, |s| s.1)
    }
}

fn place(word: usize) -> u64 {
    STACK + 8 * word as u64
}

#[test]
fn the_frame_whose_callee_called_the_kernel_is_found_among_stale_words() {
    let mut code = Calls::default();
    let (kernel, stale) = (code.indirect(A), code.indirect(STALE));
    let (to_a, to_stale) = (code.direct(X, A), code.direct(X, STALE));
    let words = [
        7,
        stale,
        kernel,
        stale,
        place(9),
        to_stale + 1, // no call is before this
        7,
        place(9),
        to_a,
        7,
    ];
    assert_eq!(code.search(&words), Some((kernel, Some(place(7)))));
    // A call that does not say what it calls.
    let through = code.indirect(X);
    let words = [7, kernel, stale, place(6), through, 7, 7];
    assert_eq!(code.search(&words), Some((kernel, Some(place(3)))));
    // Nothing in the code called the function.
    assert_eq!(code.search(&[7, kernel, 7]), Some((kernel, None)));
    assert_eq!(code.search(&[7, 7, 7]), None);
}

#[test]
fn after_a_tail_call_the_first_frame_is_taken() {
    let mut code = Calls::default();
    let (kernel, stale) = (code.indirect(B), code.indirect(STALE));
    let (to_a, to_x) = (code.direct(X, A), code.direct(MAIN, X));
    // MAIN called X, X called A, and A left by a tail call to B. In the frame of X, there is a
    // stale word.
    let words = [7, kernel, 7, place(6), to_a, stale, place(9), to_x, 7, 7];
    assert_eq!(code.search(&words), Some((kernel, Some(place(3)))));
}

#[test]
fn the_frame_at_the_right_distance_is_taken_whatever_was_called() {
    let mut code = Calls::default();
    let (kernel, stale) = (code.indirect(B), code.indirect(STALE));
    let (to_a, to_x, to_stale) = (
        code.direct(X, A),
        code.direct(MAIN, X),
        code.direct(STALE, STALE),
    );
    code.sizes = vec![(B, 24), (STALE, 0), (X, 16), (MAIN, 24)];
    code.leaving = vec![A];
    // In the frames of the kernel and of B there are stale words, and behind the frame of A
    // whole frames.
    let words = [
        stale,
        7,
        kernel,
        stale,
        place(10),
        to_stale,
        place(10),
        to_a,
        stale,
        7,
        place(15),
        to_x,
        stale,
        place(15),
        to_stale,
        7,
        7,
    ];
    assert_eq!(code.search(&words), Some((kernel, Some(place(6)))));
}

#[test]
fn a_stack_full_of_frames_is_searched_in_bounded_time() {
    let mut code = Calls::default();
    let (kernel, to_a) = (code.indirect(B), code.direct(A, A));
    let stale = code.indirect(STALE);
    let mut words = vec![7, kernel];
    for _ in 0..8000 {
        let up = place(words.len() + 2);
        words.extend([up, to_a]);
    }
    assert_eq!(code.search(&words), Some((kernel, Some(place(2)))));
    let asked = code.questions.take();
    assert!(asked <= MOST, "{asked}");
    // So, too, if all words are return addresses.
    words.splice(2.., vec![stale; 16_000]);
    code.search(&words);
    let asked = code.questions.take();
    assert!(asked <= MOST, "{asked}");
}
/// MAIN has called X, which calls the kernel; before, X had called A, and A STALE, which called
/// the kernel. Their frames are whole but for the word where A returned to X.
fn with_stale_frames(code: &mut Calls) -> (Vec<u64>, u64) {
    let (kernel, stale) = (code.indirect(X), code.indirect(STALE));
    let (to_stale, to_x) = (code.direct(A, STALE), code.direct(MAIN, X));
    code.sizes = vec![(MAIN, 8), (X, 16), (A, 8), (STALE, 8)];
    let words = vec![
        7, // the kernel's frames
        stale,
        7,
        place(6), // of STALE
        to_stale,
        7,
        place(10), // of A
        kernel,
        7,
        7,
        place(13), // of X
        to_x,
        7,
        7, // of MAIN
        7,
    ];
    (words, kernel)
}

#[test]
fn a_frame_that_was_left_is_told_by_the_call_that_overwrote_its_return_address() {
    let mut code = Calls::default();
    let (words, kernel) = with_stale_frames(&mut code);
    assert_eq!(code.search(&words), Some((kernel, Some(place(10)))));
    // A call that does not name what it calls can have called A, if anything can.
    code.taken = vec![A];
    let stale = words[1];
    assert_eq!(code.search(&words), Some((stale, Some(place(3)))));
}

#[test]
fn a_frame_begins_where_its_callers_ends() {
    let mut code = Calls::default();
    let (kernel, stale) = (code.indirect(X), code.indirect(STALE));
    let (to_stale, to_x) = (code.direct(X, STALE), code.direct(MAIN, X));
    code.sizes = vec![(MAIN, 8), (X, 16), (STALE, 8)];
    let words = [
        7,
        stale,
        7,
        place(8), // of STALE; that of X would be at 7
        to_stale,
        7,
        kernel,
        7,
        7,
        place(12), // of X
        to_x,
        7,
        7, // of MAIN
        7,
    ];
    assert_eq!(code.search(&words), Some((kernel, Some(place(9)))));
}
