//! Typing for the job in the foreground.

use crate::input::Job;
use crate::server::{FOR_JOB, LINE_BYTES, LINES, Line, Server};
use alloc::string::String;
use console::editor::Event;

impl Server {
    /// Moves typed text to the job, as far as it takes it.
    pub(crate) fn pump_job(&mut self) {
        self.short = false;
        if self.terminal() {
            self.edit_for_job();
        }
        if !self.job.as_ref().is_some_and(Job::wants) {
            return;
        }
        let line = match self.terminal() {
            true => self.lines.pop_front(),
            false => self.typed.line().map(Line::Text),
        };
        if matches!(line, Some(Line::Text(_))) {
            self.note();
        }
        let Some(job) = &mut self.job else { return };
        match line {
            Some(Line::Text(text)) => {
                if let Err(text) = job.give(text) {
                    // Lack of memory is no end of input: the line stays.
                    self.short = true;
                    self.keep(text);
                }
            }
            Some(Line::End) => job.end_input(),
            None if self.typed.at_end() => job.end_input(),
            None => {}
        }
    }

    /// Lets the person type for the job: lines are finished whether it takes them or not, so that
    /// Ctrl-C works at any time.
    fn edit_for_job(&mut self) {
        if self.is_full() && self.typed.skip_to_interrupt() {
            self.interrupt_job();
        }
        while !self.is_full()
            && !self.screen.is_far_behind()
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
                Some(Event::Interrupt) => self.interrupt_job(),
                // Tab is a space for a job.
                Some(Event::Complete(_)) | None => {}
            }
        }
    }

    /// Whether the most lines allowed are waiting for the job.
    fn is_full(&self) -> bool {
        let len = |line: &Line| match line {
            Line::Text(text) => text.len(),
            Line::End => 0,
        };
        self.lines.len() >= LINES || self.lines.iter().map(len).sum::<usize>() >= LINE_BYTES
    }

    /// Ctrl-C: interrupts the job, and discards the text typed before.
    fn interrupt_job(&mut self) {
        self.lines.clear();
        if let Some(job) = &mut self.job {
            job.interrupt();
        }
    }
}
