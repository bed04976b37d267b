//! A keyboard, by its driver: its keys are typed text.

use alloc::vec::Vec;
use console::typing::{self, Sequence};
use sing_sdk::contracts::{Key, KeyEvent, KeyboardContract, ServiceContract};
use sing_sdk::rt::{Handle, Vector, Waitable};

/// The most events of one message that are taken.
const EVENTS: usize = 1024;

/// The channel to a driver.
#[derive(Default)]
pub enum Keyboard {
    #[default]
    None,
    Starting(KeyboardContract::Imp<KeyboardContract::Start>),
    Ready(KeyboardContract::Imp<KeyboardContract::Ready>),
    Reading(KeyboardContract::Imp<KeyboardContract::Reading>),
}

impl Keyboard {
    /// A new channel, and its other end for the driver.
    pub fn open(&mut self) -> Option<ServiceContract::Exp<ServiceContract::Start>> {
        let (imp, exp) = KeyboardContract::new_channel().ok()?;
        *self = Keyboard::Starting(imp);
        Some(exp.into())
    }

    /// What to wait for.
    pub fn handle(&self) -> Handle {
        match self {
            Keyboard::None => Handle::NONE,
            Keyboard::Starting(c) => c.handle(),
            Keyboard::Ready(c) => c.handle(),
            Keyboard::Reading(c) => c.handle(),
        }
    }

    /// Asks for keys, if it may.
    pub fn ask(&mut self) {
        *self = match core::mem::take(self) {
            Keyboard::Ready(channel) => Keyboard::Reading(channel.send_read()),
            other => other,
        };
    }

    /// Receives, as there is something to receive: appends the bytes of keys. Returns whether the
    /// driver is still there.
    pub fn hear(&mut self, typed: &mut Vec<u8>) -> bool {
        *self = match core::mem::take(self) {
            Keyboard::Starting(c) => c.recv_success().map_or(Keyboard::None, Keyboard::Ready),
            Keyboard::Reading(c) => match c.recv_typed() {
                Ok((events, next)) => {
                    type_all(&events, typed);
                    Keyboard::Ready(next)
                }
                Err(_) => Keyboard::None,
            },
            // It may not send in this state, so it has gone.
            Keyboard::Ready(_) | Keyboard::None => Keyboard::None,
        };
        !matches!(self, Keyboard::None)
    }
}

fn type_all(events: &Vector<KeyEvent>, typed: &mut Vec<u8>) {
    let count = events.len().min(EVENTS);
    for event in (0..count).filter_map(|at| events.get(at)) {
        if event.pressed == 0 {
            continue;
        }
        match char::from_u32(event.character) {
            None | Some('\0') => typing::sequence(sequence(event.key), event.modifiers, typed),
            Some(character) => typing::character(character, event.modifiers, typed),
        }
    }
}

fn sequence(key: Key) -> Sequence {
    match key {
        Key::Up => Sequence::Letter(b'A'),
        Key::Down => Sequence::Letter(b'B'),
        Key::Right => Sequence::Letter(b'C'),
        Key::Left => Sequence::Letter(b'D'),
        Key::Home => Sequence::Letter(b'H'),
        Key::End => Sequence::Letter(b'F'),
        Key::Insert => Sequence::Number(2),
        Key::Delete => Sequence::Number(3),
        Key::PageUp => Sequence::Number(5),
        Key::PageDown => Sequence::Number(6),
        Key::F1 => Sequence::Number(11),
        Key::F2 => Sequence::Number(12),
        Key::F3 => Sequence::Number(13),
        Key::F4 => Sequence::Number(14),
        Key::F5 => Sequence::Number(15),
        Key::F6 => Sequence::Number(17),
        Key::F7 => Sequence::Number(18),
        Key::F8 => Sequence::Number(19),
        Key::F9 => Sequence::Number(20),
        Key::F10 => Sequence::Number(21),
        Key::F11 => Sequence::Number(23),
        Key::F12 => Sequence::Number(24),
        _ => Sequence::None,
    }
}
