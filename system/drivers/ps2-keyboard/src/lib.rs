//! What the bytes of a keyboard mean, without the keyboard: tested on the host.
//!
//! Invariant: any bytes are accepted. Of keys for which nobody has asked, the first [`KEPT`] events
//! are kept.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pc_keyboard::layouts::{AnyLayout, De105Key, Uk105Key, Us104Key};
use pc_keyboard::{DecodedKey, EventDecoder, HandleControl, KeyCode, KeyState, Modifiers};
use pc_keyboard::{ScancodeSet, ScancodeSet1};
use sing_sdk::contracts::{Key, KeyEvent};

/// The most events that are kept.
pub const KEPT: usize = 256;

sing_sdk::choices! {
    /// Which characters the keys have.
    Layout: "us" Us, "uk" Uk, "de" De
}

/// What a keyboard answers to a command that it has understood, and to one that it has not.
const UNDERSTOOD: u8 = 0xfa;
const AGAIN: u8 = 0xfe;
/// What it says when it has been plugged in.
const PLUGGED_IN: u8 = 0xaa;
/// The command for its lights; a byte with a bit for each of them follows.
const LIGHTS: u8 = 0xed;
const NUM: u8 = 2;
const CAPS: u8 = 4;

/// A keyboard's state, and the events that nobody has taken yet.
pub struct Keys {
    codes: ScancodeSet1,
    decoder: EventDecoder<AnyLayout>,
    modifiers: Modifiers,
    /// The byte 0xe0 has come.
    extended: bool,
    events: VecDeque<KeyEvent>,
    /// Bytes for the keyboard; the first was sent and is not answered yet.
    commands: VecDeque<u8>,
}

impl core::fmt::Debug for Keys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Keys({:?})", self.modifiers)
    }
}

impl Keys {
    /// No key is down.
    #[must_use]
    pub fn new(layout: Layout) -> Keys {
        let layout = match layout {
            Layout::Us => AnyLayout::Us104Key(Us104Key),
            Layout::Uk => AnyLayout::Uk105Key(Uk105Key),
            Layout::De => AnyLayout::De105Key(De105Key),
        };
        Keys {
            codes: ScancodeSet1::new(),
            decoder: EventDecoder::new(layout, HandleControl::MapLettersToUnicode),
            // As the decoder has it at the start.
            modifiers: Modifiers {
                numlock: true,
                ..Modifiers::default()
            },
            extended: false,
            events: VecDeque::with_capacity(KEPT),
            commands: VecDeque::new(),
        }
    }

    /// Whether there are events.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// All events.
    #[must_use]
    pub fn events(&self) -> Vec<KeyEvent> {
        self.events.iter().copied().collect()
    }

    /// They have been taken.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// Has the lights show the state; returns the byte to be sent now, if there is one.
    pub fn lights(&mut self) -> Option<u8> {
        let caps = if self.modifiers.capslock { CAPS } else { 0 };
        let num = if self.modifiers.numlock { NUM } else { 0 };
        let idle = self.commands.is_empty();
        // A command whose first byte was sent goes on, with the newest state.
        self.commands.truncate(1);
        if self.commands.front() == Some(&LIGHTS) || idle {
            self.commands.clear();
            self.commands.push_back(LIGHTS);
        } else {
            // The second byte is on its way; all of it follows once more.
            self.commands.push_back(LIGHTS);
        }
        self.commands.push_back(caps | num);
        idle.then_some(LIGHTS)
    }

    /// Takes a byte of the keyboard (scan code set 1, as the controller translates); returns the
    /// byte to be sent to it now, if there is one.
    pub fn feed(&mut self, byte: u8) -> Option<u8> {
        match byte {
            UNDERSTOOD => {
                self.commands.pop_front();
                return self.commands.front().copied();
            }
            AGAIN => {
                // It has no such lights.
                self.commands.clear();
                return None;
            }
            // It is also the left shift key's going up, which then went down before.
            PLUGGED_IN if !self.extended && !self.modifiers.lshift => {
                self.commands.clear();
                return self.lights();
            }
            _ => {}
        }
        let code = u16::from(byte & 0x7f) | if self.extended { 0xe000 } else { 0 };
        self.extended = byte == 0xe0;
        let Ok(Some(event)) = self.codes.advance_state(byte) else {
            return None;
        };
        let down = match event.state {
            KeyState::Up => false,
            KeyState::Down | KeyState::SingleShot => true,
        };
        let (numlock, capslock) = (self.modifiers.numlock, self.modifiers.capslock);
        self.note(event.code, down);
        let decoded = self.decoder.process_keyevent(event);
        let (character, key) = match decoded {
            Some(DecodedKey::Unicode('\u{7f}')) => (0, Key::Delete),
            Some(DecodedKey::Unicode(c)) => (c.into(), Key::Other),
            Some(DecodedKey::RawKey(code)) => (0, named(code)),
            None => (0, Key::Other),
        };
        if self.events.len() < KEPT {
            self.events.push_back(KeyEvent {
                character,
                key,
                code,
                modifiers: self.held(),
                pressed: down.into(),
            });
        }
        let changed = (numlock, capslock) != (self.modifiers.numlock, self.modifiers.capslock);
        changed.then(|| self.lights()).flatten()
    }

    /// Follows the decoder's modifiers, which it does not tell.
    fn note(&mut self, key: KeyCode, down: bool) {
        let m = &mut self.modifiers;
        match key {
            KeyCode::LShift => m.lshift = down,
            KeyCode::RShift => m.rshift = down,
            KeyCode::LControl => m.lctrl = down,
            KeyCode::RControl => m.rctrl = down,
            KeyCode::LAlt => m.lalt = down,
            KeyCode::RAltGr => m.ralt = down,
            KeyCode::RControl2 => m.rctrl2 = down,
            KeyCode::CapsLock if down => m.capslock = !m.capslock,
            KeyCode::NumpadLock if down && !m.rctrl2 => m.numlock = !m.numlock,
            _ => {}
        }
    }

    fn held(&self) -> u32 {
        let m = &self.modifiers;
        let bit = |held: bool, bit: u32| if held { bit } else { 0 };
        bit(m.lshift || m.rshift, 1) | bit(m.lctrl || m.rctrl, 2) | bit(m.lalt, 4) | bit(m.ralt, 8)
    }
}

fn named(code: KeyCode) -> Key {
    match code {
        KeyCode::ArrowUp => Key::Up,
        KeyCode::ArrowDown => Key::Down,
        KeyCode::ArrowLeft => Key::Left,
        KeyCode::ArrowRight => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Insert => Key::Insert,
        KeyCode::Delete => Key::Delete,
        KeyCode::F1 => Key::F1,
        KeyCode::F2 => Key::F2,
        KeyCode::F3 => Key::F3,
        KeyCode::F4 => Key::F4,
        KeyCode::F5 => Key::F5,
        KeyCode::F6 => Key::F6,
        KeyCode::F7 => Key::F7,
        KeyCode::F8 => Key::F8,
        KeyCode::F9 => Key::F9,
        KeyCode::F10 => Key::F10,
        KeyCode::F11 => Key::F11,
        KeyCode::F12 => Key::F12,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn typed(layout: Layout, bytes: &[u8]) -> (String, Vec<KeyEvent>) {
        let mut keys = Keys::new(layout);
        for byte in bytes {
            keys.feed(*byte);
        }
        let events: Vec<KeyEvent> = keys.events();
        let pressed = events.iter().filter(|e| e.pressed == 1 && e.character != 0);
        let text = pressed
            .filter_map(|e| char::from_u32(e.character))
            .collect();
        (text, events)
    }

    #[test]
    fn letters_shift_and_control() {
        // h, H, Ctrl-C, Enter.
        let bytes = [
            0x23, 0xa3, 0x2a, 0x23, 0xa3, 0xaa, 0x1d, 0x2e, 0xae, 0x9d, 0x1c, 0x9c,
        ];
        let (text, events) = typed(Layout::Us, &bytes);
        assert_eq!(text, "hH\u{3}\n");
        let c = events.iter().find(|e| e.character == 3).unwrap();
        assert_eq!((c.modifiers, c.code), (2, 0x2e));
    }

    #[test]
    fn layouts_differ() {
        assert_eq!(typed(Layout::Us, &[0x15, 0x28]).0, "y'");
        assert_eq!(typed(Layout::De, &[0x15, 0x28]).0, "zä");
        assert_eq!(typed(Layout::Uk, &[0x2a, 0x04]).0, "£");
    }

    #[test]
    fn keys_without_characters_have_names() {
        let (text, events) = typed(
            Layout::Us,
            &[0xe0, 0x48, 0xe0, 0xc8, 0xe0, 0x53, 0xe0, 0xd3],
        );
        assert_eq!(text, "");
        let named: Vec<_> = events.iter().map(|e| (e.key, e.code, e.pressed)).collect();
        assert_eq!(named[0], (Key::Up, 0xe048, 1));
        assert_eq!((named[1].1, named[1].2), (0xe048, 0));
        assert_eq!(named[2], (Key::Delete, 0xe053, 1));
    }

    #[test]
    fn lights_follow_the_locks() {
        let mut keys = Keys::new(Layout::Us);
        assert_eq!(keys.lights(), Some(LIGHTS));
        assert_eq!(keys.feed(UNDERSTOOD), Some(NUM));
        // The state changes before the second byte is answered.
        assert_eq!(keys.feed(0x3a), None);
        assert_eq!(keys.feed(UNDERSTOOD), Some(LIGHTS));
        assert_eq!(keys.feed(UNDERSTOOD), Some(NUM | CAPS));
        assert_eq!(keys.feed(UNDERSTOOD), None);
        // One without lights.
        assert_eq!(keys.feed(0x3a), Some(LIGHTS));
        assert_eq!(keys.feed(AGAIN), None);
        assert_eq!(keys.feed(0x1e), None);
        assert!(keys.commands.is_empty());
    }

    #[test]
    fn any_bytes_are_taken_and_events_are_bounded() {
        let mut keys = Keys::new(Layout::De);
        for a in 0..=255 {
            for b in 0..=255 {
                keys.feed(a);
                keys.feed(b);
                assert!(keys.events.len() <= KEPT && keys.commands.len() <= 3);
            }
        }
        // A plain letter is a letter again.
        keys = Keys::new(Layout::Us);
        for byte in [0xe0, 0x7f, 0xe1, 0x1d, 0x45, 0xe1, 0x9d, 0xc5, 0xff, 0x00] {
            keys.feed(byte);
        }
        keys.clear();
        keys.feed(0x1e);
        keys.feed(0x9e);
        assert!(keys.events().iter().any(|e| e.character == u32::from('a')));
    }
}
