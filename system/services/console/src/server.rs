//! The loop: the device, the shell, the job in the foreground and all output.

use crate::attached::{Attached, HANDLES};
use crate::completion;
use crate::display;
use crate::input::{self, Job, Typed};
use crate::note::Note;
use crate::output::{self, Outputs, Screen};
use crate::succession::Left;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use console::editor::{self, Editor, Event, Unfinished};
use core::time::Duration;
use sing_sdk::Error;
use sing_sdk::console::{LINE_INPUT, LINE_OUTPUT};
use sing_sdk::contracts::{ConsoleContract, NamespaceContract};
use sing_sdk::io::LARGEST;
use sing_sdk::legacy;
use sing_sdk::rt::{Handle, Text, Waitable};
use sing_sdk::select::Select;
use sing_sdk::sync::Interrupt;
use sing_sdk::time::{self, Timeout};

/// The longest prompt.
const PROMPT: usize = 256;
/// The most finished lines that wait for a job, and the most bytes in them; further ones are
/// ignored. The last line may exceed this.
pub(crate) const LINES: usize = 256;
pub(crate) const LINE_BYTES: usize = 64 << 10;
/// How long the console waits for memory before it tries again.
const RETRY: Duration = Duration::from_millis(20);

/// The size to which the heap is grown at the start. Bytes, lines and history are kept at most
/// twice, as they grow; an answer is built beside them, and output of programs is in the exchange
/// heap.
const HEAP: usize = 3 << 20;
/// The program's budget, as in its manifest.
const MEMORY: usize = 16 << 20;
const KEPT: usize =
    2 * editor::KEPT + 4 * LINE_BYTES + output::FAR + 2 * input::MOST + display::KEPT;
const ANSWERS: usize = 4 * LINE_BYTES + completion::MOST;
const _: () = assert!(2 * KEPT + ANSWERS + output::PIPES * 16 < HEAP);
// Twice for blocks: none is above this size, and each is rounded up to less than twice its size.
const _: () = assert!(HEAP + output::PIPES * 512 + 2 * output::BLOCKS * LARGEST < MEMORY);

/// The shell's channel.
pub(crate) enum Shell {
    Ready(ConsoleContract::Exp<ConsoleContract::Ready>),
    /// It waits for a line; the prompt comes after the earlier output.
    Prompting(ConsoleContract::Exp<ConsoleContract::Reading>, String),
    /// It waits for a line, which the person is typing.
    Reading(ConsoleContract::Exp<ConsoleContract::Reading>),
    /// It waits for this line, for which there was no memory yet.
    Answering(ConsoleContract::Exp<ConsoleContract::Reading>, Vec<u8>),
    /// It was asked what may come behind the line that the person is typing.
    Completing(ConsoleContract::Exp<ConsoleContract::Completing>),
    /// It was asked that by a predecessor, whose line is gone.
    Forgotten(ConsoleContract::Exp<ConsoleContract::Completing>),
    /// It waits until the present output is written: this many bytes, once the number is known.
    Flushing(ConsoleContract::Exp<ConsoleContract::Flushing>, Option<u64>),
}

/// A line typed for a job.
pub(crate) enum Line {
    Text(Vec<u8>),
    End,
}

/// The console's state.
pub struct Server {
    device: Interrupt,
    /// The device has room again, or has written everything.
    room: Interrupt,
    pub(crate) size: Option<(u32, u32)>,
    pub(crate) screen: Screen,
    pub(crate) outputs: Outputs,
    pub(crate) typed: Typed,
    /// For the shell's lines, and for the job's.
    pub(crate) editors: [Editor; 2],
    /// Lines that the job has not taken yet.
    pub(crate) lines: VecDeque<Line>,
    /// An unfinished line, left over from a job that has ended.
    unfinished: Unfinished,
    pub(crate) job: Option<Job>,
    /// Those that are suspended, by their numbers, and the last number.
    pub(crate) suspended: Vec<(u32, Job)>,
    pub(crate) last_suspended: u32,
    /// There was no memory for the job's input.
    pub(crate) short: bool,
    /// The rest of an ignored line for the shell is to come.
    cut: bool,
    /// The last prompt.
    pub(crate) prompt: String,
    pub(crate) note: Note,
    pub(crate) attached: Attached,
}

pub(crate) const FOR_SHELL: usize = 0;
pub(crate) const FOR_JOB: usize = 1;

impl Server {
    /// Opens the device.
    ///
    /// # Errors
    /// If another process has it, or memory is short.
    pub fn new(
        names: Option<NamespaceContract::Imp<NamespaceContract::Start>>,
    ) -> Result<Server, Error> {
        sing_sdk::reserve(HEAP)?;
        let size = sing_sdk::console::size();
        let columns = size.map_or(80, |(columns, _)| columns as usize);
        Ok(Server {
            device: Interrupt::new(LINE_INPUT)?,
            room: Interrupt::new(LINE_OUTPUT)?,
            size,
            screen: Screen::new(size.is_some()),
            outputs: Outputs::new()?,
            typed: Typed::default(),
            editors: [Editor::new(columns, true), Editor::new(columns, false)],
            lines: VecDeque::new(),
            unfinished: Unfinished::default(),
            job: None,
            suspended: Vec::new(),
            last_suspended: 0,
            short: false,
            cut: false,
            prompt: String::new(),
            note: Note::new()?,
            attached: Attached::new(names.filter(|_| size.is_some())),
        })
    }

    pub(crate) fn terminal(&self) -> bool {
        self.size.is_some()
    }

    /// Serves the shell from the system's start until it closes.
    pub fn run(self, shell: ConsoleContract::Exp<ConsoleContract::Start>) {
        legacy::keep(&shell, Left::Shell as u32);
        let shell = self.welcome(shell);
        self.serve(shell);
    }

    pub(crate) fn welcome(&self, shell: ConsoleContract::Exp<ConsoleContract::Start>) -> Shell {
        let (columns, rows) = self.smallest().unwrap_or((0, 0));
        Shell::Ready(shell.send_welcome(columns, rows))
    }

    pub(crate) fn serve(mut self, mut shell: Shell) {
        loop {
            self.typed.fill();
            shell = self.pump(shell);
            let edited = matches!(shell, Shell::Reading(_) | Shell::Completing(_));
            let edited = edited && self.terminal();
            let edited = edited.then_some(&self.editors[FOR_SHELL]);
            let held_back = self.screen.is_far_behind();
            let (attached, terminal) = (&mut self.attached, self.size.is_some());
            let shown = self.screen.advance(edited, |bytes| {
                if terminal {
                    attached.print(bytes);
                }
            });
            // Typed text that was held back goes on now: a device that has taken everything will
            // not announce room.
            let goes_on = held_back && !self.screen.is_far_behind();
            if goes_on || !shown.is_empty() {
                shown
                    .into_iter()
                    .for_each(|writer| self.outputs.more(writer));
                continue;
            }
            shell = match self.settle(shell) {
                (next, true) => {
                    shell = next;
                    continue;
                }
                (same, false) => same,
            };
            self.attached.advance(self.typed.has_room());
            let waits = self.short || matches!(shell, Shell::Answering(..));
            let due = self
                .attached
                .due()
                .map(|due| due.saturating_sub(time::uptime()));
            let timeout = due.into_iter().chain(waits.then_some(RETRY)).min();
            let timeout = timeout.map_or(Timeout::FOREVER, Timeout::from);
            self.note();
            let mut select = Select::<{ 6 + HANDLES }>::new();
            let none = Handle::NONE;
            let device = select.add(self.device.handle());
            let room = select.add(self.room.handle());
            let job = select.add(self.job.as_ref().map_or(none, Job::handle));
            let input = select.add(self.job.as_ref().map_or(none, Job::input));
            let has_room = self.screen.has_room();
            let output = select.add(if has_room {
                self.outputs.handle()
            } else {
                none
            });
            let asked = select.add(match &shell {
                Shell::Ready(channel) => channel.handle(),
                Shell::Completing(channel) | Shell::Forgotten(channel) => channel.handle(),
                _ => none,
            });
            let attached = self.attached.handles().map(|handle| select.add(handle));
            match select.wait(timeout) {
                Ok(_) => {}
                Err(Error::Timeout) => continue,
                // A wait for several objects takes memory, too.
                Err(Error::NoResources) => {
                    time::sleep(RETRY);
                    continue;
                }
                Err(_) => return,
            }
            if select.tag(device).is_some() {
                self.device.acknowledge();
                self.measure(matches!(shell, Shell::Reading(_)));
            }
            if select.tag(room).is_some() {
                self.room.acknowledge();
            }
            self.hear_attached(attached.map(|at| select.tag(at).is_some()));
            if select.tag(job).is_some() && self.job.as_mut().is_some_and(|job| !job.hear()) {
                self.end_job();
            }
            if select.tag(input).is_some()
                && let Some(rest) = self.job.as_mut().and_then(Job::settle)
            {
                self.keep(rest);
            }
            if let Some(id) = select.tag(output) {
                self.outputs.take(id.cast_unsigned(), &mut self.screen);
            }
            shell = match shell {
                Shell::Ready(channel) if select.tag(asked).is_some() => {
                    match self.request(channel) {
                        Some(next) => next,
                        None => return,
                    }
                }
                Shell::Completing(channel) if select.tag(asked).is_some() => {
                    let mut text = String::new();
                    let editor = &mut self.editors[FOR_SHELL];
                    let Some(next) = completion::answered(channel, editor, &mut text) else {
                        return;
                    };
                    self.screen.edited(&text);
                    Shell::Reading(next)
                }
                Shell::Forgotten(channel) if select.tag(asked).is_some() => {
                    let Ok((_, _, next)) = channel.recv_completed() else {
                        return;
                    };
                    Shell::Prompting(next, self.prompt.clone())
                }
                same => same,
            };
        }
    }

    /// Receives from keyboards and screens.
    fn hear_attached(&mut self, ready: [bool; HANDLES]) {
        let mut typed = Vec::new();
        self.attached.hear(ready, &mut typed);
        self.typed.add(&typed);
        self.set_columns();
    }

    /// Continues a wait for output; returns whether there was one. A pending Ctrl-C ends the wait;
    /// the next reader takes it.
    fn settle(&mut self, shell: Shell) -> (Shell, bool) {
        let waits = matches!(shell, Shell::Prompting(..) | Shell::Flushing(..));
        let hurried = waits && self.terminal() && self.job.is_none() && self.typed.has_interrupt();
        match shell {
            Shell::Prompting(channel, prompt) if hurried || self.screen.passed().is_some() => {
                self.prompt(&prompt);
                (Shell::Reading(channel), true)
            }
            Shell::Flushing(channel, _) if hurried => {
                (Shell::Ready(channel.send_ack_flush()), true)
            }
            Shell::Flushing(channel, end) => match end.or_else(|| self.screen.passed()) {
                Some(end) if self.screen.is_written(end) => {
                    (Shell::Ready(channel.send_ack_flush()), true)
                }
                end => (Shell::Flushing(channel, end), false),
            },
            other => (other, false),
        }
    }

    /// Shows the prompt, with text that was typed for it already.
    fn prompt(&mut self, prompt: &str) {
        self.screen.unmark();
        self.screen.freshen();
        let mut text = String::new();
        // Finished lines come before the unfinished one.
        let unfinished = if self.lines.is_empty() {
            core::mem::take(&mut self.unfinished)
        } else {
            Unfinished::default()
        };
        self.editors[FOR_SHELL].resume(prompt, unfinished, &mut text);
        self.screen.edited(&text);
    }

    /// Answers the shell; `None` when it has gone.
    fn request(&mut self, channel: ConsoleContract::Exp<ConsoleContract::Ready>) -> Option<Shell> {
        use ConsoleContract::exp::Ready;
        let request = channel.recv();
        // Output of jobs from before the shell's request comes before the request's own.
        self.outputs.drain(&mut self.screen);
        self.screen.mark();
        Some(match request {
            Ready::ReadLine(prompt, next) => {
                // The shell reads again, so its job has ended, even if the job's channel has not
                // told us yet: text typed from now on is the shell's.
                self.end_job();
                if self.terminal() {
                    self.prompt = prompt.get_within(PROMPT).unwrap_or_default();
                    Shell::Prompting(next, self.prompt.clone())
                } else {
                    Shell::Reading(next)
                }
            }
            Ready::Show(output, next) => {
                if !self.outputs.add(output) {
                    self.screen.notice(
                        "console: an output is closed: too many are shown already; end some of the programs that print",
                    );
                }
                Shell::Ready(next.send_ack_show())
            }
            Ready::Foreground(job, input, keys, next) => {
                self.end_job();
                self.editors[FOR_JOB].begin("");
                if !self.unfinished.is_empty() {
                    // The line continues with the next key. Shown now, it would precede the output
                    // of the job.
                    let unfinished = core::mem::take(&mut self.unfinished);
                    self.editors[FOR_JOB].resume("", unfinished, &mut String::new());
                }
                self.job = Some(Job::new(job, input, keys));
                Shell::Ready(next.send_ack_foreground())
            }
            Ready::Again(number, next) => {
                self.end_job();
                self.editors[FOR_JOB].begin("");
                self.take_again(number);
                Shell::Ready(next.send_ack_again())
            }
            Ready::Flush(next) => Shell::Flushing(next, None),
            Ready::Closed => return None,
        })
    }

    /// Keeps the bytes that a job did not take, for the next reader.
    pub(crate) fn keep(&mut self, rest: Vec<u8>) {
        if self.terminal() {
            self.lines.push_front(Line::Text(rest));
        } else {
            self.typed.put_back(&rest);
        }
    }

    /// The job has ended. The shell gets the lines that the job did not take, finished or not; the
    /// end of the job's input was its own.
    fn end_job(&mut self) {
        if self.job.is_some() && !self.editors[FOR_JOB].is_empty() {
            self.unfinished = self.editors[FOR_JOB].take();
        }
        if let Some(rest) = self.job.take().and_then(Job::finish) {
            self.keep(rest);
        }
        self.lines.retain(|line| matches!(line, Line::Text(_)));
    }

    /// Moves typed text to its waiting reader.
    fn pump(&mut self, shell: Shell) -> Shell {
        if self.job.is_some() {
            self.pump_job();
        }
        match shell {
            Shell::Answering(channel, line) => self.answer(channel, line),
            Shell::Reading(channel) if self.terminal() => self.edit(channel),
            Shell::Reading(channel) => match self.command() {
                Some(line) => self.answer(channel, line),
                None if self.typed.at_end() => Shell::Ready(channel.send_end_of_input()),
                None => Shell::Reading(channel),
            },
            ready => ready,
        }
    }

    /// The next line of a plain stream for the shell. One that is longer than the read-ahead is
    /// ignored: a part of it would be another command.
    fn command(&mut self) -> Option<Vec<u8>> {
        while let Some(line) = self.typed.line() {
            let goes_on = self.typed.goes_on(&line);
            let was_cut = core::mem::replace(&mut self.cut, goes_on);
            if !goes_on && !was_cut && line.len() <= input::MOST {
                return Some(line);
            }
            if !was_cut {
                self.screen.notice(&format!(
                    "console: a line is ignored: it is longer than {} bytes",
                    input::MOST
                ));
            }
            // The device announces only what comes after it has been read empty.
            self.typed.fill();
        }
        None
    }

    /// Lets the person type for the shell.
    fn edit(&mut self, channel: ConsoleContract::Exp<ConsoleContract::Reading>) -> Shell {
        if let Some(Line::Text(line)) = self.lines.pop_front() {
            // Typed while a job ran that did not take it.
            self.screen.show(&line);
            self.editors[FOR_SHELL].remember(String::from_utf8_lossy(&line).trim_end());
            return self.answer(channel, line);
        }
        let mut channel = channel;
        while !self.screen.is_far_behind()
            && let Some(byte) = self.typed.byte()
        {
            let mut text = String::new();
            let event = self.editors[FOR_SHELL].feed(byte, &mut text);
            self.screen.edited(&text);
            match event {
                // In pasted text, a tab is a space.
                Some(Event::Complete(_)) if self.typed.has_more() => {
                    self.editors[FOR_SHELL].complete(" ", "", &mut text);
                    self.screen.edited(&text);
                }
                Some(Event::Complete(before)) => {
                    match completion::ask(channel, &before, self.columns()) {
                        Ok(next) => return Shell::Completing(next),
                        Err(same) => channel = same,
                    }
                }
                Some(Event::Line(mut line)) => {
                    line.push('\n');
                    return self.answer(channel, line.into_bytes());
                }
                Some(Event::Interrupt) => return Shell::Ready(channel.send_interrupted()),
                Some(Event::EndOfInput) => return Shell::Ready(channel.send_end_of_input()),
                Some(Event::Suspend) | None => {}
            }
        }
        if self.typed.at_end() {
            return Shell::Ready(channel.send_end_of_input());
        }
        Shell::Reading(channel)
    }

    /// Answers with a line, now or when there is memory for it: lack of memory is no end of input.
    fn answer(
        &mut self,
        channel: ConsoleContract::Exp<ConsoleContract::Reading>,
        line: Vec<u8>,
    ) -> Shell {
        match Text::new(&String::from_utf8_lossy(&line)) {
            Ok(text) => {
                self.note();
                Shell::Ready(channel.send_line(text))
            }
            Err(_) => Shell::Answering(channel, line),
        }
    }
}
