//! The loop: the device, the shell, the job in the foreground and everything that is shown.

use crate::input::{Job, Typed};
use crate::output::{Outputs, Screen};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use console::editor::{Editor, Event};
use sing_sdk::Error;
use sing_sdk::contracts::ConsoleContract;
use sing_sdk::rt::{Handle, Text, Waitable};
use sing_sdk::select::Select;
use sing_sdk::sync::Interrupt;
use sing_sdk::time::Timeout;

/// The interrupt line of the console's input.
const LINE_CONSOLE: u32 = 1;
/// The longest prompt.
const PROMPT: usize = 256;
/// Finished lines that wait for a job at most; more are not taken.
const LINES: usize = 256;

/// The shell's channel.
enum Shell {
    Ready(ConsoleContract::Exp<ConsoleContract::Ready>),
    /// It waits for a line.
    Reading(ConsoleContract::Exp<ConsoleContract::Reading>),
}

/// What a job's person has typed.
enum Line {
    Text(Vec<u8>),
    End,
}

/// The console's state.
pub struct Server {
    device: Interrupt,
    size: Option<(u32, u32)>,
    screen: Screen,
    outputs: Outputs,
    typed: Typed,
    /// For the shell's lines, and for the job's.
    editors: [Editor; 2],
    /// Lines that the job has not taken yet.
    lines: VecDeque<Line>,
    job: Option<Job>,
}

const FOR_SHELL: usize = 0;
const FOR_JOB: usize = 1;

impl Server {
    /// Opens the device.
    ///
    /// # Errors
    /// Where another has it.
    pub fn new() -> Result<Server, Error> {
        let size = sing_sdk::console::size();
        let columns = size.map_or(80, |(columns, _)| columns as usize);
        Ok(Server {
            device: Interrupt::new(LINE_CONSOLE)?,
            size,
            screen: Screen::new(size.is_some()),
            outputs: Outputs::new()?,
            typed: Typed::default(),
            editors: [Editor::new(columns, true), Editor::new(columns, false)],
            lines: VecDeque::new(),
            job: None,
        })
    }

    fn terminal(&self) -> bool {
        self.size.is_some()
    }

    /// Serves the shell until it goes.
    pub fn run(mut self, shell: ConsoleContract::Exp<ConsoleContract::Start>) {
        let (columns, rows) = self.size.unwrap_or((0, 0));
        let mut shell = Shell::Ready(shell.send_welcome(columns, rows));
        loop {
            self.typed.fill();
            shell = self.pump(shell);
            let mut select = Select::<5>::new();
            let none = Handle::NONE;
            let device = select.add(self.device.handle());
            let job = select.add(self.job.as_ref().map_or(none, Job::handle));
            let input = select.add(self.job.as_ref().map_or(none, Job::input));
            let output = select.add(self.outputs.handle());
            let asked = select.add(match &shell {
                Shell::Ready(channel) => channel.handle(),
                Shell::Reading(_) => none,
            });
            if select.wait(Timeout::FOREVER).is_err() {
                return;
            }
            if select.tag(device).is_some() {
                self.device.acknowledge();
            }
            if select.tag(job).is_some() && self.job.as_mut().is_some_and(|job| !job.hear()) {
                self.end_job();
            }
            if select.tag(input).is_some()
                && let Some(rest) = self.job.as_mut().and_then(Job::settle)
            {
                self.keep(rest);
            }
            if let Some(id) = select.tag(output) {
                self.output(id.cast_unsigned(), &shell);
            }
            shell = match shell {
                Shell::Ready(channel) if select.tag(asked).is_some() => {
                    match self.request(channel) {
                        Some(next) => next,
                        None => return,
                    }
                }
                same => same,
            };
        }
    }

    /// Shows what a pipe brings.
    fn output(&mut self, id: u32, shell: &Shell) {
        let editing = self.terminal() && matches!(shell, Shell::Reading(_));
        if let Some((data, taken)) = self.outputs.take(id) {
            self.show(editing, |screen| screen.show_block(&data));
            self.outputs.more(taken);
        }
    }

    /// Shows something, around the line that is being edited.
    fn show(&mut self, editing: bool, show: impl FnOnce(&mut Screen)) {
        let mut text = String::new();
        if editing {
            self.editors[FOR_SHELL].hide(&mut text);
            self.screen.raw(&text);
        }
        show(&mut self.screen);
        if editing {
            self.screen.freshen();
            text.clear();
            self.editors[FOR_SHELL].draw(&mut text);
            self.screen.raw(&text);
        }
    }

    /// Answers the shell; `None` when it has gone.
    fn request(&mut self, channel: ConsoleContract::Exp<ConsoleContract::Ready>) -> Option<Shell> {
        use ConsoleContract::exp::Ready;
        let request = channel.recv();
        // Whatever jobs printed before the shell spoke comes before what the shell asks for.
        let (outputs, screen) = (&mut self.outputs, &mut self.screen);
        outputs.drain(|data| screen.show_block(&data));
        Some(match request {
            Ready::ReadLine(prompt, next) => {
                // The shell reads again, so its job is over, also where the job's channel has not told us yet: what
                // is typed from now on is the shell's.
                self.end_job();
                if self.terminal() {
                    self.screen.freshen();
                    let prompt = prompt.get_within(PROMPT).unwrap_or_default();
                    let mut text = String::new();
                    self.editors[FOR_SHELL].begin(&prompt);
                    self.editors[FOR_SHELL].draw(&mut text);
                    self.screen.edited(&text);
                }
                Shell::Reading(next)
            }
            Ready::Show(output, next) => {
                self.outputs.add(output);
                Shell::Ready(next.send_ack_show())
            }
            Ready::Foreground(job, input, next) => {
                self.end_job();
                self.editors[FOR_JOB].begin("");
                self.job = Some(Job::new(job, input));
                Shell::Ready(next.send_ack_foreground())
            }
            Ready::Flush(next) => Shell::Ready(next.send_ack_flush()),
            Ready::Closed => return None,
        })
    }

    /// Keeps what a job did not take for who reads next.
    fn keep(&mut self, rest: Vec<u8>) {
        if self.terminal() {
            self.lines.push_front(Line::Text(rest));
        } else {
            self.typed.put_back(&rest);
        }
    }

    fn end_job(&mut self) {
        if let Some(rest) = self.job.take().and_then(Job::finish) {
            self.keep(rest);
        }
        self.lines.retain(|line| matches!(line, Line::Text(_)));
    }

    /// Moves what was typed to who wants it.
    fn pump(&mut self, shell: Shell) -> Shell {
        if self.job.is_some() {
            self.pump_job();
        }
        match shell {
            Shell::Reading(channel) if self.terminal() => self.edit(channel),
            Shell::Reading(channel) => match self.typed.line() {
                Some(line) => answer(channel, &line),
                None if self.typed.at_end() => Shell::Ready(channel.send_end_of_input()),
                None => Shell::Reading(channel),
            },
            ready => ready,
        }
    }

    fn pump_job(&mut self) {
        if self.terminal() {
            self.edit_for_job();
        }
        let Some(job) = &mut self.job else { return };
        if !job.wants() {
            return;
        }
        let line = if self.size.is_some() {
            self.lines.pop_front()
        } else {
            None
        };
        let given = match line {
            Some(Line::Text(text)) => job.give(text),
            Some(Line::End) => {
                job.end_input();
                Ok(())
            }
            None if self.size.is_none() => match self.typed.line() {
                Some(line) => job.give(line),
                None => Ok(()),
            },
            None => Ok(()),
        };
        if given.is_err() || (self.typed.at_end() && self.lines.is_empty() && job.wants()) {
            job.end_input();
        }
    }

    /// Lets the person type for the job: lines are finished whether it takes them or not, so that Ctrl-C is
    /// heard at any time.
    fn edit_for_job(&mut self) {
        while self.lines.len() < LINES
            && let Some(byte) = self.typed.byte()
        {
            let mut text = String::new();
            if self.editors[FOR_JOB].is_empty() {
                self.editors[FOR_JOB].begin(self.screen.tail());
            }
            let event = self.editors[FOR_JOB].feed(byte, &mut text);
            self.screen.edited(&text);
            match event {
                Some(Event::Line(line)) => {
                    let mut bytes = line.into_bytes();
                    bytes.push(b'\n');
                    self.lines.push_back(Line::Text(bytes));
                }
                Some(Event::EndOfInput) => self.lines.push_back(Line::End),
                Some(Event::Interrupt) => {
                    self.lines.clear();
                    if let Some(job) = &mut self.job {
                        job.interrupt();
                    }
                }
                None => {}
            }
        }
    }

    /// Lets the person type for the shell.
    fn edit(&mut self, channel: ConsoleContract::Exp<ConsoleContract::Reading>) -> Shell {
        if let Some(Line::Text(line)) = self.lines.pop_front() {
            // Typed while a job ran that did not want it.
            self.screen.show(&line);
            return answer(channel, &line);
        }
        while let Some(byte) = self.typed.byte() {
            let mut text = String::new();
            let event = self.editors[FOR_SHELL].feed(byte, &mut text);
            self.screen.edited(&text);
            match event {
                Some(Event::Line(mut line)) => {
                    line.push('\n');
                    return answer(channel, line.as_bytes());
                }
                Some(Event::Interrupt) => return Shell::Ready(channel.send_interrupted()),
                Some(Event::EndOfInput) => return Shell::Ready(channel.send_end_of_input()),
                None => {}
            }
        }
        if self.typed.at_end() {
            return Shell::Ready(channel.send_end_of_input());
        }
        Shell::Reading(channel)
    }
}

fn answer(channel: ConsoleContract::Exp<ConsoleContract::Reading>, line: &[u8]) -> Shell {
    match Text::new(&String::from_utf8_lossy(line)) {
        Ok(text) => Shell::Ready(channel.send_line(text)),
        // Without memory for a line there is nothing to go on with.
        Err(_) => Shell::Ready(channel.send_end_of_input()),
    }
}
