//! What one console leaves to the next, and how that goes on: the shell's channel, the job's, all
//! outputs, and a note of text that nobody has taken.

use crate::input;
use crate::note;
use crate::server::{Line, Server, Shell};
use alloc::vec::Vec;
use sing_sdk::contracts::ConsoleContract;
use sing_sdk::legacy;
use sing_sdk::rt::Endpoint;

/// What the console leaves to its successor, beside the [`Note`].
pub enum Left {
    Shell = 1,
    Output,
    Job,
    Input,
    Names,
    /// The input of a job that takes keys.
    Keys,
    /// Ends of a job that is suspended. Its channel ends with this console, which tells the shell to
    /// go on without.
    Suspended,
}

impl Server {
    /// Serves the shell of a console that has ended, goes on with what it did, and returns when the
    /// shell closes; false if there is none.
    pub fn go_on(mut self) -> bool {
        let (mut notes, mut job, mut shell) =
            (note::Found::default(), input::Found::default(), None);
        for (tag, endpoint) in legacy::take() {
            let Some(endpoint) = notes.take(tag, endpoint) else {
                continue;
            };
            match tag {
                tag if tag == Left::Shell as u32 => shell = Some(endpoint),
                tag if tag == Left::Job as u32 => job.take_told(endpoint),
                tag if tag == Left::Input as u32 => job.take_input(endpoint, false),
                tag if tag == Left::Keys as u32 => job.take_input(endpoint, true),
                tag if tag == Left::Suspended as u32 => drop(endpoint),
                tag if tag == Left::Names as u32 => self.attached.take_over(endpoint),
                _ => self.outputs.take_over(endpoint),
            }
        }
        let noted = notes.last();
        self.typed.put_back(&noted.typed);
        self.prompt = noted.prompt;
        self.job = job.job();
        let shell = shell.and_then(|shell| self.resume(shell));
        let found = shell.is_some();
        if let Some(shell) = shell {
            self.serve(shell);
        }
        found
    }

    /// The shell's channel in the state in which a predecessor has left it.
    fn resume(&self, shell: Endpoint) -> Option<Shell> {
        use ConsoleContract::{
            Completing, Exp, Flushing, Reading, Ready, Ready_Again, Ready_Foreground, Ready_Show,
            Start,
        };
        let other = match shell.cast::<Exp<Ready>>() {
            Ok(channel) => return Some(Shell::Ready(channel)),
            Err(other) => other,
        };
        let other = match other.cast::<Exp<Reading>>() {
            Ok(channel) if self.terminal() => {
                return Some(Shell::Prompting(channel, self.prompt.clone()));
            }
            Ok(channel) => return Some(Shell::Reading(channel)),
            Err(other) => other,
        };
        let other = match other.cast::<Exp<Flushing>>() {
            Ok(channel) => return Some(Shell::Flushing(channel, None)),
            Err(other) => other,
        };
        let other = match other.cast::<Exp<Ready_Show>>() {
            Ok(channel) => return Some(Shell::Ready(channel.send_ack_show())),
            Err(other) => other,
        };
        let other = match other.cast::<Exp<Ready_Foreground>>() {
            Ok(channel) => return Some(Shell::Ready(channel.send_ack_foreground())),
            Err(other) => other,
        };
        let other = match other.cast::<Exp<Ready_Again>>() {
            Ok(channel) => return Some(Shell::Ready(channel.send_ack_again())),
            Err(other) => other,
        };
        let other = match other.cast::<Exp<Completing>>() {
            Ok(channel) => return Some(Shell::Forgotten(channel)),
            Err(other) => other,
        };
        let start = other.cast::<Exp<Start>>().ok()?;
        Some(self.welcome(start))
    }

    /// Notes what the next console must know, before text leaves this one, or it waits.
    pub(crate) fn note(&mut self) {
        let lines = self.lines.iter().filter_map(|line| match line {
            Line::Text(text) => Some(&text[..]),
            Line::End => None,
        });
        let lines: Vec<&[u8]> = lines.collect();
        self.note.write(&self.prompt, &lines, self.typed.bytes());
    }
}
